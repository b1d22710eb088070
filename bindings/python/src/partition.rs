//! Parts of a collection or a table that other processes read, and parts that they write.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow;
use crate::error::{OrRaise, invalid};
use crate::report::BatchCounts;

/// A part of a collection or a table: small, and pickled as a short text.
#[pyclass(frozen, eq, module = "foliodb._foliodb")]
#[derive(PartialEq)]
pub(crate) struct Partition {
    pub(crate) core: folio::Partition,
}

#[pymethods]
impl Partition {
    /// A partition from its text.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self { core: text.parse().or_raise()? })
    }

    /// The absolute path of the database, as the planner saw it.
    #[getter]
    fn uri(&self) -> &str {
        self.core.uri()
    }

    /// The name of the collection or the table.
    #[getter]
    fn relation(&self) -> &str {
        self.core.relation()
    }

    /// The number of documents or rows, before the filter.
    #[getter]
    fn row_count(&self) -> u64 {
        self.core.row_count()
    }

    /// Bytes of lines; `None` for tables, and where each document is a file.
    #[getter]
    fn size(&self) -> Option<u64> {
        self.core.size()
    }

    /// The wanted columns; `None` for all.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        self.core.columns().map(<[String]>::to_vec)
    }

    /// The condition of SQL, if there is one.
    #[getter]
    fn filter(&self) -> Option<&str> {
        self.core.filter()
    }

    fn __str__(&self) -> String {
        self.core.to_string()
    }

    fn __repr__(&self) -> String {
        let (name, count) = (self.core.relation(), self.core.row_count());
        format!("<Partition of {name:?}, {count} rows>")
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.core.to_string().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(slf, slf.get().core.to_string())
    }
}

/// A position of a collection from its text.
pub(crate) fn position(text: Option<String>) -> PyResult<Option<folio::Position>> {
    let parsed = text.map(|text| text.parse().map_err(folio::Error::from));
    parsed.transpose().or_raise()
}

/// What pickles an object as its text.
fn reduced<'py, T>(slf: &Bound<'py, T>, text: String) -> PyResult<Bound<'py, PyTuple>> {
    let arguments = PyTuple::new(slf.py(), [text])?;
    PyTuple::new(slf.py(), [slf.as_any().get_type().into_any(), arguments.into_any()])
}

/// A job in which many processes write to one collection; pickled as a short text.
#[pyclass(frozen, eq, module = "foliodb._foliodb")]
#[derive(PartialEq)]
pub(crate) struct PartitionedWriter {
    pub(crate) core: folio::PartitionedWriter,
}

#[pymethods]
impl PartitionedWriter {
    /// A job from its text.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self { core: text.parse().or_raise()? })
    }

    /// The absolute path of the database.
    #[getter]
    fn uri(&self) -> &str {
        self.core.uri()
    }

    /// The name of the collection.
    #[getter]
    fn collection(&self) -> &str {
        self.core.collection()
    }

    /// Begins the part of a task, in any process.
    fn part(&self, py: Python<'_>, task: u64) -> PyResult<PartWriter> {
        let core = py.detach(|| self.core.part(task)).or_raise()?;
        Ok(PartWriter(Mutex::new(Some(Box::new(core)))))
    }

    /// Publishes the documents of all parts in one atomic batch. Of several parts of one task, the
    /// last counts.
    #[allow(clippy::needless_pass_by_value)] // pyo3 passes sequences by value
    fn commit(&self, py: Python<'_>, parts: Vec<Py<WrittenPart>>) -> PyResult<BatchCounts> {
        let parts: Vec<_> = parts.iter().map(|part| part.get().core.clone()).collect();
        Ok(py.detach(|| self.core.commit(&parts)).or_raise()?.into())
    }

    /// Removes all that the tasks have written.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.core.abort()).or_raise()
    }

    fn __str__(&self) -> String {
        self.core.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<PartitionedWriter to {:?}>", self.core.collection())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(slf, slf.get().core.to_string())
    }
}

/// A file that one task of a job writes. Nothing is left of one that is not finished. In a box,
/// because it is aligned to 64 bytes, and Python's objects are not.
#[pyclass(frozen, module = "foliodb._foliodb")]
pub(crate) struct PartWriter(Mutex<Option<Box<folio::PartWriter>>>);

impl PartWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut folio::PartWriter) -> folio::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.lock().as_deref_mut().map(work))
            .ok_or_else(|| invalid("the part was finished; begin another"))?
            .or_raise()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<folio::PartWriter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PartWriter {
    /// Adds the documents of a JSON array, each under its `_id`, or under a new id.
    fn put_json(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        self.with(py, |core| core.put_array(text))
    }

    /// Adds the rows of anything with an Arrow stream, each as a document without its nulls.
    fn put_arrow(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let stream = rows.call_method0("__arrow_c_stream__")?;
        let rows = arrow::reader(stream.cast::<PyCapsule>()?)?;
        self.with(py, |core| core.put_batches(rows))
    }

    /// Makes the file durable. It counts once it is given to `PartitionedWriter.commit`.
    fn finish(&self, py: Python<'_>) -> PyResult<WrittenPart> {
        let core = self.lock().take();
        let core = core.ok_or_else(|| invalid("the part was finished; begin another"))?;
        Ok(WrittenPart { core: py.detach(|| core.finish()).or_raise()? })
    }
}

/// What a task has written; pickled as a short text.
#[pyclass(frozen, eq, module = "foliodb._foliodb")]
#[derive(PartialEq)]
pub(crate) struct WrittenPart {
    core: folio::WrittenPart,
}

#[pymethods]
impl WrittenPart {
    /// A part from its text.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self { core: text.parse().or_raise()? })
    }

    /// The number of its documents.
    #[getter]
    fn document_count(&self) -> u64 {
        self.core.document_count()
    }

    fn __str__(&self) -> String {
        self.core.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<WrittenPart, {} documents>", self.core.document_count())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(slf, slf.get().core.to_string())
    }
}
