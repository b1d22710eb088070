//! Sessions: SQL and ZiQL, synchronously or on another thread.
//!
//! A session is protected by a lock, because a promise may still be using it when the next call
//! comes, which then waits. `lib/session.js` says what is refused instead.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use folio::{Error, Interrupt, Many, Parameters, Partition, Prepared, Result, Session};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::answer::NativeAnswer;
use crate::error::thrown;
use crate::function::lock;
use crate::parameter::{Given, parameters};
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
    /// Runs SQL. `alone`: a transaction must not outlive the text. After waiting so long for a
    /// transaction that writes, it fails with `busy`.
    #[napi]
    pub fn sql(
        &self,
        text: String,
        given: Option<Given>,
        alone: bool,
        wait_ms: Option<u32>,
    ) -> napi::Result<NativeAnswer> {
        let given = parameters(given, ':');
        waiting(&self.session, until(wait_ms))
            .and_then(|session| run_sql(session, &text, given, alone))
            .map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn sql_async(
        &self,
        text: String,
        given: Option<Given>,
        alone: bool,
        wait_ms: Option<u32>,
    ) -> AsyncTask<Work<NativeAnswer>> {
        let (session, given) = (Arc::clone(&self.session), parameters(given, ':'));
        let until = until(wait_ms);
        promise_write("", move || run_sql(waiting(&session, until)?, &text, given, alone))
    }

    /// Runs ZiQL.
    #[napi]
    pub fn ziql(
        &self,
        text: String,
        given: Option<Given>,
        wait_ms: Option<u32>,
    ) -> napi::Result<NativeAnswer> {
        let given = parameters(given, '$');
        waiting(&self.session, until(wait_ms))
            .and_then(|session| run_ziql(session, &text, given))
            .map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn ziql_async(
        &self,
        text: String,
        given: Option<Given>,
        wait_ms: Option<u32>,
    ) -> AsyncTask<Work<NativeAnswer>> {
        let (session, given) = (Arc::clone(&self.session), parameters(given, '$'));
        let until = until(wait_ms);
        promise_write("", move || run_ziql(waiting(&session, until)?, &text, given))
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

    /// Rolls the open transaction back.
    #[napi]
    pub fn close(&self) -> napi::Result<()> {
        let mut session = lock(&self.session).map_err(thrown)?;
        if session.is_in_transaction() {
            session.sql("rollback", &Parameters::default()).map_err(thrown)?;
        }
        Ok(())
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
    pub fn execute(
        &self,
        given: Option<Given>,
        wait_ms: Option<u32>,
    ) -> napi::Result<NativeAnswer> {
        let given = parameters(given, ':');
        waiting(&self.session, until(wait_ms))
            .and_then(|session| execute(session, &self.prepared, given))
            .map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn execute_async(
        &self,
        given: Option<Given>,
        wait_ms: Option<u32>,
    ) -> AsyncTask<Work<NativeAnswer>> {
        let (session, prepared) = (Arc::clone(&self.session), Arc::clone(&self.prepared));
        let (given, until) = (parameters(given, ':'), until(wait_ms));
        promise_write("", move || execute(waiting(&session, until)?, &prepared, given))
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
    pub fn run(&mut self, given: Option<Given>) -> napi::Result<()> {
        self.number += 1;
        let number = self.number;
        let in_element =
            |cause| Error::InElement { number, is_kept: false, cause: Box::new(cause) };
        let given = parameters(given, ':').map_err(in_element).map_err(thrown)?;
        let mut session = waiting(&self.session, None).map_err(thrown)?;
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

/// The end of a wait that begins with the call, not when a thread takes it up: many statements that
/// are called together hold the threads for as long as one does.
fn until(wait_ms: Option<u32>) -> Option<Instant> {
    wait_ms.map(|wait_ms| Instant::now() + Duration::from_millis(wait_ms.into()))
}

/// The session, to run a text that waits for a transaction that writes, perhaps only so long.
fn waiting(session: &Mutex<Session>, until: Option<Instant>) -> Result<MutexGuard<'_, Session>> {
    let mut session = lock(session)?;
    session.set_wait_limit(until.map(|until| until.saturating_duration_since(Instant::now())));
    Ok(session)
}

fn run_sql(
    mut session: MutexGuard<'_, Session>,
    text: &str,
    given: Result<Parameters>,
    alone: bool,
) -> Result<NativeAnswer> {
    let answer = match alone {
        true => session.sql_alone(text, &given?)?,
        false => session.sql(text, &given?)?,
    };
    Ok(NativeAnswer::new(answer))
}

fn run_ziql(
    mut session: MutexGuard<'_, Session>,
    text: &str,
    given: Result<Parameters>,
) -> Result<NativeAnswer> {
    let rows = session.ziql(text, &given?.by_name())?;
    Ok(NativeAnswer::new(folio::Answer { count: None, rows: Some(rows) }))
}

fn read_partition(session: &Mutex<Session>, text: &str) -> Result<NativeAnswer> {
    let rows = lock(session)?.read_partition(&text.parse::<Partition>()?)?;
    Ok(NativeAnswer::new(folio::Answer { count: None, rows: Some(rows) }))
}

fn execute(
    mut session: MutexGuard<'_, Session>,
    prepared: &Mutex<Prepared>,
    given: Result<Parameters>,
) -> Result<NativeAnswer> {
    let answer = session.sql_prepared(&mut *lock(prepared)?, &given?)?;
    Ok(NativeAnswer::new(answer))
}
