//! JSON text: walked, written, typed, and built into columns.
//!
//! A collection has one schema, whoever asks: SQL, Arrow streams, exports, other engines. It
//! comes from here.
//!
//! ```text
//! text  → Scanner                  the grammar, checked without building anything (`scan`)
//!       → members, find            pieces of text by key and path (`members`)
//!       → pretty, push_minified    white space between tokens (`pretty`)
//! value → push_json_string         a string with its escapes (`string`)
//!       → JsonText                 rows, in pieces of constant size (`write`)
//! lines → Tree::observe, merge     the kinds of values seen at each path, with counts (`tree`)
//!       → Tree::fields             a type for each path (`types`)
//!       → Columns::push, finish    values of the fields wanted as Arrow arrays (`columns`)
//! ```
//!
//! # Types
//!
//! | the values of a path | type |
//! |---|---|
//! | integers within 64 bits, with a sign | `Int64` |
//! | fractions, and integers that are exact as a double | `Float64` |
//! | strings, booleans | `Text`, `Boolean` |
//! | lists, objects | `List`, `Struct` of what they hold |
//! | values of several kinds; larger integers, or beside fractions such as are not exact; objects used as maps; what nests deeper than is looked at | `Json`: the text of the value |
//! | nothing but null, or no element | `Null`: `json` where a surface has no such type |
//!
//! Missing and null are the same. No value loses digits: what a type does not hold exactly is
//! text.
//!
//! This crate reads no files and knows nothing of storage or queries. Lines are valid JSON, as
//! a collection verifies when it takes them in; other text gives an error or values nobody
//! asked for, never a panic.

mod columns;
mod members;
mod number;
mod pattern;
mod pretty;
mod scan;
mod string;
mod text;
mod token;
mod tree;
mod types;
mod write;

pub use columns::{Columns, Misfit, Others};
pub use members::{check, find, id_first, members, object_of, unquote};
pub use number::{EXACT_POWERS, double, integer};
pub use pattern::Pattern;
pub use pretty::{pretty, push_minified, push_pretty_fields};
pub use scan::{DEPTH_MAX, Fault, Key, Scanner};
pub use string::{push_json_number, push_json_string, push_json_value, write_json_string};
pub use text::Malformed;
pub use text::find_quote;
pub use tree::{Counts, Node, Tree};
pub use types::{Field, Type};
pub use write::{JsonText, Piece};
