//! JSON Lines, and JSON arrays.

mod lines;
mod read;
mod write;

pub(crate) use lines::Lines;
pub(crate) use read::Values;
pub(crate) use write::Marks;
#[cfg(feature = "sql")]
pub(crate) use write::{JsonFile, push_row};
