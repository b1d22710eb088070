//! The public handle of a collection.

use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, WriterLock};
use folio_types::{check_collection_name, check_document_id};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::layout::{AnyStore, either};
use crate::line;
use crate::line::EncodedLine;
use crate::manifest::{FoundLayouts, Manifest};
use crate::options::Access;
use crate::range::DocumentRange;
use crate::rules::{CheckedStore, Rules};
use crate::store::FieldScan;
use crate::{
    Batch, BatchCounts, CheckReport, CollectionOptions, ColumnParts, CompactReport, Document,
    Documents, Fetched, FoundDocuments, FoundKeys, History, IndexCheck, IndexDefinition,
    IndexStats, KeyRange, Notice, Only, Position, Progress, Put, Scan, Stamp, Stats, Turn, Version,
};

/// Initial capacity for a short line.
const LINE_SIZE: usize = 256;

/// A collection of documents by id. Cheap to clone; clones share one store and may be used from
/// several threads.
#[derive(Debug, Clone)]
pub struct Collection {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    checked: CheckedStore,
    notices: Vec<Notice>,
}

impl Collection {
    /// Opens `<database>/collections/<name>`. Nothing is created before the first write.
    ///
    /// # Errors
    /// [`Error::Name`] for an invalid name, [`Error::Version`] for a newer format,
    /// [`Error::Corrupted`] if the manifest or the data file cannot be read, [`Error::Io`].
    pub fn open(
        files: Arc<dyn FileSystem>,
        database: &Path,
        name: &str,
        options: &CollectionOptions,
        lock: Arc<WriterLock>,
    ) -> Result<Self> {
        check_collection_name(name)?;
        let folder = database.join("collections").join(name);
        let mut notices = Vec::new();
        let manifest = match Manifest::load(&*files, &folder) {
            Err(error @ Error::Corrupted { .. }) if options.access == Access::Read => {
                notices.push(Notice(error.to_string()));
                Manifest::fallback()
            }
            manifest => manifest?,
        };
        let (layout, notice) = FoundLayouts::in_folder(&*files, &folder, manifest.layout)?
            .choose(&manifest, options.layout);
        notices.extend(notice);
        let manifest = match manifest.is_stored {
            true => manifest,
            false => Manifest::new(name, layout, files.now()),
        };
        let rules = Rules::new(name, &manifest, &options.strict)?;
        let store = AnyStore::open(layout, files, database, name, options, lock, manifest)?;
        store.notice(notices.iter().cloned());
        let checked = CheckedStore::new(store, rules);
        Ok(Self { inner: Arc::new(Inner { name: name.to_owned(), checked, notices }) })
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether each document is a file.
    #[must_use]
    pub fn is_in_files(&self) -> bool {
        matches!(self.store(), AnyStore::Files(_))
    }

    /// Whether the collection exists on disk.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.store().is_created()
    }

    /// Stores a document, which must be a JSON object, under an id. It is visible to `get` at once,
    /// and durable as [`crate::Durability`] specifies.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::IdMismatch`], [`Error::Invalid`] or [`Error::Schema`] for the id
    /// or the document; [`Error::ReadOnly`], [`Error::Locked`], [`Error::Poisoned`] or
    /// [`Error::Io`] if it cannot be written.
    pub fn put(&self, id: &str, document: &Value) -> Result<Put> {
        check_document_id(id)?;
        self.inner.checked.check(id, || Ok(document.clone()))?;
        let mut line = Vec::with_capacity(LINE_SIZE);
        line::encode_value(id, document, &mut line)?;
        let line = EncodedLine::new(id, &line)?;
        either!(AnyStore, self.store(), store => store.put_line(line))
    }

    /// Stores JSON text. Key order and the text of numbers are preserved. White space between
    /// tokens is removed, and `_id` is moved to the front.
    ///
    /// # Errors
    /// As [`Collection::put`], and [`Error::Json`].
    pub fn put_raw(&self, id: &str, json: &str) -> Result<Put> {
        let (id, line) = line::normalize(Some(id), json)?;
        self.put_encoded(EncodedLine::new(&id, &line)?)
    }

    /// Stores a line that an encoder has written.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn put_encoded(&self, line: EncodedLine<'_>) -> Result<Put> {
        self.inner.checked.check_line(&line)?;
        either!(AnyStore, self.store(), store => store.put_line(line))
    }

    /// Stores JSON text under its own `_id`, or under `new_id` if it has none, unless that id
    /// already has a document. Returns the id, and whether the text was stored.
    ///
    /// # Errors
    /// As [`Collection::put_raw`].
    pub fn insert_raw(
        &self,
        json: &str,
        new_id: impl FnOnce() -> String,
    ) -> Result<(String, bool)> {
        let (id, line) = match line::normalize(None, json) {
            Err(Error::NoId) => line::normalize(Some(&new_id()), json)?,
            normalized => normalized?,
        };
        let line = EncodedLine::new(&id, &line)?;
        self.inner.checked.check_line(&line)?;
        let is_stored = either!(AnyStore, self.store(), store => store.insert_line(line))?;
        Ok((id, is_stored))
    }

    /// Deletes a document and returns it, in one step: no other writer comes between.
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn take(&self, id: &str) -> Result<Option<Document>> {
        check_document_id(id)?;
        either!(AnyStore, self.store(), store => store.take(id))?.map(Document::of_line).transpose()
    }

    /// Applies a JSON merge patch (RFC 7396) to a document and returns the result; `None` if there
    /// is no such document.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn patch(&self, id: &str, patch: &Value) -> Result<Option<Document>> {
        check_document_id(id)?;
        let encode = |value: &Value| {
            let mut line = Vec::new();
            line::encode_value(id, value, &mut line).map(|()| line)
        };
        self.inner.checked.update(id, |value| folio_json::merge_patch(value, patch), encode)
    }

    /// Returns the document with this id.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Corrupted`] if the file changes during the read.
    #[inline]
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        let mut line = Vec::new();
        self.get_raw(id, &mut line)?.then(|| Document::of_id(id, line)).transpose()
    }

    /// Reads the exact line of a document into `line`, which is cleared first; `false` if there is
    /// no such document. Like [`Collection::get`], without allocating a document for each lookup.
    ///
    /// # Errors
    /// As [`Collection::get`].
    #[inline]
    pub fn get_raw(&self, id: &str, line: &mut Vec<u8>) -> Result<bool> {
        either!(AnyStore, self.store(), store => store.get(id, line))
    }

    /// Like [`Collection::get_raw`], but never blocks. `false` means not cached; call `get_raw`.
    #[inline]
    #[must_use]
    pub fn try_get_raw(&self, id: &str, line: &mut Vec<u8>) -> bool {
        match self.store() {
            AnyStore::Lines(store) => store.try_get(id, line),
            AnyStore::Files(_) => false, // each lookup reads its file
        }
    }

    /// Returns the documents with these ids, using all cores. Faster than one `get` each, most of
    /// all if the data is not yet in memory.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_many<S: AsRef<str>>(&self, ids: &[S]) -> Result<Fetched> {
        let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        Fetched::of(&ids, |chunk| either!(AnyStore, self.store(), store => store.get_chunk(chunk)))
    }

    /// Whether a document with this id exists.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn exists(&self, id: &str) -> Result<bool> {
        self.get_raw(id, &mut Vec::new())
    }

    /// Deletes a document. Returns whether it existed.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        check_document_id(id)?;
        either!(AnyStore, self.store(), store => store.delete(id))
    }

    /// The number of documents.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn count(&self) -> Result<u64> {
        self.store().count()
    }

    /// Streams all ids in file order.
    ///
    /// # Errors
    /// As [`Collection::get`], at once or with an item.
    pub fn ids(&self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        Ok(self
            .scan(Scan::new())?
            .map(|document| document.map(|document| document.id().to_owned())))
    }

    /// Streams documents in file order, as of now. An update moves a document to the end. Memory
    /// use does not grow with the collection.
    ///
    /// # Errors
    /// As [`Collection::get`], at once or with an item.
    pub fn scan(&self, scan: Scan) -> Result<Documents> {
        Documents::new(self.store(), scan)
    }

    /// Like [`Collection::scan`], for the documents of given ids.
    ///
    /// # Errors
    /// As [`Collection::scan`].
    pub fn scan_of(&self, ids: Vec<String>, scan: Scan) -> Result<Documents> {
        Documents::selected(self.store(), ids, scan)
    }

    /// Splits a scan into up to `count` parts, for as many threads. All parts see the same moment.
    /// In order, they yield what [`Collection::scan`] yields.
    ///
    /// # Errors
    /// As [`Collection::scan`]; [`Error::Invalid`] for a scan with a limit, which parts cannot
    /// share.
    /// parts cannot share.
    pub fn scan_parts(&self, scan: &Scan, count: usize) -> Result<Vec<Documents>> {
        Documents::parts(self.store(), scan, count)
    }

    /// At most `count` ranges of about the same size, which together have all documents, for other
    /// processes to read with [`Collection::scan_range`]. Reads the index, not the documents.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn ranges(&self, count: usize) -> Result<Vec<DocumentRange>> {
        either!(AnyStore, self.store(), store => store.ranges(count))
    }

    /// Where the data file ends now. Documents put later come after it.
    ///
    /// # Errors
    /// [`Error::Invalid`] in the files layout; as [`Collection::get`].
    pub fn position(&self) -> Result<Position> {
        self.store().with_positions()?.position()
    }

    /// Like [`Collection::ranges`], for the documents whose lines were put between two positions: from
    /// the beginning without `since`, to the end without `until`. Documents that are replaced or
    /// deleted before such a range is read are left out.
    ///
    /// # Errors
    /// [`Error::Moved`] if the data file does not begin with what it had up to a position;
    /// [`Error::Invalid`] in the files layout, or if `until` comes before `since`.
    pub fn ranges_between(
        &self,
        since: Option<&Position>,
        until: Option<&Position>,
        count: usize,
    ) -> Result<Vec<DocumentRange>> {
        self.store().with_positions()?.ranges_between(since, until, count)
    }

    /// The documents of a range, which this or another process has planned.
    ///
    /// # Errors
    /// [`Error::Changed`] if they are not the same documents any more; as [`Collection::scan`].
    pub fn scan_range(&self, range: &DocumentRange) -> Result<Documents> {
        Documents::range(self.store(), range)
    }

    /// The version of the collection. It changes with every put, delete and edit by hand, also with
    /// one that leaves the size as it was.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn version(&self) -> Result<Version> {
        either!(AnyStore, self.store(), store => store.version())
    }

    /// Streams the documents that were put since an earlier version and still exist. `None` if the
    /// data may have changed in other ways than by lines added at its end. The caller has already
    /// seen the documents that they replace.
    ///
    /// # Errors
    /// As [`Collection::scan`]. If the file is edited during the scan, it ends with
    /// [`Error::Corrupted`].
    pub fn scan_since(&self, earlier: &Version) -> Result<Option<Documents>> {
        Documents::since(self.store(), earlier)
    }

    /// What proves to another process that the lines of a version are in place. Reads at most two
    /// blocks of the data file. `None` if they are not, or in the files layout.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn stamp_of(&self, version: &Version) -> Result<Option<Stamp>> {
        match self.store() {
            AnyStore::Lines(store) => store.stamp_of(version),
            // Each file would have to be read to know that it is the same.
            AnyStore::Files(_) => Ok(None),
        }
    }

    /// The version that a stamp was taken of, perhaps by another process, if the data file still
    /// begins with the same lines. After an edit by hand among them it does not.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn version_of(&self, stamp: &Stamp) -> Result<Option<Version>> {
        match self.store() {
            AnyStore::Lines(store) => store.version_of(stamp),
            AnyStore::Files(_) => Ok(None),
        }
    }

    /// The content of the file beside the index that keeps the types of the documents, as it was
    /// written; `None` if there is none. Whether it fits the data is for the caller to find out, by
    /// a [`Stamp`] in it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read_types(&self) -> Result<Option<Vec<u8>>> {
        match self.store() {
            AnyStore::Lines(store) => store.read_types(),
            AnyStore::Files(_) => Ok(None), // without stamps, nothing can be derived for later
        }
    }

    /// Forgets what is cached of that file at a URL, because it was found damaged: it is asked for
    /// again.
    pub fn forget_types(&self) {
        if let AnyStore::Lines(store) = self.store() {
            store.forget_types();
        }
    }

    /// Replaces that file, without a sync: it can be made again. `false` if nothing was written,
    /// because the handle is read-only, another process is writing, the file would be too large, or
    /// each document is a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn replace_types(&self, bytes: &[u8]) -> Result<bool> {
        match self.store() {
            AnyStore::Lines(store) => store.replace_types(bytes),
            AnyStore::Files(_) => Ok(false),
        }
    }

    /// Begins a turn of this thread to write, for changes that depend on what is read first.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn turn(&self) -> Result<Turn> {
        Turn::begin(&self.inner.checked.store)
    }

    /// Begins an atomic batch: after a crash, either all of it is there or nothing.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn batch(&self) -> Result<Batch> {
        Batch::begin(&self.inner.checked)
    }

    /// Puts documents as one atomic batch.
    ///
    /// # Errors
    /// As [`Collection::put`]; then none of them is stored.
    pub fn put_many<'a>(
        &self,
        documents: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<BatchCounts> {
        let mut batch = self.batch()?;
        batch.put_many(documents)?;
        batch.commit()
    }

    /// Creates the file of lines, without documents, if there is none, with the schema that came with
    /// the options.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn create(&self) -> Result<()> {
        match self.store() {
            AnyStore::Lines(store) => store.create()?,
            AnyStore::Files(_) => return Ok(()), // the first document does
        }
        self.inner.checked.keep_schema()
    }

    /// The schema that documents have to follow, if the collection is strict and has one.
    #[must_use]
    pub fn strict_schema(&self) -> Option<Value> {
        self.inner.checked.schema().map(|schema| schema.to_json().clone())
    }

    /// Creates an index on fields over the documents. From then on every write maintains it.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if it is unique and documents have the same values;
    /// [`Error::IndexExists`] for a taken name; [`Error::Cancelled`] if `progress` stops it, after which
    /// another call continues; as [`Collection::put`].
    pub fn create_index(&self, definition: &IndexDefinition, progress: Progress<'_>) -> Result<()> {
        self.store().with_indexes()?.create_index(definition, progress)
    }

    /// Checks that an index can be created, and makes all previous writes durable. Columns are then
    /// built by the caller, before [`Collection::create_index`] stores their definition.
    ///
    /// # Errors
    /// As [`Collection::create_index`].
    pub fn prepare_index(&self, definition: &IndexDefinition) -> Result<()> {
        self.store().with_indexes()?.prepare_index(definition)
    }

    /// The parts of a columns index, which need not be stored yet; `None` in the files layout.
    #[must_use]
    pub fn column_parts(&self, definition: &IndexDefinition) -> Option<ColumnParts> {
        match self.store() {
            AnyStore::Lines(store) => Some(store.column_parts(definition)),
            AnyStore::Files(_) => None,
        }
    }

    /// Sets whether statements may name paths that no document has. The manifest stores it; the
    /// collection is created if need be.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn set_open_paths(&self, open: bool) -> Result<()> {
        either!(AnyStore, self.store(), store => store.set_open_paths(open))
    }

    /// Whether statements may name paths that no document has.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn has_open_paths(&self) -> Result<bool> {
        either!(AnyStore, self.store(), store => store.has_open_paths())
    }

    /// The indexes on fields.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn indexes(&self) -> Result<Arc<[IndexDefinition]>> {
        match self.store() {
            AnyStore::Lines(store) => store.indexes(),
            AnyStore::Files(_) => Ok(Arc::default()),
        }
    }

    /// Sizes and states of the indexes on fields.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn index_stats(&self) -> Result<Vec<IndexStats>> {
        match self.store() {
            AnyStore::Lines(store) => store.index_stats(),
            AnyStore::Files(_) => Ok(Vec::new()),
        }
    }

    /// Drops an index on fields.
    ///
    /// # Errors
    /// [`Error::NoIndex`]; as [`Collection::put`].
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.store().with_indexes()?.drop_index(name)
    }

    /// Compares an index on fields with the documents.
    ///
    /// # Errors
    /// [`Error::NoIndex`]; as [`Collection::get`].
    pub fn check_index(&self, name: &str) -> Result<IndexCheck> {
        self.store().with_indexes()?.check_field_index(name)
    }

    /// Streams the documents of a range of keys in the order of an index, as of now, at
    /// most `limit` of them.
    ///
    /// # Errors
    /// [`Error::NoIndex`]; as [`Collection::scan`].
    pub fn find(
        &self,
        index: &str,
        range: KeyRange,
        reverse: bool,
        limit: Option<u64>,
    ) -> Result<FoundDocuments> {
        FieldScan::new(self.store().with_indexes()?, index, range, reverse, limit, false)
            .map(FoundDocuments::new)
    }

    /// About how many keys of an index are in a range, at the cost of a few pages; `None` if the
    /// index does not cover all documents.
    ///
    /// # Errors
    /// As [`Collection::find`].
    pub fn key_count(&self, index: &str, range: &KeyRange) -> Result<Option<u64>> {
        self.store().with_indexes()?.key_count(index, range)
    }

    /// Reads the line of the only document whose key in an index begins with these bytes, which are
    /// those of [`KeyRange::key_of`].
    ///
    /// # Errors
    /// As [`Collection::find`].
    pub fn find_only(&self, index: &str, key: &[u8], line: &mut Vec<u8>) -> Result<Only> {
        self.store().with_indexes()?.find_only(index, key, line)
    }

    /// Like [`Collection::find`], for the keys of the documents: no document is read.
    ///
    /// # Errors
    /// As [`Collection::find`].
    pub fn find_keys(
        &self,
        index: &str,
        range: KeyRange,
        reverse: bool,
        limit: Option<u64>,
    ) -> Result<FoundKeys> {
        FieldScan::new(self.store().with_indexes()?, index, range, reverse, limit, true)
            .map(FoundKeys::new)
    }

    /// Makes all previous writes durable and releases the writer's lock, so that other processes
    /// can write.
    ///
    /// # Errors
    /// [`Error::Io`]; if a sync failed, later writes return [`Error::Poisoned`].
    pub fn flush(&self) -> Result<()> {
        either!(AnyStore, self.store(), store => store.flush())
    }

    /// Like [`Collection::flush`], but does not wait for an open batch: nothing is pending during
    /// one. Does nothing for a collection that is closed, read-only or poisoned.
    ///
    /// # Errors
    /// As [`Collection::flush`].
    pub fn flush_pending(&self) -> Result<()> {
        either!(AnyStore, self.store(), store => store.flush_pending())
    }

    /// Checks that writes are possible.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::ReadOnly`], [`Error::Poisoned`].
    pub fn check_writable(&self) -> Result<()> {
        self.store().check_writable()
    }

    /// Hands pending lines to the operating system, without a sync and without releasing the lock.
    /// After this they survive the end of the process. Otherwise like
    /// [`Collection::flush_pending`].
    ///
    /// # Errors
    /// [`Error::Io`]; the lines then stay pending.
    pub fn write_pending(&self) -> Result<()> {
        match self.store() {
            AnyStore::Lines(store) => store.write_pending(),
            AnyStore::Files(_) => Ok(()), // each put writes its file
        }
    }

    /// Reads what other processes and people have written since.
    ///
    /// # Errors
    /// As [`Collection::open`].
    pub fn refresh(&self) -> Result<()> {
        self.store().refresh()
    }

    /// Like [`Collection::refresh`], but does nothing while this process is writing. Never waits.
    ///
    /// # Errors
    /// As [`Collection::open`].
    pub fn try_refresh(&self) -> Result<()> {
        either!(AnyStore, self.store(), store => store.try_refresh())
    }

    /// Rewrites the live documents in order and drops superseded lines. Invalid lines move to a
    /// separate file.
    ///
    /// # Errors
    /// As [`Collection::put`]; [`Error::Cancelled`] if `progress` stops it.
    pub fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        either!(AnyStore, self.store(), store => store.compact(progress))
    }

    /// Reads and compares everything, of a strict collection also the documents with the schema.
    /// Repairs nothing.
    ///
    /// # Errors
    /// [`Error::Io`]. Problems with the content are in the report.
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        let schema = self.inner.checked.schema();
        let mut report =
            either!(AnyStore, self.store(), store => store.check(schema.as_ref(), progress))?;
        report.problems.extend(self.inner.notices.iter().map(|notice| notice.0.clone()));
        Ok(report)
    }

    /// Rebuilds the index from the data file.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        either!(AnyStore, self.store(), store => store.reindex(progress))
    }

    /// Counts and sizes.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn stats(&self) -> Result<Stats> {
        either!(AnyStore, self.store(), store => store.stats())
    }

    /// The open data file, as this handle reads it, and the size of its lines; `None` if there is
    /// none. For copies: it never changes, unless somebody edits it in place.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn data_file(&self) -> Result<Option<(Arc<dyn File>, u64)>> {
        match self.store() {
            AnyStore::Lines(store) => store.data_file(),
            AnyStore::Files(_) => Ok(None),
        }
    }

    /// A checksum (64 bits) of the content; a copy of the file has the same one. In the files
    /// layout it covers ids and sizes only.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn fingerprint(&self) -> Result<u64> {
        either!(AnyStore, self.store(), store => store.fingerprint())
    }

    /// Adds a notice for [`Collection::take_notices`].
    pub fn notice(&self, notice: Notice) {
        self.store().notice([notice]);
    }

    /// What was noticed about the files since the last call. Each notice is reported once.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        either!(AnyStore, self.store(), store => store.handle.take_notices())
    }

    /// A notice for each of the first lines that are not documents, with file and line number, and
    /// one for the rest. They are returned as long as the lines exist. Empty in the files layout.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn broken_lines(&self) -> Result<Vec<Notice>> {
        match self.store() {
            AnyStore::Lines(store) => store.broken_lines(),
            // A scan finds them in the files, and reports them.
            AnyStore::Files(_) => Ok(Vec::new()),
        }
    }

    /// The number of a document's line, and the superseded lines of its id that are still in the file,
    /// the newest first, at most `limit`.
    /// Reads the dead lines, from the last one of the file on, at most a million or 16 MiB of this
    /// id; if `progress` ends it there, what was found so far. A compaction removes them. Empty in the
    /// files layout.
    ///
    /// # Errors
    /// As [`Collection::get`]; [`Error::Cancelled`] if `progress` ends it while lines are counted.
    pub fn history(&self, id: &str, limit: usize, progress: Progress<'_>) -> Result<History> {
        match self.store() {
            AnyStore::Lines(store) => store.history(id, limit, progress),
            AnyStore::Files(_) => Ok(History::default()), // a file is replaced as a whole
        }
    }

    /// How far the last committed import came in the source with this fingerprint; `None` if the
    /// last import was of another source.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn import_position(&self, source: u64) -> Result<Option<u64>> {
        either!(AnyStore, self.store(), store => store.import_position(source))
    }

    /// Flushes, and closes the collection for all clones. Later calls return [`Error::Closed`].
    /// Closing twice is allowed.
    ///
    /// # Errors
    /// As [`Collection::flush`].
    pub fn close(&self) -> Result<()> {
        either!(AnyStore, self.store(), store => store.close())
    }

    fn store(&self) -> &AnyStore {
        &self.inner.checked.store
    }
}
