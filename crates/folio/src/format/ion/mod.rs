//! Amazon Ion, text and binary.

#[cfg(feature = "sql")]
mod columns;
mod lines;
mod read;
#[cfg(feature = "sql")]
mod relation;
#[cfg(feature = "sql")]
mod write;

pub(crate) use lines::IonLines;
pub use lines::of_json;
pub(crate) use read::IonValues;
#[cfg(feature = "sql")]
pub(crate) use relation::relation;
#[cfg(feature = "sql")]
pub(crate) use write::IonRows;
