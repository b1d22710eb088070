//! A streaming scan: reads lines without the interpreter's lock, and makes objects with it.
//!
//! A chunk of lines is read while other Python threads run (`reader`). Each `next` then makes one
//! object from it.

use std::sync::{Arc, Mutex, MutexGuard};

use folio::ErrorCode;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};

use crate::arrow;
use crate::collection::Collection;
use crate::count::Count;
use crate::decode::{Decoder, PausedCollector};
use crate::document::{Document, text_of};
use crate::error::with_code;
use crate::fork::{Owned, use_own_threads};
use crate::id::Text;
use crate::reader::{Chunk, Reader};
use crate::request::{Form, Raised, Request, open};
use crate::sql::parameters;
use crate::watcher::released;

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
    /// The next line, and its offset.
    next: usize,
    start: u32,
    form: Form,
    decoder: Decoder,
    raised: Raised,
    /// An error of a preview of the first documents, raised when they are taken.
    failed: Option<PyErr>,
    is_at_end: bool,
}

impl Scan {
    /// Begins a scan of the current state of a collection.
    pub(crate) fn begin(
        py: Python<'_>,
        collection: Py<Collection>,
        request: Request,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let core = collection.get().core(py)?;
        let documents = released(py, || open(core, &request, &raised))?;
        let state = State {
            reader: Owned::new(Reader::new(documents, request.filter.is_some())),
            chunk: Chunk::default(),
            next: 0,
            start: 0,
            form: request.form,
            decoder: match request.decimal {
                true => Decoder::with_decimals(py)?,
                false => collection.get().lend_decoder(),
            },
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

impl Drop for Scan {
    fn drop(&mut self) {
        if let (false, Ok(state)) = (self.request.decimal, self.state.get_mut()) {
            let decoder = std::mem::replace(&mut state.decoder, Decoder::new(None));
            self.collection.get().take_back(decoder);
        }
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

    /// Reads the next chunk; `false` when no line is left.
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

    /// Replaces a chunk with the next one, which is empty at the end.
    fn read(&mut self, py: Python<'_>, chunk: &mut Chunk) -> PyResult<()> {
        use_own_threads();
        let Some(reader) = self.reader.get_mut() else {
            return Err(with_code(
                ErrorCode::Closed,
                "the scan was started before the fork; start a new one",
            ));
        };
        let read = released(py, || reader.next(chunk));
        self.raised.take().map_or(Ok(()), Err)?;
        read?;
        self.is_at_end = chunk.ends.is_empty();
        Ok(())
    }

    /// Ensures that the chunk has this many lines, or all that are left.
    fn fill_up(&mut self, py: Python<'_>, count: usize) -> PyResult<()> {
        while !self.is_at_end && (self.left() < count || self.is_nearly_at_end()) {
            let mut more = Chunk::default();
            self.read(py, &mut more)?;
            self.chunk = self.chunk.followed_by(self.next, self.start, &more);
            (self.next, self.start) = (0, 0);
        }
        Ok(())
    }

    /// Whether all data has been read, so that only the end follows.
    fn is_nearly_at_end(&mut self) -> bool {
        let progress = self.reader.get_mut().map(|reader| reader.progress());
        progress.is_some_and(|(done, total)| done == total)
    }

    /// The number of lines of the chunk not taken yet.
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
        condition: Option<Text<'_>>,
        params: Option<&Bound<'_, PyAny>>,
        limit: Option<Count>,
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
        let (parameters, limit) = (parameters(params)?, limit.map(|limit| limit.0));
        let condition = condition.map(|text| text.to_owned());
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
    fn next_batch<'py>(&self, py: Python<'py>, count: Count) -> PyResult<Bound<'py, PyList>> {
        let mut state = self.lock()?;
        let _paused = PausedCollector::new(py);
        let list = PyList::empty(py);
        for _ in 0..count.0 {
            match state.next(py)? {
                Some(document) => list.append(document)?,
                None => break,
            }
        }
        Ok(list)
    }

    /// The next documents without consuming them, the number of further documents read, and
    /// whether these are all. An error is raised when the documents are consumed.
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

    /// The documents as a stream of Arrow record batches, from the first document, even after
    /// iteration; see `foliodb.Scan`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // By the protocol a request is optional; consumers cast what they get.
        drop(requested_schema);
        let collection = self.collection.get().core(py)?.clone();
        arrow::stream(py, arrow::Source::new(collection, self.request.clone()))
    }

    /// The columns of that stream.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let collection = self.collection.get().core(py)?.clone();
        arrow::schema(py, &arrow::Source::new(collection, self.request.clone()))
    }

    /// The bytes read so far, and in total.
    fn progress(&self) -> PyResult<(u64, u64)> {
        let mut state = self.lock()?;
        Ok(state.reader.get_mut().map_or((0, 0), |reader| reader.progress()))
    }
}
