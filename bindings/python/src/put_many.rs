//! Puts many documents in one atomic batch.
//!
//! Documents are Python objects, so they are encoded with the interpreter's lock held, a buffer at
//! a time. The batch takes each buffer without the lock, on another thread (`pipeline`).

use std::borrow::Cow;

use folio::import::{derived_id, generated_id};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::batch::Marker;
use crate::encode::{Ahead, Encoder};
use crate::error::{OrRaise, invalid};
use crate::id::lone_surrogate;
use crate::pipeline::{Lines, Pipeline};
use crate::progress::Reporter;
use crate::report::BatchCounts;

/// The source of a document's id.
pub(crate) enum IdSource {
    /// Its `_id`, or the first half of a pair.
    Carried,
    /// A field, whose text is converted to a valid id if necessary.
    Field(Py<PyString>),
    /// A function of the document.
    Function(Py<PyAny>),
}

impl IdSource {
    pub(crate) fn new(id: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        match id {
            None => Ok(Self::Carried),
            Some(id) if id.is_callable() => Ok(Self::Function(id.unbind())),
            Some(id) => match id.cast_into::<PyString>() {
                Ok(field) => Ok(Self::Field(field.unbind())),
                Err(_) => Err(invalid("id= is neither the name of a field nor a function")),
            },
        }
    }
}

/// The batch and its options.
pub(crate) struct PutMany<'a> {
    pub(crate) collection: &'a folio::Collection,
    /// Identifies the collection, for [`Marker`].
    pub(crate) place: &'a str,
    pub(crate) id: IdSource,
    pub(crate) default: Option<Py<PyAny>>,
    pub(crate) progress: Option<Py<PyAny>>,
}

impl PutMany<'_> {
    /// Puts all documents, or none if there is an exception.
    pub(crate) fn run(mut self, documents: &Bound<'_, PyAny>) -> PyResult<BatchCounts> {
        let py = documents.py();
        let mut encoder = Encoder::new(self.default.take());
        let mut reporter = Reporter::new(self.progress.take());
        let documents = self.iterable(documents)?;
        let total = documents.len().unwrap_or(0);
        let mut lines = Lines::with_room_for(total);
        let _marker = Marker::new(self.place)?;
        let collection = self.collection;
        let mut pipeline = Pipeline::new(py.detach(|| collection.batch()).or_raise()?);
        let mut count = 0;
        let ahead = documents.cast::<PyList>().ok().map(Ahead::new).transpose()?;
        for document in documents.try_iter()? {
            ahead.iter().for_each(|ahead| ahead.fetch(count as usize));
            self.encode(&document?, &mut encoder, &mut lines.text)?;
            count += 1;
            if lines.end_line() {
                py.detach(|| pipeline.take(&mut lines)).or_raise()?;
                reporter.check(count, total as u64)?;
            }
        }
        let counts = py.detach(|| pipeline.commit(lines)).or_raise()?;
        reporter.check(count, count)?;
        Ok(counts.into())
    }

    /// The iterable: the pairs of a mapping from ids to documents, or the object itself.
    fn iterable<'py>(&self, documents: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if documents.is_instance_of::<PyDict>() {
            return documents.call_method0("items");
        }
        if documents.is_instance_of::<PyString>() {
            return Err(invalid(
                "put_many takes an iterable of documents, not text; see import_file",
            ));
        }
        Ok(documents.clone())
    }

    /// Appends one document, given with or without its id.
    #[inline]
    fn encode(
        &self,
        given: &Bound<'_, PyAny>,
        encoder: &mut Encoder,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        if let Ok(pair) = given.cast::<PyTuple>() {
            let (id, document): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                pair.extract().map_err(|_| {
                    invalid("a tuple in put_many is not a pair of an id and a document")
                })?;
            return encoder.document(&document, &plain_id(&id)?, line);
        }
        match &self.id {
            IdSource::Carried => {
                let Some(id) = carried_id(given)? else {
                    return encoder.document(given, &generated_id(), line);
                };
                encoder.document(given, &plain_id(&id)?, line)
            }
            IdSource::Field(name) => {
                let name = name.bind(given.py());
                let id = field(given, name)?.ok_or_else(|| {
                    invalid(format!(
                        "a document has no field {:?} to take its id from",
                        name.to_string_lossy()
                    ))
                })?;
                encoder.document(given, &id_text(&id)?, line)
            }
            IdSource::Function(function) => {
                let id = function.bind(given.py()).call1((given,))?;
                encoder.document(given, &id_text(&id)?, line)
            }
        }
    }
}

/// The `_id` of a document. It is nearly always the first member, which needs no lookup.
#[inline]
fn carried_id<'py>(document: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let name = pyo3::intern!(document.py(), "_id");
    let mut position: ffi::Py_ssize_t = 0;
    let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: a live object, and three places to write to; of what is no dict there is no
    // member. Nothing runs before the value, borrowed from the dict, is held.
    unsafe {
        let (key_place, value_place) = (&raw mut key, &raw mut value);
        let has_first =
            ffi::PyDict_Next(document.as_ptr(), &raw mut position, key_place, value_place) != 0;
        if has_first && key == name.as_ptr() {
            return Ok(Some(Bound::from_borrowed_ptr(document.py(), value)));
        }
    }
    field(document, name)
}

/// A member of a dict or another mapping.
#[inline]
fn field<'py>(
    document: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match document.cast::<PyDict>() {
        Ok(dict) => dict.get_item(name),
        Err(_) if document.hasattr("items")? && document.contains(name)? => {
            document.get_item(name).map(Some)
        }
        // A model or a dataclass has it as an attribute.
        Err(_) => document.getattr_opt(name),
    }
}

/// A given id: text, or the digits of an int.
fn plain_id<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(Cow::Borrowed(text_of(text)?)),
        Err(_) => id_text(value),
    }
}

/// The id from a value of a document: text converted to a valid id, or the digits of an int.
fn id_text<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(derived_id(text_of(text)?));
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(Cow::Owned(value.str()?.to_string_lossy().into_owned()));
    }
    let value = value.repr()?;
    Err(invalid(format!("an id is text or an int, not {value}")))
}

/// The text of a `str`, borrowed while the object is held.
#[inline]
fn text_of<'a>(text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    let mut size: ffi::Py_ssize_t = 0;
    // SAFETY: a live str; its UTF-8 form lives as long as the object, which the
    // borrow keeps.
    unsafe {
        let data = ffi::PyUnicode_AsUTF8AndSize(text.as_ptr(), &raw mut size);
        if data.is_null() {
            drop(PyErr::take(text.py()));
            return Err(lone_surrogate("id", text));
        }
        let bytes = std::slice::from_raw_parts(data.cast(), size as usize);
        Ok(std::str::from_utf8_unchecked(bytes))
    }
}
