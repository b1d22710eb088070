//! A collection as its users see it.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, WriterLock};
use folio_types::{check_collection_name, check_document_id};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::layout::AnyStore;
use crate::line;
use crate::manifest::{FoundLayouts, Manifest};
use crate::options::Access;
use crate::rules::Rules;
use crate::{
    Batch, BatchCounts, CheckReport, CollectionOptions, CompactReport, Document, Documents,
    Fetched, Notice, Progress, Put, Scan, Stats, Version,
};

/// A collection of documents under ids. Cheap to clone; clones share one store
/// and may be used from several threads.
#[derive(Debug, Clone)]
pub struct Collection {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    store: AnyStore,
    rules: Rules,
    notices: Vec<Notice>,
}

impl Collection {
    /// Opens `<database>/collections/<name>`. Nothing is created before the first write.
    ///
    /// # Errors
    /// [`Error::Name`] for a name that breaks the rules, [`Error::Version`] for a
    /// newer format, [`Error::Corrupted`] where the manifest or the data file cannot
    /// be made sense of, [`Error::Io`].
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
        Ok(Self { inner: Arc::new(Inner { name: name.to_owned(), store, rules, notices }) })
    }

    /// The collection's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether the collection is on disk yet.
    #[must_use]
    pub fn is_created(&self) -> bool {
        self.inner.store.is_created()
    }

    /// Stores a document, which must be a JSON object, under an id. `get` sees it
    /// at once; the device has it as [`crate::Durability`] says.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::IdMismatch`], [`Error::Invalid`] or [`Error::Schema`]
    /// for what is put; [`Error::ReadOnly`], [`Error::Locked`], [`Error::Poisoned`] or
    /// [`Error::Io`] where it cannot be written.
    pub fn put(&self, id: &str, document: &Value) -> Result<Put> {
        check_document_id(id)?;
        self.check_rules(|| Ok(document.clone()))?;
        self.inner.store.put_value(id, document)
    }

    /// Stores JSON text as it stands: key order and the text of numbers survive.
    /// White space between tokens is taken out, `_id` is put first.
    ///
    /// # Errors
    /// As [`Collection::put`], and [`Error::Json`].
    pub fn put_raw(&self, id: &str, json: &str) -> Result<Put> {
        let (id, line) = line::normalize(Some(id), json)?;
        self.check_rules(|| parse(&line))?;
        self.inner.store.put_line(&id, &line)
    }

    /// Stores JSON text under the `_id` it carries, else under `new_id`, unless there is such a
    /// document already. Answers the id, and whether the text was stored.
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
        self.check_rules(|| parse(&line))?;
        let is_stored = self.inner.store.insert_line(&id, &line)?;
        Ok((id, is_stored))
    }

    /// Deletes a document and answers it, without another writer in between.
    ///
    /// # Errors
    /// As [`Collection::delete`].
    pub fn take(&self, id: &str) -> Result<Option<Document>> {
        check_document_id(id)?;
        let line = self.inner.store.take(id)?;
        Ok(line.map(|line| Document::new(id.to_owned(), line)))
    }

    /// Applies a JSON merge patch (RFC 7396) to a document and answers the result;
    /// `None` when there is no such document.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn patch(&self, id: &str, patch: &Value) -> Result<Option<Document>> {
        check_document_id(id)?;
        let rules = &self.inner.rules;
        self.remember(rules.establish(|| self.first_document())?)?;
        // The store is busy while it updates, so a new schema waits until it is done.
        let mut schema = None;
        let patched = self.inner.store.update(id, |line| {
            let text = std::str::from_utf8(line)
                .map_err(|_| Error::Json { offset: 0, reason: "not valid UTF-8" })?;
            let mut value = parse(text)?;
            merge_patch(&mut value, patch);
            if rules.are_strict() {
                schema = rules.check(&value, || Ok(None))?;
            }
            let mut line = Vec::new();
            line::encode_value(id, &value, &mut line)?;
            Ok(String::from_utf8(line).expect("JSON made of strings is UTF-8"))
        })?;
        self.remember(schema)?;
        Ok(patched.map(|line| Document::new(id.to_owned(), line)))
    }

    /// The document under an id.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Corrupted`] where the file changes while it is read.
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        let mut line = Vec::new();
        if !self.get_into(id, &mut line)? {
            return Ok(None);
        }
        let line = String::from_utf8(line)
            .map_err(|_| Error::Json { offset: 0, reason: "not valid UTF-8" })?;
        Ok(Some(Document::new(id.to_owned(), line)))
    }

    /// Reads the exact line of a document into a buffer that is reused, replacing
    /// what it held; `false`, and an undefined buffer, when there is none.
    ///
    /// # Errors
    /// As [`Collection::get`].
    #[inline]
    pub fn get_into(&self, id: &str, line: &mut Vec<u8>) -> Result<bool> {
        self.inner.store.get_into(id, line)
    }

    /// As [`Collection::get_into`], where the line is in memory and no other thread has to be
    /// waited for. `false` says nothing about whether there is such a document. For callers
    /// that hold a lock of their own, which they would give back before they wait.
    ///
    /// What is to be done `meanwhile`, while memory is fetched, must not come back to the
    /// collection. It is left out where the lookup does not come that far.
    #[inline]
    #[must_use]
    pub fn get_kept(&self, id: &str, line: &mut Vec<u8>, meanwhile: impl FnOnce()) -> bool {
        self.inner.store.get_kept(id, line, meanwhile)
    }

    /// The documents under many ids, on all cores: faster than one `get` each, and
    /// the more so where the data is not in memory yet.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn get_many<S: AsRef<str> + Sync>(&self, ids: &[S]) -> Result<Fetched> {
        Fetched::of(ids, |chunk| self.inner.store.get_chunk(chunk))
    }

    /// Whether there is a document under an id.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn exists(&self, id: &str) -> Result<bool> {
        self.get_into(id, &mut Vec::new())
    }

    /// Deletes a document; answers whether there was one.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        check_document_id(id)?;
        self.inner.store.delete(id)
    }

    /// How many documents there are.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn count(&self) -> Result<u64> {
        self.inner.store.count()
    }

    /// All ids, in file order, streaming.
    ///
    /// # Errors
    /// As [`Collection::get`], at once or with an item.
    pub fn ids(&self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        Ok(self.scan(Scan::new())?.map(|document| document.map(Document::into_id)))
    }

    /// Streams documents in file order, as of now; an update moves a document to
    /// the end. Memory does not grow with the collection.
    ///
    /// # Errors
    /// As [`Collection::get`], at once or with an item.
    pub fn scan(&self, scan: Scan) -> Result<Documents> {
        Documents::new(&self.inner.store, scan)
    }

    /// The same scan in up to `count` parts, for as many threads: put together in
    /// order they give what [`Collection::scan`] gives, as of one moment.
    ///
    /// # Errors
    /// As [`Collection::scan`]; [`Error::Invalid`] for a scan with a limit, which
    /// parts cannot share.
    pub fn scan_parts(&self, scan: &Scan, count: usize) -> Result<Vec<Documents>> {
        Documents::parts(&self.inner.store, scan, count)
    }

    /// What tells whether the collection has changed: every put, delete and edit by hand that
    /// is taken in gives it another version, also one that keeps its size.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn version(&self) -> Result<Version> {
        self.inner.store.version()
    }

    /// The documents that were put since an earlier version and are still there; `None` where
    /// the data may have changed in other ways than by additions at its end. Those that they
    /// replace were seen before.
    ///
    /// # Errors
    /// As [`Collection::scan`]. A file that is edited meanwhile ends it with
    /// [`Error::Corrupted`].
    pub fn scan_since(&self, earlier: &Version) -> Result<Option<Documents>> {
        Documents::since(&self.inner.store, earlier)
    }

    /// Begins an atomic batch: all of it or none of it is there after a crash.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn batch(&self) -> Result<Batch> {
        Batch::begin(self.clone(), &self.inner.store)
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

    /// Makes every write so far durable and gives the writer's lock back, so
    /// that other processes may write.
    ///
    /// # Errors
    /// [`Error::Io`]; where a sync failed, later writes answer [`Error::Poisoned`].
    pub fn flush(&self) -> Result<()> {
        self.inner.store.flush()
    }

    /// Like [`Collection::flush`], but never waits for a batch, which has nothing pending.
    /// Does nothing for a collection that is closed, read-only or poisoned.
    ///
    /// # Errors
    /// As [`Collection::flush`].
    pub fn flush_pending(&self) -> Result<()> {
        self.inner.store.flush_pending()
    }

    /// Hands pending lines to the system, without a sync and without giving the lock back:
    /// from here on they survive the end of the process. As [`Collection::flush_pending`]
    /// otherwise.
    ///
    /// # Errors
    /// [`Error::Io`]; then they stay pending.
    pub fn write_pending(&self) -> Result<()> {
        self.inner.store.write_pending()
    }

    /// Takes in what other processes and people have written since.
    ///
    /// # Errors
    /// As [`Collection::open`].
    pub fn refresh(&self) -> Result<()> {
        self.inner.store.refresh()
    }

    /// As [`Collection::refresh`], unless this process writes at the moment: waits for nobody.
    ///
    /// # Errors
    /// As [`Collection::open`].
    pub fn try_refresh(&self) -> Result<()> {
        self.inner.store.try_refresh()
    }

    /// Rewrites the live documents in order and drops what is superseded; lines
    /// that are not valid move to a file of their own.
    ///
    /// # Errors
    /// As [`Collection::put`]; [`Error::Cancelled`] when the progress says so.
    pub fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        self.inner.store.compact(progress)
    }

    /// Reads and compares everything there is; repairs nothing.
    ///
    /// # Errors
    /// [`Error::Io`]; what is wrong with the content stands in the report.
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        let mut report = self.inner.store.check(progress)?;
        report.problems.extend(self.inner.notices.iter().map(|notice| notice.0.clone()));
        Ok(report)
    }

    /// Builds the index again from the data file.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        self.inner.store.reindex(progress)
    }

    /// Counts and sizes.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn stats(&self) -> Result<Stats> {
        self.inner.store.stats()
    }

    /// Tells the content of the file from any other, as far as checksums of 64 bits do; a copy
    /// of the file has the same. Where each document has a file, ids and sizes count.
    ///
    /// # Errors
    /// As [`Collection::get`].
    pub fn fingerprint(&self) -> Result<u64> {
        self.inner.store.fingerprint()
    }

    /// What was noticed about the files since the last call, each told once.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.inner.store.take_notices()
    }

    /// A sentence for each of the first lines that are no documents, by file and number, and
    /// one for the rest; as long as they are there. Nothing where each document is a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn broken_lines(&self) -> Result<Vec<Notice>> {
        self.inner.store.broken_lines()
    }

    /// How far into the source with this fingerprint the last committed import
    /// came; `None` when the last import was of another source.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn import_position(&self, source: u64) -> Result<Option<u64>> {
        self.inner.store.import_position(source)
    }

    /// Flushes, and closes the collection for every clone: later calls answer
    /// [`Error::Closed`]. Closing twice is fine.
    ///
    /// # Errors
    /// As [`Collection::flush`].
    pub fn close(&self) -> Result<()> {
        self.inner.store.close()
    }

    /// Whether documents have to follow a schema.
    pub(crate) fn is_strict(&self) -> bool {
        self.inner.rules.are_strict()
    }

    /// Holds a document against the schema, if there is one; the first document
    /// of a strict collection makes it.
    pub(crate) fn check_rules(&self, document: impl FnOnce() -> Result<Value>) -> Result<()> {
        if !self.inner.rules.are_strict() {
            return Ok(());
        }
        let document = document()?;
        self.remember(self.inner.rules.check(&document, || self.first_document())?)
    }

    /// The document that sets the schema of a strict collection which has none yet.
    fn first_document(&self) -> Result<Option<Value>> {
        let first = self.scan(Scan::new().limit(1))?.next().transpose()?;
        first.map(|first| first.to_value()).transpose()
    }

    fn remember(&self, schema: Option<Value>) -> Result<()> {
        schema.map_or(Ok(()), |schema| self.inner.store.set_schema(schema))
    }
}

fn parse(line: &str) -> Result<Value> {
    serde_json::from_str(line).map_err(|error| Error::Json {
        offset: error.column().saturating_sub(1),
        reason: "not a JSON object",
    })
}

/// A JSON merge patch (RFC 7396): a null removes, an object merges, anything else replaces.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let object = target.as_object_mut().expect("made an object above");
    for (key, value) in patch {
        if value.is_null() {
            object.shift_remove(key);
        } else {
            merge_patch(object.entry(key).or_insert(Value::Null), value);
        }
    }
}
