//! A streaming scan: lines without the interpreter's lock, objects with it.
//!
//! A chunk of lines is read while other threads of Python run (`reader`); each
//! `next` then makes one object from it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::ErrorCode;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};

use crate::arrow;
use crate::collection::Collection;
use crate::decode::{Decoder, PausedCollector};
use crate::document::{Document, text_of};
use crate::error::{OrRaise, with_code};
use crate::fork::{Owned, use_own_threads};
use crate::reader::{Chunk, Reader};
use crate::sql::parameters;

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
    /// Values for the parameters of the condition.
    pub(crate) parameters: folio::Parameters,
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
    reader: Owned<Reader>,
    chunk: Chunk,
    /// The line to come, and where it starts.
    next: usize,
    start: u32,
    form: Form,
    decoder: Decoder,
    raised: Raised,
    /// What a look at the first documents met, for whoever takes them.
    failed: Option<PyErr>,
    is_at_end: bool,
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
            reader: Owned::new(Reader::new(documents, request.filter.is_some())),
            chunk: Chunk::default(),
            next: 0,
            start: 0,
            form: request.form,
            decoder: Decoder::new(decimal_class(py, request.decimal)?),
            raised,
            failed: None,
            is_at_end: false,
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
        Some(condition) => collection.scan_where(condition, &request.parameters, scan),
        None => collection.scan(scan),
    }
}

/// The same in parts, for as many threads; `None` where one scan has to do it: parts share no
/// limit, and a predicate of Python's is for one thread.
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
        if self.next == self.chunk.ends.len() && !self.fill(py)? {
            return Ok(None);
        }
        let (start, end) = (self.start, self.chunk.ends[self.next]);
        self.start = end;
        self.next += 1;
        let (text, line) = (&self.chunk.text, start as usize..end as usize);
        match self.form {
            Form::Dict => self.decoder.document(py, &text[line]).map(Some),
            Form::Lazy => Document::new(Arc::clone(text), start, end).into_object(py).map(Some),
            Form::Raw => Ok(Some(PyString::new(py, text_of(&text[line])?).into_any())),
        }
    }

    /// Reads the next chunk; `false` when there is no line left.
    #[inline(never)]
    fn fill(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.failed.take().map_or(Ok(()), Err)?;
        (self.next, self.start) = (0, 0);
        let mut chunk = std::mem::take(&mut self.chunk);
        let read = self.read(py, &mut chunk);
        if read.is_err() {
            chunk.ends.clear();
        }
        self.chunk = chunk;
        read.map(|()| !self.chunk.ends.is_empty())
    }

    /// Replaces a chunk by the next one, which is empty at the end.
    fn read(&mut self, py: Python<'_>, chunk: &mut Chunk) -> PyResult<()> {
        use_own_threads();
        let Some(reader) = self.reader.get_mut() else {
            return Err(with_code(
                ErrorCode::Closed,
                "the scan was begun before the fork; begin a new one",
            ));
        };
        let read = py.detach(|| reader.next(chunk));
        self.raised.take().map_or(Ok(()), Err)?;
        read.or_raise()?;
        self.is_at_end = chunk.ends.is_empty();
        Ok(())
    }

    /// Sees to it that so many lines are in the chunk, or all that are left.
    fn fill_up(&mut self, py: Python<'_>, count: usize) -> PyResult<()> {
        while !self.is_at_end && (self.left() < count || self.is_nearly_at_end()) {
            let mut more = Chunk::default();
            self.read(py, &mut more)?;
            self.chunk = self.chunk.followed_by(self.next, self.start, &more);
            (self.next, self.start) = (0, 0);
        }
        Ok(())
    }

    /// Whether all of the data has been read, so that there is no more than an end to come.
    fn is_nearly_at_end(&mut self) -> bool {
        let progress = self.reader.get_mut().map(|reader| reader.progress());
        progress.is_some_and(|(done, total)| done == total)
    }

    /// Lines of the chunk that are not taken yet.
    fn left(&self) -> usize {
        self.chunk.ends.len() - self.next
    }
}

#[pymethods]
impl Scan {
    #[new]
    #[pyo3(signature = (collection, fields=None, *, filter=None, condition=None, params=None, limit=None, decimal=false, lazy=false, raw=false))]
    #[allow(clippy::too_many_arguments)] // a table of options
    fn new(
        py: Python<'_>,
        collection: Py<Collection>,
        fields: Option<Vec<String>>,
        filter: Option<Py<PyAny>>,
        condition: Option<String>,
        params: Option<&Bound<'_, PyAny>>,
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
        let parameters = parameters(params)?;
        let request = Request { fields, limit, condition, parameters, filter, decimal, form };
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

    /// The first documents that are left, which stay; how many more have been read, and whether
    /// that is all. What goes wrong meanwhile is raised by whoever takes the documents.
    fn _peek<'py>(
        &self,
        py: Python<'py>,
        count: usize,
    ) -> PyResult<(Bound<'py, PyList>, usize, bool)> {
        let mut state = self.lock()?;
        if state.failed.is_none()
            && let Err(error) = state.fill_up(py, count)
        {
            state.failed = Some(error);
        }
        let (begun, left) = ((state.next, state.start), state.left());
        if left == 0
            && let Some(error) = &state.failed
        {
            return Err(error.clone_ref(py));
        }
        let list = PyList::empty(py);
        for _ in 0..left.min(count) {
            list.append(state.next(py)?)?;
        }
        (state.next, state.start) = begun;
        let is_all = state.is_at_end && state.failed.is_none();
        Ok((list, left - left.min(count), is_all))
    }

    /// The collection it reads.
    #[getter]
    fn _collection(&self, py: Python<'_>) -> Py<Collection> {
        self.collection.clone_ref(py)
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
        Ok(state.reader.get_mut().map_or((0, 0), |reader| reader.progress()))
    }
}
