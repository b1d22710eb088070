//! Reading a log from its start: what recovery does at every open.
//!
//! Records follow each other without gaps, and each names the checksum of its
//! predecessor. Where that ends, the log was torn by a crash, or damaged. The
//! difference: every record says up to where the log was durable when it was
//! written. If any whole record behind the end says so of the end, then
//! acknowledged data has been hurt, and that is an error; if none does, nothing
//! that was ever promised is missing.

use folio_file::File;

use super::header::{LOG_START, LogHeader};
use super::record::{Commit, Content, LogPosition, RECORD_HEADER_SIZE, Record};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PageId};
use crate::planted::Switches;

/// Read at once.
const WINDOW_SIZE: usize = 1 << 20;

/// What a log says happened.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// Behind the last commit: the next transaction is written there.
    pub(crate) position: LogPosition,
    /// Records before this were durable once, as later ones say.
    pub(crate) durable: Lsn,
    /// Size of the file.
    pub(crate) file_size: u64,
    /// Transactions found.
    pub(crate) commits: u64,
}

/// Reads all transactions; calls `apply` for each with its images and its end.
///
/// # Errors
/// [`Error::Corrupted`] when durable records are damaged; the device's failure.
pub(crate) fn scan(
    file: &dyn File,
    name: &str,
    header: LogHeader,
    switches: Switches,
    mut apply: impl FnMut(&[(PageId, Lsn)], &Commit, Lsn) -> Result<()>,
) -> Result<Scanned> {
    let file_size = file.stat().map_err(Error::io("read", name))?.size;
    let mut window = Window { file, name, file_size, start: 0, bytes: Vec::new() };
    let start = LogPosition { end: header.base, chain: header.salt };
    let mut scanned = Scanned { position: start, durable: header.base, file_size, commits: 0 };
    let mut images = Vec::new();
    let mut at = start;
    loop {
        let offset = LOG_START + at.end.0 - header.base.0;
        let record = window.record(offset, at.end, header.salt)?;
        let chained = record
            .filter(|record| record.previous() == at.chain || switches.ignore_running_checksum());
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
    if !switches.cut_silently() {
        refuse_damage(&mut window, header, hole)?;
    }
    Ok(scanned)
}

/// Looks behind the end for a record that knew it to be durable.
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
                "the log record here is not whole, but the record at byte {offset} says that \
                 everything before position {} was durable",
                record.durable()
            );
            let file = window.name.to_owned();
            return Err(Error::Corrupted { file, offset: hole, problem });
        }
        offset += 8;
    }
    Ok(())
}

/// A part of the file in memory.
struct Window<'f> {
    file: &'f dyn File,
    name: &'f str,
    file_size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// The record at an offset, if a whole one with this position is there.
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

    /// Whether the bytes at an offset begin as the record of this position would.
    fn claims_position(&mut self, offset: u64, lsn: Lsn) -> Result<bool> {
        self.fill(offset, RECORD_HEADER_SIZE)?;
        let at = (offset - self.start) as usize;
        Ok(self.bytes.get(at + 8..at + 16) == Some(&lsn.0.to_le_bytes()[..]))
    }

    /// Makes sure that so many bytes from the offset on are in memory, where the
    /// file has them.
    fn fill(&mut self, offset: u64, size: usize) -> Result<()> {
        let end = self.start + self.bytes.len() as u64;
        if offset >= self.start && offset + size as u64 <= end {
            return Ok(());
        }
        self.bytes.resize(size.max(WINDOW_SIZE), 0);
        let count =
            self.file.read_at(&mut self.bytes, offset).map_err(Error::io("read", self.name))?;
        self.bytes.truncate(count);
        self.start = offset;
        Ok(())
    }
}
