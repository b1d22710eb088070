//! The index of a packed collection: where each line is in `data.jsonl` of the archive.
//!
//! It has the format of an index in a directory (`crate::index`). A file in a directory is
//! identified by inode and times; a member of an archive by its CRC-32 and size ([`identity_of`]).
//! So the same comparison proves that an index belongs to the data beside it, and an archive whose
//! data was replaced is indexed again.

use crc32fast::Hasher;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::index::{
    BlockSums, DELTA_LIMIT, Delta, Entry, HEAD_NAME, Index, IndexFault, RunContent, RunName,
    RunSink, State, head_bytes, id_hash, line_sum,
};
use crate::line;
use crate::version::Stamp;

/// The only run. A small collection has none: its entries are in the head.
const RUN_NUMBER: u64 = 1;

/// The inode that a member has, which other members with the same content have too.
pub(super) fn identity_of(crc: u32) -> u64 {
    1 << 32 | u64::from(crc)
}

/// Gathers what an index needs while lines are packed: 24 bytes for each.
pub(super) struct PackedIndex {
    entries: Vec<Entry>,
    /// The size of the lines so far, line ends included.
    size: u64,
    sums: BlockSums,
    blocks: Vec<u64>,
    crc: Hasher,
}

impl PackedIndex {
    pub(super) fn new() -> Self {
        let (entries, blocks) = (Vec::new(), Vec::new());
        Self { entries, size: 0, sums: BlockSums::at_start(), blocks, crc: Hasher::new() }
    }

    /// Notes the next line, whose text has no line end.
    ///
    /// # Errors
    /// [`Error::NoId`].
    pub(super) fn add_line(&mut self, text: &[u8]) -> Result<()> {
        let id = line::id_of_valid_line(text).ok_or(Error::NoId)?;
        let entry = Entry::document(id_hash(&id), self.size, text.len() as u32, line_sum(text));
        self.entries.push(entry);
        self.size += text.len() as u64 + 1;
        Ok(())
    }

    /// Notes bytes that are written: lines with their ends.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.sums.update(bytes, &mut self.blocks);
        self.crc.update(bytes);
    }

    /// What proves that something was derived from these lines.
    pub(super) fn stamp(&self) -> Stamp {
        let sums: Vec<u8> = self.blocks.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        Stamp {
            size: self.size,
            document_count: self.entries.len() as u64,
            blocks_sum: xxh3_64(&sums),
            tail_sum: self.sums.tail(),
        }
    }

    /// The files of the index, by their names in `meta/`: the run, if there is one, and the head.
    pub(super) fn finish(mut self) -> Result<Vec<(String, Vec<u8>)>> {
        let count = self.entries.len();
        let state = State {
            data_end: self.size,
            live_count: count as u64,
            live_size: self.size,
            tail_sum: self.sums.tail(),
            inode: identity_of(self.crc.finalize()),
            size: self.size,
            synced_end: self.size,
            ..State::default()
        };
        self.entries.sort_unstable_by_key(Entry::order);
        mark_collisions(&mut self.entries);
        if count <= DELTA_LIMIT {
            let mut delta = Delta::default();
            self.entries.iter().for_each(|&entry| delta.push(entry));
            delta.blocks = self.blocks;
            let index = Index { runs: Vec::new(), delta, state };
            return Ok(vec![(HEAD_NAME.to_owned(), head_bytes(&index, 1, 0))]);
        }
        let content = RunContent {
            entry_limit: count as u64,
            entries: self.entries.into_iter().map(Ok),
            skips: std::iter::empty(),
            first_block: 0,
            blocks: self.blocks.into_iter().map(Ok),
            data_end: self.size,
        };
        let run =
            content.write(&RunSink::Memory, RUN_NUMBER).map_err(|fault| unwritable(&fault))?;
        let bytes = run.bytes().to_vec();
        let index = Index { runs: vec![run.into()], delta: Delta::default(), state };
        let head = head_bytes(&index, 1, RUN_NUMBER);
        Ok(vec![(RunName::file_name(RUN_NUMBER), bytes), (HEAD_NAME.to_owned(), head)])
    }
}

/// Marks the entries whose hash another id has too.
fn mark_collisions(entries: &mut [Entry]) {
    for group in entries.chunk_by_mut(|a, b| a.hash == b.hash).filter(|group| group.len() > 1) {
        group.iter_mut().for_each(|entry| *entry = entry.with_collided(true));
    }
}

/// A run in memory is neither read from nor written to a file.
fn unwritable(fault: &IndexFault) -> Error {
    Error::Invalid(format!("the index of the archive cannot be written: {fault}"))
}
