//! Symbols, and the tables that number them.
//!
//! Binary Ion writes names as numbers into a table in the stream itself; text Ion may do the same
//! (`$10`). Tables may import shared tables by name and version, which are not read: an import
//! reserves its numbers, so its symbols exist but their text is unknown.

mod table;

pub(crate) use table::SYSTEM_SYMBOLS;
pub use table::SymbolTable;

pub use crate::value::{ImportLocation, Symbol};
