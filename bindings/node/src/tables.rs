//! The tables of a database as a whole.

use folio::{
    Database, PageInspection, Result, SalvageReport, TableCheckReport, TableStatistics,
    TableSummary, Tables, VacuumReport,
};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::error::thrown;
use crate::report::NativeIndexStats;
use crate::task::{Work, promise, promise_write};

/// The tables of an open database.
#[napi]
pub struct NativeTables {
    tables: Tables,
}

impl NativeTables {
    pub(crate) fn new(tables: Tables) -> Self {
        Self { tables }
    }
}

#[napi]
impl NativeTables {
    /// Whether there are tables.
    #[napi]
    pub fn exist(&self) -> bool {
        self.tables.exist()
    }

    /// All tables, by name.
    #[napi]
    pub fn list(&self) -> napi::Result<Vec<NativeTableSummary>> {
        let all = self.tables.list().map_err(thrown)?;
        Ok(all.into_iter().map(Into::into).collect())
    }

    /// The indexes of a table, with sizes and states.
    #[napi]
    pub fn indexes(&self, table: String) -> napi::Result<Vec<NativeIndexStats>> {
        indexes(&self.tables, &table).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn indexes_async(&self, table: String) -> AsyncTask<Work<Vec<NativeIndexStats>>> {
        let tables = self.tables.clone();
        promise(move || indexes(&tables, &table))
    }

    /// Sizes and counts; null without tables.
    #[napi]
    pub fn statistics(&self) -> napi::Result<Option<NativeTableStatistics>> {
        Ok(self.tables.statistics().map_err(thrown)?.map(Into::into))
    }

    /// Looks at everything; null without tables.
    #[napi]
    pub fn check(&self) -> napi::Result<Option<NativeTableCheckReport>> {
        check(&self.tables).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn check_async(&self) -> AsyncTask<Work<Option<NativeTableCheckReport>>> {
        let tables = self.tables.clone();
        promise(move || check(&tables))
    }

    /// One page of the data file.
    #[napi]
    pub fn inspect(&self, page: u32) -> napi::Result<NativePageInspection> {
        self.tables.inspect(page).map(Into::into).map_err(thrown)
    }

    /// Brings the log into the data file.
    #[napi]
    pub fn checkpoint(&self) -> napi::Result<bool> {
        self.tables.checkpoint().map_err(thrown)
    }

    /// Makes the files of columns again.
    #[napi]
    pub fn reindex(&self) -> napi::Result<f64> {
        reindex(&self.tables).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn reindex_async(&self) -> AsyncTask<Work<f64>> {
        let tables = self.tables.clone();
        promise_write("", move || reindex(&tables))
    }

    /// What was noticed since the last call.
    #[napi]
    pub fn take_notices(&self) -> Vec<String> {
        self.tables.take_notices().into_iter().map(|notice| notice.0).collect()
    }

    /// Gives free space back; null without tables.
    #[napi]
    pub fn vacuum(&self) -> napi::Result<Option<NativeVacuumReport>> {
        vacuum(&self.tables).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn vacuum_async(&self) -> AsyncTask<Work<Option<NativeVacuumReport>>> {
        let tables = self.tables.clone();
        promise_write("", move || vacuum(&tables))
    }
}

/// Saves the rows that survive in damaged tables into a new database.
#[napi]
pub fn salvage(source: String, target: String) -> napi::Result<NativeSalvageReport> {
    save(&source, &target).map_err(thrown)
}

/// The same on another thread.
#[napi]
pub fn salvage_async(source: String, target: String) -> AsyncTask<Work<NativeSalvageReport>> {
    promise(move || save(&source, &target))
}

fn check(tables: &Tables) -> Result<Option<NativeTableCheckReport>> {
    Ok(tables.check()?.map(Into::into))
}

fn indexes(tables: &Tables, table: &str) -> Result<Vec<NativeIndexStats>> {
    Ok(tables.indexes(table)?.into_iter().map(Into::into).collect())
}

fn reindex(tables: &Tables) -> Result<f64> {
    Ok(tables.reindex()? as f64)
}

fn vacuum(tables: &Tables) -> Result<Option<NativeVacuumReport>> {
    Ok(tables.vacuum()?.map(Into::into))
}

fn save(source: &str, target: &str) -> Result<NativeSalvageReport> {
    Database::salvage(source, target).map(Into::into)
}

/// What there is of one table.
#[napi(object)]
pub struct NativeTableSummary {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub row_count: f64,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The names of its secondary indexes.
    pub indexes: Vec<String>,
}

impl From<TableSummary> for NativeTableSummary {
    fn from(table: TableSummary) -> Self {
        let TableSummary { name, row_count, columns, indexes } = table;
        Self { name, row_count: row_count as f64, columns, indexes }
    }
}

/// Sizes, and what the buffer pool has been doing.
#[napi(object)]
pub struct NativeTableStatistics {
    /// Bytes of a page.
    pub page_size: f64,
    /// Bytes of the data file.
    pub data_size: f64,
    /// Bytes of the log.
    pub log_size: f64,
    /// Requests that found their page in memory.
    pub hits: f64,
    /// Requests that loaded it, or made it.
    pub misses: f64,
    /// Pages that left for another.
    pub evictions: f64,
}

impl From<TableStatistics> for NativeTableStatistics {
    fn from(statistics: TableStatistics) -> Self {
        Self {
            page_size: statistics.page_size as f64,
            data_size: statistics.data_size as f64,
            log_size: statistics.log_size as f64,
            hits: statistics.pool.hits as f64,
            misses: statistics.pool.misses as f64,
            evictions: statistics.pool.evictions as f64,
        }
    }
}

/// What a look at everything found.
#[napi(object)]
pub struct NativeTableCheckReport {
    /// Pages of the data file.
    pub page_count: u32,
    /// Of those, pages that are free.
    pub free_page_count: u32,
    /// Tables.
    pub table_count: f64,
    /// Rows in all tables.
    pub row_count: f64,
    /// Entries in all secondary indexes.
    pub index_entry_count: f64,
    /// What is wrong, with its page or file.
    pub problems: Vec<String>,
    /// Whether all is well.
    pub is_clean: bool,
}

impl From<TableCheckReport> for NativeTableCheckReport {
    fn from(report: TableCheckReport) -> Self {
        let problems = report.problems.iter();
        Self {
            page_count: report.pages,
            free_page_count: report.free_pages,
            table_count: report.tables as f64,
            row_count: report.rows as f64,
            index_entry_count: report.index_entries as f64,
            problems: problems.map(ToString::to_string).collect(),
            is_clean: report.problems.is_empty(),
        }
    }
}

/// One page of the data file.
#[napi(object)]
pub struct NativePageInspection {
    /// Its number.
    pub page: u32,
    /// Its offset in the data file, in bytes.
    pub offset: f64,
    /// What it is.
    pub kind: String,
    /// Its level, 0 for a leaf.
    pub level: u32,
    /// Cells, bytes of overflow, or free pages.
    pub count: f64,
    /// Bytes in use.
    pub used_size: f64,
    /// What is wrong with it, if anything.
    pub problem: Option<String>,
}

impl From<PageInspection> for NativePageInspection {
    fn from(page: PageInspection) -> Self {
        Self {
            page: page.page.0,
            offset: page.offset as f64,
            kind: page.kind.to_owned(),
            level: page.level.into(),
            count: page.count as f64,
            used_size: page.used_size as f64,
            problem: page.problem,
        }
    }
}

/// What giving space back did.
#[napi(object)]
pub struct NativeVacuumReport {
    /// Bytes of the data file before.
    pub size_before: f64,
    /// And after.
    pub size_after: f64,
}

impl From<VacuumReport> for NativeVacuumReport {
    fn from(report: VacuumReport) -> Self {
        let VacuumReport { size_before, size_after } = report;
        Self { size_before: size_before as f64, size_after: size_after as f64 }
    }
}

/// What was saved of a table.
#[napi(object)]
pub struct NativeSalvagedTable {
    /// Its name.
    pub name: String,
    /// Rows that are in the new database.
    pub row_count: f64,
    /// How many there were, if that can be read.
    pub expected_count: Option<f64>,
    /// Rows that were found but are not whole.
    pub broken_count: f64,
}

/// What was saved of damaged tables.
#[napi(object)]
pub struct NativeSalvageReport {
    /// The tables, by name.
    pub tables: Vec<NativeSalvagedTable>,
    /// Views saved.
    pub view_count: f64,
    /// Pages that could not be read.
    pub damaged_page_count: f64,
    /// Problems of the files, and objects that could not be recreated.
    pub problems: Vec<String>,
}

impl From<SalvageReport> for NativeSalvageReport {
    fn from(report: SalvageReport) -> Self {
        let table = |table: folio::SalvagedTable| NativeSalvagedTable {
            name: table.name,
            row_count: table.rows as f64,
            expected_count: table.expected.map(|count| count as f64),
            broken_count: table.broken as f64,
        };
        Self {
            tables: report.tables.into_iter().map(table).collect(),
            view_count: report.views as f64,
            damaged_page_count: report.damaged_pages as f64,
            problems: report.problems,
        }
    }
}
