//! Types that all other crates share: identifiers with their rules, the stable error codes that
//! Rust, the command, Python and Node report, typed values and how they compare, the schema of a
//! table, and an encoding of keys that sorts as bytes.
//!
//! Nothing here accesses files. A rule that protects the directory layout (an id becomes a file
//! name, a collection name becomes a folder) is here, so that every surface applies it.

mod code;
mod comparison;
mod field_condition;
pub mod key;
mod legible;
mod name;
mod near;
mod schema;
pub mod temporal;
mod value;
mod waiting;

pub use code::ErrorCode;
pub use comparison::{Bound, Comparison};
pub use field_condition::{FieldCondition, FieldTest, IndexMethod, Literal};
pub use legible::legible;
pub use name::{
    MAX_NAME_SIZE, NameError, check_collection_name, check_document_id, check_statement_name,
};
pub use near::near_match;
pub use schema::{Column, ColumnType, SchemaError, TableSchema, same_name};
pub use value::{Interval, Value, ValueRef, borrowed};
pub use waiting::{
    WAIT_SLICE, WaitEnd, WaitScope, is_wait_over, wait_end, wait_for_threads, with_wait_end,
};
