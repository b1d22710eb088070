//! JSON as text: members, paths and indentation without turning numbers into floats.
//!
//! A value parsed into a tree loses how its numbers were written (`1.10`,
//! `1E5`, forty digits). What only rearranges documents, such as tables, CSV
//! and pretty printing, works on pieces of the text instead.

mod members;
mod order;
mod pretty;

#[cfg(feature = "sql")]
pub(crate) use members::check;
pub use members::{find, members, unquote};
pub use order::id_first;
pub use pretty::pretty;

pub use folio_json::{Columns, EXACT_POWERS, Malformed, Misfit, Others, Pattern, find_quote};

/// JSON text was expected and something else found.
pub type JsonError = serde_json::Error;
