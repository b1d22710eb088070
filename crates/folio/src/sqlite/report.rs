//! The options and the result of an import.

use folio_sqlite::Note;

/// Options of an import.
#[derive(Debug, Clone, Default)]
pub struct SqliteOptions {
    /// The names of the tables and views to import; empty for all.
    pub tables: Vec<String>,
}

/// A table that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTable {
    /// Its name.
    pub name: String,
    /// The number of its rows.
    pub row_count: u64,
}

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SqliteReport {
    /// The tables, in the order of the file.
    pub tables: Vec<ImportedTable>,
    /// The names of the views.
    pub views: Vec<String>,
    /// The number of secondary indexes created, including those of unique constraints.
    pub index_count: u64,
    /// Differences from the source.
    pub notes: Vec<Note>,
}

impl SqliteReport {
    /// The number of rows of all tables.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.tables.iter().map(|table| table.row_count).sum()
    }
}
