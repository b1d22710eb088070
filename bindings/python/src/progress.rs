//! Reports progress of long work to Python, and handles Ctrl-C.

use std::time::{Duration, Instant};

use folio::ErrorCode;
use pyo3::prelude::*;

use crate::error::with_code;
use crate::watcher::released;

/// The minimum time between checks for signals and calls of Python.
const INTERVAL: Duration = Duration::from_millis(50);

/// Passes progress to a Python callable and stores its exception.
pub(crate) struct Reporter {
    callable: Option<Py<PyAny>>,
    reported: Instant,
    raised: Option<PyErr>,
}

impl Reporter {
    pub(crate) fn new(callable: Option<Py<PyAny>>) -> Self {
        Self { callable, reported: Instant::now(), raised: None }
    }

    /// Reports a step; `false` stops the work. The last step is always reported.
    pub(crate) fn step(&mut self, done: u64, total: u64) -> bool {
        let is_last = done >= total && total > 0;
        if !is_last && self.reported.elapsed() < INTERVAL {
            return true;
        }
        self.reported = Instant::now();
        let answer = Python::attach(|py| {
            py.check_signals()?;
            match &self.callable {
                Some(callable) => callable.call1(py, (done, total)).map(drop),
                None => Ok(()),
            }
        });
        match answer {
            Ok(()) => true,
            Err(error) => {
                self.raised = Some(error);
                false
            }
        }
    }

    /// Like [`Reporter::step`], with an error if the work must stop.
    pub(crate) fn check(&mut self, done: u64, total: u64) -> PyResult<()> {
        if self.step(done, total) {
            return Ok(());
        }
        Err(self.raised.take().unwrap_or_else(|| with_code(ErrorCode::Cancelled, "cancelled")))
    }

    /// Runs work without the interpreter's lock. An exception of the callable, or a
    /// `KeyboardInterrupt`, takes precedence over the `cancelled` that it causes.
    pub(crate) fn run<T: Send>(
        mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut (dyn FnMut(u64, u64) -> bool + Send)) -> folio::Result<T> + Send,
    ) -> PyResult<T> {
        let result = released(py, || work(&mut |done, total| self.step(done, total)));
        self.raised.map_or(result, Err)
    }
}
