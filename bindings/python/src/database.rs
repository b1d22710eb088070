//! The Python class of a database.

use std::ffi::{CString, OsStr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use folio::sqlite::SqliteOptions;
use folio::{Access, Durability, ErrorCode, OpenOptions, PackOptions};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow;
use crate::count::Count;
use crate::error::{OrRaise, invalid, with_code};
use crate::fork::Handle;
use crate::id::Text;
use crate::partition::{Partition, position};
use crate::progress::Reporter;
use crate::report::{BackupReport, PackReport, SqliteReport, UnpackReport};
use crate::sql::{Answer, Idle, Limits, MemoryLimit, scalar_function};
use crate::watcher::released;

/// An open database: a directory of collections, or a `.zds` archive of one.
#[pyclass(subclass, frozen, module = "foliodb._foliodb")]
pub(crate) struct Database {
    handle: Handle<folio::Database>,
    /// As given. A URL may have a password.
    path: PathBuf,
    /// The same without secrets.
    shown: PathBuf,
    options: OpenOptions,
    mode: String,
    durability: String,
    is_closed: AtomicBool,
    idle: Idle,
}

#[pymethods]
impl Database {
    #[new]
    #[pyo3(
        signature = (path, mode="rw", *, create=true, durability="on_flush", timeout=5.0, write_behind=Some(1.0), cache_size=Count(64 << 20)),
        text_signature = "(path, mode='rw', *, create=True, durability='on_flush', timeout=5.0, write_behind=1.0, cache_size=67108864)"
    )]
    #[allow(clippy::too_many_arguments)] // options by name
    fn new(
        py: Python<'_>,
        path: PathBuf,
        mode: &str,
        create: bool,
        durability: &str,
        timeout: f64,
        write_behind: Option<f64>,
        cache_size: Count,
    ) -> PyResult<Self> {
        let lock_timeout = seconds("timeout", timeout)?;
        let write_behind = write_behind.map(|delay| seconds("write_behind", delay)).transpose()?;
        let options = OpenOptions {
            access: access_of(mode)?,
            durability: durability_of(durability)?,
            lock_timeout,
            write_behind,
            cache_size: cache_size.size(),
            create,
            ..OpenOptions::default()
        };
        let database = released(py, || folio::Database::open_with(&path, &options))?;
        Ok(Self {
            shown: database.path().to_owned(),
            handle: Handle::new(database),
            path,
            options,
            mode: mode.to_owned(),
            durability: durability.to_owned(),
            is_closed: AtomicBool::new(false),
            idle: Idle::default(),
        })
    }

    /// What opens it again, with the secrets of a URL.
    #[getter]
    fn _given(&self) -> &OsStr {
        self.path.as_os_str()
    }

    /// The path as given, without the secrets of a URL.
    #[getter]
    fn _shown(&self) -> &OsStr {
        self.shown.as_os_str()
    }

    /// The mode it was opened with, `"r"` or `"rw"`.
    #[getter]
    fn mode(&self) -> &str {
        &self.mode
    }

    /// When a write reaches the device: `"none"`, `"on_flush"` or `"every_put"`.
    #[getter]
    fn durability(&self) -> &str {
        &self.durability
    }

    /// Whether the handle accepts writes.
    #[getter]
    fn is_writable(&self) -> PyResult<bool> {
        Ok(self.core()?.is_writable())
    }

    /// The names of all collections, sorted.
    fn collections(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let core = self.core()?;
        released(py, || core.collections())
    }

    /// Drops a collection with all its documents.
    fn drop_collection(&self, py: Python<'_>, name: Text<'_>) -> PyResult<()> {
        let core = self.core()?;
        py.detach(|| core.drop_collection(&name)).or_raise()
    }

    /// Renames a collection.
    fn rename_collection(
        &self,
        py: Python<'_>,
        name: Text<'_>,
        new_name: Text<'_>,
    ) -> PyResult<()> {
        let core = self.core()?;
        py.detach(|| core.rename_collection(&name, &new_name)).or_raise()
    }

    /// Creates an empty database on disk; otherwise the first write does.
    fn create(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core()?;
        py.detach(|| core.create()).or_raise()
    }

    /// Makes all writes so far durable, in all collections.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core()?;
        py.detach(|| core.flush()).or_raise()
    }

    /// Flushes and closes. Closing twice is allowed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.idle.clear();
        // A handle from before a fork must be closed by the parent.
        match self.handle.existing() {
            Some(core) => py.detach(|| core.close()).or_raise(),
            None => Ok(()),
        }
    }

    /// Runs SQL statements and returns the result of the last one.
    #[pyo3(signature = (text, params=None, timeout=None, memory_limit=None))]
    fn _sql(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        params: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        memory_limit: Option<MemoryLimit>,
    ) -> PyResult<Answer> {
        let limits = Limits::new(timeout, memory_limit)?;
        self.idle.sql(py, self.core()?, (&text, limits), params)
    }

    /// Runs a script of ZiQL and returns the result of its last statement.
    #[pyo3(signature = (text, params=None))]
    fn _ziql(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        self.idle.ziql(py, self.core()?, &text, params)
    }

    /// At most `count` parts of a collection or a table for other processes.
    fn _partitions(
        &self,
        py: Python<'_>,
        relation: Text<'_>,
        count: Count,
        read: (Option<Vec<String>>, Option<String>),
        between: (Option<String>, Option<String>),
    ) -> PyResult<Vec<Partition>> {
        let core = self.core()?;
        let (columns, filter) = read;
        let (since, until) = (position(between.0)?, position(between.1)?);
        let options = folio::PartitionOptions { columns, filter, since, until };
        let found = released(py, || core.partitions(&relation, count.size(), &options))?;
        Ok(found.into_iter().map(|core| Partition { core }).collect())
    }

    /// The number of partitions for so many processors that divide the work.
    fn partition_count(
        &self,
        py: Python<'_>,
        relation: Text<'_>,
        processors: Count,
    ) -> PyResult<usize> {
        let core = self.core()?;
        released(py, || core.partition_count(&relation, processors.size()))
    }

    /// Reads a partition of this database, or of a copy.
    fn read_partition(&self, py: Python<'_>, partition: &Partition) -> PyResult<Answer> {
        self.idle.read_partition(py, self.core()?, &partition.core)
    }

    /// The existing structs, as the text that declares them.
    fn schema(&self, py: Python<'_>) -> PyResult<String> {
        self.idle.schema(py, self.core()?, folio::Session::schema)
    }

    /// The changes that a schema would make, a line each.
    #[pyo3(signature = (text, *, allow_drop=false))]
    fn check_schema(&self, py: Python<'_>, text: &str, allow_drop: bool) -> PyResult<Vec<String>> {
        self.idle.schema(py, self.core()?, |session| session.check_schema(text, allow_drop))
    }

    /// Creates the structs that a schema declares. Returns the changes, a line each.
    #[pyo3(signature = (text, *, allow_drop=false))]
    fn apply_schema(&self, py: Python<'_>, text: &str, allow_drop: bool) -> PyResult<Vec<String>> {
        self.idle.schema(py, self.core()?, |session| session.apply_schema(text, allow_drop))
    }

    /// Registers the rows of an Arrow stream under a name for statements. Returns their number.
    fn _register(
        &self,
        py: Python<'_>,
        name: &str,
        stream: &Bound<'_, PyCapsule>,
    ) -> PyResult<u64> {
        let (core, rows) = (self.core()?, arrow::reader(stream)?);
        py.detach(|| core.register(name, rows)).or_raise()
    }

    /// Registers a function for statements; its types have the names of SQL.
    fn _create_function(
        &self,
        name: String,
        callable: Py<PyAny>,
        parameters: Vec<String>,
        returns: &str,
        is_volatile: bool,
        takes_null: bool,
    ) -> PyResult<()> {
        let traits = (is_volatile, takes_null);
        let function = scalar_function(name, callable, &parameters, returns, traits)?;
        self.core()?.create_function(function).or_raise()
    }

    /// Removes a function. Returns whether it existed.
    fn drop_function(&self, name: &str) -> PyResult<bool> {
        self.core()?.drop_function(name).or_raise()
    }

    /// Removes the rows registered under a name. Returns whether there were any.
    fn unregister(&self, name: &str) -> PyResult<bool> {
        self.core()?.unregister(name).or_raise()
    }

    /// Copies the whole database to a directory that does not exist yet, while writers continue.
    #[pyo3(signature = (target, *, progress=None))]
    fn backup(
        &self,
        py: Python<'_>,
        target: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<BackupReport> {
        let core = self.core()?;
        let report = Reporter::new(progress).run(py, |step| core.backup(&target, step))?;
        Ok(report.into())
    }

    /// Imports the tables of an SQLite file as tables, in one transaction: all tables and views,
    /// or those in `tables`. The report lists what was left out or became another type.
    #[pyo3(signature = (path, *, tables=None, progress=None))]
    fn import_sqlite(
        &self,
        py: Python<'_>,
        path: PathBuf,
        tables: Option<Vec<String>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<SqliteReport> {
        let core = self.core()?;
        let options = SqliteOptions { tables: tables.unwrap_or_default() };
        let report = Reporter::new(progress)
            .run(py, |step| folio::sqlite::import(core, &path, &options, step))?;
        Ok(report.into())
    }

    /// Packs the live documents of all collections into one `.zds` archive: a file, or a URL in a
    /// bucket (`s3://`, `gs://`, `az://`).
    #[pyo3(signature = (target, *, compress=false, progress=None))]
    fn pack(
        &self,
        py: Python<'_>,
        target: PathBuf,
        compress: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PackReport> {
        let core = self.core()?;
        let options = PackOptions { compress };
        let report = Reporter::new(progress).run(py, |step| core.pack(&target, &options, step))?;
        Ok(report.into())
    }

    /// The notices of opening, a sentence each.
    fn take_notices(&self) -> PyResult<Vec<String>> {
        Ok(self.core()?.take_notices().into_iter().map(|notice| notice.0).collect())
    }
}

impl Database {
    /// This process's database; a forked child opens its own.
    #[inline]
    pub(crate) fn core(&self) -> PyResult<&folio::Database> {
        self.handle.get(|| {
            if self.is_closed.load(Ordering::Acquire) {
                let path = &self.shown;
                let text = format!("database {path:?} was closed; open it again");
                return Err(with_code(ErrorCode::Closed, text));
            }
            folio::Database::open_with(&self.path, &self.options).or_raise()
        })
    }
}

impl Database {
    /// The absolute path when it was opened, to distinguish databases.
    pub(crate) fn absolute_path(&self) -> PathBuf {
        // A URL is absolute.
        match self.path.to_str().is_some_and(|path| path.contains("://")) {
            true => self.path.clone(),
            false => std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()),
        }
    }
}

/// Unpacks a `.zds` archive into a database directory, which must be missing or empty.
#[pyfunction]
#[pyo3(signature = (archive, target, *, progress=None))]
pub(crate) fn unpack(
    py: Python<'_>,
    archive: PathBuf,
    target: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<UnpackReport> {
    let report =
        Reporter::new(progress).run(py, |step| folio::Database::unpack(&archive, &target, step))?;
    Ok(report.into())
}

/// Makes all writes so far durable, in all databases that this process has open.
#[pyfunction]
#[pyo3(name = "_flush_all")]
pub(crate) fn flush_all(py: Python<'_>) -> PyResult<()> {
    let notices = py.detach(folio::flush_all).or_raise()?;
    for notice in notices {
        let warning = py.import("foliodb.errors")?.getattr("FolioWarning")?;
        PyErr::warn(py, &warning, &CString::new(notice.0)?, 1)?;
    }
    Ok(())
}

fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        invalid(format!("{name} {value} is no number of seconds that can pass; use 0 or more"))
    })
}

fn access_of(mode: &str) -> PyResult<Access> {
    match mode {
        "r" => Ok(Access::Read),
        "rw" => Ok(Access::ReadWrite),
        _ => Err(invalid(format!("mode {mode:?} is unknown; use \"r\" or \"rw\""))),
    }
}

fn durability_of(name: &str) -> PyResult<Durability> {
    match name {
        "none" => Ok(Durability::None),
        "on_flush" => Ok(Durability::OnFlush),
        "every_put" => Ok(Durability::EveryPut),
        _ => Err(invalid(format!(
            "durability {name:?} is unknown; use \"none\", \"on_flush\" or \"every_put\""
        ))),
    }
}
