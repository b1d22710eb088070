//! The public handle of a collection of documents.
//!
//! `folio-document` does the work. This type keeps its database alive, converts errors to the
//! facade's, refuses calls after `close`, and turns the directory into a database at the first
//! write.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use folio_document::{
    Access, BatchCounts, CheckReport, CompactReport, Document, EncodedLine, Fetched, History,
    Notice, Position, Progress, Put, Scan, Stats, Version,
};
use folio_json::{PathSummary, Tree};
use serde_json::Value;

use crate::batch::Batch;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::identity::generated_id;
use crate::store::SharedCollection;
use crate::types::{self, TypeLanguage};

/// A collection of documents with ids. Cheap to clone. Clones share one store, as do all handles of
/// the process on the same database.
#[derive(Debug, Clone)]
pub struct Collection {
    shared: SharedCollection,
    handle: Arc<Handle>,
}

impl Collection {
    pub(crate) fn new(shared: SharedCollection, handle: Arc<Handle>) -> Self {
        Self { shared, handle }
    }

    #[inline]
    pub(crate) fn reader(&self) -> Result<&folio_document::Collection> {
        self.handle.check_open()?;
        Ok(&self.shared.core)
    }

    #[inline]
    pub(crate) fn writer(&self) -> Result<&folio_document::Collection> {
        self.handle.check_writable()?;
        Ok(&self.shared.core)
    }

    /// Notes a change that stays pending until a flush.
    #[inline]
    fn change<T>(
        &self,
        work: impl FnOnce(&folio_document::Collection) -> folio_document::Result<T>,
    ) -> Result<T> {
        let changed = work(self.writer()?);
        self.handle.store.note_write();
        Ok(changed?)
    }

    /// Whether the handle takes writes.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.handle.access == Access::ReadWrite
    }

    /// What all handles of one access share.
    pub(crate) fn shared(&self) -> &SharedCollection {
        &self.shared
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.shared.core.name()
    }

    /// Whether the collection exists yet: the first write creates it.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.shared.core.is_created() || self.shared.core.count().is_ok_and(|count| count > 0)
    }

    /// Stores a document, replacing the one with the same id.
    ///
    /// # Errors
    /// `invalid_input` for a bad id or a document that carries another `_id`,
    /// `type_mismatch` in a strict collection, `locked`, `read_only`, `io`.
    pub fn put(&self, id: &str, document: &Value) -> Result<Put> {
        self.change(|core| core.put(id, document))
    }

    /// Stores JSON text: key order and the text of every number survive.
    ///
    /// # Errors
    /// As [`Collection::put`], and `syntax` when the text is not one JSON object.
    pub fn put_raw(&self, id: &str, json: &str) -> Result<Put> {
        self.change(|core| core.put_raw(id, json))
    }

    /// Stores a line written by an encoder, without validating it again.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn put_encoded(&self, line: EncodedLine<'_>) -> Result<Put> {
        self.change(|core| core.put_encoded(line))
    }

    /// Stores a document under its `_id`, or under a new id: a UUID of version 7, which sorts by
    /// time. Returns the id.
    ///
    /// # Errors
    /// As [`Collection::put`]; `conflict` when a document has the id.
    pub fn add(&self, document: &Value) -> Result<String> {
        self.add_raw(&document.to_string())
    }

    /// Like [`Collection::add`], for JSON text.
    ///
    /// # Errors
    /// As [`Collection::add`] and [`Collection::put_raw`].
    pub fn add_raw(&self, json: &str) -> Result<String> {
        let (id, is_stored) = self.change(|core| core.insert_raw(json, generated_id))?;
        if !is_stored {
            return Err(Error::DocumentExists { collection: self.name().to_owned(), id });
        }
        Ok(id)
    }

    /// Stores many documents. After a crash, all of them exist or none.
    ///
    /// # Errors
    /// As [`Collection::put`]; nothing is stored then.
    pub fn put_many<'a>(
        &self,
        documents: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<BatchCounts> {
        let counts = self.writer()?.put_many(documents)?;
        self.shared.note_lines();
        Ok(counts)
    }

    /// Begins an atomic batch. After a crash, all of it exists or none.
    ///
    /// # Errors
    /// `locked`, `read_only`, `io`.
    pub fn batch(&self) -> Result<Batch> {
        let batch = self.writer()?.batch()?;
        Ok(Batch::new(batch, self.shared.clone(), Arc::clone(&self.handle)))
    }

    /// Begins a turn of this thread to write, for a statement whose changes depend on what it reads.
    #[cfg(feature = "sql")]
    pub(crate) fn turn(&self) -> Result<folio_document::Turn> {
        self.change(folio_document::Collection::turn)
    }

    /// Applies a JSON merge patch (RFC 7396); `None` when the document does not exist.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn patch(&self, id: &str, patch: &Value) -> Result<Option<Document>> {
        self.change(|core| core.patch(id, patch))
    }

    /// Deletes a document. Returns whether it existed.
    ///
    /// # Errors
    /// `invalid_input`, `locked`, `read_only`, `io`.
    pub fn delete(&self, id: &str) -> Result<bool> {
        self.change(|core| core.delete(id))
    }

    /// Deletes a document and returns it, as one atomic step.
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn pop(&self, id: &str) -> Result<Option<Document>> {
        self.change(|core| core.take(id))
    }

    /// Deletes all documents and returns how many. After a crash, all of them exist or none.
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn clear(&self) -> Result<u64> {
        let mut batch = self.batch()?; // nobody writes from here on
        for id in self.ids()? {
            batch.delete(&id?)?;
        }
        let counts = batch.commit()?;
        // The documents are deleted already; reclaiming the space may fail and happen later.
        let _ = self.shared.core.compact(&mut |_, _| true);
        Ok(counts.deleted)
    }

    /// The document with an id.
    ///
    /// # Errors
    /// `corrupted` when the stored bytes are not the bytes written, `io`.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        Ok(self.reader()?.get(id)?)
    }

    /// Reads the exact line of a document into `line`, which is cleared first; `false` if there is
    /// no such document. Like [`Collection::get`], without allocating a document for each lookup.
    ///
    /// # Errors
    /// As [`Collection::get`].
    #[inline]
    pub fn get_raw(&self, id: &str, line: &mut Vec<u8>) -> Result<bool> {
        Ok(self.reader()?.get_raw(id, line)?)
    }

    /// Like [`Collection::get_raw`], but never blocks. `false` means not cached; call `get_raw`. For
    /// callers that hold a lock of their own, which they release before they block.
    #[inline]
    #[must_use]
    pub fn try_get_raw(&self, id: &str, line: &mut Vec<u8>) -> bool {
        self.reader().is_ok_and(|core| core.try_get_raw(id, line))
    }

    /// Fetches the lines of many documents, on all cores: faster than one `get` each.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_many<S: AsRef<str>>(&self, ids: &[S]) -> Result<Fetched> {
        Ok(self.reader()?.get_many(ids)?)
    }

    /// Whether a document has the id.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn exists(&self, id: &str) -> Result<bool> {
        Ok(self.reader()?.exists(id)?)
    }

    /// The number of documents.
    ///
    /// # Errors
    /// `io`.
    pub fn count(&self) -> Result<u64> {
        Ok(self.reader()?.count()?)
    }

    /// The types of the documents: the kinds of values at each path, with counts, and the types
    /// that hold them. SQL, Arrow streams, exports and other engines use the same types.
    ///
    /// Reads the documents added since they were last asked for. Those of a large collection are
    /// kept in a file beside its index, so this holds for other processes too; without the file,
    /// the first call reads all documents.
    ///
    /// Documents replaced and deleted since still count: types may be wider than the documents need,
    /// and counts are estimates, until a compaction or a reindex. `Tree::document_count` is then more
    /// than [`Collection::count`].
    ///
    /// # Errors
    /// As [`Collection::scan`].
    pub fn types(&self) -> Result<Arc<Tree>> {
        Ok(self.types_of_version()?.0)
    }

    /// What is known of each path of the documents: type, how many have it, about how many distinct
    /// values there are, the smallest and the largest, examples. An open collection ends with `*`, for
    /// the paths that no document has. Documents replaced and deleted since still count, until a
    /// compaction or a reindex.
    ///
    /// # Errors
    /// As [`Collection::types`].
    pub fn fields(&self) -> Result<Vec<PathSummary>> {
        let mut fields = self.types()?.paths();
        fields.extend(self.reader()?.has_open_paths()?.then(PathSummary::of_other_paths));
        Ok(fields)
    }

    /// The types as source text of a programming language.
    ///
    /// # Errors
    /// As [`Collection::types`].
    pub fn type_source(&self, language: TypeLanguage) -> Result<String> {
        Ok(types::source(&*self.types()?, self.name(), language))
    }

    /// Brings the types to what another process finds.
    #[cfg(feature = "sql")]
    pub(crate) fn settle_types(&self) -> Result<()> {
        Ok(self.shared.types.settle(self.reader()?)?)
    }

    /// Lets the types be found out again as another process does.
    #[cfg(feature = "sql")]
    pub(crate) fn forget_types(&self) {
        self.shared.types.forget();
    }

    /// The types, and the version of the collection that they describe.
    pub(crate) fn types_of_version(&self) -> Result<(Arc<Tree>, Version)> {
        Ok(self.shared.types.of(self.reader()?)?)
    }

    /// A number that stays the same while the documents do, as far as this handle has seen them:
    /// [`Collection::refresh`] sees what others write. After a change it is another, also where count
    /// and size are not. Other handles have other numbers.
    ///
    /// # Errors
    /// `io`.
    pub fn revision(&self) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        self.version()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// The version of the collection now.
    pub(crate) fn version(&self) -> Result<Version> {
        Ok(self.reader()?.version()?)
    }

    /// Streams all ids in file order.
    ///
    /// # Errors
    /// `io`, also from the iterator.
    pub fn ids(&self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        Ok(self.reader()?.ids()?.map(|id| Ok(id?)))
    }

    /// Streams the documents in file order; memory does not grow with the collection.
    ///
    /// # Errors
    /// `io`, also from the iterator.
    pub fn scan(&self, scan: Scan) -> Result<Documents> {
        Ok(Documents::new(self.reader()?.scan(scan)?))
    }

    /// The same scan in up to `count` parts, for as many threads. All parts see one snapshot;
    /// concatenated, they equal [`Collection::scan`].
    ///
    /// # Errors
    /// As [`Collection::scan`]; `invalid_input` for a scan with a limit, which parts cannot share.
    /// If the file is edited meanwhile, a part ends with `corrupted`.
    pub fn scan_parts(&self, scan: &Scan, count: usize) -> Result<Vec<Documents>> {
        let parts = self.reader()?.scan_parts(scan, count)?;
        Ok(parts.into_iter().map(Documents::new).collect())
    }

    /// At most `count` ranges of about the same size, for other processes to read.
    #[cfg(feature = "sql")]
    pub(crate) fn ranges(&self, count: usize) -> Result<Vec<folio_document::DocumentRange>> {
        Ok(self.reader()?.ranges(count)?)
    }

    /// As [`folio_document::Collection::ranges_between`].
    #[cfg(feature = "sql")]
    pub(crate) fn ranges_between(
        &self,
        since: Option<&Position>,
        until: Option<&Position>,
        count: usize,
    ) -> Result<Vec<folio_document::DocumentRange>> {
        Ok(self.reader()?.ranges_between(since, until, count)?)
    }

    /// The documents of such a range.
    #[cfg(feature = "sql")]
    pub(crate) fn scan_range(&self, range: &folio_document::DocumentRange) -> Result<Documents> {
        Ok(Documents::new(self.reader()?.scan_range(range)?))
    }

    /// Makes every write so far durable and releases the writer's lock.
    ///
    /// # Errors
    /// An error of the device, after which the collection is `poisoned` for writes.
    pub fn flush(&self) -> Result<()> {
        self.reader()?.flush()?;
        self.shared.keep();
        Ok(())
    }

    /// Reads what other processes and people have written since.
    ///
    /// # Errors
    /// `io`.
    pub fn refresh(&self) -> Result<()> {
        Ok(self.reader()?.refresh()?)
    }

    /// Rewrites the live lines in order, without superseded and deleted ones.
    ///
    /// # Errors
    /// `locked`, `read_only`, `io`; `cancelled` when `progress` answers `false`.
    pub fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        let report = self.writer()?.compact(progress)?;
        self.renew_types()?;
        self.shared.keep_columns();
        Ok(report)
    }

    /// Reads everything and reports problems. Changes nothing.
    ///
    /// # Errors
    /// `io`; `cancelled` when `progress` answers `false`.
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        let core = self.reader()?;
        let mut report = core.check(progress)?;
        report.problems.extend(self.shared.check_columns(None)?);
        if types::is_file_damaged(core) {
            report.problems.push(format!(
                "types: collections/{}/meta/folio.types is damaged, and not used; run `folio reindex`",
                core.name()
            ));
        }
        Ok(report)
    }

    /// Rebuilds the indexes from the data, and the types that are known: without those of documents
    /// replaced and deleted since.
    ///
    /// # Errors
    /// `locked`, `read_only`, `io`; `cancelled` when `progress` answers `false`.
    pub fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        self.writer()?.reindex(progress)?;
        self.renew_types()?;
        self.shared.remake_columns()
    }

    /// Finds the types of the documents there are. Relations may have had wider ones.
    fn renew_types(&self) -> Result<()> {
        let renewed = self.shared.types.renew(self.reader()?);
        self.definitions_changed();
        Ok(renewed?)
    }

    /// Sizes and counts.
    ///
    /// # Errors
    /// `io`.
    pub fn stats(&self) -> Result<Stats> {
        Ok(self.reader()?.stats()?)
    }

    /// Where the documents end now: those that are put later come after it. Its text is short, can be
    /// kept, and holds in other processes. [`PartitionOptions`](crate::PartitionOptions) read
    /// between two positions.
    ///
    /// # Errors
    /// `invalid_input` for a collection with a file per document; `io`.
    pub fn position(&self) -> Result<Position> {
        Ok(self.reader()?.position()?)
    }

    /// A 64-bit fingerprint of the file's content; a copy of the file has the same one. With one
    /// file per document, the ids and sizes count.
    ///
    /// # Errors
    /// `io`.
    pub fn fingerprint(&self) -> Result<u64> {
        Ok(self.reader()?.fingerprint()?)
    }

    /// What was noticed since the last call (hand edits, a lost index, an interrupted batch). Each
    /// notice is reported once.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.shared.core.take_notices();
        self.handle.retain_telling(&mut notices);
        notices
    }

    /// The lines of the file that are not documents: one sentence for each of the first few, with
    /// file and number, and one for the rest. Does not consume
    /// [`Collection::take_notices`]. The result stays the same until the file is repaired.
    ///
    /// # Errors
    /// `io`.
    pub fn broken_lines(&self) -> Result<Vec<Notice>> {
        Ok(self.reader()?.broken_lines()?)
    }

    /// The number of a document's line, and the superseded lines of its id that are still in the file,
    /// the newest first, at most `limit`.
    /// Reads the dead lines, from the last one of the file on; if `progress` answers `false`, what was
    /// found so far, and the result says that it is partial.
    ///
    /// # Errors
    /// As [`Collection::get`]; `cancelled` when `progress` answers `false` while lines are counted.
    pub fn history(&self, id: &str, limit: usize, progress: Progress<'_>) -> Result<History> {
        Ok(self.reader()?.history(id, limit, progress)?)
    }

    /// How far the import of the source with this fingerprint was committed; see
    /// [`crate::import`].
    ///
    /// # Errors
    /// `io`.
    pub fn import_position(&self, source: u64) -> Result<Option<u64>> {
        Ok(self.reader()?.import_position(source)?)
    }

    /// Flushes and closes the collection for every handle with the same access. The database can
    /// open it again.
    ///
    /// # Errors
    /// As [`Collection::flush`].
    pub fn close(&self) -> Result<()> {
        self.handle.store.close_collection(self.name(), self.handle.access)
    }
}
