//! Reads lines of the data file into index entries.

use std::io;

use crate::index::{BLOCK_SIZE, BlockSums, Entry, Index, Resolved, id_hash, line_sum};
use crate::line::{self, Line, LineReader, RawLine};
use folio_file::File;
use folio_json::Fault;

/// An invalid line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadLine {
    pub(crate) offset: u64,
    /// The number of lines before it in the same chunk.
    pub(crate) lines_before: u64,
    pub(crate) reason: &'static str,
}

/// The content of a range of the data file.
#[derive(Debug, Default)]
pub(crate) struct LineChunk {
    /// Documents and tombstones in file order.
    pub(crate) entries: Vec<Entry>,
    /// Offsets of blank and invalid lines.
    pub(crate) skips: Vec<u64>,
    /// The first invalid lines.
    pub(crate) bad: Vec<BadLine>,
    pub(crate) bad_count: u64,
    pub(crate) line_count: u64,
    /// The offset after the last line in the chunk.
    pub(crate) end: u64,
    /// Whether the last line in the chunk has no line end.
    pub(crate) unterminated: bool,
    /// A last line that is left out.
    pub(crate) torn: Option<Torn>,
}

/// A last line that has no line end and is not valid: the torn end of a write, or one that somebody
/// writes by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Torn {
    pub(crate) offset: u64,
    pub(crate) reason: &'static str,
}

impl Torn {
    /// What is wrong, in words.
    pub(crate) fn text(self) -> String {
        format!("the last line has no line end and is not valid ({})", self.reason)
    }
}

/// How many invalid lines are recorded individually.
const BAD_LIMIT: usize = 100;

/// What a power failure leaves where it interrupts a write.
const ZEROS: &str = "bytes of zero";

impl LineChunk {
    /// Reads lines until there are `entry_limit` entries or no more lines. Returns whether the end
    /// was reached.
    pub(crate) fn read(
        reader: &mut LineReader<'_>,
        entry_limit: usize,
    ) -> io::Result<(Self, bool)> {
        let mut chunk = Self { end: reader.position(), ..Self::default() };
        while chunk.entries.len() < entry_limit {
            let Some(raw) = reader.next()? else { return Ok((chunk, true)) };
            let examined = line::examine(raw.text);
            if !raw.terminated && examined.is_err() {
                chunk.take_torn(&raw);
                return Ok((chunk, true));
            }
            match examined {
                Ok(Line::Document { id, .. }) => {
                    let size = raw.text.len() as u32;
                    chunk.entries.push(Entry::document(
                        id_hash(&id),
                        raw.offset,
                        size,
                        line_sum(raw.text),
                    ));
                }
                Ok(Line::Tombstone(id)) => {
                    chunk.entries.push(Entry::tombstone(
                        id_hash(id),
                        raw.offset,
                        line_sum(raw.text),
                    ));
                }
                Ok(Line::Blank) => chunk.skips.push(raw.offset),
                Err(fault) => {
                    chunk.skips.push(raw.offset);
                    chunk.bad_count += 1;
                    if chunk.bad.len() < BAD_LIMIT {
                        let lines_before = chunk.line_count;
                        chunk.bad.push(BadLine {
                            offset: raw.offset,
                            lines_before,
                            reason: fault.reason,
                        });
                    }
                }
            }
            chunk.line_count += 1;
            chunk.end = raw.next;
            chunk.unterminated = !raw.terminated;
        }
        Ok((chunk, false))
    }
}

impl LineChunk {
    /// Leaves out a last line that has no line end and is not valid. If the power failed while its
    /// line end was written, zeros may follow a document.
    fn take_torn(&mut self, raw: &RawLine<'_>) {
        let size = raw.text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let text = &raw.text[..size];
        let whole = match line::examine(text) {
            Ok(Line::Document { id, .. }) => {
                Entry::document(id_hash(&id), raw.offset, size as u32, line_sum(text))
            }
            Ok(Line::Tombstone(id)) => Entry::tombstone(id_hash(id), raw.offset, line_sum(text)),
            Ok(Line::Blank) => {
                self.torn = Some(Torn { offset: raw.offset, reason: ZEROS });
                return;
            }
            Err(Fault { reason, .. }) => {
                self.torn = Some(Torn { offset: raw.offset, reason });
                return;
            }
        };
        self.entries.push(whole);
        self.line_count += 1;
        self.end = raw.offset + size as u64;
        self.unterminated = true;
        self.torn = Some(Torn { offset: self.end, reason: ZEROS });
    }
}

/// Adds the resolved chunk to the state's counts. The caller places the entries and skips.
pub(crate) fn count_in(index: &mut Index, resolved: &Resolved, other_skips: usize) {
    let documents = resolved.entries.iter().filter(|entry| !entry.is_tombstone());
    let new_size: u64 = documents.map(|entry| u64::from(entry.size()) + 1).sum();
    let state = &mut index.state;
    state.live_count =
        (state.live_count + resolved.counts.inserted).saturating_sub(resolved.counts.deleted);
    state.live_size = (state.live_size + new_size).saturating_sub(resolved.dead_size);
    state.skip_count += (resolved.skips.len() + other_skips) as u64;
}

/// Whether the lines of these entries are in the file in this order, with or without other lines
/// between them.
pub(crate) fn stand_in(file: &dyn File, entries: &[Entry]) -> io::Result<bool> {
    let mut entries = entries.to_vec();
    entries.sort_unstable_by_key(|entry| entry.offset());
    let mut wanted = entries.iter().map(|entry| entry.sum()).peekable();
    let mut reader = LineReader::new(file, 0, file.stat()?.size);
    while let (Some(sum), Some(line)) = (wanted.peek(), reader.next()?) {
        if line.terminated && line_sum(line.text) == *sum {
            wanted.next();
        }
    }
    Ok(wanted.next().is_none())
}

/// Adds the bytes of the file up to `end` to `sums`.
pub(crate) fn sum_up_to(
    file: &dyn File,
    sums: &mut BlockSums,
    end: u64,
    done: &mut Vec<u64>,
) -> io::Result<()> {
    let mut buffer = vec![0; 4 * BLOCK_SIZE as usize];
    while sums.position() < end {
        let wanted = (end - sums.position()).min(buffer.len() as u64) as usize;
        let read = file.read_at(&mut buffer[..wanted], sums.position())?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        sums.update(&buffer[..read], done);
    }
    Ok(())
}

/// The number of the line at `offset`, from 1, found by counting line feeds.
pub(crate) fn line_number(file: &dyn File, offset: u64) -> io::Result<u64> {
    LineCounter::new(file).number_at(offset)
}

/// Counts the lines of a file, to number several of them.
pub(crate) struct LineCounter<'f> {
    file: &'f dyn File,
    buffer: Vec<u8>,
    at: u64,
    /// The number of the line at `at`.
    number: u64,
}

impl<'f> LineCounter<'f> {
    pub(crate) fn new(file: &'f dyn File) -> Self {
        Self { file, buffer: vec![0; 4 * BLOCK_SIZE as usize], at: 0, number: 1 }
    }

    /// How far lines are counted.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// The number of the line at `offset`, from 1; offsets ascend.
    pub(crate) fn number_at(&mut self, offset: u64) -> io::Result<u64> {
        while self.at < offset {
            let wanted = (offset - self.at).min(self.buffer.len() as u64) as usize;
            let read = self.file.read_at(&mut self.buffer[..wanted], self.at)?;
            if read == 0 {
                break;
            }
            self.number += memchr::memchr_iter(b'\n', &self.buffer[..read]).count() as u64;
            self.at += read as u64;
        }
        Ok(self.number)
    }
}
