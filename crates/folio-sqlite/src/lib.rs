//! Files of SQLite, read by code of our own, and what their tables become as typed tables.
//!
//! ```text
//! Pages ── Cursor ── decode ── Rows ─┬─ Facts ── choose ── TablePlan ── CREATE TABLE
//! header   b-tree    record    values└─ convert ──────────── PlannedRows
//! + log    in order
//! ```
//!
//! **The format** is read from its public description
//! (<https://www.sqlite.org/fileformat2.html>): pages and the write-ahead log (`pages`,
//! `wal`), b-trees (`page`, `tree`), records (`record`), and the text of definitions
//! (`tokens`, `definition`). Nothing in a file is believed: every number is held to the
//! bytes there are, no page is read twice in a pass, and memory is a page per level and
//! one row. Damage is told with file, table and page.
//!
//! **Two passes.** In SQLite, a column holds what was put into it, whatever was declared.
//! So all rows are looked at first ([`TablePlan::of`]), and a column gets the type that was
//! declared if every value has it, else one that all of them fit (`choose`). No value is lost or
//! rounded, and what became another type is told in a [`Note`]. The second pass
//! ([`TablePlan::rows`]) answers the rows as values of those types.
//!
//! What it does not do: run statements, write such files, or lock them against whoever writes
//! with a log. A file that changed meanwhile is noticed ([`Pages::check_unchanged`]). A journal
//! that a crashed writer left has to be undone by SQLite first.

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

/// Whether a file begins as those of SQLite do. What cannot be read is none, and no pipe
/// is: what was read of it would be gone.
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
