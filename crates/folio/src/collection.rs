//! A collection of documents, as users hold it.
//!
//! The work is done in `folio-document`. This type keeps the database it came
//! from alive, answers with the facade's errors, refuses what comes after
//! `close`, and has the first write turn the directory into a database.

use std::sync::Arc;

use folio_document::{
    Access, BatchCounts, CheckReport, CompactReport, Document, EncodedLine, Fetched, Notice,
    Progress, Put, Scan, Stats, Version,
};
use folio_json::Tree;
use serde_json::Value;

use crate::batch::Batch;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::identity::generated_id;

/// A collection of documents under ids. Cheap to clone; clones share one store,
/// and so do all handles of the process on the same database.
#[derive(Debug, Clone)]
pub struct Collection {
    core: folio_document::Collection,
    handle: Arc<Handle>,
}

impl Collection {
    pub(crate) fn new(core: folio_document::Collection, handle: Arc<Handle>) -> Self {
        Self { core, handle }
    }

    #[inline]
    fn reader(&self) -> Result<&folio_document::Collection> {
        self.handle.check_open()?;
        Ok(&self.core)
    }

    #[inline]
    fn writer(&self) -> Result<&folio_document::Collection> {
        self.handle.check_writable()?;
        Ok(&self.core)
    }

    /// A change that stays pending until a flush.
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

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// Whether there is such a collection yet: the first write creates it.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.core.is_created() || self.core.count().is_ok_and(|count| count > 0)
    }

    /// Stores a document, replacing the one that has the id.
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

    /// Stores a line that an encoder has written: nothing of it is validated again.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn put_encoded(&self, line: EncodedLine<'_>) -> Result<Put> {
        self.change(|core| core.put_encoded(line))
    }

    /// Stores a document under the `_id` it carries, or under an id of its own: a UUID of
    /// version 7, which sorts by time. Answers the id.
    ///
    /// # Errors
    /// As [`Collection::put`]; `conflict` when there is a document with the id.
    pub fn add(&self, document: &Value) -> Result<String> {
        self.add_raw(&document.to_string())
    }

    /// As [`Collection::add`], of JSON text.
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

    /// Stores many documents, all or none of them after a crash.
    ///
    /// # Errors
    /// As [`Collection::put`]; then nothing was stored.
    pub fn put_many<'a>(
        &self,
        documents: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<BatchCounts> {
        Ok(self.writer()?.put_many(documents)?)
    }

    /// Begins an atomic batch: all of it or none of it is there after a crash.
    ///
    /// # Errors
    /// `locked`, `read_only`, `io`.
    pub fn batch(&self) -> Result<Batch> {
        Ok(Batch::new(self.writer()?.batch()?, Arc::clone(&self.handle)))
    }

    /// Applies a JSON merge patch (RFC 7396); `None` when there is no such document.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn patch(&self, id: &str, patch: &Value) -> Result<Option<Document>> {
        self.change(|core| core.patch(id, patch))
    }

    /// Deletes a document and answers whether there was one.
    ///
    /// # Errors
    /// `invalid_input`, `locked`, `read_only`, `io`.
    pub fn delete(&self, id: &str) -> Result<bool> {
        self.change(|core| core.delete(id))
    }

    /// Deletes a document and answers it: nobody writes in between.
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn pop(&self, id: &str) -> Result<Option<Document>> {
        self.change(|core| core.take(id))
    }

    /// Deletes all documents, all or none of them after a crash, and answers how many.
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn clear(&self) -> Result<u64> {
        let mut batch = self.batch()?; // nobody writes from here on
        for id in self.ids()? {
            batch.delete(&id?)?;
        }
        let counts = batch.commit()?;
        // The lines are dead by now: that they also go may wait for another time.
        let _ = self.core.compact(&mut |_, _| true);
        Ok(counts.deleted)
    }

    /// The document with an id.
    ///
    /// # Errors
    /// `corrupted` when the stored bytes are not those that were written, `io`.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        Ok(self.reader()?.get(id)?)
    }

    /// Like [`Collection::get`], but never blocks. `None` means not cached; call `get`. For
    /// callers that hold a lock of their own, which they release before they wait.
    #[inline]
    #[must_use]
    pub fn try_get(&self, id: &str) -> Option<Document> {
        self.reader().ok()?.try_get(id)
    }

    /// The lines of the documents under many ids, on all cores: faster than one
    /// `get` each.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_many<S: AsRef<str>>(&self, ids: &[S]) -> Result<Fetched> {
        Ok(self.reader()?.get_many(ids)?)
    }

    /// Whether there is a document with the id.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn exists(&self, id: &str) -> Result<bool> {
        Ok(self.reader()?.exists(id)?)
    }

    /// How many documents there are.
    ///
    /// # Errors
    /// `io`.
    pub fn count(&self) -> Result<u64> {
        Ok(self.reader()?.count()?)
    }

    /// The types of the documents: the kinds of values seen at each path, with counts, and
    /// the types that hold them. They are the same for SQL, Arrow streams, exports and other
    /// engines.
    ///
    /// The first call looks at all documents, later ones at what was added since.
    ///
    /// # Errors
    /// As [`Collection::scan`].
    pub fn types(&self) -> Result<Arc<Tree>> {
        Ok(self.types_of_version()?.0)
    }

    /// The types, and the version of the collection that they are of.
    pub(crate) fn types_of_version(&self) -> Result<(Arc<Tree>, Version)> {
        let core = self.reader()?;
        let known = self.handle.store.known_types(core.name(), self.handle.access);
        Ok(known.of(core)?)
    }

    /// All ids in file order, streaming.
    ///
    /// # Errors
    /// `io`, also from the iterator.
    pub fn ids(&self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        Ok(self.reader()?.ids()?.map(|id| Ok(id?)))
    }

    /// The documents in file order, streaming; memory does not grow with the collection.
    ///
    /// # Errors
    /// `io`, also from the iterator.
    pub fn scan(&self, scan: Scan) -> Result<Documents> {
        Ok(Documents::new(self.reader()?.scan(scan)?))
    }

    /// The same scan in up to `count` parts, for as many threads: put together in order
    /// they give what [`Collection::scan`] gives, as of one moment.
    ///
    /// # Errors
    /// As [`Collection::scan`]; `invalid_input` for a scan with a limit, which parts cannot
    /// share. A file that is edited meanwhile ends a part with `corrupted`.
    pub fn scan_parts(&self, scan: &Scan, count: usize) -> Result<Vec<Documents>> {
        let parts = self.reader()?.scan_parts(scan, count)?;
        Ok(parts.into_iter().map(Documents::new).collect())
    }

    /// Makes every write so far durable and gives the writer's lock back.
    ///
    /// # Errors
    /// The device's failure, after which the collection is `poisoned` for writes.
    pub fn flush(&self) -> Result<()> {
        Ok(self.reader()?.flush()?)
    }

    /// Takes in what other processes and people have written since.
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
        Ok(self.writer()?.compact(progress)?)
    }

    /// Reads everything and reports what is not as it should be. Changes nothing.
    ///
    /// # Errors
    /// `io`; `cancelled` when `progress` answers `false`.
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        Ok(self.reader()?.check(progress)?)
    }

    /// Builds the index again from the data.
    ///
    /// # Errors
    /// `locked`, `read_only`, `io`; `cancelled` when `progress` answers `false`.
    pub fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        Ok(self.writer()?.reindex(progress)?)
    }

    /// Sizes and counts.
    ///
    /// # Errors
    /// `io`.
    pub fn stats(&self) -> Result<Stats> {
        Ok(self.reader()?.stats()?)
    }

    /// Tells the content of the file from any other, as far as checksums of 64 bits do; a copy
    /// of the file has the same. Where each document has a file, ids and sizes count.
    ///
    /// # Errors
    /// `io`.
    pub fn fingerprint(&self) -> Result<u64> {
        Ok(self.reader()?.fingerprint()?)
    }

    /// What was noticed since the last call (hand edits, a lost index, an
    /// interrupted batch); each is told once.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.core.take_notices();
        // An archive never has an index, so that it had none is no news.
        notices.retain(|notice| !(self.handle.is_archive && notice.0.contains("had no index")));
        notices
    }

    /// The lines of the file that are no documents: a sentence for each of the first, by file
    /// and number, and one for the rest. Asking takes nothing from [`Collection::take_notices`];
    /// the answer is the same until somebody mends the file.
    ///
    /// # Errors
    /// `io`.
    pub fn broken_lines(&self) -> Result<Vec<Notice>> {
        Ok(self.reader()?.broken_lines()?)
    }

    /// How far the import of the source with this fingerprint had been
    /// committed; see [`crate::import`].
    ///
    /// # Errors
    /// `io`.
    pub fn import_position(&self, source: u64) -> Result<Option<u64>> {
        Ok(self.reader()?.import_position(source)?)
    }

    /// Flushes and closes the collection for every handle with the same access;
    /// opening it again through the database begins anew.
    ///
    /// # Errors
    /// As [`Collection::flush`].
    pub fn close(&self) -> Result<()> {
        self.handle.store.close_collection(self.name(), self.handle.access)
    }
}
