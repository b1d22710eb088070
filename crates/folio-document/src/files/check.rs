//! Checks, measures and compacts.

use xxhash_rust::xxh3::xxh3_64;

use super::FileStore;
use super::log::FoundLog;
use super::order::Listing;
use super::read::Reading;
use crate::error::{Error, Result};
use crate::options::Progress;
use crate::report::{CheckReport, CompactReport, InvalidLine, Notice, Stats};
use crate::schema::Schema;

impl FileStore {
    /// Reads every document and compares it with the schema, if there is one. Reports problems,
    /// repairs nothing.
    pub(crate) fn check(
        &self,
        schema: Option<&Schema>,
        progress: Progress<'_>,
    ) -> Result<CheckReport> {
        self.handle.check_open()?;
        let listing = Listing::read(&*self.files, &self.paths)?;
        let mut report = CheckReport::default();
        self.check_names(&listing, &mut report);
        self.check_log()?;
        let ids = listing.order.to_vec();
        let sizes: Vec<u64> = ids.iter().map(|id| self.size_of(id)).collect::<Result<_>>()?;
        let total = sizes.iter().sum();
        let (mut done, mut text) = (0, Vec::new());
        for (id, size) in ids.iter().zip(sizes) {
            match self.read(id, &mut text)? {
                Reading::Document => {
                    report.document_count += 1;
                    if let Some(reason) = schema.and_then(|schema| schema.mismatch(&text)) {
                        let path = self.paths.document(id);
                        report.add_mismatch(InvalidLine { path, line: 1, offset: 0, reason });
                    }
                }
                Reading::Missing => {}
                Reading::Invalid(invalid) => report.add_invalid(InvalidLine {
                    path: self.paths.document(id),
                    line: invalid.line,
                    offset: invalid.offset as u64,
                    reason: invalid.reason,
                }),
            }
            done += size;
            if !progress(done, total) {
                return Err(Error::Cancelled);
            }
        }
        Ok(report)
    }

    fn check_names(&self, listing: &Listing, report: &mut CheckReport) {
        let docs = self.paths.docs.display();
        report
            .problems
            .extend(listing.ignored.iter().map(|name| format!("{docs}: {name} is not a document")));
        // A delete leaves an id without a file until the next flush, and a put after it leaves the
        // id twice. Neither is a problem, and a compaction removes both.
        report.superseded_count = listing.repeated_count;
    }

    /// A log without a running batch is left from a crash. It is reported, but is no damage.
    fn check_log(&self) -> Result<()> {
        let log = &self.paths.log;
        let found = FoundLog::load(&*self.files, log).map_err(Error::io("read", log))?;
        let what = match found {
            FoundLog::Complete(_) => {
                "is not fully written to its files; the next write completes it"
            }
            FoundLog::Incomplete(_) => "was interrupted; the next write moves its remains away",
            FoundLog::Nothing => return Ok(()),
        };
        let is_ours = self.any_writer().batch_owner.is_some();
        if !is_ours && !self.lock.is_held_elsewhere() {
            self.handle.notice([Notice(format!("{}: a batch {what}", log.display()))]);
        }
        Ok(())
    }

    /// Counts and sizes.
    pub(crate) fn stats(&self) -> Result<Stats> {
        let ids = self.ids()?;
        let (mut data_size, mut changed) = (0, None);
        for id in &ids {
            let Some(stat) = self.stat_document(&self.paths.document(id))? else { continue };
            data_size += stat.size;
            changed = changed.max(stat.modified());
        }
        let lists = self.paths.order_places();
        Ok(Stats {
            document_count: ids.len() as u64,
            dead_count: 0,
            live_size: data_size,
            data_size,
            index_size: lists
                .iter()
                .filter_map(|path| self.files.stat(path).ok())
                .map(|stat| stat.size)
                .sum(),
            changed,
        })
    }

    /// A checksum of all ids, in order, and of the sizes of their files.
    pub(crate) fn fingerprint(&self) -> Result<u64> {
        let mut bytes = Vec::new();
        for id in self.ids()? {
            bytes.extend_from_slice(id.as_bytes());
            bytes.push(0); // no id holds one
            bytes.extend_from_slice(&self.size_of(&id)?.to_le_bytes());
        }
        Ok(xxh3_64(&bytes))
    }

    fn size_of(&self, id: &str) -> Result<u64> {
        let stat = self.stat_document(&self.paths.document(id))?;
        Ok(stat.map_or(0, |stat| stat.size))
    }

    /// Rewrites `order.ids`. Nothing else can be gained: replaced files are already gone.
    pub(crate) fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        let mut writer = self.ready_writer()?;
        self.tidy_list(&mut writer)?;
        self.flush_as(&mut writer)?;
        drop(writer);
        let stats = self.stats()?;
        if !progress(stats.data_size, stats.data_size) {
            return Err(Error::Cancelled);
        }
        Ok(CompactReport {
            document_count: stats.document_count,
            size_before: stats.data_size,
            size_after: stats.data_size,
            rejected_count: 0,
            rejected_path: None,
        })
    }

    /// There is no index, so this only lists the files again.
    pub(crate) fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        self.handle.check_writable()?;
        let mut view = self.view();
        (view.order, view.listed) = (None, None);
        drop(view);
        let count = self.count()?;
        if progress(count, count) { Ok(()) } else { Err(Error::Cancelled) }
    }
}
