//! Lazy documents: the line as read; values are parsed on access.

use std::sync::Arc;

use folio::ErrorCode;
use pyo3::exceptions::PyKeyError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::decode::Decoder;
use crate::error::{invalid, with_code};

/// The text of many lines, shared by their documents.
pub(crate) type Text = Arc<Vec<u8>>;

/// A document that is parsed on access: a read-only mapping.
///
/// `document["name"]` parses only the value of that key; `document.raw` is the exact line;
/// `document.to_dict()` parses all of it. A document of a long scan holds the text around it in
/// memory, some tens of kilobytes; `copy.copy(document)` does not.
#[pyclass(frozen, mapping, module = "foliodb._foliodb")]
pub(crate) struct Document {
    text: Text,
    start: u32,
    end: u32,
}

impl Document {
    #[inline]
    pub(crate) fn new(text: Text, start: u32, end: u32) -> Self {
        Self { text, start, end }
    }

    pub(crate) fn of_line(line: &[u8]) -> PyResult<Self> {
        let end =
            u32::try_from(line.len()).map_err(|_| invalid("document is larger than 4 GiB"))?;
        Ok(Self::new(Arc::new(line.to_vec()), 0, end))
    }

    /// The document as a Python object.
    #[inline]
    pub(crate) fn into_object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let object = Bound::new(py, self)?.into_any();
        // It refers to no other object, so the collector has nothing to find in it,
        // and need not go through a million of them.
        // SAFETY: a live object of a class with collector support, as all of pyo3's are;
        // to untrack one twice, as its destructor will, is allowed.
        unsafe { ffi::PyObject_GC_UnTrack(object.as_ptr().cast()) };
        Ok(object)
    }

    fn line(&self) -> &[u8] {
        &self.text[self.start as usize..self.end as usize]
    }

    fn line_str(&self) -> PyResult<&str> {
        text_of(self.line())
    }

    /// The text of the value under a key; the last one if the key is repeated.
    fn find(&self, key: &str) -> PyResult<Option<&str>> {
        let members = folio::json::members(self.line_str()?).map_err(invalid)?;
        Ok(members.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value))
    }
}

/// The text of a line. Lines are UTF-8, unless the file was changed since it was indexed.
pub(crate) fn text_of(line: &[u8]) -> PyResult<&str> {
    std::str::from_utf8(line)
        .map_err(|error| with_code(ErrorCode::Syntax, format!("document is not UTF-8: {error}")))
}

fn decode<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Decoder::new(None).decode(py, text)
}

#[pymethods]
impl Document {
    /// Creates a document from its line, for pickling.
    #[classmethod]
    fn from_raw(_class: &Bound<'_, PyType>, raw: &str) -> PyResult<Self> {
        Self::of_line(raw.as_bytes())
    }

    /// The exact line, without its line break.
    #[getter]
    fn raw(&self) -> PyResult<&str> {
        self.line_str()
    }

    /// The id.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.__getitem__(py, "_id")
    }

    /// The whole document, parsed.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Decoder::new(None).document(py, self.line())
    }

    /// The value at a dotted path, or `None` if there is none.
    fn field<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = folio::json::find(self.line_str()?, path).map_err(invalid)?;
        found.map(|value| decode(py, value.as_bytes())).transpose()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.find(key)? {
            Some(value) => decode(py, value.as_bytes()),
            None => Err(PyKeyError::new_err(key.to_owned())),
        }
    }

    /// The value under a key, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.find(key)? {
            Some(value) => decode(py, value.as_bytes()).map(Some),
            None => Ok(default),
        }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        match key.cast::<PyString>() {
            Ok(key) => Ok(self.find(&key.to_string_lossy())?.is_some()),
            Err(_) => Ok(false),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.to_dict(py)?.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.to_dict(py)?.try_iter()?.into_any())
    }

    /// The keys, as for a dict.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("keys")
    }

    /// The values, as for a dict.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("values")
    }

    /// The pairs, as for a dict.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_dict(py)?.call_method0("items")
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<bool> {
        let mine = self.to_dict(py)?;
        match other.cast::<Document>() {
            Ok(other) => mine.eq(other.get().to_dict(py)?),
            Err(_) if other.is_instance_of::<PyDict>() => mine.eq(other),
            Err(_) => Ok(false),
        }
    }

    fn __copy__(&self) -> PyResult<Self> {
        Self::of_line(self.line())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of_line(self.line())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let constructor = slf.get_type().getattr("from_raw")?;
        Ok((constructor, (slf.get().line_str()?.to_owned(),)))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("Document({})", self.line_str()?))
    }
}
