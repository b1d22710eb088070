//! Imports SQLite files; their tables become typed tables.
//!
//! `folio-sqlite` reads the files and plans each table. This module creates the tables:
//!
//! ```text
//! TablePlan ── CREATE TABLE ── rows, in bulk ── indexes, constraints, views ── COMMIT
//! ```
//!
//! **Rows before constraints.** Keys, checks and foreign keys are imported if the rows satisfy
//! them, and reported otherwise (`constraint`).
//!
//! **One transaction.** A failure anywhere leaves the database unchanged. If the file changes
//! during the import, nothing is imported.

mod constraint;
mod report;
mod run;

pub use folio_sqlite::{Note, is_sqlite};
pub use report::{ImportedTable, SqliteOptions, SqliteReport};
pub use run::import;
