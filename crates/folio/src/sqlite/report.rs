//! What an import is asked for, and what it did.

use folio_sqlite::Note;

/// What is brought over.
#[derive(Debug, Clone, Default)]
pub struct SqliteOptions {
    /// The names of tables and views; empty for all there are.
    pub tables: Vec<String>,
}

/// A table that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub row_count: u64,
}

/// What came over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SqliteReport {
    /// The tables, in the order of the file.
    pub tables: Vec<ImportedTable>,
    /// The names of the views.
    pub views: Vec<String>,
    /// How many secondary indexes were made, those that keep columns unique included.
    pub index_count: u64,
    /// What is not as it was.
    pub notes: Vec<Note>,
}

impl SqliteReport {
    /// The rows of all tables.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.tables.iter().map(|table| table.row_count).sum()
    }
}
