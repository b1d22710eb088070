//! CSV and TSV (RFC 4180).
//!
//! | value | cell |
//! |---|---|
//! | NULL, or no such field | empty, or the text that COPY's option NULL says |
//! | number, true, false | as it is written in JSON |
//! | text | as it is; in quotes where it would be read as something else |
//! | list, struct, object | its JSON text |
//!
//! In a file of one column, NULL is a space, because an empty line is not a row.

mod cell;
mod read;
mod row;
mod write;

pub(crate) use read::Csv;
#[cfg(feature = "sql")]
pub(crate) use write::CsvRows;
pub(crate) use write::CsvWriter;
pub use write::push_csv_row;
