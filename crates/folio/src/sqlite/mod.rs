//! Files of SQLite, whose tables become typed tables.
//!
//! `folio-sqlite` reads them, and says what each table becomes; here it is made:
//!
//! ```text
//! TablePlan ── CREATE TABLE ── rows, in bulk ── indexes, constraints, views ── COMMIT
//! ```
//!
//! **Rows before promises.** Keys, checks and foreign keys come over if the rows keep
//! them, and are told where they do not (`constraint`).
//!
//! **One transaction.** A failure anywhere leaves the database as it was. A file that changed
//! meanwhile is noticed, and nothing is imported.

mod constraint;
mod report;
mod run;

pub use folio_sqlite::{Note, is_sqlite};
pub use report::{ImportedTable, SqliteOptions, SqliteReport};
pub use run::import;
