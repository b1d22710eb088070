//! Checksummed pages, the unit in which a run is checked.
//!
//! A page is 4,096 bytes: 4,088 bytes of payload and their xxh3, seeded with the page's number, so
//! that a misplaced page is detected too. It holds 170 entries or 511 numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use folio_file::Map;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::entry::{ENTRY_SIZE, Entry};

pub(crate) const PAGE_SIZE: usize = 4096;
pub(crate) const PAYLOAD_SIZE: usize = PAGE_SIZE - 8;
pub(crate) const ENTRIES_PER_PAGE: u64 = (PAYLOAD_SIZE / ENTRY_SIZE) as u64;
pub(crate) const NUMBERS_PER_PAGE: u64 = (PAYLOAD_SIZE / 8) as u64;

/// The offset of entry `slot` from the first entry page.
#[inline]
pub(crate) fn entry_offset(slot: u64) -> usize {
    (slot / ENTRIES_PER_PAGE) as usize * PAGE_SIZE + (slot % ENTRIES_PER_PAGE) as usize * ENTRY_SIZE
}

/// The offset of number `index` from the first number page.
#[inline]
pub(crate) fn number_offset(index: u64) -> usize {
    (index / NUMBERS_PER_PAGE) as usize * PAGE_SIZE + (index % NUMBERS_PER_PAGE) as usize * 8
}

/// A mapped file of pages, each of which is checked at its first use.
pub(crate) struct CheckedPages {
    map: Map,
    /// One bit per page that was found intact.
    checked: Box<[AtomicU64]>,
}

impl CheckedPages {
    pub(crate) fn new(map: Map) -> Self {
        let words = (map.len() / PAGE_SIZE).div_ceil(64);
        let checked = std::iter::repeat_with(|| AtomicU64::new(0)).take(words).collect();
        Self { map, checked }
    }

    /// All bytes of the file, unchecked.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(crate) fn page_count(&self) -> u64 {
        (self.map.len() / PAGE_SIZE) as u64
    }

    /// Whether a page that exists is intact.
    #[inline]
    pub(crate) fn is_intact(&self, page: u64) -> bool {
        let (word, bit) = (&self.checked[(page / 64) as usize], 1 << (page % 64));
        if word.load(Ordering::Relaxed) & bit != 0 {
            return true;
        }
        let at = page as usize * PAGE_SIZE;
        let is_intact = is_intact(&self.map[at..at + PAGE_SIZE], page);
        if is_intact {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        is_intact
    }
}

/// Whether the checksum of a page matches.
fn is_intact(page: &[u8], page_number: u64) -> bool {
    let (payload, sum) = page.split_at(PAYLOAD_SIZE);
    sum == xxh3_64_with_seed(payload, page_number).to_le_bytes()
}

/// Fills pages in order and returns finished ones.
#[derive(Debug)]
pub(crate) struct PageWriter {
    /// Finished pages, then the payload of the current one.
    pub(crate) bytes: Vec<u8>,
    /// The size of the finished pages at the front.
    pub(crate) finished: usize,
    page_number: u64,
}

impl PageWriter {
    /// Has room for finished pages of `size` bytes, and two more.
    pub(crate) fn new(first_page_number: u64, size: usize) -> Self {
        let bytes = Vec::with_capacity(size + 2 * PAGE_SIZE);
        Self { bytes, finished: 0, page_number: first_page_number }
    }

    #[inline]
    pub(crate) fn push_entry(&mut self, entry: Entry) {
        self.bytes.extend_from_slice(&entry.to_bytes());
        if self.bytes.len() - self.finished == ENTRIES_PER_PAGE as usize * ENTRY_SIZE {
            self.finish_page();
        }
    }

    pub(crate) fn push_number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        if self.bytes.len() - self.finished == PAYLOAD_SIZE {
            self.finish_page();
        }
    }

    /// Adds a page with this payload.
    pub(crate) fn push_page(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.finish_page();
    }

    /// Ends a section. A partial page is filled with 0xff, which reads as empty slots.
    pub(crate) fn finish_section(&mut self) {
        if self.bytes.len() > self.finished {
            self.finish_page();
        }
    }

    fn finish_page(&mut self) {
        self.bytes.resize(self.finished + PAYLOAD_SIZE, 0xff);
        let sum = xxh3_64_with_seed(&self.bytes[self.finished..], self.page_number);
        self.bytes.extend_from_slice(&sum.to_le_bytes());
        self.finished += PAGE_SIZE;
        self.page_number += 1;
    }
}
