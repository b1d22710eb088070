//! The Python class of a collection: one method per operation of the facade.

use std::sync::Mutex;

use folio::{CollectionOptions, EncodedLine, ErrorCode, Layout, Strict};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString, PyTuple};

use crate::batch::{Batch, Marker};
use crate::database::Database;
use crate::decode::{Decoder, PausedCollector};
use crate::document::{Document, text_of};
use crate::encode::Encoder;
use crate::error::{OrRaise, invalid, with_code};
use crate::fork::Handle;
use crate::id::{Id, Text};
use crate::partition::PartitionedWriter;
use crate::progress::Reporter;
use crate::put_many::{IdSource, PutMany};
use crate::report::{BatchCounts, CheckReport, CompactReport, IndexCheck, IndexStats, Stats};
use crate::sql::parameters;
use crate::watcher::released;

/// A collection of documents under ids. Threads may share it.
#[pyclass(subclass, frozen, mapping, module = "foliodb._foliodb")]
pub(crate) struct Collection {
    database: Py<Database>,
    name: String,
    options: CollectionOptions,
    handle: Handle<folio::Collection>,
    /// What tells collections of this process apart.
    place: String,
    lookup: Mutex<Lookup>,
}

/// What one lookup after another uses again.
struct Lookup {
    decoder: Decoder,
    line: Vec<u8>,
}

impl Lookup {
    fn new() -> Self {
        Self { decoder: Decoder::new(None), line: Vec::new() }
    }
}

impl Collection {
    /// This process's collection; a forked child opens its own.
    #[inline]
    pub(crate) fn core(&self, py: Python<'_>) -> PyResult<&folio::Collection> {
        self.handle.get(|| {
            let database = self.database.bind(py).get().core()?;
            database.collection_with(&self.name, &self.options).or_raise()
        })
    }

    /// Like [`Collection::core`], for a write.
    #[inline]
    pub(crate) fn writer(&self, py: Python<'_>) -> PyResult<&folio::Collection> {
        Marker::check(&self.place)?;
        self.core(py)
    }

    /// Reads the line of a document; `false` if it does not exist. The interpreter's lock is
    /// released only if the document is not cached. Otherwise the lock would change hands at each
    /// lookup of several threads.
    #[inline]
    fn read(&self, py: Python<'_>, id: &str, line: &mut Vec<u8>) -> PyResult<bool> {
        let core = self.core(py)?;
        Ok(core.try_get_raw(id, line) || released(py, || core.get_raw(id, line))?)
    }

    /// A document as a dict; `None` if it does not exist.
    #[inline]
    fn find<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let find = |Lookup { decoder, line }: &mut Lookup| {
            self.read(py, id, line)?.then(|| decoder.document(py, line)).transpose()
        };
        match self.lookup.try_lock() {
            Ok(mut lookup) => find(&mut lookup),
            // Another thread is using it and waits for the interpreter's lock.
            Err(_) => find(&mut Lookup::new()),
        }
    }

    /// The decoder, which knows the documents it has seen. Lookups start with another until it is
    /// given back.
    pub(crate) fn lend_decoder(&self) -> Decoder {
        match self.lookup.try_lock() {
            Ok(mut lookup) => std::mem::replace(&mut lookup.decoder, Decoder::new(None)),
            Err(_) => Decoder::new(None),
        }
    }

    /// Takes a lent decoder back.
    pub(crate) fn take_back(&self, decoder: Decoder) {
        if let Ok(mut lookup) = self.lookup.try_lock() {
            lookup.decoder = decoder;
        }
    }

    /// The line as a dict.
    #[inline]
    fn decode<'py>(&self, py: Python<'py>, line: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match self.lookup.try_lock() {
            Ok(mut lookup) => lookup.decoder.document(py, line),
            Err(_) => Decoder::new(None).document(py, line),
        }
    }

    fn missing(&self, id: &str) -> PyErr {
        let name = &self.name;
        with_code(ErrorCode::NotFound, format!("no document {id:?} in collection {name:?}"))
    }
}

#[pymethods]
impl Collection {
    #[new]
    #[pyo3(signature = (database, name, *, layout="lines", strict=None))]
    fn new(
        database: &Bound<'_, Database>,
        name: Text<'_>,
        layout: &str,
        strict: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = CollectionOptions { layout: layout_of(layout)?, strict: strict_of(strict)? };
        let core = database.get().core()?;
        let py = database.py();
        let collection = released(py, || core.collection_with(&name, &options))?;
        Ok(Self {
            database: database.clone().unbind(),
            place: format!("{}\0{}", database.get().absolute_path().display(), &*name),
            name: name.to_owned(),
            options,
            handle: Handle::new(collection),
            lookup: Mutex::new(Lookup::new()),
        })
    }

    /// The collection's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The database it belongs to.
    #[getter]
    fn database(&self, py: Python<'_>) -> Py<Database> {
        self.database.clone_ref(py)
    }

    /// Whether the collection exists yet; the first write creates it.
    #[getter]
    fn is_created(&self, py: Python<'_>) -> PyResult<bool> {
        let core = self.core(py)?;
        Ok(py.detach(|| core.is_created()))
    }

    /// Whether the handle accepts writes.
    #[getter]
    fn is_writable(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.core(py)?.is_writable())
    }

    /// Flushes and closes the collection.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.writer(py)?;
        py.detach(|| core.close()).or_raise()
    }

    /// Stores a document under an id, replacing an existing one. Returns `"inserted"` or
    /// `"replaced"`.
    #[pyo3(signature = (id, document, *, default=None))]
    fn put(
        &self,
        py: Python<'_>,
        id: Id<'_>,
        document: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
    ) -> PyResult<&'static str> {
        let mut line = Vec::with_capacity(256);
        Encoder::new(default).document(document, &id, &mut line)?;
        let core = self.writer(py)?;
        let put = || core.put_encoded(EncodedLine::trust(&line)?);
        py.detach(put).or_raise().map(put_name)
    }

    /// Stores JSON text, with its key order and the text of every number.
    fn put_raw(&self, py: Python<'_>, id: Id<'_>, text: &str) -> PyResult<&'static str> {
        let core = self.writer(py)?;
        py.detach(|| core.put_raw(&id, text)).or_raise().map(put_name)
    }

    /// Stores a document under its `_id`, or under a new id. Returns the id.
    #[pyo3(signature = (document, *, default=None))]
    fn add(
        &self,
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let mut text = Vec::with_capacity(256);
        Encoder::new(default).value(document, &mut text)?;
        let text = String::from_utf8(text).expect("the encoder writes UTF-8");
        let core = self.writer(py)?;
        py.detach(|| core.add_raw(&text)).or_raise()
    }

    /// Stores many documents, all or none of them.
    #[pyo3(signature = (documents, *, id=None, default=None, progress=None))]
    fn put_many(
        &self,
        documents: &Bound<'_, PyAny>,
        id: Option<Bound<'_, PyAny>>,
        default: Option<Py<PyAny>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<BatchCounts> {
        let collection = self.writer(documents.py())?;
        let id = IdSource::new(id)?;
        PutMany { collection, place: &self.place, id, default, progress }.run(documents)
    }

    /// Begins an atomic batch; use it as a context.
    #[pyo3(signature = (*, default=None))]
    fn batch(&self, py: Python<'_>, default: Option<Py<PyAny>>) -> PyResult<Batch> {
        let core = self.writer(py)?;
        let batch = py.detach(|| core.batch()).or_raise()?;
        Ok(Batch::new(batch, default, Marker::new(&self.place)?))
    }

    /// Applies a JSON merge patch (RFC 7396); returns the new document, or `None` if there is
    /// none.
    #[pyo3(signature = (id, patch, *, default=None))]
    fn patch<'py>(
        &self,
        py: Python<'py>,
        id: Id<'_>,
        patch: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut text = Vec::new();
        Encoder::new(default).value(patch, &mut text)?;
        let value = serde_json::from_slice(&text).map_err(invalid)?;
        let core = self.writer(py)?;
        let patched = py.detach(|| core.patch(&id, &value)).or_raise()?;
        patched.map(|document| self.decode(py, document.raw().as_bytes())).transpose()
    }

    /// Applies a JSON merge patch to the documents that meet an SQL condition. Returns their
    /// number.
    #[pyo3(signature = (condition, patch, params=None, *, default=None))]
    fn _update(
        &self,
        py: Python<'_>,
        condition: Text<'_>,
        patch: &Bound<'_, PyAny>,
        params: Option<&Bound<'_, PyAny>>,
        default: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let mut text = Vec::new();
        Encoder::new(default).value(patch, &mut text)?;
        let patch = serde_json::from_slice(&text).map_err(invalid)?;
        let parameters = parameters(params)?;
        let core = self.writer(py)?;
        py.detach(|| core.update(&condition, &parameters, &patch)).or_raise()
    }

    /// Deletes a document and returns it; `None` if there is none.
    fn _pop<'py>(&self, py: Python<'py>, id: Id<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let core = self.writer(py)?;
        let popped = py.detach(|| core.pop(&id)).or_raise()?;
        popped.map(|document| self.decode(py, document.raw().as_bytes())).transpose()
    }

    /// Begins a job in which many processes write to the collection.
    fn partitioned_writer(&self, py: Python<'_>) -> PyResult<PartitionedWriter> {
        let core = self.writer(py)?;
        let core = py.detach(|| core.partitioned_writer()).or_raise()?;
        Ok(PartitionedWriter { core })
    }

    /// Deletes all documents atomically and returns their number.
    fn clear(&self, py: Python<'_>) -> PyResult<u64> {
        let core = self.writer(py)?;
        py.detach(|| core.clear()).or_raise()
    }

    /// Deletes a document and returns whether it existed.
    fn delete(&self, py: Python<'_>, id: Id<'_>) -> PyResult<bool> {
        let core = self.writer(py)?;
        py.detach(|| core.delete(&id)).or_raise()
    }

    /// The document with an id, or `default`.
    #[pyo3(signature = (id, default=None, *, decimal=false, lazy=false))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        id: Id<'_>,
        default: Option<Bound<'py, PyAny>>,
        decimal: bool,
        lazy: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !lazy && !decimal {
            return Ok(self.find(py, &id)?.or(default));
        }
        let mut line = Vec::new();
        if !self.read(py, &id, &mut line)? {
            return Ok(default);
        }
        let found = match lazy {
            true => Document::of_line(&line)?.into_object(py),
            false => Decoder::with_decimals(py)?.document(py, &line),
        };
        found.map(Some)
    }

    /// The exact line of a document; `None` if there is none.
    fn get_raw<'py>(&self, py: Python<'py>, id: Id<'_>) -> PyResult<Option<Bound<'py, PyString>>> {
        let mut line = Vec::new();
        let is_found = self.read(py, &id, &mut line)?;
        is_found.then(|| text_of(&line).map(|text| PyString::new(py, text))).transpose()
    }

    /// The documents of several ids, in that order, with `None` for a missing one.
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        if ids.is_instance_of::<PyString>() {
            return Err(invalid("get_many takes ids, and this is one; write [id]"));
        }
        let ids: Vec<String> = ids
            .try_iter()?
            .map(|id| id?.extract::<Id<'_>>().map(|id| id.to_string()))
            .collect::<PyResult<_>>()?;
        let core = self.core(py)?;
        let fetched = released(py, || core.get_many(&ids))?;
        let _paused = PausedCollector::new(py);
        let list = PyList::empty(py);
        for position in 0..fetched.len() {
            let line = fetched.line(position);
            list.append(line.map(|line| self.decode(py, line)).transpose()?)?;
        }
        Ok(list)
    }

    /// Whether a document with the id exists.
    fn exists(&self, py: Python<'_>, id: Id<'_>) -> PyResult<bool> {
        self.read(py, &id, &mut Vec::new())
    }

    /// The number of documents.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let core = self.core(py)?;
        released(py, || core.count())
    }

    /// All ids, in file order.
    fn ids(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let core = self.core(py)?;
        released(py, || core.ids()?.collect::<folio::Result<_>>())
    }

    /// Makes all writes so far durable and releases the writer's lock.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.writer(py)?;
        py.detach(|| core.flush()).or_raise()
    }

    /// Reads what other processes and people have written since.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core(py)?;
        released(py, || core.refresh())
    }

    /// Rewrites the data file with only the live lines, in order.
    #[pyo3(signature = (*, progress=None))]
    fn compact(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<CompactReport> {
        let core = self.writer(py)?;
        Reporter::new(progress).run(py, |step| core.compact(step)).map(Into::into)
    }

    /// Reads everything and reports damage. Changes nothing.
    #[pyo3(signature = (*, progress=None))]
    fn check(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<CheckReport> {
        let core = self.core(py)?;
        Reporter::new(progress).run(py, |step| core.check(step)).map(Into::into)
    }

    /// Rebuilds the index from the data.
    #[pyo3(signature = (*, progress=None))]
    fn reindex(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let core = self.writer(py)?;
        Reporter::new(progress).run(py, |step| core.reindex(step))
    }

    /// Creates an index on fields: dotted paths, each perhaps with `[]` after it, for the elements of a
    /// list, and with ` desc`; over the documents that meet a condition of SQL. With
    /// `using="columns"`, a copy of the fields in columns, of all if none are given. Returns its name.
    #[pyo3(signature = (*fields, name=None, unique=false, r#where=None, using="fields", progress=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn create_index(
        &self,
        py: Python<'_>,
        fields: Vec<String>,
        name: Option<String>,
        unique: bool,
        r#where: Option<String>,
        using: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let core = self.writer(py)?;
        let options =
            folio::IndexOptions { name, unique, condition: r#where, ..Default::default() };
        let options = options.using(using).or_raise()?;
        Reporter::new(progress).run(py, |step| core.create_index(&fields, &options, step))
    }

    /// The indexes on fields, with sizes and states.
    fn indexes(&self, py: Python<'_>) -> PyResult<Vec<IndexStats>> {
        let core = self.core(py)?;
        let indexes = released(py, || core.indexes())?;
        Ok(indexes.into_iter().map(Into::into).collect())
    }

    /// Drops an index on fields.
    fn drop_index(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let core = self.writer(py)?;
        released(py, || core.drop_index(name))
    }

    /// Sets whether statements may name paths that no document has.
    fn set_open_paths(&self, py: Python<'_>, open: bool) -> PyResult<()> {
        let core = self.writer(py)?;
        released(py, || core.set_open_paths(open))
    }

    /// Whether statements may name paths that no document has, which are null then.
    fn has_open_paths(&self, py: Python<'_>) -> PyResult<bool> {
        let core = self.core(py)?;
        released(py, || core.has_open_paths())
    }

    /// Compares an index on fields with the documents. Changes nothing.
    fn check_index(&self, py: Python<'_>, name: &str) -> PyResult<IndexCheck> {
        let core = self.core(py)?;
        released(py, || core.check_index(name)).map(Into::into)
    }

    /// Where the documents end now, as a text for `Database.partitions`: those that are put later
    /// come after it. It holds in other processes, until the file is compacted or edited.
    fn position(&self, py: Python<'_>) -> PyResult<String> {
        let core = self.core(py)?;
        released(py, || core.position()).map(|position| position.to_string())
    }

    /// Sizes and counts.
    fn stats(&self, py: Python<'_>) -> PyResult<Stats> {
        let core = self.core(py)?;
        released(py, || core.stats()).map(Into::into)
    }

    /// What is known of each path of the documents, as JSON objects.
    fn _fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let core = self.core(py)?;
        let rows = released(py, || core.fields())?;
        Ok(rows.iter().map(folio::PathSummary::to_json).collect())
    }

    /// A fingerprint of the content of the file; a copy has the same.
    fn _fingerprint(&self, py: Python<'_>) -> PyResult<u64> {
        let core = self.core(py)?;
        released(py, || core.fingerprint())
    }

    /// The notices since the last call, a sentence each.
    fn take_notices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.core(py)?.take_notices().into_iter().map(|notice| notice.0).collect())
    }

    /// The lines of the file that are not documents, a sentence each.
    fn _broken_lines(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let core = self.core(py)?;
        let broken = released(py, || core.broken_lines())?;
        Ok(broken.into_iter().map(|notice| notice.0).collect())
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.count(py)? as usize)
    }

    /// True, even if the collection is empty.
    fn __bool__(&self) -> bool {
        true
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        match id.extract::<Id<'_>>() {
            Ok(id) => self.exists(py, id),
            Err(_) => Ok(false),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, id: Id<'_>) -> PyResult<Bound<'py, PyAny>> {
        self.find(py, &id)?.ok_or_else(|| self.missing(&id))
    }

    fn __setitem__(&self, py: Python<'_>, id: Id<'_>, document: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(py, id, document, None).map(drop)
    }

    fn __delitem__(&self, py: Python<'_>, id: Id<'_>) -> PyResult<()> {
        let core = self.writer(py)?;
        let is_deleted = py.detach(|| core.delete(&id)).or_raise()?;
        if is_deleted { Ok(()) } else { Err(self.missing(&id)) }
    }

    /// Pickles the collection as its path and name.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let database = slf.get().database.bind(py);
        (slf.get_type(), (database, slf.get().name())).into_pyobject(py)
    }
}

fn put_name(put: folio::Put) -> &'static str {
    match put {
        folio::Put::Inserted => "inserted",
        folio::Put::Replaced => "replaced",
    }
}

fn layout_of(name: &str) -> PyResult<Layout> {
    match name {
        "lines" => Ok(Layout::Lines),
        "files" => Ok(Layout::Files),
        _ => Err(invalid(format!("layout {name:?} is unknown; use \"lines\" or \"files\""))),
    }
}

/// `None` or `False` leaves strictness to the manifest, `True` takes the first document's schema, a
/// dict is the schema.
fn strict_of(strict: Option<Bound<'_, PyAny>>) -> PyResult<Strict> {
    let Some(strict) = strict else { return Ok(Strict::AsStored) };
    if let Ok(flag) = strict.cast::<PyBool>() {
        return Ok(if flag.is_true() { Strict::FirstDocument } else { Strict::AsStored });
    }
    let mut text = Vec::new();
    Encoder::new(None).value(&strict, &mut text)?;
    serde_json::from_slice(&text).map(Strict::Schema).map_err(invalid)
}
