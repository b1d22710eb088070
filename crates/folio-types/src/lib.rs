//! The vocabulary every other crate shares: identifiers with their rules, the
//! stable error codes that Rust, the command, Python and Node all report, typed
//! values and how they compare, the schema of a table, and the encoding of keys that sorts as
//! bytes.
//!
//! Nothing here touches a file. A rule that guards the directory layout (an id
//! becomes a file name, a collection name becomes a folder) lives here so that
//! no surface can forget it.

mod code;
mod comparison;
pub mod key;
mod legible;
mod name;
mod schema;
pub mod temporal;
mod value;

pub use code::ErrorCode;
pub use comparison::{Bound, Comparison};
pub use legible::legible;
pub use name::{MAX_NAME_SIZE, NameError, check_collection_name, check_document_id};
pub use schema::{Column, ColumnType, SchemaError, TableSchema};
pub use value::{Interval, Value, ValueRef, borrowed};
