//! A streaming scan: lines without the interpreter's lock, objects with it.
//!
//! A chunk of lines is copied out of the facade's buffer while other threads of
//! Python run; each `next` then makes one object from it. Chunks start small,
//! so that the first document comes soon, and stay small enough for the
//! processor's cache. Memory does not grow with the collection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::ErrorCode;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};

use crate::arrow;
use crate::collection::Collection;
use crate::decode::{Decoder, PausedCollector};
use crate::document::{Document, Text, text_of};
use crate::error::{OrRaise, with_code};
use crate::fork::{Owned, use_own_threads};

/// Bytes of the first chunk, and of the largest.
const FIRST_CHUNK_SIZE: usize = 4 << 10;
const CHUNK_SIZE_MAX: usize = 64 << 10;

/// What the documents come as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Dict,
    Lazy,
    Raw,
}

/// What a scan was asked for.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) fields: Vec<String>,
    pub(crate) limit: Option<u64>,
    pub(crate) condition: Option<String>,
    pub(crate) filter: Option<Arc<Py<PyAny>>>,
    pub(crate) decimal: bool,
    pub(crate) form: Form,
}

/// What a Python predicate raised in the middle of a scan.
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

/// The documents of a collection in file order: an iterator.
#[pyclass(frozen, subclass, module = "foliodb._foliodb")]
pub(crate) struct Scan {
    collection: Py<Collection>,
    request: Request,
    state: Mutex<State>,
}

struct State {
    documents: Owned<folio::Documents>,
    text: Text,
    ends: Vec<u32>,
    /// The line to come, and where it starts.
    next: usize,
    start: u32,
    chunk_size: usize,
    form: Form,
    decoder: Decoder,
    has_filter: bool,
    raised: Raised,
}

impl Scan {
    /// A new scan of a collection. Begins now: it sees the collection as it is.
    pub(crate) fn begin(
        py: Python<'_>,
        collection: Py<Collection>,
        request: Request,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let core = collection.get().core(py)?;
        let documents = py.detach(|| open(core, &request, &raised)).or_raise()?;
        let state = State {
            documents: Owned::new(documents),
            text: Text::default(),
            ends: Vec::new(),
            next: 0,
            start: 0,
            chunk_size: FIRST_CHUNK_SIZE,
            form: request.form,
            decoder: Decoder::new(decimal_class(py, request.decimal)?),
            has_filter: request.filter.is_some(),
            raised,
        };
        Ok(Self { collection, request, state: Mutex::new(state) })
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.try_lock().map_err(|_| {
            PyValueError::new_err("the scan is in use by another thread; give each thread its own")
        })
    }
}

/// Begins what a request asks for.
pub(crate) fn open(
    collection: &folio::Collection,
    request: &Request,
    raised: &Raised,
) -> folio::Result<folio::Documents> {
    let scan = scan_of(request, raised);
    match &request.condition {
        Some(condition) => collection.scan_where(condition, scan),
        None => collection.scan(scan),
    }
}

/// A request as the facade takes it.
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

/// A Python predicate as the facade takes it. What it raises is kept, and the
/// document accepted, so that the scan comes back at once.
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

/// `decimal.Decimal`, if it is wanted.
pub(crate) fn decimal_class(py: Python<'_>, is_wanted: bool) -> PyResult<Option<Py<PyAny>>> {
    match is_wanted {
        true => Ok(Some(py.import("decimal")?.getattr("Decimal")?.unbind())),
        false => Ok(None),
    }
}

impl State {
    /// The next line as an object; `None` at the end.
    #[inline]
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.next == self.ends.len() && !self.fill(py)? {
            return Ok(None);
        }
        let (start, end) = (self.start, self.ends[self.next]);
        self.start = end;
        self.next += 1;
        let line = start as usize..end as usize;
        match self.form {
            Form::Dict => self.decoder.document(py, &self.text[line]).map(Some),
            Form::Lazy => {
                Document::new(Arc::clone(&self.text), start, end).into_object(py).map(Some)
            }
            Form::Raw => Ok(Some(PyString::new(py, text_of(&self.text[line])?).into_any())),
        }
    }

    /// Reads the next chunk; `false` when there is no line left.
    #[inline(never)]
    fn fill(&mut self, py: Python<'_>) -> PyResult<bool> {
        use_own_threads();
        let chunk_size = if self.has_filter { 1 } else { self.chunk_size };
        self.chunk_size = (self.chunk_size * 4).min(CHUNK_SIZE_MAX);
        // Documents given out may still hold on to the text.
        let mut text = Arc::try_unwrap(std::mem::take(&mut self.text)).unwrap_or_default();
        text.clear();
        self.ends.clear();
        let Some(documents) = self.documents.get_mut() else {
            return Err(with_code(
                ErrorCode::Closed,
                "the scan was begun before the fork; begin a new one",
            ));
        };
        let ends = &mut self.ends;
        let text = py.detach(|| {
            while text.len() < chunk_size {
                let Some(line) = documents.next_line()? else { break };
                text.extend_from_slice(line);
                ends.push(text.len() as u32);
            }
            Ok(text)
        });
        if let Some(error) = self.raised.take() {
            self.ends.clear();
            self.next = 0;
            return Err(error);
        }
        self.text = Arc::new(text.or_raise()?);
        self.next = 0;
        self.start = 0;
        Ok(!self.ends.is_empty())
    }
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (collection, fields=None, *, filter=None, condition=None, limit=None, decimal=false, lazy=false, raw=false))]
    #[allow(clippy::too_many_arguments)] // a table of options
    fn new(
        py: Python<'_>,
        collection: Py<Collection>,
        fields: Option<Vec<String>>,
        filter: Option<Py<PyAny>>,
        condition: Option<String>,
        limit: Option<u64>,
        decimal: bool,
        lazy: bool,
        raw: bool,
    ) -> PyResult<Self> {
        let form = match (raw, lazy) {
            (true, _) => Form::Raw,
            (false, true) => Form::Lazy,
            (false, false) => Form::Dict,
        };
        let filter = filter.map(Arc::new);
        let fields = fields.unwrap_or_default();
        let request = Request { fields, limit, condition, filter, decimal, form };
        Self::begin(py, collection, request)
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.lock()?.next(py)
    }

    /// The next documents, at most `count` of them, as a list; empty at the end.
    fn next_batch<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let mut state = self.lock()?;
        let _paused = PausedCollector::new(py);
        let list = PyList::empty(py);
        for _ in 0..count {
            match state.next(py)? {
                Some(document) => list.append(document)?,
                None => break,
            }
        }
        Ok(list)
    }

    /// The documents as a stream of Arrow record batches, from the first on, whatever
    /// the scan has yielded before; see `foliodb.Scan`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request is a wish (the protocol says so); consumers cast what they get.
        drop(requested_schema);
        let collection = self.collection.get().core(py)?.clone();
        arrow::stream(py, arrow::Source::new(collection, self.request.clone()))
    }

    /// The columns of that stream.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let collection = self.collection.get().core(py)?.clone();
        arrow::schema(py, &arrow::Source::new(collection, self.request.clone()))
    }

    /// Bytes of the data gone through so far, and in all.
    fn progress(&self) -> PyResult<(u64, u64)> {
        let mut state = self.lock()?;
        Ok(state.documents.get_mut().map_or((0, 0), |documents| documents.progress()))
    }
}
