//! The batch record distinguishes a complete batch from a torn one after a crash.
//!
//! `meta/folio.batch` has two slots that are written in turn, so that a torn write of one leaves
//! the other intact. Before its first line, a batch records that it is open, and from which offset.
//! Before each piece of lines, it records their checksums. At the end it records in both slots that
//! it is closed. The open mark is durable before any of the lines can be. So after a crash, an open
//! slot means that nothing after its start was acknowledged. Between batches, damage to one slot
//! does not bring back an old open one.
//!
//! ```text
//! offset 0, 4096   slot: "FOLIOBAT" sequence status start end inode source position
//!                  list_count list_sum checksum
//! offset 8192      u32 each: low halves of the checksums of the lines so far
//! ```
//!
//! The list is there for edits by hand. If someone appends a line after a killed batch, or changes
//! one, that line is not in the list, and stays when those of the batch are taken out. But after a
//! power failure, lines may be on the device while their part of the list is not. So the list's sum
//! is seeded with the [epoch](File::epoch) in which it was written, and the list is ignored in any
//! other epoch. If the system has no epoch, the seed is 0, and each part of the list is synced
//! before its lines are written. A list without a matching sum is also ignored: then nothing after
//! the batch's beginning counts.

use std::io;
use std::iter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode, Stat};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use super::Paths;
use crate::index::line_sum;
use crate::line::{Line, LineReader, RawLine, examine};
use crate::whole_file::share_access;

const MAGIC: &[u8; 8] = b"FOLIOBAT";
const SLOT_WORDS: usize = 11;
const SLOT_STRIDE: u64 = 4096;
const LIST_OFFSET: u64 = 2 * SLOT_STRIDE;
const OPEN: u64 = 1;
const CLOSED: u64 = 2;

/// The newer of the two slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BatchSlot {
    pub(crate) sequence: u64,
    status: u64,
    /// The offset of the batch's lines, and their end once it is closed.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) inode: u64,
    /// The fingerprint of an import's source, and how far into it the last closed batch went. 0 if
    /// there was no import.
    pub(crate) source: u64,
    pub(crate) position: u64,
    list_count: u64,
    list_sum: u64,
}

impl BatchSlot {
    pub(crate) fn is_open(&self) -> bool {
        self.status == OPEN
    }

    /// Whether no batch began or ended between two reads of the record.
    pub(crate) fn is_same_batch(before: Option<&Self>, after: Option<&Self>) -> bool {
        match (before, after) {
            (Some(before), Some(after)) if before.is_open() && after.is_open() => {
                before.start == after.start && before.inode == after.inode
            }
            (before, after) => before.map(|slot| slot.sequence) == after.map(|slot| slot.sequence),
        }
    }

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let words = [
            self.sequence,
            self.status,
            self.start,
            self.end,
            self.inode,
            self.source,
            self.position,
            self.list_count,
            self.list_sum,
        ];
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SLOT_WORDS * 8)?;
        let word = |at: usize| {
            u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
        };
        let (body, sum) = bytes.split_at((SLOT_WORDS - 1) * 8);
        if !bytes.starts_with(MAGIC) || sum != xxh3_64(body).to_le_bytes() {
            return None;
        }
        Some(Self {
            sequence: word(1),
            status: word(2),
            start: word(3),
            end: word(4),
            inode: word(5),
            source: word(6),
            position: word(7),
            list_count: word(8),
            list_sum: word(9),
        })
    }

    /// Reads the slot that is about the data file with this inode; `None` if there was never a batch.
    pub(crate) fn read(
        files: &dyn FileSystem,
        path: &Path,
        inode: Option<u64>,
    ) -> io::Result<Option<Self>> {
        let record = Self::open(files, path)?;
        record.as_deref().map_or(Ok(None), |record| Self::read_about(record, inode))
    }

    /// Opens the record for reading; `None` if there was never a batch.
    pub(crate) fn open(files: &dyn FileSystem, path: &Path) -> io::Result<Option<Arc<dyn File>>> {
        match files.open(path, OpenMode::Read) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the newer intact slot of an open record.
    pub(crate) fn read_from(file: &dyn File) -> io::Result<Option<Self>> {
        Self::read_about(file, None)
    }

    /// The same, of those about this inode if there are any.
    fn read_about(file: &dyn File, inode: Option<u64>) -> io::Result<Option<Self>> {
        Ok(Self::about(Self::read_both(file)?, inode))
    }

    /// Reads both slots; `None` for one that is not intact.
    pub(crate) fn read_both(file: &dyn File) -> io::Result<[Option<Self>; 2]> {
        let mut bytes = [0; SLOT_STRIDE as usize + SLOT_WORDS * 8];
        let read = file.read_at(&mut bytes, 0)?;
        let slot = |at: u64| bytes[..read].get(at as usize..).and_then(Self::from_bytes);
        Ok([slot(0), slot(SLOT_STRIDE)])
    }

    /// The slot that counts for the data file with this inode: the lines of an open batch may have
    /// been left out of a new file, which is about to take the place of the old one. A copy of either
    /// file has another inode; whether it has these lines, its content says.
    pub(crate) fn about(slots: [Option<Self>; 2], inode: Option<u64>) -> Option<Self> {
        let [Some(first), Some(second)] = slots else { return slots[0].or(slots[1]) };
        let is_about = |slot: &Self| Some(slot.inode) == inode;
        let is_copy = !is_about(&first) && !is_about(&second) && first.inode != second.inode;
        let rank = |slot: &Self| (is_about(slot), is_copy && slot.is_open(), slot.sequence);
        Some(if rank(&first) > rank(&second) { first } else { second })
    }

    /// The parts of the data file that count: all but the lines of this batch, if it is open. What
    /// others have added since its beginning counts, as far as its list shows it. A list that was
    /// lost in a power cut shows nothing.
    pub(crate) fn parts_that_count(
        &self,
        record: &dyn File,
        data: &dyn File,
        stat: &Stat,
    ) -> io::Result<Vec<Range<u64>>> {
        if !self.is_open() || self.start >= stat.size || !self.is_in(record, data, stat)? {
            return Ok(iter::once(0..stat.size).collect());
        }
        let mut parts: Vec<_> = iter::once(0..self.start).collect();
        let Some(list) = self.list(record)? else { return Ok(parts) };
        let mut announced = Announced::new(&list);
        let mut reader = LineReader::new(data, self.start, stat.size);
        while let Some(line) = reader.next()? {
            let Some(at) = announced.foreign_part(&line) else { continue };
            let part = line.offset + at as u64..line.next;
            match parts.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => parts.push(part),
            }
        }
        Ok(parts)
    }

    /// Whether the batch was written to this file, or to one that this is a copy of: it then has the
    /// batch's first line where the batch began.
    fn is_in(&self, record: &dyn File, data: &dyn File, stat: &Stat) -> io::Result<bool> {
        // A batch begins at the start of a line. If a line crosses that offset, the file was
        // replaced. Zeros there are what a power cut leaves of an unsynced line.
        let mut before = [b'\n'];
        if self.start > 0 {
            data.read_at(&mut before, self.start - 1)?;
        }
        // Another machine does not say the inode.
        if self.inode == stat.inode || data.is_remote() || !matches!(before[0], b'\n' | 0) {
            return Ok(matches!(before[0], b'\n' | 0));
        }
        let mut first = [0; 4];
        let read = record.read_at(&mut first, LIST_OFFSET)?;
        let mut reader = LineReader::new(data, self.start, stat.size);
        let line = reader.next()?;
        Ok(read == first.len() && line.is_some_and(|line| low_half(line.text) == first))
    }

    /// The announced numbers, if they can be believed.
    fn list(&self, record: &dyn File) -> io::Result<Option<Vec<u8>>> {
        let room = record.stat()?.size.saturating_sub(LIST_OFFSET) / 4;
        if self.list_count > room.min(u64::from(u32::MAX)) {
            return Ok(None);
        }
        let mut list = vec![0; (self.list_count * 4) as usize];
        let read = record.read_at(&mut list, LIST_OFFSET)?;
        let seeds = [Some(0), record.epoch()];
        let has_sum = |seed| xxh3_64_with_seed(&list, seed) == self.list_sum;
        let is_whole = read == list.len() && seeds.into_iter().flatten().any(has_sum);
        Ok(is_whole.then_some(list))
    }
}

/// The parts of a data file that count.
pub(crate) fn parts_that_count(
    files: &dyn FileSystem,
    paths: &Paths,
    data: &dyn File,
    stat: &Stat,
) -> io::Result<Vec<Range<u64>>> {
    let whole = || Ok(iter::once(0..stat.size).collect());
    let Some(record) = BatchSlot::open(files, &paths.batch)? else { return whole() };
    // Another machine does not say the inode.
    let inode = (!data.is_remote()).then_some(stat.inode);
    let slot = BatchSlot::read_about(&*record, inode)?;
    slot.map_or_else(whole, |slot| slot.parts_that_count(&*record, data, stat))
}

/// Tells the lines of a batch from those of others. The batch has written its lines in the order of
/// the list; somebody may have added lines between them since, and changed or removed some.
struct Announced<'l> {
    list: &'l [[u8; 4]],
    /// How many of the batch's lines were met, up to the first that is missing.
    met: usize,
    /// How many lines, one after another, repeat the batch from its first line on.
    repeated: usize,
    /// The list with its places, sorted. Made for the first line that is not the batch's next.
    sorted: Vec<([u8; 4], u32)>,
}

impl<'l> Announced<'l> {
    fn new(list: &'l [u8]) -> Self {
        Self { list: list.as_chunks().0, met: 0, repeated: 0, sorted: Vec::new() }
    }

    /// Where in a line the document of somebody else begins; `None` if there is none. A line torn by
    /// a crash is not a document. A complete document is one, with or without a line end.
    fn foreign_part(&mut self, line: &RawLine<'_>) -> Option<usize> {
        if self.take(line.text) {
            return None;
        }
        if is_document(line.text) {
            return Some(0);
        }
        // To a torn line, somebody has appended one: `{"_id":"a","n{"_id":"b"}`.
        let at = last_object(line.text).filter(|&at| is_document(&line.text[at..]))?;
        (line.terminated && !self.take(&line.text[at..])).then_some(at)
    }

    /// Whether a line is one of the batch. Lines that repeat it from its first line on are not:
    /// somebody appends what the batch did, `cat again.jsonl >> data.jsonl`.
    fn take(&mut self, text: &[u8]) -> bool {
        let half = low_half(text);
        let is_at = |place: usize| self.list.get(place) == Some(&half);
        if self.repeated > 0 && is_at(self.repeated) {
            self.repeated += 1;
            return false;
        }
        if is_at(self.met) {
            (self.met, self.repeated) = (self.met + 1, 0);
            return true;
        }
        self.repeated = usize::from(self.met > 0 && is_at(0));
        self.repeated == 0 && self.is_to_come(half)
    }

    /// Whether the list has a number after the lines that were met.
    fn is_to_come(&mut self, half: [u8; 4]) -> bool {
        if self.sorted.is_empty() {
            self.sorted = self.list.iter().copied().zip(0..).collect();
            self.sorted.sort_unstable();
        }
        let at = self.sorted.partition_point(|&place| place < (half, self.met as u32));
        self.sorted.get(at).is_some_and(|place| place.0 == half)
    }
}

fn is_document(text: &[u8]) -> bool {
    matches!(examine(text), Ok(Line::Document { .. } | Line::Tombstone(_)))
}

/// Where the last object of a text begins, if no string in it has braces without their pairs.
fn last_object(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    text.iter().rposition(|byte| match byte {
        b'}' => {
            depth += 1;
            false
        }
        b'{' => {
            depth = depth.saturating_sub(1);
            depth == 0
        }
        _ => false,
    })
}

fn low_half(text: &[u8]) -> [u8; 4] {
    (line_sum(text) as u32).to_le_bytes()
}

/// A list that is synced piece by piece is extended by this factor in advance, with zeros. A sync
/// that does not have to make a new size durable costs half as much. It also does not wait for the
/// lines of the batch, which file systems write out before they journal a size.
const RESERVE: u64 = 16;

/// Writes the record of one writer's batches.
pub(crate) struct BatchRecord {
    pub(crate) file: Arc<dyn File>,
    last: BatchSlot,
    /// The epoch in which the lists are written; `None` if the system has none.
    epoch: Option<u64>,
    /// The size of the file.
    size: u64,
    /// The sum of the list so far.
    list_sum: Xxh3,
}

impl BatchRecord {
    /// Opens the record, or creates it if it is missing.
    pub(crate) fn open(files: &dyn FileSystem, path: &Path) -> io::Result<Self> {
        let file = files.open(path, OpenMode::Write)?;
        if file.stat()?.size == 0 {
            share_access(files, path)?; // other users write to it too
        }
        let last = BatchSlot::read_from(&*file)?.unwrap_or_default();
        let (epoch, size) = (file.epoch(), file.stat()?.size);
        let list_sum = Xxh3::with_seed(epoch.unwrap_or(0));
        Ok(Self { file, last, epoch, size, list_sum })
    }

    /// Whether each part of the list must be durable before its lines are written.
    pub(crate) fn needs_sync_of_list(&self) -> bool {
        self.epoch.is_none()
    }

    /// Records that a batch begins at `start`, and the checksums of the lines that are written
    /// next. The caller syncs.
    pub(crate) fn begin(&mut self, start: u64, inode: u64, sums: &[u64]) -> io::Result<()> {
        self.list_sum.reset();
        let slot = BatchSlot { status: OPEN, start, end: start, inode, list_count: 0, ..self.last };
        self.write_listed(slot, sums)
    }

    /// Adds the checksums of the lines that are written next to the list. The caller syncs.
    pub(crate) fn announce(&mut self, sums: &[u64]) -> io::Result<()> {
        let listed = (self.last.list_count + sums.len() as u64) * 4;
        if self.needs_sync_of_list() && LIST_OFFSET + listed > self.size {
            let reserved = LIST_OFFSET + listed * RESERVE;
            self.file.write_at(&vec![0; (reserved - self.size) as usize], self.size)?;
            self.size = reserved;
        }
        self.write_listed(self.last, sums)
    }

    fn write_listed(&mut self, slot: BatchSlot, sums: &[u64]) -> io::Result<()> {
        let new: Vec<u8> = sums.iter().flat_map(|&sum| (sum as u32).to_le_bytes()).collect();
        let offset = LIST_OFFSET + slot.list_count * 4;
        self.file.write_at(&new, offset)?;
        self.size = self.size.max(offset + new.len() as u64);
        self.list_sum.update(&new);
        let list_count = slot.list_count + sums.len() as u64;
        self.write(BatchSlot { list_count, list_sum: self.list_sum.digest(), ..slot })
    }

    /// Records that everything up to `end` now belongs to the file. The caller syncs.
    ///
    /// The first write says so. The second is over a slot that was open before; where it fails, the
    /// next writer makes up for it. An error would undo what the first has said.
    pub(crate) fn close(&mut self, end: u64, import: Option<(u64, u64)>) -> io::Result<()> {
        let (source, position) = import.unwrap_or((self.last.source, self.last.position));
        let slot = BatchSlot {
            status: CLOSED,
            end,
            source,
            position,
            list_count: 0,
            list_sum: 0,
            ..self.last
        };
        self.write(slot)?;
        let _ = self.write(slot);
        Ok(())
    }

    /// Records that an open batch is in the file with this inode: a copy of the one that it was written
    /// to. The caller syncs.
    pub(crate) fn move_to(&mut self, slot: &BatchSlot, inode: u64) -> io::Result<BatchSlot> {
        self.last = *slot;
        self.write(BatchSlot { inode, ..*slot })?;
        Ok(self.last)
    }

    /// Records that the lines of an open batch are not in a file that is about to take the place of
    /// the one with them. Its slot stays, for as long as that one is there. The caller syncs.
    pub(crate) fn leave_out(&mut self, slot: &BatchSlot, inode: u64) -> io::Result<()> {
        self.last = *slot;
        self.write(BatchSlot { status: CLOSED, inode, list_count: 0, list_sum: 0, ..*slot })
    }

    /// Overwrites the older slot.
    fn write(&mut self, slot: BatchSlot) -> io::Result<()> {
        let slot = BatchSlot { sequence: self.last.sequence + 1, ..slot };
        self.file.write_at(&slot.to_bytes(), slot.sequence % 2 * SLOT_STRIDE)?;
        self.last = slot;
        Ok(())
    }
}

impl std::fmt::Debug for BatchRecord {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "BatchRecord({:?})", self.last)
    }
}
