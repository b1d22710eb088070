//! Reads SQLite files without SQLite, and converts their tables to typed tables.
//!
//! ```text
//! Pages ── Cursor ── decode ── Rows ─┬─ Facts ── choose ── TablePlan ── CREATE TABLE
//! header   b-tree    record    values└─ convert ──────────── PlannedRows
//! + log    in order
//! ```
//!
//! **The format** follows its public description (<https://www.sqlite.org/fileformat2.html>): pages
//! and the write-ahead log (`pages`, `wal`), b-trees (`page`, `tree`), records (`record`), and the
//! text of definitions (`tokens`, `definition`). Nothing in a file is trusted: every number is
//! checked against the available bytes, no page is read twice in a pass, and memory use is one page
//! per level plus one row. Damage is reported with file, table and page.
//!
//! **Two passes.** In SQLite, a column can hold any value, whatever its declared type. So the first
//! pass reads all rows ([`TablePlan::of`]). A column gets the declared type if every value has it,
//! otherwise a type that fits all of them (`choose`). No value is lost or rounded, and a [`Note`]
//! reports every changed type. The second pass ([`TablePlan::rows`]) returns the rows as values of
//! those types.
//!
//! This crate does not run statements, write SQLite files, or lock out writers that use a log. It
//! detects a file that changed meanwhile ([`Pages::check_unchanged`]). A journal left by a crashed
//! writer must first be rolled back by SQLite.

mod bytes;
mod catalog;
mod choose;
mod convert;
mod declared;
mod default;
mod definition;
mod error;
mod literal;
mod moment;
mod note;
mod observe;
mod page;
mod pages;
mod plan;
mod record;
mod rows;
mod tokens;
mod tree;
mod wal;

#[cfg(test)]
mod tests;

use std::path::Path;

use folio_file::{DiskFileSystem, FileKind, FileSystem, OpenMode};

pub use catalog::{Catalog, SourceIndex, SourceTable, SourceView};
pub use definition::ReferenceDefinition;
pub use error::{Error, Result};
pub use note::Note;
pub use pages::Pages;
pub use plan::{ColumnPlan, PlannedRows, TablePlan, same_names};
pub use tokens::{name_list, quoted_name};
pub use tree::Seen;

/// Whether a file begins like an SQLite file. `false` for an unreadable file, and for a pipe,
/// because reading it would consume its bytes.
pub fn is_sqlite(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    if !DiskFileSystem.stat(path).is_ok_and(|stat| stat.kind == FileKind::File) {
        return false;
    }
    let mut first = [0; pages::MAGIC.len()];
    let file = DiskFileSystem.open(path, OpenMode::Read);
    let read = file.and_then(|file| file.read_at(&mut first, 0));
    read.is_ok() && first == *pages::MAGIC
}
