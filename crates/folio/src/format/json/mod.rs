//! JSON Lines, and JSON arrays.

#[cfg(feature = "sql")]
mod columns;
mod lines;
#[cfg(feature = "sql")]
pub(crate) mod parts;
mod read;
mod write;

#[cfg(feature = "sql")]
pub(crate) use columns::{DOCUMENT, LineBatches, LineColumns, checks, schema_of, values_of};
#[cfg(feature = "sql")]
pub(crate) use columns::{path_of, tested};
pub(crate) use lines::Lines;
pub(crate) use read::Values;
pub(crate) use write::Marks;
#[cfg(feature = "sql")]
pub(crate) use write::{JsonFile, SparseLines};
