//! The tables of a database as a whole: listing, checking, salvage and reclaiming space. Rows are
//! read and changed by statements, through a [`Session`](crate::Session), or read as Arrow batches
//! through a [`Table`](crate::Table).

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use folio_document::{IndexDefinition, IndexField, IndexMethod, IndexStats, Notice};
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::buffer::PoolStatistics;
use folio_table::tools::{self, PageInspection, SalvageReport, VacuumReport};
use folio_table::{CheckReport, ColumnsIndex, PageId, Problem, Snapshot, TableStore};

use crate::database::Database;
use crate::descriptor;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::write::AtomicDirectory;

/// The tables of an open database, which may have none.
#[derive(Debug, Clone)]
pub struct Tables {
    handle: Arc<Handle>,
}

/// A summary of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSummary {
    /// Its name.
    pub name: String,
    /// The exact number of rows.
    pub row_count: u64,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The names of its secondary indexes.
    pub indexes: Vec<String>,
}

/// Sizes of the tables' files, and statistics of the buffer pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableStatistics {
    /// The size of a page in bytes.
    pub page_size: usize,
    /// Bytes of the data file after the next checkpoint.
    pub data_size: u64,
    /// Bytes of the log that the next checkpoint copies.
    pub log_size: u64,
    /// The number of the newest commit. It grows with each, in every process.
    pub commit: u64,
    /// When one of the files was last changed.
    pub changed: Option<SystemTime>,
    /// Requests and frames of the buffer pool since this process opened the tables.
    pub pool: PoolStatistics,
}

impl Tables {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Whether the database has a table store. Creating the first table creates it.
    #[must_use]
    pub fn exist(&self) -> bool {
        TableStore::exists(&*self.handle.store.files, &self.handle.store.root)
    }

    /// Lists all tables, by name.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub fn list(&self) -> Result<Vec<TableSummary>> {
        let Some(store) = self.store()? else { return Ok(Vec::new()) };
        let snapshot = store.snapshot();
        let summary = |table: Arc<folio_table::Table>| {
            Ok(TableSummary {
                name: table.schema().name.clone(),
                row_count: snapshot.row_count(&table)?,
                columns: table.schema().columns.iter().map(|column| column.name.clone()).collect(),
                indexes: table.index_names().map(str::to_owned).collect(),
            })
        };
        snapshot.tables()?.into_iter().map(summary).collect()
    }

    /// Sizes and counts; `None` without tables.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub fn statistics(&self) -> Result<Option<TableStatistics>> {
        let Some(store) = self.store()? else { return Ok(None) };
        let snapshot = store.snapshot();
        Ok(Some(TableStatistics {
            page_size: store.page_size(),
            data_size: snapshot.data_size(),
            log_size: store.log_size(),
            commit: snapshot.transaction(),
            changed: TableStore::changed(&*self.handle.store.files, &self.handle.store.root),
            pool: store.pool_statistics(),
        }))
    }

    /// The bytes of a table's rows, in whole pages, without its indexes.
    ///
    /// # Errors
    /// `not_found`, `corrupted`, `io`.
    pub fn size(&self, table: &str) -> Result<u64> {
        let store = self.store()?.ok_or_else(|| self.none())?;
        let snapshot = store.snapshot();
        let table = snapshot.table(table)?;
        Ok(snapshot.reader().row_pages(&table)? * store.page_size() as u64)
    }

    /// The indexes of a table, with sizes and states. Of a copy in columns, the entries are the rows
    /// that it has; it is ready unless much is to be copied first.
    ///
    /// # Errors
    /// `not_found`, `corrupted`, `io`.
    pub fn indexes(&self, table: &str) -> Result<Vec<IndexStats>> {
        let store = self.store()?.ok_or_else(|| self.none())?;
        let snapshot = store.snapshot();
        let table = snapshot.table(table)?;
        let entry_count = snapshot.row_count(&table)?;
        let page_size = store.page_size() as u64;
        let mut all = Vec::new();
        for index in table.indexes() {
            let definition = definition(&table, &index.name, IndexMethod::Fields, &index.columns);
            all.push(IndexStats {
                definition: IndexDefinition { unique: index.unique, ..definition },
                size: snapshot.reader().index_pages(index)? * page_size,
                entry_count,
                is_ready: true,
            });
        }
        for index in table.columns_indexes() {
            let columns: Vec<_> = index.columns.iter().map(|column| (*column, false)).collect();
            let (size, entry_count, is_ready) = self.extent(&snapshot, &table, index)?;
            all.push(IndexStats {
                definition: definition(&table, &index.name, IndexMethod::Columns, &columns),
                size,
                entry_count,
                is_ready,
            });
        }
        Ok(all)
    }

    #[cfg(feature = "sql")]
    fn extent(
        &self,
        snapshot: &Snapshot,
        table: &Arc<folio_table::Table>,
        index: &ColumnsIndex,
    ) -> Result<(u64, u64, bool)> {
        crate::row_parts::extent(self.handle.store.part_folder(), snapshot.reader(), table, index)
    }

    /// The same: this build reads no columns.
    #[cfg(not(feature = "sql"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the twin needs them")]
    fn extent(
        &self,
        _: &Snapshot,
        _: &Arc<folio_table::Table>,
        _: &ColumnsIndex,
    ) -> Result<(u64, u64, bool)> {
        Ok((0, 0, false))
    }

    /// Checks every page, every tree, every index entry and its row, the free list, pages without
    /// an owner, and the files of columns indexes, as of one snapshot. `None` without tables.
    ///
    /// # Errors
    /// `corrupted` when the tables cannot be opened at all; the report lists damage inside. `io`.
    pub fn check(&self) -> Result<Option<CheckReport>> {
        let Some(store) = self.store()? else { return Ok(None) };
        let snapshot = store.snapshot();
        let mut report = snapshot.check()?;
        let problems = self.check_columns(&store, &snapshot)?.into_iter();
        report.problems.extend(problems.map(|text| Problem { page: PageId::NONE, text }));
        Ok(Some(report))
    }

    #[cfg(feature = "sql")]
    fn check_columns(&self, store: &TableStore, snapshot: &Snapshot) -> Result<Vec<String>> {
        crate::row_parts::check(self.handle.store.part_folder(), store, snapshot)
    }

    /// The same: this build reads no columns.
    #[cfg(not(feature = "sql"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the twin needs them")]
    fn check_columns(&self, _: &TableStore, _: &Snapshot) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Makes the files of all columns indexes again. Never needed for correctness: a file that is
    /// missing or damaged is not read. Returns the number of these indexes.
    ///
    /// # Errors
    /// `read_only`, `locked`, `corrupted`, `io`; the indexes are as they were then.
    pub fn reindex(&self) -> Result<usize> {
        self.handle.check_writable()?;
        if !self.exist() {
            return Ok(0);
        }
        self.remake_columns()
    }

    #[cfg(feature = "sql")]
    fn remake_columns(&self) -> Result<usize> {
        let store = &self.handle.store;
        crate::row_parts::remake(
            store.part_folder(),
            &store.tables_to_write(self.handle.lock_timeout)?,
        )
    }

    /// The same: this build makes no columns.
    #[cfg(not(feature = "sql"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the twin needs them")]
    fn remake_columns(&self) -> Result<usize> {
        Ok(0)
    }

    /// The notices since the last call: files of columns indexes that are missing or damaged. Their
    /// rows are read from the pages.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        #[cfg(feature = "sql")]
        return self.handle.store.open_parts.take_notices();
        #[cfg(not(feature = "sql"))]
        Vec::new()
    }

    /// One page as it is in the data file, intact or not. Nothing is opened. A newer version of the
    /// page in the log is ignored.
    ///
    /// # Errors
    /// `invalid_input` when there is no such page, `not_found` without tables, `io`.
    pub fn inspect(&self, page: u32) -> Result<PageInspection> {
        self.handle.check_open()?;
        if !self.exist() {
            return Err(self.none());
        }
        let store = &self.handle.store;
        Ok(tools::inspect(&*store.files, &store.root, PageId(page))?)
    }

    /// Copies the log into the data file. Returns `false` when a reader prevents it; a later
    /// checkpoint then does it.
    ///
    /// # Errors
    /// `read_only`, `locked`, `io`.
    pub fn checkpoint(&self) -> Result<bool> {
        self.handle.check_writable()?;
        if !self.exist() {
            return Ok(true);
        }
        Ok(self.handle.store.tables_to_write(self.handle.lock_timeout)?.checkpoint()?)
    }

    /// Rewrites the data file without its free pages; `None` without tables. No session may have a
    /// transaction open, and no other process may write.
    ///
    /// # Errors
    /// `read_only`; `locked` when the tables are in use; `corrupted`, `io`: the old file is
    /// unchanged then.
    pub fn vacuum(&self) -> Result<Option<VacuumReport>> {
        self.handle.check_writable()?;
        if !self.exist() {
            return Ok(None);
        }
        let store = &self.handle.store;
        let options = store.table_options(false);
        let report = store.without_tables(|| tools::vacuum(&store.files, &store.root, &options))?;
        #[cfg(feature = "sql")]
        crate::row_parts::keep(
            store.part_folder(),
            &store.tables_to_write(self.handle.lock_timeout)?,
        );
        Ok(Some(report))
    }

    fn store(&self) -> Result<Option<TableStore>> {
        self.handle.check_open()?;
        self.handle.store.tables()
    }

    fn none(&self) -> Error {
        Error::NoTables { path: self.handle.path.clone() }
    }
}

/// An index of a table, as one of a collection would be defined.
fn definition(
    table: &folio_table::Table,
    name: &str,
    method: IndexMethod,
    columns: &[(usize, bool)],
) -> IndexDefinition {
    let field = |(column, descending): &(usize, bool)| {
        let path = vec![table.schema().columns[*column].name.clone()];
        IndexField { path, elements: false, descending: *descending }
    };
    IndexDefinition {
        name: name.to_owned(),
        method,
        fields: columns.iter().map(field).collect(),
        unique: false,
        conditions: Vec::new(),
    }
}

impl Database {
    /// The tables as a whole.
    ///
    /// # Errors
    /// `closed`.
    pub fn tables(&self) -> Result<Tables> {
        self.handle().check_open()?;
        Ok(Tables::new(Arc::clone(self.handle())))
    }

    /// Saves the surviving rows of damaged tables into a new database, whose directory must not
    /// exist yet. The damaged files are only read, and need not open. Collections are left out:
    /// they are text files, which need no salvage.
    /// # Errors
    /// `not_found` without tables, `conflict` when the target exists, `corrupted`
    /// when neither file has a valid header, `io`.
    pub fn salvage(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<SalvageReport> {
        let (source, target) = (source.as_ref(), target.as_ref());
        let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
        if !TableStore::any_file(&*files, source) {
            return Err(Error::NoTables { path: source.to_owned() });
        }
        let saved = AtomicDirectory::create(Arc::clone(&files), target)?;
        let options = folio_table::Options::default();
        let report = tools::salvage(&files, source, saved.path(), &options)?;
        descriptor::write(&files, saved.path())?;
        saved.commit()?;
        Ok(report)
    }
}
