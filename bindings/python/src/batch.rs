//! The Python class of an atomic batch: `with users.batch() as batch: …`.
//!
//! A collection has one write at a time. Another write to the same collection from the same thread
//! would wait for the batch to end, which only that thread can do. So the open batches of a thread
//! are recorded here, and such a write is an error.

use std::cell::RefCell;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use folio::{EncodedLine, ErrorCode};
use pyo3::prelude::*;

use crate::encode::Encoder;
use crate::error::{OrRaise, with_code};
use crate::fork::Owned;
use crate::id::Id;
use crate::report::BatchCounts;

thread_local! {
    /// The collections in which this thread has open batches, as passed to [`Marker`].
    static OPEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Marks an open batch of this thread.
pub(crate) struct Marker {
    place: String,
    thread: ThreadId,
}

impl Marker {
    pub(crate) fn new(place: &str) -> PyResult<Self> {
        Self::check(place)?;
        OPEN.with_borrow_mut(|open| open.push(place.to_owned()));
        Ok(Self { place: place.to_owned(), thread: thread::current().id() })
    }

    /// Refuses a write that would wait for its own thread.
    #[inline]
    pub(crate) fn check(place: &str) -> PyResult<()> {
        let is_open =
            OPEN.with_borrow(|open| !open.is_empty() && open.iter().any(|open| open == place));
        if !is_open {
            return Ok(());
        }
        Err(with_code(
            ErrorCode::Conflict,
            "the collection has a batch open in this thread; write through the batch, or after it",
        ))
    }
}

/// First words of statements that change nothing.
const READING: [&str; 6] = ["select", "values", "table", "explain", "describe", "show"];

/// Refuses a statement that may change a collection while this thread has an open batch, because it
/// might wait forever.
pub(crate) fn check_statement(text: &str) -> PyResult<()> {
    let word = || text.split_whitespace().next().unwrap_or_default();
    let reads = || READING.iter().any(|reading| word().eq_ignore_ascii_case(reading));
    if OPEN.with_borrow(Vec::is_empty) || reads() {
        return Ok(());
    }
    let text = "a batch is open in this thread; commit it before statements that change something";
    Err(with_code(ErrorCode::Conflict, text))
}

impl Drop for Marker {
    fn drop(&mut self) {
        // A batch that ends in another thread leaves a mark, which at worst causes an error.
        if self.thread == thread::current().id() {
            OPEN.with_borrow_mut(|open| {
                if let Some(at) = open.iter().rposition(|open| *open == self.place) {
                    open.remove(at);
                }
            });
        }
    }
}

/// An open batch of writes, invisible until `commit`.
#[pyclass(frozen, module = "foliodb._foliodb")]
pub(crate) struct Batch {
    state: Mutex<Option<Open>>,
}

struct Open {
    batch: Owned<folio::Batch>,
    encoder: Encoder,
    line: Vec<u8>,
    _marker: Marker,
}

impl Batch {
    pub(crate) fn new(batch: folio::Batch, default: Option<Py<PyAny>>, marker: Marker) -> Self {
        let open = Open {
            batch: Owned::new(batch),
            encoder: Encoder::new(default),
            line: Vec::new(),
            _marker: marker,
        };
        Self { state: Mutex::new(Some(open)) }
    }

    /// Takes the batch, works with it, and puts it back.
    fn with<T>(&self, work: impl FnOnce(&mut Open) -> PyResult<T>) -> PyResult<T> {
        let mut open = self.take()?;
        let result = work(&mut open);
        *self.lock() = Some(open);
        result
    }

    fn take(&self) -> PyResult<Open> {
        self.lock().take().ok_or_else(|| {
            with_code(ErrorCode::Closed, "the batch has ended, or is in use by another thread")
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Open>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Open {
    fn core(&mut self) -> PyResult<&mut folio::Batch> {
        self.batch.get_mut().ok_or_else(|| {
            with_code(
                ErrorCode::Closed,
                "the batch belongs to the process this one was forked from",
            )
        })
    }
}

#[pymethods]
impl Batch {
    /// Adds a document.
    fn put(&self, py: Python<'_>, id: Id<'_>, document: &Bound<'_, PyAny>) -> PyResult<()> {
        self.with(|open| {
            open.line.clear();
            let mut line = std::mem::take(&mut open.line);
            open.encoder.document(document, &id, &mut line)?;
            let batch = open.core()?;
            let put = || batch.put_encoded(EncodedLine::trust(&line)?);
            let result = py.detach(put).or_raise();
            open.line = line;
            result
        })
    }

    /// Adds JSON text, under its `_id` if no id is given.
    #[pyo3(signature = (id, text))]
    fn put_raw(&self, py: Python<'_>, id: Option<Id<'_>>, text: &str) -> PyResult<()> {
        self.with(|open| {
            let batch = open.core()?;
            py.detach(|| batch.put_raw(id.as_deref(), text)).or_raise()
        })
    }

    /// Deletes a document.
    fn delete(&self, py: Python<'_>, id: Id<'_>) -> PyResult<()> {
        self.with(|open| {
            let batch = open.core()?;
            py.detach(|| batch.delete(&id)).or_raise()
        })
    }

    /// Whether a document with the id exists, in this batch or before it.
    fn exists(&self, id: Id<'_>) -> PyResult<bool> {
        self.with(|open| open.core()?.exists(&id).or_raise())
    }

    /// Makes the batch durable and visible, and ends it.
    fn commit(&self, py: Python<'_>) -> PyResult<BatchCounts> {
        let mut open = self.take()?;
        open.core()?;
        let batch = open.batch;
        py.detach(|| batch.into_inner().expect("looked at above").commit())
            .or_raise()
            .map(Into::into)
    }

    /// Discards the batch. Calling it twice is allowed.
    fn rollback(&self, py: Python<'_>) {
        let open = self.lock().take();
        if let Some(Open { batch, .. }) = open {
            py.detach(|| drop(batch));
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Commits, unless the block raised or ended the batch itself.
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if !kind.is_none() {
            self.rollback(py);
        } else if self.lock().is_some() {
            self.commit(py)?;
        }
        Ok(())
    }
}
