//! Reads a log from its start; recovery does so at every open.
//!
//! Records follow each other without gaps, and each has the checksum of its predecessor. Where that
//! chain ends, the log was torn by a crash, or damaged. To tell the two apart, every record has the
//! position up to which the log was durable when it was written. If any complete record after the
//! end shows that the end was durable, then acknowledged data was damaged, and that is an error. If
//! none does, nothing acknowledged is missing.

use std::path::Path;

use folio_file::File;

use super::header::{LOG_NAME, LOG_START, LogHeader};
use super::record::{Commit, Content, LogPosition, RECORD_HEADER_SIZE, Record};
use crate::error::{Error, Result};
use crate::failpoint::Failpoints;
use crate::ids::{Lsn, PageId};

/// Bytes per read.
const WINDOW_SIZE: usize = 1 << 20;

/// The result of reading a log.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// The end of the last commit, where the next transaction is written.
    pub(crate) position: LogPosition,
    /// Records before this position were durable, according to later ones.
    pub(crate) durable: Lsn,
    /// Size of the file.
    pub(crate) file_size: u64,
    /// The number of transactions.
    pub(crate) commits: u64,
}

/// Reads all transactions. Calls `apply` for each, with its images and its end.
///
/// # Errors
/// [`Error::Corrupted`] when durable records are damaged; an error of the device.
pub(crate) fn scan(
    file: &dyn File,
    path: &Path,
    header: LogHeader,
    failpoints: Failpoints,
    mut apply: impl FnMut(&[(PageId, Lsn)], &Commit, Lsn) -> Result<()>,
) -> Result<Scanned> {
    let file_size = file.stat().map_err(Error::io("read", path))?.size;
    let mut window = Window { file, path, file_size, start: 0, bytes: Vec::new() };
    let start = LogPosition { end: header.base, chain: header.salt };
    let mut scanned = Scanned { position: start, durable: header.base, file_size, commits: 0 };
    let mut images = Vec::new();
    let mut at = start;
    loop {
        let offset = LOG_START + at.end.0 - header.base.0;
        let record = window.record(offset, at.end, header.salt)?;
        let chained = record
            .filter(|record| record.previous() == at.chain || failpoints.ignore_running_checksum());
        let Some(record) = chained else { break };
        at = LogPosition { end: record.end(), chain: record.checksum() };
        scanned.durable = scanned.durable.max(record.durable());
        match record.content() {
            Some(Content::Image(page)) => images.push((page, record.lsn())),
            Some(Content::Commit(commit)) => {
                let mut pages = commit.listed.clone();
                pages.extend(images.drain(..).filter(|(_, lsn)| *lsn >= commit.images_from));
                apply(&pages, &commit, at.end)?;
                scanned.position = at;
                scanned.commits += 1;
            }
            None => break,
        }
    }
    let hole = LOG_START + at.end.0 - header.base.0;
    if !failpoints.cut_silently() {
        refuse_damage(&mut window, header, hole)?;
    }
    Ok(scanned)
}

/// Searches after the end for a record that shows it to have been durable.
fn refuse_damage(window: &mut Window<'_>, header: LogHeader, hole: u64) -> Result<()> {
    let mut offset = hole;
    while offset + RECORD_HEADER_SIZE as u64 <= window.file_size {
        let lsn = Lsn(header.base.0 + offset - LOG_START);
        let claims = window.claims_position(offset, lsn)?;
        if claims
            && let Some(record) = window.record(offset, lsn, header.salt)?
            && record.durable().0 > header.base.0 + hole - LOG_START
        {
            let problem = format!(
                "the log record here is incomplete, but the record at byte {offset} says that \
                 everything before position {} was durable",
                record.durable()
            );
            let file = LOG_NAME.to_owned();
            return Err(Error::Corrupted { file, offset: hole, problem });
        }
        offset += 8;
    }
    Ok(())
}

/// A part of the file in memory.
struct Window<'f> {
    file: &'f dyn File,
    path: &'f Path,
    file_size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// The record at an offset, if it is complete and has this position.
    fn record(&mut self, offset: u64, lsn: Lsn, salt: u64) -> Result<Option<Record<'_>>> {
        let Some(left) = self.file_size.checked_sub(offset) else { return Ok(None) };
        if left < RECORD_HEADER_SIZE as u64 || !self.claims_position(offset, lsn)? {
            return Ok(None);
        }
        let at = (offset - self.start) as usize;
        let size = Record::claimed_size(&self.bytes[at..]);
        if size as u64 > left {
            return Ok(None);
        }
        self.fill(offset, size)?;
        let at = (offset - self.start) as usize;
        Ok(Record::parse(&self.bytes[at..], lsn, salt))
    }

    /// Whether the bytes at an offset begin like the record of this position.
    fn claims_position(&mut self, offset: u64, lsn: Lsn) -> Result<bool> {
        self.fill(offset, RECORD_HEADER_SIZE)?;
        let at = (offset - self.start) as usize;
        Ok(self.bytes.get(at + 8..at + 16) == Some(&lsn.0.to_le_bytes()[..]))
    }

    /// Ensures that this many bytes from the offset are in memory, as far as the file has them.
    fn fill(&mut self, offset: u64, size: usize) -> Result<()> {
        let end = self.start + self.bytes.len() as u64;
        if offset >= self.start && offset + size as u64 <= end {
            return Ok(());
        }
        self.bytes.resize(size.max(WINDOW_SIZE), 0);
        let count =
            self.file.read_at(&mut self.bytes, offset).map_err(Error::io("read", self.path))?;
        self.bytes.truncate(count);
        self.start = offset;
        Ok(())
    }
}
