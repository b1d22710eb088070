//! The tables of a database as a whole: whether they are sound, what can be saved,
//! giving space back.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::database::Database;
use crate::report::{
    IndexStats, PageInspection, SalvageReport, TableCheckReport, TableStatistics, TableSummary,
    VacuumReport,
};
use crate::watcher::released;

/// The tables of an open database, for maintenance. The database may have none.
#[pyclass(frozen, module = "foliodb._foliodb")]
pub(crate) struct Tables {
    database: Py<Database>,
}

impl Tables {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&folio::Tables) -> folio::Result<T> + Send,
    ) -> PyResult<T> {
        let core = self.database.get().core()?;
        released(py, || work(&core.tables()?))
    }
}

#[pymethods]
impl Tables {
    #[new]
    fn new(database: Py<Database>) -> PyResult<Self> {
        database.get().core()?;
        Ok(Self { database })
    }

    /// Whether the database has tables. Creating the first one creates their file.
    fn exist(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |tables| Ok(tables.exist()))
    }

    /// All tables, sorted by name.
    fn list(&self, py: Python<'_>) -> PyResult<Vec<TableSummary>> {
        let all = self.with(py, folio::Tables::list)?;
        Ok(all.into_iter().map(Into::into).collect())
    }

    /// The indexes of a table, with sizes and states.
    fn indexes(&self, py: Python<'_>, table: &str) -> PyResult<Vec<IndexStats>> {
        let all = self.with(py, |tables| tables.indexes(table))?;
        Ok(all.into_iter().map(Into::into).collect())
    }

    /// Sizes and statistics of the buffer pool; `None` without tables.
    fn statistics(&self, py: Python<'_>) -> PyResult<Option<TableStatistics>> {
        Ok(self.with(py, folio::Tables::statistics)?.map(Into::into))
    }

    /// Checks every page, tree, index entry and copy in columns, as of one moment; `None` without
    /// tables.
    fn check(&self, py: Python<'_>) -> PyResult<Option<TableCheckReport>> {
        Ok(self.with(py, folio::Tables::check)?.map(Into::into))
    }

    /// The content of a page of the data file, intact or damaged.
    fn inspect(&self, py: Python<'_>, page: u32) -> PyResult<PageInspection> {
        Ok(self.with(py, |tables| tables.inspect(page))?.into())
    }

    /// Copies the log into the data file; `False` if an open reader prevents it.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, folio::Tables::checkpoint)
    }

    /// Makes the files of all columns indexes again, and returns the number of these indexes.
    fn reindex(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, folio::Tables::reindex)
    }

    /// The notices since the last call, a sentence each: files of columns that are missing or damaged.
    fn take_notices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let notices = self.with(py, |tables| Ok(tables.take_notices()))?;
        Ok(notices.into_iter().map(|notice| notice.0).collect())
    }

    /// Rewrites the data file without its free pages; `None` without tables.
    fn vacuum(&self, py: Python<'_>) -> PyResult<Option<VacuumReport>> {
        Ok(self.with(py, folio::Tables::vacuum)?.map(Into::into))
    }
}

/// Saves the intact rows of damaged tables into a new database.
#[pyfunction]
pub(crate) fn salvage(py: Python<'_>, source: PathBuf, target: PathBuf) -> PyResult<SalvageReport> {
    Ok(released(py, || folio::Database::salvage(&source, &target))?.into())
}
