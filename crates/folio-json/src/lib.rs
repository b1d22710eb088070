//! JSON text: walks it, writes it, infers its types, and builds columns from it.
//!
//! A collection has one schema for all uses: SQL, Arrow streams, exports, other engines. This crate
//! infers it.
//!
//! ```text
//! text  → Scanner                  the grammar, checked without building anything (`scan`)
//!       → members, find            pieces of text by key and path (`members`)
//!       → at_path, elements         the same for valid text, by positions too (`path`)
//!       → for_each_scalar          the strings and numbers of valid text (`scalars`)
//!       → Splitter                 the elements of a text that is read in pieces (`split`)
//!       → pretty, push_minified    white space between tokens (`pretty`)
//! value → push_json_string         a string with its escapes (`string`)
//!       → merge_patch              a value changed by another (`patch`)
//!       → order_key                bytes that sort as values do (`order`)
//!       → JsonText                 rows, in pieces of constant size (`write`)
//! lines → Tree::observe, merge     the kinds of values seen at each path, with counts (`tree`)
//!       → Tree::fields             a type for each path (`types`)
//!       → Tree::paths              a row for each path, with what is known of it (`tree/paths`)
//!       → to_lines, from_lines     the tree as text, for a file (`tree/lines`)
//!       → Columns::push, finish    values of the fields wanted as Arrow arrays (`columns`)
//!       → PathColumns::push        the same for chosen paths and lines (`path_columns`)
//!                                  texts that are few as numbers, if wanted (`few`)
//! ```
//!
//! # Types
//!
//! | the values of a path | type |
//! |---|---|
//! | integers within 64 bits, with a sign | `Int64` |
//! | fractions, and integers that are exact as a double | `Float64` |
//! | strings, booleans | `Text`, `Boolean` |
//! | lists, objects | `List`, `Struct` of their content |
//! | objects whose keys are data: there are thousands (`tree`) | `Map` of the type of all values |
//! | values of several kinds; larger integers; integers that are not exact as a double, mixed with fractions; values below the maximum depth | `Json`: the text of the value |
//! | only null, or no element | `Null`: `json` where a surface has no such type |
//!
//! Missing and null are the same. No value loses digits: a value that no type holds exactly becomes
//! text.
//!
//! This crate reads no files and is independent of storage and queries. Lines must be valid JSON,
//! which a collection verifies when it stores them. Other text gives an error or meaningless
//! values, never a panic.

mod column;
mod columns;
mod container;
mod few;
mod keys;
mod lanes;
mod members;
mod number;
mod order;
mod patch;
mod path;
mod path_columns;
mod pattern;
mod pretty;
mod scalars;
mod scan;
mod split;
mod string;
mod text;
mod text_array;
mod token;
mod tree;
mod types;
mod write;

pub use column::{Mismatch, Others};
pub use columns::Columns;
pub use members::{
    ID_PREFIX, check, find, id_first, leading_id, members, object_of, plain_string, push_object,
    unquote,
};
pub use number::{EXACT_POWERS, double, integer};
pub use order::{
    KeyScalar, order_key, push_boolean_key, push_double_key, push_integer_key, push_number_key,
    push_order_key, push_text_key, take_scalar,
};
pub use patch::{Edit, edit_at, merge_patch, set_member, strip_nulls};
pub use path::{Step, at_path, elements};
pub use path_columns::{ArrayTest, PathColumns, PathCondition, PathField, PathTest};
pub use pattern::Pattern;
pub use pretty::{pretty, push_minified, push_pretty_fields};
pub use scalars::for_each_scalar;
pub use scan::{DEPTH_MAX, Fault, Key, Scanner, plain_end};
pub use split::{Splitter, Taken};
pub use string::{push_json_number, push_json_string, push_json_value, write_json_string};
pub use text::Malformed;
pub use text::find_quote;
pub use token::Kind;
pub use tree::{
    Counts, LinesError, Node, PathFault, PathPart, PathSummary, Tree, is_name_letter, parse_path,
    take_path,
};
pub use types::{Field, Type};
pub use write::{JsonText, Piece};
