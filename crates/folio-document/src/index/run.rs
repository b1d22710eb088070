//! A run: an immutable, sorted table from hashes to lines, with gaps.
//!
//! Entries are sorted by hash. Each is at its home slot (its hash scaled to the capacity) or at the
//! first free slot after it: linear probing in sorted order (Amble and Knuth, 1974). A lookup
//! starts at the home slot and ends at the first greater hash. One sequential pass builds or merges
//! a run. A run is read through a map without being loaded.
//!
//! ```text
//! page 0      header
//! pages       entries
//! pages       skips: offsets of lines that are no live documents, ascending
//! pages       sums of the 64-KiB blocks of data that ended while this run was new
//! ```

use std::io;
use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, Map, OpenMode, prefetch};

use super::entry::{ENTRY_SIZE, Entry};
use super::lookup::IndexFault;
use super::pages::{
    CheckedPages, ENTRIES_PER_PAGE, NUMBERS_PER_PAGE, PAGE_SIZE, PageWriter, entry_offset,
    number_offset,
};
use crate::frame::{self, Header as _};

/// Slots per four entries: one in five slots stays empty.
const SLOTS_PER_FOUR: u64 = 5;

/// The content of a run besides entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Header {
    capacity: u64,
    slot_count: u64,
    entry_count: u64,
    skip_count: u64,
    first_block: u64,
    block_count: u64,
    data_end: u64,
}

impl frame::Header<7> for Header {
    const MAGIC: &'static [u8; 8] = b"FOLIORUN";
    const VERSION: u64 = 2;

    fn words(&mut self) -> [&mut u64; 7] {
        [
            &mut self.capacity,
            &mut self.slot_count,
            &mut self.entry_count,
            &mut self.skip_count,
            &mut self.first_block,
            &mut self.block_count,
            &mut self.data_end,
        ]
    }
}

impl Header {
    fn entry_pages(self) -> u64 {
        self.slot_count.div_ceil(ENTRIES_PER_PAGE)
    }

    fn skip_pages(self) -> u64 {
        self.skip_count.div_ceil(NUMBERS_PER_PAGE)
    }

    /// The required size of the file; `None` if the numbers are implausible.
    fn file_size(self) -> Option<u64> {
        let limit = 1 << 48;
        if self.slot_count > limit || self.skip_count > limit || self.block_count > limit {
            return None;
        }
        if self.capacity == 0 || self.capacity > self.slot_count {
            return None;
        }
        let pages = 1
            + self.entry_pages()
            + self.skip_pages()
            + self.block_count.div_ceil(NUMBERS_PER_PAGE);
        Some(pages * PAGE_SIZE as u64)
    }
}

/// An open run.
pub(crate) struct Run {
    pub(crate) number: u64,
    pages: CheckedPages,
    header: Header,
    header_sum: u64,
}

impl Run {
    /// Opens run `number`. Its header must have the checksum `header_sum`.
    pub(crate) fn open(
        files: &dyn FileSystem,
        path: &Path,
        number: u64,
        header_sum: u64,
    ) -> io::Result<Option<Self>> {
        let map = files.open(path, OpenMode::Read)?.map()?;
        Ok(Self::from_map(map, number).filter(|run| run.header_sum == header_sum))
    }

    pub(crate) fn from_map(map: Map, number: u64) -> Option<Self> {
        let header = Header::from_bytes(&map)?;
        let header_sum = frame::word_at(&map, Header::SIZE - 8);
        if header.file_size() != Some(map.len() as u64) {
            return None;
        }
        Some(Self { number, pages: CheckedPages::new(map), header, header_sum })
    }

    pub(crate) fn header_sum(&self) -> u64 {
        self.header_sum
    }

    /// The file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.pages.bytes()
    }

    pub(crate) fn file_size(&self) -> u64 {
        self.pages.bytes().len() as u64
    }

    pub(crate) fn entry_count(&self) -> u64 {
        self.header.entry_count
    }

    pub(crate) fn skip_count(&self) -> u64 {
        self.header.skip_count
    }

    pub(crate) fn first_block(&self) -> u64 {
        self.header.first_block
    }

    pub(crate) fn block_count(&self) -> u64 {
        self.header.block_count
    }

    pub(crate) fn data_end(&self) -> u64 {
        self.header.data_end
    }

    #[inline]
    pub(crate) fn slot(&self, slot: u64) -> Entry {
        let at = PAGE_SIZE + entry_offset(slot);
        let bytes = &self.pages.bytes()[at..at + ENTRY_SIZE];
        Entry::from_bytes(bytes.try_into().expect("24 bytes"))
    }

    /// Prefetches the home slot of this hash, where its entry is or shortly after.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let at = PAGE_SIZE + entry_offset(self.home(hash));
        prefetch(&self.pages.bytes()[at..at + ENTRY_SIZE]);
    }

    pub(crate) fn slot_count(&self) -> u64 {
        self.header.slot_count
    }

    #[inline]
    fn home(&self, hash: u64) -> u64 {
        home_slot(hash, self.header.capacity)
    }

    /// The slot of the first entry with this hash, or the slot where it would be.
    #[inline]
    pub(crate) fn seek(&self, hash: u64) -> u64 {
        let mut slot = self.home(hash);
        while slot < self.header.slot_count && self.slot(slot).hash < hash {
            slot += 1;
        }
        slot
    }

    /// Checks that the pages which a probe for `hash` has read, up to `last_slot`, are intact. Only
    /// then may an id be reported missing.
    #[inline]
    pub(crate) fn confirm_probe(&self, hash: u64, last_slot: u64) -> Result<(), IndexFault> {
        let first = 1 + self.home(hash) / ENTRIES_PER_PAGE;
        let last = 1 + last_slot.min(self.header.slot_count - 1) / ENTRIES_PER_PAGE;
        (first..=last).try_for_each(|page| self.check_page(page))
    }

    /// Checks a page at its first use.
    #[inline]
    pub(crate) fn check_page(&self, page: u64) -> Result<(), IndexFault> {
        match self.pages.is_intact(page) {
            true => Ok(()),
            false => Err(IndexFault::Page { run: self.number, page }),
        }
    }

    /// The skip with this index.
    pub(crate) fn skip(&self, index: u64) -> Result<u64, IndexFault> {
        self.number(1 + self.header.entry_pages(), index)
    }

    /// The sum of block `first_block() + index` of the data file.
    #[inline]
    pub(crate) fn block(&self, index: u64) -> Result<u64, IndexFault> {
        self.number(1 + self.header.entry_pages() + self.header.skip_pages(), index)
    }

    /// The sums of blocks from `first_block() + index` on, as they are in the file: some, if there
    /// are any.
    pub(crate) fn block_bytes(&self, index: u64) -> Result<&[u8], IndexFault> {
        let count = self.header.block_count.saturating_sub(index);
        if count == 0 {
            return Ok(&[]);
        }
        let page =
            1 + self.header.entry_pages() + self.header.skip_pages() + index / NUMBERS_PER_PAGE;
        self.check_page(page)?;
        let at = page as usize * PAGE_SIZE + (index % NUMBERS_PER_PAGE) as usize * 8;
        let in_page = count.min(NUMBERS_PER_PAGE - index % NUMBERS_PER_PAGE) as usize;
        Ok(&self.pages.bytes()[at..at + in_page * 8])
    }

    #[inline]
    fn number(&self, first_page: u64, index: u64) -> Result<u64, IndexFault> {
        self.check_page(first_page + index / NUMBERS_PER_PAGE)?;
        let at = first_page as usize * PAGE_SIZE + number_offset(index);
        Ok(u64::from_le_bytes(self.pages.bytes()[at..at + 8].try_into().expect("eight bytes")))
    }

    /// Checks the pages that a scan reads: skips and block sums.
    pub(crate) fn check_for_scan(&self) -> Result<(), IndexFault> {
        (1 + self.header.entry_pages()..self.page_count())
            .try_for_each(|page| self.check_page(page))
    }

    fn page_count(&self) -> u64 {
        self.pages.page_count()
    }

    /// Checks all pages.
    pub(crate) fn check_all(&self) -> Result<(), IndexFault> {
        (1..self.page_count()).try_for_each(|page| self.check_page(page))
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Run({}, {:?})", self.number, self.header)
    }
}

#[inline]
fn home_slot(hash: u64, capacity: u64) -> u64 {
    ((u128::from(hash) * u128::from(capacity)) >> 64) as u64
}

/// Where a run is written: to a file, or to memory if nothing may be written.
#[derive(Debug)]
pub(crate) enum RunSink {
    File(Arc<dyn File>),
    Memory,
}

/// The content of a run. Entries and skips must be ascending.
#[derive(Debug)]
pub(crate) struct RunContent<E, S, B> {
    /// At least the number of `entries`. Determines the capacity.
    pub(crate) entry_limit: u64,
    pub(crate) entries: E,
    pub(crate) skips: S,
    pub(crate) first_block: u64,
    pub(crate) blocks: B,
    pub(crate) data_end: u64,
}

/// Finished pages are written in pieces of about this size, small enough to stay in the processor's
/// cache until then.
const WRITE_SIZE: usize = 256 << 10;

impl<E, S, B> RunContent<E, S, B>
where
    E: Iterator<Item = Result<Entry, IndexFault>>,
    S: Iterator<Item = Result<u64, IndexFault>>,
    B: Iterator<Item = Result<u64, IndexFault>>,
{
    /// Writes the run and opens it.
    pub(crate) fn write(self, sink: &RunSink, number: u64) -> Result<Run, IndexFault> {
        let capacity = (self.entry_limit * SLOTS_PER_FOUR / 4).max(8);
        let mut header = Header {
            capacity,
            first_block: self.first_block,
            data_end: self.data_end,
            ..Header::default()
        };
        let mut out =
            Output { sink, pages: PageWriter::new(1, WRITE_SIZE), written: PAGE_SIZE as u64 };
        if let RunSink::Memory = sink {
            out.pages.bytes = vec![0; PAGE_SIZE];
            out.pages.finished = PAGE_SIZE;
        }
        let mut last_hash = 0;
        for entry in self.entries {
            let entry = entry?;
            assert!(entry.hash >= last_hash, "entries of a run must ascend");
            last_hash = entry.hash;
            while header.slot_count < home_slot(entry.hash, capacity) {
                out.pages.push_entry(Entry::EMPTY);
                header.slot_count += 1;
            }
            out.pages.push_entry(entry);
            header.slot_count += 1;
            header.entry_count += 1;
            out.drain(WRITE_SIZE)?;
        }
        while header.slot_count < capacity {
            out.pages.push_entry(Entry::EMPTY);
            header.slot_count += 1;
        }
        out.pages.finish_section();
        header.skip_count = out.numbers(self.skips)?;
        header.block_count = out.numbers(self.blocks)?;
        out.finish(header, number)
    }
}

struct Output<'s> {
    sink: &'s RunSink,
    pages: PageWriter,
    written: u64,
}

impl Output<'_> {
    fn numbers(
        &mut self,
        numbers: impl Iterator<Item = Result<u64, IndexFault>>,
    ) -> Result<u64, IndexFault> {
        let mut count = 0;
        for number in numbers {
            self.pages.push_number(number?);
            count += 1;
            self.drain(WRITE_SIZE)?;
        }
        self.pages.finish_section();
        Ok(count)
    }

    /// Writes finished pages out, if there are at least `enough` bytes.
    fn drain(&mut self, enough: usize) -> Result<(), IndexFault> {
        if self.pages.finished < enough {
            return Ok(());
        }
        if let RunSink::File(file) = self.sink {
            file.write_at(&self.pages.bytes[..self.pages.finished], self.written)?;
            self.written += self.pages.finished as u64;
            self.pages.bytes.drain(..self.pages.finished);
            self.pages.finished = 0;
        }
        Ok(())
    }

    fn finish(mut self, header: Header, number: u64) -> Result<Run, IndexFault> {
        self.drain(1)?;
        let bytes = header.to_bytes();
        let map = match self.sink {
            RunSink::File(file) => {
                let mut page = vec![0; PAGE_SIZE];
                page[..bytes.len()].copy_from_slice(&bytes);
                file.write_at(&page, 0)?;
                file.map()?
            }
            RunSink::Memory => {
                self.pages.bytes[..bytes.len()].copy_from_slice(&bytes);
                Map::from(self.pages.bytes)
            }
        };
        Run::from_map(map, number).ok_or(IndexFault::Run { run: number })
    }
}
