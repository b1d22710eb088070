//! Sessions: SQL and ZiQL, synchronously or on another thread.
//!
//! A session is protected by a lock, because a promise may still be using it when the next call
//! comes, which then waits. `lib/session.js` says what is refused instead.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use folio::{Error, Interrupt, Many, Partition, Prepared, Result, Session};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::answer::NativeAnswer;
use crate::error::thrown;
use crate::function::lock;
use crate::parameter::parameters;
use crate::task::{Work, promise_write};

/// A session of the facade.
#[napi]
pub struct NativeSession {
    session: Arc<Mutex<Session>>,
    interrupt: Interrupt,
}

impl NativeSession {
    pub(crate) fn new(session: Session) -> Self {
        let interrupt = session.interrupt();
        Self { session: Arc::new(Mutex::new(session)), interrupt }
    }
}

#[napi]
impl NativeSession {
    /// Runs SQL. `alone`: a transaction must not outlive the text.
    #[napi]
    pub fn sql(
        &self,
        text: String,
        parameters: Option<String>,
        alone: bool,
    ) -> napi::Result<NativeAnswer> {
        run_sql(&self.session, &text, parameters.as_deref(), alone).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn sql_async(
        &self,
        text: String,
        parameters: Option<String>,
        alone: bool,
    ) -> AsyncTask<Work<NativeAnswer>> {
        let session = Arc::clone(&self.session);
        promise_write("", move || run_sql(&session, &text, parameters.as_deref(), alone))
    }

    /// Runs ZiQL.
    #[napi]
    pub fn ziql(&self, text: String, parameters: Option<String>) -> napi::Result<NativeAnswer> {
        run_ziql(&self.session, &text, parameters.as_deref()).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn ziql_async(
        &self,
        text: String,
        parameters: Option<String>,
    ) -> AsyncTask<Work<NativeAnswer>> {
        let session = Arc::clone(&self.session);
        promise_write("", move || run_ziql(&session, &text, parameters.as_deref()))
    }

    /// Reads a part that was planned, given as its text.
    #[napi]
    pub fn read_partition(&self, text: String) -> napi::Result<NativeAnswer> {
        read_partition(&self.session, &text).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn read_partition_async(&self, text: String) -> AsyncTask<Work<NativeAnswer>> {
        let session = Arc::clone(&self.session);
        promise_write("", move || read_partition(&session, &text))
    }

    /// Makes a statement ready to run.
    #[napi]
    pub fn prepare(&self, text: String) -> napi::Result<NativePrepared> {
        let prepared =
            lock(&self.session).and_then(|mut session| session.prepare(&text)).map_err(thrown)?;
        let (session, prepared) = (Arc::clone(&self.session), Arc::new(Mutex::new(prepared)));
        Ok(NativePrepared { session, prepared })
    }

    /// Whether a transaction is open.
    #[napi]
    pub fn is_in_transaction(&self) -> napi::Result<bool> {
        lock(&self.session).map(|session| session.is_in_transaction()).map_err(thrown)
    }

    /// Ends the statement under way on another thread.
    #[napi]
    pub fn interrupt(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }
}

/// A statement ready to run.
#[napi]
pub struct NativePrepared {
    session: Arc<Mutex<Session>>,
    prepared: Arc<Mutex<Prepared>>,
}

#[napi]
impl NativePrepared {
    /// Runs it.
    #[napi]
    pub fn execute(&self, parameters: Option<String>) -> napi::Result<NativeAnswer> {
        execute(&self.session, &self.prepared, parameters.as_deref()).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn execute_async(&self, parameters: Option<String>) -> AsyncTask<Work<NativeAnswer>> {
        let (session, prepared) = (Arc::clone(&self.session), Arc::clone(&self.prepared));
        promise_write("", move || execute(&session, &prepared, parameters.as_deref()))
    }

    /// Runs for many sets of parameters.
    #[napi]
    pub fn many(&self) -> NativeMany {
        let (session, prepared) = (Arc::clone(&self.session), Arc::clone(&self.prepared));
        NativeMany { session, prepared, many: Many::default(), number: 0 }
    }
}

/// A statement that is run for many sets of parameters, as a whole.
#[napi]
pub struct NativeMany {
    session: Arc<Mutex<Session>>,
    prepared: Arc<Mutex<Prepared>>,
    many: Many,
    number: u64,
}

#[napi]
impl NativeMany {
    /// Runs it for the next.
    #[napi]
    pub fn run(&mut self, given: Option<String>) -> napi::Result<()> {
        self.number += 1;
        let number = self.number;
        let in_element =
            |cause| Error::InElement { number, is_kept: false, cause: Box::new(cause) };
        let given = parameters(given.as_deref(), ':').map_err(in_element).map_err(thrown)?;
        let mut session = lock(&self.session).map_err(thrown)?;
        let mut prepared = lock(&self.prepared).map_err(thrown)?;
        self.many.run(&mut session, &mut prepared, &given).map_err(thrown)
    }

    /// Keeps what has changed, or takes it back; the number of changed rows.
    #[napi]
    #[allow(clippy::cast_precision_loss)] // fewer rows than 2^53
    pub fn end(&mut self, keep: bool) -> napi::Result<f64> {
        let many = std::mem::take(&mut self.many);
        let ended = lock(&self.session).and_then(|mut session| many.end(&mut session, keep));
        ended.map(|count| count as f64).map_err(thrown)
    }
}

fn run_sql(
    session: &Mutex<Session>,
    text: &str,
    given: Option<&str>,
    alone: bool,
) -> Result<NativeAnswer> {
    let (given, mut session) = (parameters(given, ':')?, lock(session)?);
    let answer = match alone {
        true => session.sql_alone(text, &given)?,
        false => session.sql(text, &given)?,
    };
    Ok(NativeAnswer::new(answer))
}

fn run_ziql(session: &Mutex<Session>, text: &str, given: Option<&str>) -> Result<NativeAnswer> {
    let given = parameters(given, '$')?;
    let rows = lock(session)?.ziql(text, &given.by_name())?;
    Ok(NativeAnswer::new(folio::Answer { count: None, rows: Some(rows) }))
}

fn read_partition(session: &Mutex<Session>, text: &str) -> Result<NativeAnswer> {
    let rows = lock(session)?.read_partition(&text.parse::<Partition>()?)?;
    Ok(NativeAnswer::new(folio::Answer { count: None, rows: Some(rows) }))
}

fn execute(
    session: &Mutex<Session>,
    prepared: &Mutex<Prepared>,
    given: Option<&str>,
) -> Result<NativeAnswer> {
    let (given, mut session) = (parameters(given, ':')?, lock(session)?);
    let answer = session.sql_prepared(&mut *lock(prepared)?, &given)?;
    Ok(NativeAnswer::new(answer))
}
