//! Finds an id: first in the delta, then in the runs from newest to oldest.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use super::blocks::BLOCK_SIZE;
use super::delta::Delta;
use super::entry::{Entry, line_sum};
use super::head::State;
use super::run::Run;
use crate::line;

/// Why the index cannot be used. The repair is always to rebuild it.
#[derive(Debug, Error)]
pub(crate) enum IndexFault {
    #[error("page {page} of folio.run-{run}.idx is damaged")]
    Page { run: u64, page: u64 },
    #[error("folio.run-{run}.idx is damaged")]
    Run { run: u64 },
    #[error("the line at byte {offset} is not the one that was indexed")]
    Line { offset: u64 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Where a line was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Memory,
    File,
}

/// Reads the lines that entries point to.
pub(crate) trait LineSource {
    /// Reads the line of an entry into `text`, which is cleared first. The line has the entry's
    /// checksum.
    ///
    /// # Errors
    /// A fault if the line has changed.
    fn read(&self, entry: Entry, text: &mut Vec<u8>) -> Result<Origin, IndexFault>;

    /// Prefetches a line that will be read soon, if it is in memory.
    #[inline]
    fn prefetch(&self, _entry: Entry) {}
}

/// The result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The newest entry of the id, which may be a tombstone.
    pub(crate) entry: Option<Entry>,
    /// Whether the lookup passed an entry of another id with the same hash.
    pub(crate) collided: bool,
    /// Where the line of a document was read from.
    pub(crate) origin: Origin,
}

impl Found {
    /// The entry of the live document, if there is one.
    pub(crate) fn document(self) -> Option<Entry> {
        self.entry.filter(|entry| !entry.is_tombstone())
    }
}

/// The index as seen by one reader or by the writer.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Oldest first.
    pub(crate) runs: Vec<Arc<Run>>,
    pub(crate) delta: Delta,
    pub(crate) state: State,
}

impl Index {
    /// Looks an id up. If a document is found, `text` holds its line, whose checksum and id have
    /// been verified.
    ///
    /// # Errors
    /// A fault if a line or a page is not as expected.
    #[inline]
    pub(crate) fn find(
        &self,
        id: &str,
        hash: u64,
        lines: &impl LineSource,
        text: &mut Vec<u8>,
    ) -> Result<Found, IndexFault> {
        let (mut collided, mut origin) = (false, Origin::Memory);
        let mut visit = |entry: Entry| match is_of(entry, id, lines, text, &mut origin) {
            Ok(true) => Some(Ok(entry)),
            Ok(false) => {
                collided = true;
                None
            }
            Err(fault) => Some(Err(fault)),
        };
        if let Some(found) = self.delta.find(hash, &mut visit) {
            return found.map(|entry| Found { entry: Some(entry), collided, origin });
        }
        for run in self.runs.iter().rev() {
            let mut slot = run.seek(hash);
            while slot < run.slot_count() {
                let entry = run.slot(slot);
                if entry.hash != hash {
                    break;
                }
                if let Some(found) = visit(entry) {
                    return found.map(|entry| Found { entry: Some(entry), collided, origin });
                }
                slot += 1;
            }
            run.confirm_probe(hash, slot)?;
        }
        Ok(Found { entry: None, collided, origin })
    }

    /// Whether there is an entry with a hash, for any id. Reads no line.
    ///
    /// # Errors
    /// A fault if a page is not as expected.
    pub(crate) fn has_hash(&self, hash: u64) -> Result<bool, IndexFault> {
        Ok(self.newest(hash)?.is_some())
    }

    /// The newest entry with a hash, for any id. Reads no line.
    ///
    /// # Errors
    /// A fault if a page is not as expected.
    pub(crate) fn newest(&self, hash: u64) -> Result<Option<Entry>, IndexFault> {
        if let Some(entry) = self.delta.find(hash, Some) {
            return Ok(Some(entry));
        }
        for run in self.runs.iter().rev() {
            let slot = run.seek(hash);
            if slot < run.slot_count() && run.slot(slot).hash == hash {
                return Ok(Some(run.slot(slot)));
            }
            run.confirm_probe(hash, slot)?;
        }
        Ok(None)
    }

    /// Whether any line is not a live document, so that an entry may name one that has died.
    #[inline]
    pub(crate) fn has_dead_lines(&self) -> bool {
        self.state.skip_count > 0
    }

    /// Prefetches the entries that a lookup of the hash will read.
    #[inline]
    pub(crate) fn prefetch_entry(&self, hash: u64) {
        self.runs.iter().for_each(|run| run.prefetch(hash));
    }

    /// Prefetches the line that a lookup of the hash will read. The entries should be in the cache
    /// by now.
    #[inline]
    pub(crate) fn prefetch_line(&self, hash: u64, lines: &impl LineSource) {
        for run in self.runs.iter().rev() {
            let slot = run.seek(hash);
            if slot < run.slot_count() {
                let entry = run.slot(slot);
                if entry.hash == hash {
                    return lines.prefetch(entry);
                }
            }
        }
    }

    /// Checks all pages that a scan reads, before it yields anything: a fault in the middle of a
    /// scan could not be repaired.
    ///
    /// # Errors
    /// The first damaged page.
    pub(crate) fn check_for_scan(&self) -> Result<(), IndexFault> {
        self.runs.iter().try_for_each(|run| run.check_for_scan())
    }

    /// A snapshot of the checksums of the data blocks; the index may change.
    pub(crate) fn blocks(&self) -> Blocks {
        Blocks {
            runs: self.runs.clone(),
            recent: self.delta.blocks.clone(),
            tail_sum: self.state.tail_sum,
        }
    }

    /// The checksum of a complete data block.
    pub(crate) fn block(&self, block: u64) -> Result<Option<u64>, IndexFault> {
        block_in(&self.runs, &self.delta.blocks, block)
    }

    /// Calls `visit` with the sums of some complete data blocks, in order and in pieces, as little
    /// endian words. `false` if the index does not have all of them.
    pub(crate) fn visit_blocks(
        &self,
        blocks: Range<u64>,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<bool, IndexFault> {
        let in_runs = blocks_in_runs(&self.runs);
        let mut next = blocks.start;
        while next < blocks.end.min(in_runs) {
            let run = self.runs.iter().rev().find(|run| run.first_block() <= next);
            let Some(run) = run else { return Ok(false) };
            let mut bytes = run.block_bytes(next - run.first_block())?;
            bytes = &bytes[..bytes.len().min((blocks.end - next) as usize * 8)];
            if bytes.is_empty() {
                return Ok(false);
            }
            visit(bytes);
            next += bytes.len() as u64 / 8;
        }
        for block in next..blocks.end {
            let Some(sum) = self.delta.blocks.get((block - in_runs) as usize) else {
                return Ok(false);
            };
            visit(&sum.to_le_bytes());
        }
        Ok(true)
    }

    /// The number of data blocks with a checksum.
    pub(crate) fn block_count(&self) -> u64 {
        blocks_in_runs(&self.runs) + self.delta.blocks.len() as u64
    }
}

/// Checksums of all blocks of the data file at one moment.
#[derive(Debug)]
pub(crate) struct Blocks {
    runs: Vec<Arc<Run>>,
    recent: Vec<u64>,
    tail_sum: u64,
}

impl Blocks {
    /// The sum of a block of which `size` bytes are indexed.
    #[inline]
    pub(crate) fn sum(&self, block: u64, size: u64) -> Result<Option<u64>, IndexFault> {
        if size < BLOCK_SIZE {
            return Ok(Some(self.tail_sum));
        }
        block_in(&self.runs, &self.recent, block)
    }
}

fn blocks_in_runs(runs: &[Arc<Run>]) -> u64 {
    runs.last().map_or(0, |run| run.first_block() + run.block_count())
}

fn block_in(runs: &[Arc<Run>], recent: &[u64], block: u64) -> Result<Option<u64>, IndexFault> {
    let in_runs = blocks_in_runs(runs);
    if block >= in_runs {
        return Ok(recent.get((block - in_runs) as usize).copied());
    }
    match runs.iter().rev().find(|run| run.first_block() <= block) {
        Some(run) => run.block(block - run.first_block()).map(Some),
        None => Ok(None),
    }
}

/// Whether an entry belongs to an id. Reads the line of a document to find out.
#[inline]
fn is_of(
    entry: Entry,
    id: &str,
    lines: &impl LineSource,
    text: &mut Vec<u8>,
    origin: &mut Origin,
) -> Result<bool, IndexFault> {
    if entry.is_tombstone() {
        return Ok(line_sum(&line::tombstone(id)) == entry.sum());
    }
    *origin = lines.read(entry, text)?;
    line::has_id(text, id).ok_or(IndexFault::Line { offset: entry.offset() })
}
