//! The import itself: records into batches, batches into the collection.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use folio_document::{BatchCounts, Progress};
use folio_json::ID_PREFIX;
use folio_types::ErrorCode;
use xxhash_rust::xxh3::xxh3_64;

use super::live;
use super::options::{ImportOptions, OnConflict};
use crate::batch::Batch;
use crate::collection::Collection;
use crate::error::{Error, ImportReport, Reason, Rejected, Result};
use crate::format::{Place, Record, Records, Source};
use crate::identity::{Identity, identify};
use crate::write::AppendFile;

/// Bytes of the source between two calls of `progress`.
const PROGRESS_STEP: u64 = 1 << 20;

/// Records read between two calls of `progress`, for sources that compress well.
const PROGRESS_RECORDS: u64 = 4_096;

/// The import stops if this many records at the start are all rejected.
const HOPELESS_COUNT: u64 = 100;

impl Source {
    /// A file to import into a collection, as statements of its database read files: a URL is asked
    /// with the options that the database was opened with (`OpenOptions::remote`), over the
    /// connections and through the cache that it has.
    ///
    /// # Errors
    /// As [`Source::file`].
    pub fn file_for(collection: &Collection, path: impl AsRef<Path>) -> Result<Self> {
        Self::on_host(&*collection.handle().store.host, path.as_ref())
    }
}

/// Imports a source into a collection.
///
/// `progress` gets the number of bytes of the source read, as stored, and the total (0 if unknown).
/// Returning `false` stops the import. For a [`Source::pipe`], a batch is committed after a second
/// at the latest, and a stopped import commits what has arrived.
///
/// # Errors
/// `syntax` when the source as a whole cannot be parsed, `conflict` with
/// [`OnConflict::Error`], `cancelled`, and errors of the collection. If batches were committed
/// before, the error is [`Error::Interrupted`].
pub fn import(
    collection: &Collection,
    source: Source,
    options: &ImportOptions,
    progress: Progress<'_>,
) -> Result<ImportReport> {
    let total = source.size();
    let flow = source.flow.clone();
    let mut run = Run::new(collection, options, &source);
    if run.is_done_before(source.place)? {
        run.report.resumed_at = Some(total);
        return Ok(run.report);
    }
    let result = match flow {
        None => records(&mut run, source, total, progress),
        Some(flow) => {
            let shared = Mutex::new(run);
            let result = live::import(&shared, source, &flow, progress);
            run = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
            result
        }
    };
    match result {
        Ok(()) => Ok(run.report),
        Err(cause) if run.commit_count == 0 && !run.report.is_all_kept => Err(cause),
        Err(cause) => {
            Err(Error::Interrupted { report: Box::new(run.report), cause: Box::new(cause) })
        }
    }
}

/// Imports the records of a source, one after the other.
pub(super) fn records<'a>(
    run: &mut impl Access<'a>,
    source: Source,
    total: u64,
    progress: Progress<'_>,
) -> Result<()> {
    let name = source.name.clone();
    let reading = run.with(|run| run.options.reading());
    let mut records = Records::open(source, &reading)?;
    run.with(|run| run.resume(&mut records))?;
    run.with(|run| run.empty_rejected())?;
    let mut reported = Reported::default();
    let end = loop {
        let position = records.position();
        let Some(record) = records.next()? else { break position };
        if run.with(|run| run.add(&name, &record, position))? {
            reported.report_soon();
        }
        if reported.is_due(records.read_size()) && !progress(reported.size, total) {
            return Err(folio_document::Error::Cancelled.into());
        }
    };
    let size = records.read_size();
    run.with(|run| run.finish(end, size))?;
    progress(size, total.max(size));
    Ok(())
}

/// A run used by one thread, or by two in turn.
pub(super) trait Access<'a> {
    fn with<T>(&mut self, work: impl FnOnce(&mut Run<'a>) -> T) -> T;
}

impl<'a> Access<'a> for Run<'a> {
    #[inline]
    fn with<T>(&mut self, work: impl FnOnce(&mut Run<'a>) -> T) -> T {
        work(self)
    }
}

/// Identifies imports of one source that read and name records in the same way.
fn fingerprint_of(options: &ImportOptions) -> u64 {
    let ImportOptions { format, id_field, generate_ids, delimiter, columns, infer_types, .. } =
        options;
    let reading = (format, id_field, generate_ids, delimiter, columns, infer_types);
    xxh3_64(format!("{reading:?}").as_bytes())
}

pub(super) struct Run<'a> {
    collection: &'a Collection,
    options: &'a ImportOptions,
    fingerprint: Option<u64>,
    /// The fingerprint that is stored with the last commit.
    end: Option<u64>,
    report: ImportReport,
    rejected_file: Option<AppendFile>,
    /// Of several sources: they share the file of rejected records.
    place: Option<Place>,
    /// Records that went into a batch or were skipped.
    accepted_count: u64,
    commit_count: u64,
    /// Whether the collection has a stored position that the import has passed.
    has_position: bool,
    /// Whether the source is a pipe, which can be read only once.
    is_live: bool,
    is_stopped: bool,
    batch: Option<Batch>,
    /// When the open batch was begun.
    begun: Instant,
    /// Documents put into the open batch.
    put_count: u64,
    scratch: String,
}

impl<'a> Run<'a> {
    fn new(collection: &'a Collection, options: &'a ImportOptions, source: &Source) -> Self {
        let of_options = fingerprint_of(options);
        let own = source.place.map(Place::fingerprint).or(source.fingerprint);
        let fingerprint = own.map(|own| own ^ of_options);
        Self {
            collection,
            options,
            fingerprint,
            end: source.place.map_or(fingerprint, |place| Some(place.end() ^ of_options)),
            report: ImportReport { is_resumable: fingerprint.is_some(), ..ImportReport::default() },
            rejected_file: None,
            place: source.place,
            accepted_count: 0,
            commit_count: 0,
            has_position: false,
            is_live: source.flow.is_some(),
            is_stopped: false,
            batch: None,
            begun: Instant::now(),
            put_count: 0,
            scratch: String::new(),
        }
    }
    /// Adds the record at a position. Returns whether a batch was committed.
    fn add(&mut self, source: &str, record: &Record<'_>, position: u64) -> Result<bool> {
        if self.is_stopped {
            return Err(folio_document::Error::Cancelled.into());
        }
        // A full batch waits for the next record, so that the last one is never empty.
        let full = self.batch.take_if(|batch| batch.size() >= self.options.batch_size);
        let mut has_committed = full.is_some();
        if let Some(full) = full {
            self.commit(full, position)?;
        }
        if let Err(reason) = self.take(record)? {
            self.reject(source, record, reason)?;
        }
        if self.is_live
            && let Some(full) = self.batch.take_if(|b| b.size() >= self.options.batch_size)
        {
            self.commit(full, 0)?;
            has_committed = true;
        }
        Ok(has_committed)
    }

    /// Commits the open batch if it is that old, or if another process waits for it to end, and
    /// writes out the rejected records.
    pub(super) fn commit_older_than(&mut self, age: Duration) -> Result<()> {
        let is_wanted = || self.batch.is_some() && self.collection.handle().store.is_wanted();
        if self.is_stopped || (self.begun.elapsed() < age && !is_wanted()) {
            return Ok(());
        }
        self.begun = Instant::now();
        if let Some(batch) = self.batch.take() {
            self.commit(batch, 0)?;
        }
        self.finish_rejected()
    }

    /// Stops accepting records, and commits those accepted so far.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.is_stopped = true;
        if let Some(batch) = self.batch.take() {
            self.commit(batch, 0)?;
        }
        self.report.is_all_kept = true;
        self.finish_rejected()
    }

    /// Commits the last batch, with the position after the last record, and then that there is
    /// nothing to resume: whoever is killed in between has all, and the same import adds nothing.
    /// The next source of a list takes over from the last batch.
    fn finish(&mut self, end: u64, size: u64) -> Result<()> {
        let has_next = self.place.is_some_and(|place| place.later().next().is_some());
        match self.batch.take() {
            Some(last) if has_next => self.commit_last(last)?,
            Some(last) => self.commit(last, end)?,
            None => {}
        }
        if self.has_position {
            let over = self.collection.batch().and_then(|empty| self.commit_last(empty));
            // All is stored: without this, too, the same import adds nothing.
            over.or_else(|error| if has_next { Err(error) } else { Ok(()) })?;
        }
        self.report.size = size;
        self.finish_rejected()
    }

    fn finish_rejected(&mut self) -> Result<()> {
        self.rejected_file.as_mut().map_or(Ok(()), AppendFile::finish)
    }

    fn resume(&mut self, records: &mut Records) -> Result<()> {
        let Some(fingerprint) = self.fingerprint.filter(|_| !self.options.restart) else {
            return Ok(());
        };
        match self.collection.import_position(fingerprint)? {
            None => Ok(()),
            // At the start, perhaps after another source of a list.
            Some(0) => {
                self.has_position = self.end != self.fingerprint;
                Ok(())
            }
            Some(position) => {
                self.report.resumed_at = Some(position);
                self.has_position = true;
                records.resume_at(position)
            }
        }
    }

    /// Whether an interrupted import of the list has come to a later source.
    fn is_done_before(&self, place: Option<Place>) -> Result<bool> {
        let (Some(place), Some(fingerprint)) = (place, self.fingerprint) else { return Ok(false) };
        if self.options.restart || self.collection.import_position(fingerprint)?.is_some() {
            return Ok(false);
        }
        let of_options = fingerprint_of(self.options);
        for later in place.later() {
            let position = self.collection.import_position(later.fingerprint() ^ of_options)?;
            if position.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn commit_last(&mut self, batch: Batch) -> Result<()> {
        self.fingerprint = self.end;
        self.commit(batch, 0)
    }

    fn commit(&mut self, mut batch: Batch, position: u64) -> Result<()> {
        if let Some(fingerprint) = self.fingerprint {
            batch.set_import_position(fingerprint, position);
            self.has_position = position > 0;
        }
        let is_wanted = self.collection.handle().store.is_wanted();
        let BatchCounts { inserted, replaced, deleted } = batch.commit()?;
        self.report.inserted += inserted;
        self.report.replaced += replaced;
        self.report.deleted += deleted;
        self.report.superseded += std::mem::take(&mut self.put_count) - (inserted + replaced);
        self.commit_count += 1;
        if self.is_live || is_wanted {
            // Let other processes write meanwhile: a pipe may be silent for long.
            self.collection.flush()?;
        }
        if is_wanted {
            self.collection.handle().store.leave_turn();
        }
        Ok(())
    }

    /// Puts a record into the batch; the inner error says why it is rejected.
    fn take(&mut self, record: &Record<'_>) -> Result<std::result::Result<(), Reason>> {
        let json = match record.json.as_ref().map(|json| std::str::from_utf8(json)) {
            Ok(Ok(json)) => json,
            Ok(Err(error)) => {
                let offset = error.valid_up_to();
                return Ok(Err(format!("not UTF-8 at byte {offset} of the record").into()));
            }
            Err(reason) => return Ok(Err(reason.clone().into())),
        };
        let identity =
            match identify(json, self.options.id_field.as_deref(), self.options.generate_ids) {
                Ok(identity) => identity,
                Err(reason) => return Ok(Err(reason)),
            };
        // A batch locks out other writers, so open it only when there is something to put.
        let mut open = match self.batch.take() {
            Some(open) => open,
            None => {
                self.begun = Instant::now();
                self.collection.batch()?
            }
        };
        let put = self.put(&mut open, record, json, identity);
        self.batch = Some(open);
        match put {
            Ok(()) => {
                self.accepted_count += 1;
                Ok(Ok(()))
            }
            Err(Error::Collection(fault)) if is_fault_of_record(&fault) => {
                Ok(Err(fault.to_string().into()))
            }
            Err(error) => Err(error),
        }
    }

    fn put(
        &mut self,
        batch: &mut Batch,
        record: &Record<'_>,
        json: &str,
        identity: Identity<'_>,
    ) -> Result<()> {
        if !self.is_wanted(batch, record, identity.id())? {
            self.report.skipped += 1;
            return Ok(());
        }
        match identity {
            Identity::Carried(_) => batch.put_line(json.as_bytes())?,
            Identity::Given(id, text) => self.put_under(batch, &id, &text)?,
            Identity::Derived { from, id, text } => {
                self.put_under(batch, &id, &text)?;
                self.report.derived_id_count += 1;
                self.report.derived_id_example.get_or_insert((from, id));
            }
            Identity::Tombstone(id) => return batch.delete(&id),
        }
        self.put_count += 1;
        Ok(())
    }

    /// Whether to put the record, by the conflict option.
    fn is_wanted(&self, batch: &mut Batch, record: &Record<'_>, id: &str) -> Result<bool> {
        match self.options.on_conflict {
            OnConflict::Replace => Ok(true),
            OnConflict::Skip => Ok(!batch.exists(id)?),
            OnConflict::Error if batch.exists(id)? => Err(Error::ImportConflict {
                collection: self.collection.name().to_owned(),
                id: id.to_owned(),
                line: record.line,
            }),
            OnConflict::Error => Ok(true),
        }
    }

    /// Puts a document under an id that it does not carry. If the text has no `_id`, it is simply
    /// prepended.
    fn put_under(&mut self, batch: &mut Batch, id: &str, json: &str) -> Result<()> {
        let inner = json.trim_start().strip_prefix('{');
        let Some(inner) = inner.filter(|inner| !inner.contains("\"_id\"")) else {
            return batch.put_raw(Some(id), json);
        };
        let inner = inner.trim_start();
        let separator = if inner.starts_with('}') { "\"" } else { "\"," };
        self.scratch.clear();
        self.scratch.extend([ID_PREFIX, id, separator, inner]);
        batch.put_line(self.scratch.as_bytes())
    }

    fn reject(&mut self, source: &str, record: &Record<'_>, reason: Reason) -> Result<()> {
        self.report.rejected_count += 1;
        if self.report.rejected.len() < ImportReport::REJECTED_LIMIT {
            let rejected = Rejected { source: source.to_owned(), line: record.line, reason };
            self.report.rejected.push(rejected);
        }
        self.save_rejected(record.raw)?;
        let count = self.report.rejected_count;
        let is_hopeless = count == HOPELESS_COUNT && self.accepted_count == 0;
        match self.report.rejected.first() {
            Some(first) if is_hopeless && self.report.resumed_at.is_none() => {
                Err(Error::AllRejected { count, first: Box::new(first.clone()) })
            }
            _ => Ok(()),
        }
    }

    /// The first of several sources empties the file of rejected records of an earlier import.
    fn empty_rejected(&self) -> Result<()> {
        let files = &self.collection.handle().store.host;
        let is_first = self.place.is_some_and(Place::is_first) && self.report.resumed_at.is_none();
        match &self.options.rejected_path {
            Some(path) if is_first && files.stat(path).is_ok() => {
                AppendFile::open(&**files, path, false).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn save_rejected(&mut self, raw: &[u8]) -> Result<()> {
        let Some(path) = &self.options.rejected_path else { return Ok(()) };
        let file = match &mut self.rejected_file {
            Some(file) => file,
            none => {
                let keeps = self.report.resumed_at.is_some() || self.place.is_some();
                let files = &self.collection.handle().store.host;
                none.insert(AppendFile::open(&**files, path, keeps)?)
            }
        };
        file.write_line(raw)
    }
}

/// Whether an error is about the record rather than the collection.
fn is_fault_of_record(error: &folio_document::Error) -> bool {
    matches!(error.code(), ErrorCode::Syntax | ErrorCode::InvalidInput | ErrorCode::TypeMismatch)
}

/// When progress was last reported.
#[derive(Debug, Default)]
struct Reported {
    size: u64,
    record_count: u64,
}

impl Reported {
    /// Reports again soon: a batch takes time, during which the user may ask to stop.
    fn report_soon(&mut self) {
        self.record_count = PROGRESS_RECORDS;
    }

    /// Whether enough has happened to report again.
    #[inline]
    fn is_due(&mut self, size: u64) -> bool {
        self.record_count += 1;
        if size - self.size < PROGRESS_STEP && self.record_count < PROGRESS_RECORDS {
            return false;
        }
        *self = Self { size, record_count: 0 };
        true
    }
}
