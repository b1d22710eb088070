//! Sessions: those that users hold, and the idle ones that `db.sql` uses in turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use folio::{ErrorCode, Interrupt, Parameters};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::answer::{Answer, Form};
use super::parameter::{by_name, parameters};
use super::prepared::Prepared;
use crate::batch::check_statement;
use crate::database::Database;
use crate::error::{OrRaise, invalid, with_code};
use crate::fork::Owned;
use crate::id::Text;
use crate::watcher::Watcher;

/// The maximum number of idle sessions of a database.
const IDLE_MAX: usize = 8;

/// What a statement may use.
#[derive(Clone, Copy, Default)]
pub(crate) struct Limits {
    timeout: Option<Duration>,
    memory: Option<usize>,
}

impl Limits {
    /// Limits as Python gives them: seconds, and bytes.
    pub(crate) fn new(timeout: Option<f64>, memory_limit: Option<MemoryLimit>) -> PyResult<Self> {
        let time = |seconds: f64| {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.ok_or_else(|| {
                invalid(format!(
                    "timeout {seconds} is no number of seconds that can pass: it is greater than 0, \
                     and None for no limit"
                ))
            })
        };
        let memory = memory_limit.map(|limit| limit.0);
        Ok(Self { timeout: timeout.map(time).transpose()?, memory })
    }

    fn set(self, session: &mut folio::Session) {
        session.set_timeout(self.timeout);
        session.set_memory_limit(self.memory);
    }
}

/// The most memory of a statement, in bytes.
pub(crate) struct MemoryLimit(usize);

impl<'py> FromPyObject<'_, 'py> for MemoryLimit {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<usize>() {
            Ok(size) if size > 0 => return Ok(Self(size)),
            Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => {
                return Err(error);
            }
            _ => {}
        }
        Err(invalid(format!(
            "memory_limit {} is no number of bytes: it is from 1 to 2^64 - 1, and None for no limit",
            &*value
        )))
    }
}

/// A session of the facade, and the watcher for signals.
pub(crate) struct Core {
    session: folio::Session,
    watcher: Arc<Watcher>,
}

impl Core {
    pub(crate) fn begin(database: &folio::Database) -> PyResult<Self> {
        let (mut session, watcher) = (database.session().or_raise()?, Watcher::new());
        session.set_watch(Some(watcher.watch()));
        Ok(Self { session, watcher })
    }

    fn sql(&mut self, py: Python<'_>, text: &str, given: &Parameters) -> PyResult<Answer> {
        let Self { session, watcher } = self;
        let answer = watcher.run(py, || session.sql(text, given))?;
        Ok(Answer::new(answer, Form::Tuple, Arc::clone(watcher)))
    }

    fn sql_alone(&mut self, py: Python<'_>, text: &str, given: &Parameters) -> PyResult<Answer> {
        let Self { session, watcher } = self;
        let answer = watcher.run(py, || session.sql_alone(text, given))?;
        Ok(Answer::new(answer, Form::Tuple, Arc::clone(watcher)))
    }

    fn read_partition(&mut self, py: Python<'_>, partition: &folio::Partition) -> PyResult<Answer> {
        let Self { session, watcher } = self;
        let rows = watcher.run(py, || session.read_partition(partition))?;
        let answer = folio::Answer { count: None, rows: Some(rows) };
        Ok(Answer::new(answer, Form::Tuple, Arc::clone(watcher)))
    }

    fn ziql(&mut self, py: Python<'_>, text: &str, given: &Parameters) -> PyResult<Answer> {
        let Self { session, watcher } = self;
        let rows = watcher.run(py, || session.ziql(text, &given.by_name()))?;
        let answer = folio::Answer { count: None, rows: Some(rows) };
        Ok(Answer::new(answer, Form::Dict, Arc::clone(watcher)))
    }
}

/// Runs statements one after the other, with its own transaction.
#[pyclass(subclass, frozen, module = "foliodb._foliodb")]
pub(crate) struct Session {
    core: Mutex<Option<Owned<Core>>>,
    interrupt: Interrupt,
}

impl Session {
    /// Works with the session. Other threads that need it wait, without the interpreter's lock.
    pub(super) fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut folio::Session, &Arc<Watcher>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.with_core(py, |core| work(&mut core.session, &core.watcher))
    }

    fn with_core<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Core) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut core = match self.core.try_lock() {
            Ok(core) => core,
            Err(_) => self.wait(py),
        };
        let Some(owned) = core.as_mut() else {
            return Err(with_code(ErrorCode::Closed, "the session was closed; open another"));
        };
        let Some(core) = owned.get_mut() else {
            let text = "the session was opened before the fork; open another";
            return Err(with_code(ErrorCode::Closed, text));
        };
        work(core)
    }

    /// Waits for the thread that uses the session.
    fn wait(&self, py: Python<'_>) -> MutexGuard<'_, Option<Owned<Core>>> {
        // The guard must not leave the closure, so it is taken again outside. If another thread
        // takes it in between, wait again.
        loop {
            py.detach(|| drop(self.core.lock().unwrap_or_else(PoisonError::into_inner)));
            match self.core.try_lock() {
                Ok(core) => return core,
                Err(std::sync::TryLockError::Poisoned(core)) => return core.into_inner(),
                Err(std::sync::TryLockError::WouldBlock) => {}
            }
        }
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (database, *, autocommit=true, timeout=None, memory_limit=None))]
    fn new(
        database: &Database,
        autocommit: bool,
        timeout: Option<f64>,
        memory_limit: Option<MemoryLimit>,
    ) -> PyResult<Self> {
        let limits = Limits::new(timeout, memory_limit)?;
        let mut core = Core::begin(database.core()?)?;
        core.session.set_autocommit(autocommit);
        limits.set(&mut core.session);
        let interrupt = core.session.interrupt();
        Ok(Self { core: Mutex::new(Some(Owned::new(core))), interrupt })
    }

    /// Runs SQL statements and returns the result of the last one.
    #[pyo3(signature = (text, params=None))]
    fn sql(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        check_statement(&text)?;
        let given = parameters(params)?;
        self.with_core(py, |core| core.sql(py, &text, &given))
    }

    /// Like `sql`, but a transaction must end in the text that begins it.
    #[pyo3(signature = (text, params=None))]
    fn _sql_alone(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        check_statement(&text)?;
        let given = parameters(params)?;
        self.with_core(py, |core| core.sql_alone(py, &text, &given))
    }

    /// Runs a script of ZiQL and returns the result of its last statement.
    #[pyo3(signature = (text, params=None))]
    fn _ziql(
        &self,
        py: Python<'_>,
        text: Text<'_>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        let given = by_name(params, '$')?;
        self.with_core(py, |core| core.ziql(py, &text, &given))
    }

    /// Prepares a statement, to run it any number of times.
    #[pyo3(name = "_prepare")]
    fn prepare(slf: Py<Self>, py: Python<'_>, text: Text<'_>) -> PyResult<Prepared> {
        let prepared = slf.get().with(py, |session, _| session.prepare(&text).or_raise())?;
        Ok(Prepared::new(slf, prepared))
    }

    /// The existing structs, as the text that declares them.
    fn schema(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session, watcher| watcher.run(py, || session.schema()))
    }

    /// The changes that a schema would make, a line each.
    #[pyo3(signature = (text, *, allow_drop=false))]
    fn check_schema(&self, py: Python<'_>, text: &str, allow_drop: bool) -> PyResult<Vec<String>> {
        self.with(py, |session, watcher| watcher.run(py, || session.check_schema(text, allow_drop)))
    }

    /// Creates the structs that a schema declares. Returns the changes, a line each.
    #[pyo3(signature = (text, *, allow_drop=false))]
    fn apply_schema(&self, py: Python<'_>, text: &str, allow_drop: bool) -> PyResult<Vec<String>> {
        self.with(py, |session, watcher| watcher.run(py, || session.apply_schema(text, allow_drop)))
    }

    /// Cancels the statement that runs in another thread.
    fn interrupt(&self) {
        self.interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Whether a transaction is open.
    #[getter]
    fn is_in_transaction(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session, _| Ok(session.is_in_transaction()))
    }

    /// Whether each statement that changes tables is its own transaction, outside of an open one.
    /// Otherwise the first one begins a transaction, which lasts until COMMIT or ROLLBACK.
    #[setter]
    fn set_autocommit(&self, py: Python<'_>, autocommit: bool) -> PyResult<()> {
        self.with(py, |session, _| {
            session.set_autocommit(autocommit);
            Ok(())
        })
    }

    #[getter]
    fn get_autocommit(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |session, _| Ok(session.autocommit()))
    }

    /// Ends the session and rolls back its transaction. Closing twice is allowed.
    fn close(&self, py: Python<'_>) {
        let core = match self.core.try_lock() {
            Ok(mut core) => core.take(),
            Err(_) => self.wait(py).take(),
        };
        py.detach(|| drop(core));
    }
}

/// Sessions without a transaction, for statements that need no lasting session.
#[derive(Default)]
pub(crate) struct Idle(Mutex<Vec<Owned<Core>>>);

impl Idle {
    /// Runs work in an idle session, or in a new one.
    fn with<T>(
        &self,
        database: &folio::Database,
        work: impl FnOnce(&mut Core) -> PyResult<T>,
    ) -> PyResult<T> {
        let found = self.lock().pop().and_then(Owned::into_inner);
        let mut core = match found {
            Some(core) => core,
            None => Core::begin(database)?,
        };
        let result = work(&mut core);
        let mut idle = self.lock();
        if idle.len() < IDLE_MAX {
            idle.push(Owned::new(core));
        }
        result
    }

    pub(crate) fn sql(
        &self,
        py: Python<'_>,
        database: &folio::Database,
        (text, limits): (&str, Limits),
        params: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        check_statement(text)?;
        let given = parameters(params)?;
        self.with(database, |core| {
            limits.set(&mut core.session);
            let answer = core.sql_alone(py, text, &given);
            Limits::default().set(&mut core.session);
            answer
        })
    }

    pub(crate) fn ziql(
        &self,
        py: Python<'_>,
        database: &folio::Database,
        text: &str,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        let given = by_name(params, '$')?;
        self.with(database, |core| core.ziql(py, text, &given))
    }

    pub(crate) fn read_partition(
        &self,
        py: Python<'_>,
        database: &folio::Database,
        partition: &folio::Partition,
    ) -> PyResult<Answer> {
        self.with(database, |core| core.read_partition(py, partition))
    }

    /// Work on schemas.
    pub(crate) fn schema<T: Send>(
        &self,
        py: Python<'_>,
        database: &folio::Database,
        work: impl FnOnce(&mut folio::Session) -> folio::Result<T> + Send,
    ) -> PyResult<T> {
        self.with(database, |Core { session, watcher }| watcher.run(py, || work(session)))
    }

    /// Drops all sessions.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Owned<Core>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
