//! Prepared statements.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;

use super::answer::{Answer, Form};
use super::parameter::parameters;
use super::session::Session;
use crate::batch::check_statement;
use crate::error::{invalid, is_invalid};
use crate::watcher::Watcher;

/// A prepared statement of a session.
#[pyclass(frozen, module = "foliodb._foliodb")]
pub(crate) struct Prepared {
    session: Py<Session>,
    text: String,
    prepared: Mutex<folio::Prepared>,
}

impl Prepared {
    pub(super) fn new(session: Py<Session>, prepared: folio::Prepared) -> Self {
        Self { session, text: prepared.text().to_owned(), prepared: Mutex::new(prepared) }
    }

    /// Works with the session and the statement, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut folio::Session, &mut folio::Prepared) -> folio::Result<T> + Send,
    ) -> PyResult<(T, Arc<Watcher>)> {
        self.session.get().with(py, |session, watcher| {
            let prepared = &self.prepared;
            // The thread has the session now, and with it the statement.
            let done = watcher.run(py, || {
                let mut prepared = prepared.lock().unwrap_or_else(|lock| lock.into_inner());
                work(session, &mut prepared)
            })?;
            Ok((done, Arc::clone(watcher)))
        })
    }
}

#[pymethods]
impl Prepared {
    /// The text of the statement.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Runs the statement.
    #[pyo3(signature = (params=None))]
    fn execute(&self, py: Python<'_>, params: Option<&Bound<'_, PyAny>>) -> PyResult<Answer> {
        let given = parameters(params)?;
        check_statement(&self.text)?;
        let (answer, watcher) =
            self.with(py, |session, prepared| session.sql_prepared(prepared, &given))?;
        Ok(Answer::new(answer, Form::Tuple, watcher))
    }

    /// Runs the statement once for each element, in one transaction: if it fails for one, nothing
    /// has changed. A statement that changes a collection takes effect with each element. Returns
    /// the total number of changed rows.
    fn execute_many(&self, py: Python<'_>, params: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut many = folio::Many::default();
        // The session is free while an element is made, which may need it.
        let ran = params.try_iter()?.zip(1u64..).try_for_each(|(element, number)| {
            let given =
                parameters(Some(&element?)).map_err(|error| in_element(py, number, error))?;
            check_statement(&self.text)?;
            self.with(py, |session, prepared| many.run(session, prepared, &given)).map(drop)
        });
        let ended = self.with(py, |session, _| many.end(session, ran.is_ok()));
        ran.and(ended.map(|(count, _)| count))
    }

    fn __repr__(&self) -> String {
        format!("Prepared({:?})", self.text)
    }
}

/// A caller's error about the parameters of one of many elements names it.
fn in_element(py: Python<'_>, number: u64, error: PyErr) -> PyErr {
    match is_invalid(py, &error) {
        true => invalid(format!("element {number}: {}", error.value(py))),
        false => error,
    }
}
