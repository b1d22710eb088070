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
//! one, that line is not in the list, and nothing is moved away. But after a power failure, lines
//! may be on the device while their part of the list is not. So the list's sum is seeded with the
//! [epoch](File::epoch) in which it was written, and the list is ignored in any other epoch. If the
//! system has no epoch, the seed is 0, and each part of the list is synced before its lines are
//! written. A list without a matching sum is also ignored.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use crate::index::line_sum;
use crate::line::{Line, LineReader, examine};

const MAGIC: &[u8; 8] = b"FOLIOBAT";
const SLOT_WORDS: usize = 11;
const SLOT_STRIDE: u64 = 4096;
const LIST_OFFSET: u64 = 2 * SLOT_STRIDE;
const OPEN: u64 = 1;
const CLOSED: u64 = 2;

/// The newer of the two slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BatchSlot {
    sequence: u64,
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

    /// Reads the newer intact slot; `None` if there was never a batch.
    pub(crate) fn read(files: &dyn FileSystem, path: &Path) -> io::Result<Option<Self>> {
        Self::open(files, path)?.as_deref().map_or(Ok(None), Self::read_from)
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
        let mut bytes = [0; SLOT_STRIDE as usize + SLOT_WORDS * 8];
        let read = file.read_at(&mut bytes, 0)?;
        let bytes = &bytes[..read];
        let second = bytes.get(SLOT_STRIDE as usize..).and_then(Self::from_bytes);
        Ok(Self::from_bytes(bytes).into_iter().chain(second).max_by_key(|slot| slot.sequence))
    }

    /// Whether the lines of `[start, end)` of the data file are exactly those of the batch, as far
    /// as its list shows. `false` means that someone has edited the file since. A list that was
    /// lost in a power cut shows nothing.
    pub(crate) fn is_alone(
        &self,
        record: &dyn File,
        data: &dyn File,
        end: u64,
    ) -> io::Result<bool> {
        // A batch begins at the start of a line. If a line crosses that offset, the file was
        // replaced. Zeros there are what a power cut leaves of an unsynced line.
        let mut before = [b'\n'];
        if self.start > 0 {
            data.read_at(&mut before, self.start - 1)?;
        }
        if !matches!(before[0], b'\n' | 0) {
            return Ok(false);
        }
        let mut list = vec![0; (self.list_count.min(1 << 32) * 4) as usize];
        let read = record.read_at(&mut list, LIST_OFFSET)?;
        let is_whole = read == list.len();
        let seeds = [Some(0), record.epoch()];
        let has_sum = |seed| xxh3_64_with_seed(&list, seed) == self.list_sum;
        if !is_whole || !seeds.into_iter().flatten().any(has_sum) {
            return Ok(true);
        }
        let written: HashSet<&[u8]> = list.chunks_exact(4).collect();
        let mut reader = LineReader::new(data, self.start, end);
        while let Some(line) = reader.next()? {
            // A line torn by a crash is not a document, so it is not an edit. A complete document
            // is one, with or without a line end.
            let is_foreign = !written.contains(&low_half(line.text)[..])
                && matches!(examine(line.text), Ok(Line::Document { .. } | Line::Tombstone(_)));
            if is_foreign {
                return Ok(false);
            }
        }
        Ok(true)
    }
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
        self.write(slot)
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
