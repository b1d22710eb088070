//! The head of the index: the list of runs, how much of the data file is indexed, and the delta.
//!
//! ```text
//! "FOLIOIDX" version generation next_run run_count
//! state
//! run: number, size, header checksum        run_count times
//! checksum
//! record: "FLDR" size entry_count skip_count block_count
//!         state, entries, skips, blocks, checksum            appended by each flush
//! ```
//!
//! A new generation replaces the file by rename. In between, records are only appended. A reader
//! uses the records up to the first incomplete one, which gives a state that was once published.
//! The first record is written together with the head, whose state includes its entries. The last
//! word of that state is the record's size, and a head without the record is damaged.

use std::io;
use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, OpenMode, Stat};
use xxhash_rust::xxh3::xxh3_64;

use super::entry::{ENTRY_SIZE, Entry};
use super::lookup::Index;
use super::run::Run;
use crate::error::{Error, Result};

/// The head's file name under `meta/`.
pub(crate) const HEAD_NAME: &str = "folio.idx";

/// With more entries than this, a run is written: the delta is read at each open.
pub(crate) const DELTA_LIMIT: usize = 4096;

const MAGIC: &[u8; 8] = b"FOLIOIDX";
/// The sums of blocks had no count of lines in version 1; such an index is built again.
const VERSION: u64 = 2;
const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"FLDR");
const RECORD_HEADER_SIZE: usize = 24;
const STATE_WORDS: usize = 12;
const STATE_SIZE: usize = STATE_WORDS * 8;
/// A larger head was not written by this code.
const SIZE_LIMIT: u64 = 64 << 20;

/// The state of the data file when the index was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct State {
    /// The lines before this offset are indexed.
    pub(crate) data_end: u64,
    /// Live documents.
    pub(crate) live_count: u64,
    /// Bytes of their lines, line ends included.
    pub(crate) live_size: u64,
    /// Lines that are not live documents: superseded, tombstones, blank, invalid.
    pub(crate) skip_count: u64,
    /// How many of them are invalid.
    pub(crate) invalid_count: u64,
    /// The checksum of the filled part of the last block.
    pub(crate) tail_sum: u64,
    /// 1 if the last line has no line end.
    pub(crate) unterminated: u64,
    /// The file's identity, size and times.
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified_ns: u64,
    pub(crate) changed_ns: u64,
    /// The data before this offset, and the file's name, are on the device. Data after it may only
    /// be cached: its sync may have failed.
    pub(crate) synced_end: u64,
}

impl State {
    /// Copies the file's identity, size and times.
    #[must_use]
    pub(crate) fn with_stat(self, stat: &Stat) -> Self {
        Self {
            inode: stat.inode,
            size: stat.size,
            modified_ns: stat.modified_ns as u64,
            changed_ns: stat.changed_ns as u64,
            ..self
        }
    }

    /// Whether the file was last changed in the second in which the indexed one was. Another
    /// machine says no more.
    pub(crate) fn is_of_second(&self, stat: &Stat) -> bool {
        const SECOND: u64 = 1_000_000_000;
        self.modified_ns / SECOND == stat.modified_ns as u64 / SECOND
    }

    /// Whether the file is unchanged, as far as the file system shows.
    pub(crate) fn matches(&self, stat: &Stat) -> bool {
        *self == self.with_stat(stat)
    }

    /// Its numbers, in the order of the file.
    fn words(&mut self) -> [&mut u64; STATE_WORDS] {
        [
            &mut self.data_end,
            &mut self.live_count,
            &mut self.live_size,
            &mut self.skip_count,
            &mut self.invalid_count,
            &mut self.tail_sum,
            &mut self.unterminated,
            &mut self.inode,
            &mut self.size,
            &mut self.modified_ns,
            &mut self.changed_ns,
            &mut self.synced_end,
        ]
    }

    /// As the words of the file.
    fn written(mut self) -> impl Iterator<Item = u64> {
        self.words().map(|word| *word).into_iter()
    }
}

/// A run as listed in the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunName {
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) header_sum: u64,
}

impl RunName {
    /// The file name of a run under `meta/`.
    pub(crate) fn file_name(number: u64) -> String {
        format!("folio.run-{number}.idx")
    }
}

/// Whether a name under `meta/` belongs to the index.
pub(crate) fn is_index_file(name: &str) -> bool {
    name.starts_with("folio.") && (name.ends_with(".idx") || name.ends_with(".idx.new"))
}

/// Whether a name under `meta/` is the head or a run, complete.
pub(crate) fn is_line_index_file(name: &str) -> bool {
    let run = name.strip_prefix("folio.run-").and_then(|rest| rest.strip_suffix(".idx"));
    name == HEAD_NAME || run.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// The head and the delta's records, as read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Head {
    pub(crate) generation: u64,
    pub(crate) next_run: u64,
    pub(crate) runs: Vec<RunName>,
    pub(crate) state: State,
    pub(crate) entries: Vec<Entry>,
    pub(crate) skips: Vec<u64>,
    pub(crate) blocks: Vec<u64>,
    /// The size of the record written with the head; 0 if the state needs none.
    pub(crate) first_record_size: u64,
    /// The size of the complete part. What follows is the torn end of an append.
    pub(crate) size: u64,
}

impl Head {
    /// Reads the head; `None` if it is missing or damaged.
    ///
    /// # Errors
    /// The system's error, or a format version that is newer than this release.
    pub(crate) fn read(files: &dyn FileSystem, path: &Path) -> Result<Option<Self>> {
        let Some(bytes) = read_file(files, path)? else { return Ok(None) };
        if bytes.starts_with(MAGIC) {
            match word(&bytes, 8) {
                Some(found) if found > VERSION && checksum_holds(&bytes) => {
                    return Err(Error::Version { path: path.to_owned(), found, known: VERSION });
                }
                _ => {}
            }
        }
        Ok(Self::parse(&bytes))
    }

    /// Whether the file is one of an earlier version, which is no damage.
    pub(crate) fn is_earlier(files: &dyn FileSystem, path: &Path) -> bool {
        read_file(files, path).ok().flatten().is_some_and(|bytes| {
            bytes.starts_with(MAGIC)
                && word(&bytes, 8).is_some_and(|version| version < VERSION)
                && checksum_holds(&bytes)
        })
    }

    /// The generation of the published head, without reading all of it; 0 if there is none.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn generation(files: &dyn FileSystem, path: &Path) -> io::Result<u64> {
        let file = match files.open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut bytes = [0; 24];
        file.read_at(&mut bytes, 0)?;
        Ok(word(&bytes, 16).unwrap_or(0))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(MAGIC) || word(bytes, 8)? != VERSION || !checksum_holds(bytes) {
            return None;
        }
        let run_count = word(bytes, 32)? as usize;
        let runs_at = 40 + STATE_SIZE;
        let mut head = Self {
            generation: word(bytes, 16)?,
            next_run: word(bytes, 24)?,
            state: read_state(bytes, 40)?,
            size: (runs_at + run_count * 24 + 8) as u64,
            ..Self::default()
        };
        for run in 0..run_count {
            let at = runs_at + run * 24;
            head.runs.push(RunName {
                number: word(bytes, at)?,
                size: word(bytes, at + 8)?,
                header_sum: word(bytes, at + 16)?,
            });
        }
        // This word takes the place of `synced_end`, which is in the record.
        head.first_record_size = word(bytes, runs_at - 8)?;
        head.state.synced_end = 0;
        if head.first_record_size > 0 {
            let start = head.size;
            head.take_record(bytes.get(start as usize..)?)?;
            if head.size - start != head.first_record_size {
                return None;
            }
        }
        while head.take_record(&bytes[head.size as usize..]).is_some() {}
        Some(head)
    }

    /// Reads the record at the front of `bytes`, if it is complete.
    fn take_record(&mut self, bytes: &[u8]) -> Option<()> {
        let half = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if half(0)? != RECORD_MAGIC {
            return None;
        }
        let size = half(4)? as usize;
        let (entries, skips, blocks) = (half(8)? as usize, half(12)? as usize, half(16)? as usize);
        let entries_at = RECORD_HEADER_SIZE + STATE_SIZE;
        let skips_at = entries_at + entries.checked_mul(ENTRY_SIZE)?;
        let blocks_at = skips_at + skips * 8;
        let sum_at = blocks_at + blocks * 8;
        if size != sum_at + 8
            || bytes.len() < size
            || xxh3_64(&bytes[..sum_at]) != word(bytes, sum_at)?
        {
            return None;
        }
        for entry in bytes[entries_at..skips_at].chunks_exact(ENTRY_SIZE) {
            self.entries
                .push(Entry::from_bytes(entry.try_into().expect("chunk of an entry's size")));
        }
        self.skips.extend(words(&bytes[skips_at..blocks_at]));
        self.blocks.extend(words(&bytes[blocks_at..sum_at]));
        self.state = read_state(bytes, RECORD_HEADER_SIZE)?;
        self.size += size as u64;
        Some(())
    }

    /// The bytes of a head without records.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let fixed = [VERSION, self.generation, self.next_run, self.runs.len() as u64];
        push_words(&mut bytes, fixed.into_iter().chain(self.state.written()));
        bytes.truncate(bytes.len() - 8);
        push_words(&mut bytes, [self.first_record_size]);
        push_words(
            &mut bytes,
            self.runs.iter().flat_map(|run| [run.number, run.size, run.header_sum]),
        );
        let sum = xxh3_64(&bytes);
        push_words(&mut bytes, [sum]);
        bytes
    }
}

/// The bytes of the file; `None` if there is none.
fn read_file(files: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match files.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    let size = file.stat_at_open().map_err(Error::io("read", path))?.size.min(SIZE_LIMIT);
    let mut bytes = vec![0; size as usize];
    let read = file.read_at(&mut bytes, 0).map_err(Error::io("read", path))?;
    bytes.truncate(read);
    Ok(Some(bytes))
}

/// The bytes of a head that publishes an index: the head and its first record.
pub(crate) fn head_bytes(index: &Index, generation: u64, next_run: u64) -> Vec<u8> {
    let name = |run: &Arc<Run>| RunName {
        number: run.number,
        size: run.file_size(),
        header_sum: run.header_sum(),
    };
    let delta = &index.delta;
    let record = delta_record(&index.state, delta.entries(), &delta.skips, &delta.blocks);
    let head = Head {
        generation,
        next_run,
        runs: index.runs.iter().map(name).collect(),
        state: index.state,
        first_record_size: record.len() as u64,
        ..Head::default()
    };
    let mut bytes = head.to_bytes();
    bytes.extend(record);
    bytes
}

/// The bytes of a record to append to the head.
pub(crate) fn delta_record(
    state: &State,
    entries: &[Entry],
    skips: &[u64],
    blocks: &[u64],
) -> Vec<u8> {
    let size = RECORD_HEADER_SIZE
        + STATE_SIZE
        + entries.len() * ENTRY_SIZE
        + (skips.len() + blocks.len()) * 8
        + 8;
    let mut bytes = Vec::with_capacity(size);
    let counts = [size, entries.len(), skips.len(), blocks.len(), 0];
    bytes.extend_from_slice(&RECORD_MAGIC.to_le_bytes());
    counts.iter().for_each(|&count| bytes.extend_from_slice(&(count as u32).to_le_bytes()));
    push_words(&mut bytes, state.written());
    entries.iter().for_each(|entry| bytes.extend_from_slice(&entry.to_bytes()));
    push_words(&mut bytes, skips.iter().chain(blocks).copied());
    let sum = xxh3_64(&bytes);
    push_words(&mut bytes, [sum]);
    debug_assert_eq!(bytes.len(), size);
    bytes
}

fn checksum_holds(bytes: &[u8]) -> bool {
    let run_count = word(bytes, 32).filter(|&count| count <= 4096).unwrap_or(u64::from(u32::MAX));
    let sum_at = 40 + STATE_SIZE + run_count as usize * 24;
    word(bytes, sum_at).is_some_and(|sum| sum == xxh3_64(&bytes[..sum_at]))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("chunk of eight")))
}

fn read_state(bytes: &[u8], at: usize) -> Option<State> {
    let (mut state, found) = (State::default(), words(bytes.get(at..at + STATE_SIZE)?));
    state.words().into_iter().zip(found).for_each(|(word, found)| *word = found);
    Some(state)
}

fn push_words(bytes: &mut Vec<u8>, words: impl IntoIterator<Item = u64>) {
    words.into_iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let state = State { data_end: 10, live_count: 1, inode: 7, ..State::default() };
        let run = RunName { number: 3, size: 8192, header_sum: 99 };
        let head = Head { generation: 5, next_run: 4, runs: vec![run], state, ..Head::default() };
        let mut bytes = head.to_bytes();
        for end in [20, 30] {
            let state = State { data_end: end, ..state };
            let entry = Entry::document(end, end, 5, 6);
            bytes.extend(delta_record(&state, &[entry], &[end - 1], &[]));
        }
        bytes
    }

    #[test]
    fn reads_back_what_was_written() {
        let bytes = sample();
        let head = Head::parse(&bytes).unwrap();
        assert_eq!((head.generation, head.next_run, head.runs.len()), (5, 4, 1));
        assert_eq!((head.state.data_end, head.state.inode), (30, 7));
        assert_eq!((head.entries.len(), head.skips.clone()), (2, vec![19, 29]));
        assert_eq!(head.size, bytes.len() as u64);
    }

    /// The state of such a head says that all is indexed. Without the entries, lookups would find
    /// nothing.
    #[test]
    fn a_head_without_its_first_record_is_damaged() {
        let state = State { data_end: 10, live_count: 1, ..State::default() };
        let record = delta_record(&state, &[Entry::document(1, 0, 5, 6)], &[], &[]);
        let first_record_size = record.len() as u64;
        let mut bytes = Head { first_record_size, state, ..Head::default() }.to_bytes();
        let alone = bytes.len();
        bytes.extend(record);
        assert_eq!(Head::parse(&bytes).unwrap().entries.len(), 1);
        for cut in 0..bytes.len() {
            assert_eq!(Head::parse(&bytes[..cut]), None, "cut at {cut}");
        }
        for bit in alone * 8..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::parse(&flipped), None, "bit {bit}");
        }
    }

    #[test]
    fn every_cut_and_flip_gives_a_published_state_or_nothing() {
        let bytes = sample();
        let whole = Head::parse(&bytes).unwrap();
        let published = |head: &Head| {
            [10, 20, 30].contains(&head.state.data_end) && whole.entries.starts_with(&head.entries)
        };
        for cut in 0..bytes.len() {
            assert!(Head::parse(&bytes[..cut]).is_none_or(|head| published(&head)), "cut at {cut}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let parsed = Head::parse(&flipped);
            assert!(
                parsed.is_none_or(|head| published(&head) && head.state != whole.state),
                "bit {bit}"
            );
        }
    }
}
