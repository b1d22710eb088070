//! Ctrl-C while a statement runs, and while a call waits for another machine.
//!
//! The interpreter records a signal and runs its handler on the main thread, after the engine has
//! returned. So the engine calls this module at each batch, and who waits for a server meanwhile. Now
//! and then the interpreter is checked, and an exception of the handler ends the statement, or the
//! wait.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use folio::{WaitEnd, WaitScope, Watch};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::to_python;

/// Milliseconds between two checks.
const INTERVAL_MS: u64 = 50;

/// Runs the interpreter's handlers for pending signals.
fn check_signals() -> PyResult<()> {
    // `Python::attach` takes a thread to be attached that called into Python and came back
    // from there. A consumer of Arrow streams comes back without the interpreter's lock.
    // SAFETY: the interpreter is there as long as its module; this takes its lock whatever
    // the thread holds, and gives it back as it was.
    unsafe {
        let state = ffi::PyGILState_Ensure();
        let checked = Python::assume_attached().check_signals();
        ffi::PyGILState_Release(state);
        checked
    }
}

thread_local! {
    /// Of the calls of this thread that are no statements.
    static CALLS: (Arc<Watcher>, WaitEnd) = {
        let watcher = Watcher::new();
        let end = watcher.watch();
        (watcher, end)
    };
}

/// Runs work without the interpreter's lock. An exception of a signal's handler ends its waits for
/// other machines.
pub(crate) fn released<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> folio::Result<T> + Send,
) -> PyResult<T> {
    let (watcher, end) = CALLS.with(Clone::clone);
    watcher.run(py, move || {
        let _waits = WaitScope::begin(Some(end));
        work()
    })
}

/// Checks for signals on behalf of one session and its results, or of one thread.
pub(crate) struct Watcher {
    began: Instant,
    looked_ms: AtomicU64,
    raised: Mutex<Option<PyErr>>,
    has_raised: AtomicBool,
    /// Runs under way, one within the other.
    depth: AtomicUsize,
}

impl Watcher {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            looked_ms: AtomicU64::new(0),
            raised: Mutex::default(),
            has_raised: AtomicBool::new(false),
            depth: AtomicUsize::new(0),
        })
    }

    /// The callback for the engine.
    pub(crate) fn watch(self: &Arc<Self>) -> Watch {
        let watcher = Arc::clone(self);
        Arc::new(move || watcher.is_to_end())
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_to_end(&self) -> bool {
        let now = self.now_ms();
        if now.saturating_sub(self.looked_ms.load(Ordering::Relaxed)) < INTERVAL_MS {
            // Whoever goes on after the end that a signal was is told again.
            return self.has_raised.load(Ordering::Relaxed);
        }
        self.looked_ms.store(now, Ordering::Relaxed);
        if let Err(error) = check_signals() {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.has_raised.store(true, Ordering::Relaxed);
        }
        self.has_raised.load(Ordering::Relaxed)
    }

    /// Runs work of the engine without the interpreter's lock. An exception of a signal's handler
    /// takes precedence over the `cancelled` that it causes.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> folio::Result<T> + Send,
    ) -> PyResult<T> {
        // A run within another, as of a callback, raises what ends the outer one.
        if self.depth.fetch_add(1, Ordering::Relaxed) == 0 {
            self.has_raised.store(false, Ordering::Relaxed);
        }
        // Short work needs no check.
        self.looked_ms.store(self.now_ms(), Ordering::Relaxed);
        let result = py.detach(work);
        self.depth.fetch_sub(1, Ordering::Relaxed);
        if self.has_raised.swap(false, Ordering::Relaxed)
            && let Some(error) = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            return Err(error);
        }
        result.map_err(|error| to_python(&error))
    }
}
