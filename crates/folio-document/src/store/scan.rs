//! Scans the data file in order: large reads, block checksums, no parsing.

use std::sync::Arc;

use super::LineStore;
use super::repair::{RESTARTS, Repair};
use super::view::View;
use crate::error::{Error, Result};
use crate::index::{BLOCK_SIZE, Blocks, IndexFault, SkipCursor, has_block_sum};
use crate::segment::Segment;
use crate::version::Version;

/// Blocks read at once: the buffer stays in the second-level cache.
const BLOCKS_PER_READ: u64 = 4;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Yields the live lines of a collection, as of when the scan began.
#[derive(Debug)]
pub(crate) struct LineScan {
    store: Arc<LineStore>,
    state: Option<ScanState>,
    /// Lines yielded so far.
    given: u64,
    restarts: u32,
    /// The version of the lines.
    version: Version,
}

/// The live lines of a range of the file, as of one moment.
#[derive(Debug)]
pub(super) struct ScanState {
    segment: Arc<Segment>,
    blocks: Blocks,
    skips: SkipCursor,
    start: u64,
    next_skip: u64,
    /// Lines that start here or later are not yielded.
    stop: u64,
    end: u64,
    /// The line is found that is the first to start in the range.
    has_begun: bool,
    buffer: Vec<u8>,
    /// File offset of `buffer[0]`.
    base: u64,
    filled: usize,
    /// Where the next line starts in the buffer.
    at: usize,
    /// Ends of the lines in the buffer, in order. `next_end` is the first line not yet yielded.
    ends: Vec<u32>,
    next_end: usize,
}

impl LineScan {
    pub(crate) fn new(store: &Arc<LineStore>) -> Result<Self> {
        store.ready_to_read_many()?;
        let (state, version) = Self::whole(store)?;
        Ok(Self { store: Arc::clone(store), state, given: 0, restarts: 0, version })
    }

    /// The live lines appended since an earlier version; `None` if anything else has changed.
    pub(crate) fn since(store: &Arc<LineStore>, earlier: &Version) -> Result<Option<Self>> {
        store.handle.check_open()?;
        store.append_if_pending()?;
        let found = store.repairing(|view| {
            view.index.check_for_scan()?;
            let version = view.version();
            if !version.has_grown_from(earlier) {
                return Ok(None);
            }
            Ok(Some((ScanState::range(view, earlier.end, u64::MAX)?, version)))
        })?;
        // A restart would begin at the first line of a different file.
        let scan = |(state, version)| Self {
            store: Arc::clone(store),
            state,
            given: 0,
            restarts: RESTARTS,
            version,
        };
        Ok(found.map(scan))
    }

    /// Scans of up to `count` ranges of the file, as of the same moment.
    pub(crate) fn parts(store: &Arc<LineStore>, count: usize) -> Result<Vec<Self>> {
        store.ready_to_read_many()?;
        let (states, version) = store.repairing(|view| {
            view.index.check_for_scan()?;
            let blocks = view.index.state.data_end.div_ceil(BLOCK_SIZE);
            let count = (count as u64).clamp(1, blocks.max(1));
            let start_of = |part| blocks * part / count * BLOCK_SIZE;
            let parts = (0..count).map(|part| {
                let stop = if part + 1 == count { u64::MAX } else { start_of(part + 1) };
                match view.segment.as_deref().is_some_and(|segment| segment.is_remote) {
                    // One after the other, each would wait for a round trip.
                    true => ScanState::later(view, start_of(part), stop),
                    false => ScanState::new(view, start_of(part), stop),
                }
            });
            Ok((parts.collect::<Result<Vec<_>, _>>()?, view.version()))
        })?;
        Ok(states.into_iter().map(|state| Self::of_range(store, state, version)).collect())
    }

    /// The lines of a range.
    pub(super) fn of_range(
        store: &Arc<LineStore>,
        state: Option<ScanState>,
        version: Version,
    ) -> Self {
        // Restarting on a changed file would separate it from the other pieces.
        Self { store: Arc::clone(store), state, given: 0, restarts: RESTARTS, version }
    }

    fn whole(store: &LineStore) -> Result<(Option<ScanState>, Version)> {
        store.repairing(|view| {
            view.index.check_for_scan()?;
            Ok((ScanState::new(view, 0, u64::MAX)?, view.version()))
        })
    }

    /// The version of the lines. A scan that restarts yields a later version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The next live line, without its end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let Some(state) = &mut self.state else { return Ok(None) };
            match state.next() {
                Ok(Some((start, end))) => {
                    self.given += 1;
                    let state = self.state.as_ref().expect("just used");
                    return Ok(Some(&state.buffer[start..end]));
                }
                Ok(None) => return Ok(None),
                Err(fault) => self.recover(fault)?,
            }
        }
    }

    /// The file is not the one that was indexed. Restarts if nothing was yielded yet.
    #[cold]
    fn recover(&mut self, fault: IndexFault) -> Result<()> {
        if let IndexFault::Io(error) = fault {
            return Err(Error::io("read", &self.store.paths.data)(error));
        }
        if self.store.repair_for_scan(&fault)? == Repair::None && self.state.is_some() {
            return Ok(());
        }
        self.store.count_restart(self.given, &mut self.restarts)?;
        (self.state, self.version) = Self::whole(&self.store)?;
        Ok(())
    }

    /// Bytes scanned, and the total.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.state.as_ref().map_or((0, 0), ScanState::progress)
    }
}

impl ScanState {
    /// The lines that start in `[start, stop)`, a range that begins at a block boundary; `None` if
    /// there is no file.
    pub(super) fn new(view: &View, start: u64, stop: u64) -> Result<Option<Self>, IndexFault> {
        let Some(mut state) = Self::later(view, start, stop)? else { return Ok(None) };
        (state.base, state.has_begun) = (start, true);
        let mut before = [b'\n'];
        if start > 0 {
            state.segment.file.read_at(&mut before, start - 1)?;
        }
        if before != [b'\n'] {
            state.next_line()?; // it belongs to the previous part
        }
        Ok(Some(state))
    }

    /// The same, and nothing is read before the first line is wanted. Then the block before the
    /// range is, which shows where its first line starts, and is verified as all others.
    fn later(view: &View, start: u64, stop: u64) -> Result<Option<Self>, IndexFault> {
        let Some(segment) = &view.segment else { return Ok(None) };
        let index = &view.index;
        let skips = SkipCursor::new(&index.runs, index.delta.skips.clone(), start)?;
        Ok(Some(Self {
            segment: Arc::clone(segment),
            blocks: index.blocks(),
            next_skip: skips.peek(),
            skips,
            start,
            stop,
            end: index.state.data_end,
            has_begun: false,
            buffer: Vec::new(),
            base: start.saturating_sub(BLOCK_SIZE),
            filled: 0,
            at: 0,
            ends: Vec::new(),
            next_end: 0,
        }))
    }

    /// The lines that start in `[from, stop)`.
    pub(super) fn range(view: &View, from: u64, stop: u64) -> Result<Option<Self>, IndexFault> {
        let start = from - from % BLOCK_SIZE;
        let Some(mut state) = Self::new(view, start, stop)? else { return Ok(None) };
        while state.base + (state.at as u64) < from && state.next_line()?.is_some() {}
        Ok(Some(state))
    }

    /// The next live line with its offset in the file.
    pub(super) fn next_located(&mut self) -> Result<Option<(u64, &[u8])>, IndexFault> {
        let Some((start, end)) = self.next()? else { return Ok(None) };
        Ok(Some((self.base + start as u64, &self.buffer[start..end])))
    }

    /// Where the next line starts.
    pub(super) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Bytes scanned, and the total.
    fn progress(&self) -> (u64, u64) {
        let end = self.end.min(self.stop);
        let done = (self.base + self.at as u64).saturating_sub(self.start);
        (done.min(end - self.start), end - self.start)
    }

    /// The range of the next live line in the buffer.
    #[inline]
    fn next(&mut self) -> Result<Option<(usize, usize)>, IndexFault> {
        loop {
            let Some((start, end)) = self.next_line()? else { return Ok(None) };
            let offset = self.base + start as u64;
            if offset >= self.next_skip {
                let is_skipped = self.pass_skips(offset)?;
                if is_skipped {
                    continue;
                }
            }
            return Ok(Some((start, end)));
        }
    }

    /// Advances past the skips up to `offset`. Returns whether `offset` is one.
    fn pass_skips(&mut self, offset: u64) -> Result<bool, IndexFault> {
        if self.next_skip < offset {
            self.skips.pass(offset - 1)?;
        }
        let is_skipped = self.skips.peek() == offset;
        if is_skipped {
            self.skips.pass(offset)?;
        }
        self.next_skip = self.skips.peek();
        Ok(is_skipped)
    }

    /// The next line of any kind.
    #[inline]
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, IndexFault> {
        if self.base + self.at as u64 >= self.stop {
            return Ok(None);
        }
        while self.next_end == self.ends.len() {
            if !self.has_begun {
                self.begin()?;
                return self.next_line();
            }
            if self.fill()? {
                continue;
            }
            if self.at == self.filled {
                return Ok(None);
            }
            self.ends.push(self.filled as u32); // the last line has no line feed
        }
        let end = self.ends[self.next_end] as usize;
        self.next_end += 1;
        let mut start = self.at;
        self.at = (end + 1).min(self.filled);
        if self.base == 0 && start == 0 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            start = BYTE_ORDER_MARK.len();
        }
        let is_crlf = end > start && self.buffer[end - 1] == b'\r';
        Ok(Some((start, end - usize::from(is_crlf))))
    }

    /// Passes the lines that start before the range.
    #[cold]
    fn begin(&mut self) -> Result<(), IndexFault> {
        self.has_begun = true;
        while self.base + (self.at as u64) < self.start && self.next_line()?.is_some() {}
        Ok(())
    }

    /// Reads the next blocks after the partial line; `false` at the end.
    fn fill(&mut self) -> Result<bool, IndexFault> {
        let kept = self.filled - self.at;
        let position = self.base + self.filled as u64;
        if position >= self.end {
            return Ok(false);
        }
        self.buffer.copy_within(self.at..self.filled, 0);
        self.base += self.at as u64;
        self.at = 0;
        // No more than a line's end is behind the range, which another thread may read.
        let stop = self.stop.clamp(position + 1, self.end);
        let stop = stop.next_multiple_of(BLOCK_SIZE).min(self.end);
        let wanted = (stop - position).min(BLOCKS_PER_READ * BLOCK_SIZE) as usize;
        if self.buffer.len() < kept + wanted {
            self.buffer.resize(kept + wanted, 0);
        }
        // After a fault they are read again, if the scan goes on.
        self.filled = kept;
        let buffer = &mut self.buffer[kept..kept + wanted];
        let end = self.stop.saturating_add(BLOCK_SIZE).min(self.end);
        let read = self.segment.file.read_on(buffer, position, end)?;
        if read < wanted {
            return Err(IndexFault::Line { offset: position + read as u64 });
        }
        self.verify(&self.buffer[kept..kept + wanted], position)?;
        self.filled = kept + wanted;
        self.ends.clear();
        self.next_end = 0;
        let found = memchr::memchr_iter(b'\n', &self.buffer[kept..self.filled]);
        self.ends.extend(found.map(|at| (at + kept) as u32));
        Ok(true)
    }

    /// Compares the blocks just read with their checksums.
    fn verify(&self, bytes: &[u8], position: u64) -> Result<(), IndexFault> {
        for (number, bytes) in bytes.chunks(BLOCK_SIZE as usize).enumerate() {
            let block = position / BLOCK_SIZE + number as u64;
            let sum = self.blocks.sum(block, bytes.len() as u64)?;
            if !sum.is_some_and(|sum| has_block_sum(bytes, sum)) {
                return Err(IndexFault::Line { offset: block * BLOCK_SIZE });
            }
        }
        Ok(())
    }
}
