//! The Python class of a running studio.

use std::sync::{Mutex, PoisonError};

use folio_studio::{Limits, Listen, Studio as Core};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::database::Database;
use crate::error::OrRaise;
use crate::fork::Owned;

/// Pages that show a database in the browser, served by threads of this process until `close`.
#[pyclass(frozen, module = "foliodb._foliodb")]
pub(crate) struct Studio {
    url: String,
    running: Owned<Mutex<Option<(Core, folio::Database)>>>,
}

#[pymethods]
impl Studio {
    #[new]
    #[pyo3(signature = (database, *, port=0, write=false))]
    fn new(py: Python<'_>, database: &Database, port: u16, write: bool) -> PyResult<Self> {
        let core = database.core()?;
        let opened = py.detach(|| {
            if core.is_writable() {
                core.flush()?; // what a handle that only reads is to see
            }
            if write { Ok(core.clone()) } else { core.read_only() }
        });
        let opened = opened.or_raise()?;
        let started =
            py.detach(|| Core::start(opened.clone(), Listen::local(port), Limits::default()));
        let studio = started.map_err(|error| PyOSError::new_err(error.to_string()))?;
        let url = studio.url().to_owned();
        // The handle that writes is the caller's to close.
        let running = Owned::new(Mutex::new(Some((studio, opened))));
        Ok(Self { url, running })
    }

    /// The address of the pages. Whoever has it can read the database.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Whether it has ended, here or by the button of a page.
    #[getter]
    fn is_closed(&self) -> bool {
        self.running.get().is_none_or(|running| {
            let running = running.lock().unwrap_or_else(PoisonError::into_inner);
            running.as_ref().is_none_or(|(studio, _)| studio.is_ended())
        })
    }

    /// Ends it. The database stays open.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(running) = self.running.get() else { return Ok(()) };
        let taken = running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((studio, database)) = taken else { return Ok(()) };
        py.detach(|| {
            drop(studio);
            if database.is_writable() { Ok(()) } else { database.close() }
        })
        .or_raise()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        match self.is_closed() {
            true => "<studio, ended>".to_owned(),
            false => format!("<studio at {}>", self.url),
        }
    }

    /// A link, for notebooks.
    fn _repr_html_(&self) -> String {
        match self.is_closed() {
            true => "<p>The studio has ended.</p>".to_owned(),
            false => {
                let url = &self.url;
                format!(
                    "<p><a href=\"{url}\" target=\"_blank\" rel=\"noopener\">Open the studio</a></p>"
                )
            }
        }
    }
}
