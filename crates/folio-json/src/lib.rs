//! JSON text: walks it, writes it, infers its types, and builds columns from it.
//!
//! A collection has one schema for all uses: SQL, Arrow streams, exports, other engines. This crate
//! infers it.
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
//! | lists, objects | `List`, `Struct` of their content |
//! | values of several kinds; larger integers; integers that are not exact as a double, mixed with fractions; objects used as maps; values below the maximum depth | `Json`: the text of the value |
//! | only null, or no element | `Null`: `json` where a surface has no such type |
//!
//! Missing and null are the same. No value loses digits: a value that no type holds exactly becomes
//! text.
//!
//! This crate reads no files and is independent of storage and queries. Lines must be valid JSON,
//! which a collection verifies when it stores them. Other text gives an error or meaningless
//! values, never a panic.

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

pub use columns::{Columns, Mismatch, Others};
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
