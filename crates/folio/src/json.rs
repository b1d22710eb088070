//! JSON as text: members, paths and indentation without turning numbers into floats.
//!
//! A value parsed into a tree loses the spelling of its numbers (`1.10`, `1E5`, forty digits). Code
//! that only rearranges documents, such as tables, CSV and pretty printing, works on pieces of the
//! text instead.

pub use folio_json::{
    Columns, EXACT_POWERS, Fault as JsonError, ID_PREFIX, Malformed, Mismatch, Others, Pattern,
    find, find_quote, for_each_scalar, id_first, members, plain_end, pretty, unquote,
};
