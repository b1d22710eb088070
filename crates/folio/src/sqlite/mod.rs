//! Files of SQLite, whose tables become typed tables.
//!
//! ```text
//! Pages ── Cursor ── decode ── Rows ─┬─ Facts ── choose ── TablePlan ── CREATE TABLE
//! header   b-tree    record    values└─ convert ──────────────────────── rows, in bulk
//! + log    in order                                       indexes, constraints, views ── COMMIT
//! ```
//!
//! **The format** is read by code of our own, from its public description
//! (<https://www.sqlite.org/fileformat2.html>): pages and the write-ahead log (`pages`,
//! `wal`), b-trees (`page`, `tree`), records (`record`), and the text of definitions
//! (`tokens`, `definition`). Nothing in a file is believed: every number is held to the
//! bytes there are, no page is read twice in a pass, and memory is a page per level and
//! one row. Damage is told with file, table and page.
//!
//! **Two passes.** In SQLite, a column holds what was put into it, whatever was declared.
//! So all rows are looked at first, and a column gets the type that was declared if every
//! value has it, else one that all of them fit (`choose`). No value is lost or rounded, and
//! what became another type is told in the report.
//!
//! **Rows before promises.** Keys, checks and foreign keys come over if the rows keep
//! them, and are told where they do not (`constraint`).
//!
//! **One transaction.** A failure anywhere leaves the database as it was.
//!
//! What it does not do: write such files, or lock them against whoever writes with a log.
//! A file that changed meanwhile is noticed, and nothing is imported. A journal that a
//! crashed writer left has to be undone by SQLite first.

mod catalog;
mod choose;
mod constraint;
mod convert;
mod declared;
mod default;
mod definition;
mod literal;
mod moment;
mod observe;
mod page;
mod pages;
mod plan;
mod record;
mod report;
mod rows;
mod run;
mod tokens;
mod tree;
mod wal;

#[cfg(test)]
mod tests;

use std::path::Path;

use folio_file::{DiskFileSystem, FileKind, FileSystem, OpenMode};

use crate::format::SQLITE_MAGIC as MAGIC;

pub use report::{ImportedTable, Note, SqliteOptions, SqliteReport};
pub use run::import;

/// Whether a file begins as those of SQLite do. What cannot be read is none, and no pipe
/// is: what was read of it would be gone.
pub fn is_sqlite(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    if !DiskFileSystem.stat(path).is_ok_and(|stat| stat.kind == FileKind::File) {
        return false;
    }
    let mut first = [0; MAGIC.len()];
    let file = DiskFileSystem.open(path, OpenMode::Read);
    let read = file.and_then(|file| file.read_at(&mut first, 0));
    read.is_ok() && first == *MAGIC
}
