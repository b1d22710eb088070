//! Symbols, and the tables that number them.
//!
//! Binary Ion writes names as numbers into a table in the stream itself; text Ion may do the same
//! (`$10`). Tables may import shared tables by name and version, which come from a [`Catalog`]. A
//! missing import still reserves its numbers, so its symbols exist but their text is unknown.

mod catalog;
mod table;

pub use catalog::{Catalog, SharedTable};
pub(crate) use table::SYSTEM_SYMBOLS;
pub use table::SymbolTable;

pub use crate::value::{ImportLocation, Symbol};
