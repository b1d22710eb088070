//! The options of a scan, converted for the facade.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::decode::Decoder;

/// The form of the returned documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Dict,
    Lazy,
    Raw,
}

/// The options of a scan.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) fields: Vec<String>,
    pub(crate) limit: Option<u64>,
    pub(crate) condition: Option<String>,
    /// Values for the parameters of the condition.
    pub(crate) parameters: folio::Parameters,
    pub(crate) filter: Option<Arc<Py<PyAny>>>,
    pub(crate) decimal: bool,
    pub(crate) form: Form,
}

/// The exception raised by a Python predicate during a scan.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn lock(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, error: PyErr) {
        *self.lock() = Some(error);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.lock().is_some()
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.lock().take()
    }
}

/// Begins the scan.
pub(crate) fn open(
    collection: &folio::Collection,
    request: &Request,
    raised: &Raised,
) -> folio::Result<folio::Documents> {
    let scan = scan_of(request, raised);
    match &request.condition {
        Some(condition) => collection.scan_where(condition, &request.parameters, scan),
        None => collection.scan(scan),
    }
}

/// The scan in parts, for as many threads; `None` if one thread must do it: parts cannot share a
/// limit, and a Python predicate runs on one thread.
pub(crate) fn open_parts(
    collection: &folio::Collection,
    request: &Request,
    count: usize,
) -> folio::Result<Option<Vec<folio::Documents>>> {
    if request.limit.is_some() || request.filter.is_some() || request.condition.is_some() {
        return Ok(None);
    }
    collection.scan_parts(&scan_of(request, &Raised::default()), count).map(Some)
}

/// Converts the options for the facade.
fn scan_of(request: &Request, raised: &Raised) -> folio::Scan {
    let mut scan = folio::Scan::new().fields(request.fields.iter().cloned());
    if let Some(limit) = request.limit {
        scan = scan.limit(limit);
    }
    if let Some(filter) = &request.filter {
        scan = scan.filter(accept(Arc::clone(filter), raised.clone()));
    }
    scan
}

/// Converts a Python predicate for the facade. If it raises, the exception is stored and the
/// document accepted, so that the scan returns at once.
fn accept(
    filter: Arc<Py<PyAny>>,
    raised: Raised,
) -> impl Fn(&folio::Document) -> bool + Send + Sync {
    let decoder = Mutex::new(Decoder::new(None));
    move |document| {
        let answer = Python::attach(|py| {
            let value = match decoder.try_lock() {
                Ok(mut decoder) => decoder.document(py, document.raw().as_bytes())?,
                Err(_) => Decoder::new(None).document(py, document.raw().as_bytes())?,
            };
            filter.bind(py).call1((value,))?.is_truthy()
        });
        answer.unwrap_or_else(|error| {
            raised.set(error);
            true
        })
    }
}
