//! Prepared statements.

use std::sync::Mutex;

use pyo3::prelude::*;

use super::answer::{Answer, Form};
use super::parameter::parameters;
use super::session::Session;
use crate::batch::check_statement;

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

    fn run(&self, py: Python<'_>, given: &folio::Parameters) -> PyResult<Answer> {
        check_statement(&self.text)?;
        self.session.get().with(py, |session, watcher| {
            let prepared = &self.prepared;
            // The thread has the session now, and with it the statement.
            let answer = watcher.run(py, || {
                let mut prepared = prepared.lock().unwrap_or_else(|lock| lock.into_inner());
                session.sql_prepared(&mut prepared, given)
            })?;
            Ok(Answer::new(answer, Form::Tuple, std::sync::Arc::clone(watcher)))
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
        self.run(py, &given)
    }

    /// Runs the statement once for each element. Returns the total number of changed rows.
    fn execute_many(&self, py: Python<'_>, params: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut count = 0;
        for params in params.try_iter()? {
            let given = parameters(Some(&params?))?;
            count += self.run(py, &given)?.changed_count().unwrap_or(0);
        }
        Ok(count)
    }

    fn __repr__(&self) -> String {
        format!("Prepared({:?})", self.text)
    }
}
