//! Prefetches the next leaf of a scan while the current one is read.
//!
//! A row takes less time to read than memory takes to arrive. The leaf is fetched in steps, one for
//! each row, as a processor has few fetches in flight.

use folio_file::prefetch_line;

use crate::ids::PageId;
use crate::pager::Pages;

const LINE_SIZE: usize = 64;

/// The part of a leaf that is not fetched yet.
#[derive(Default)]
pub(super) struct Ahead {
    address: usize,
    end: usize,
    /// Bytes per step.
    step: usize,
}

impl Ahead {
    /// A leaf, fetched in `steps` steps; nothing is fetched if it is not in memory.
    pub(super) fn of<'s>(
        pages: &impl Pages<'s>,
        leaf: Option<PageId>,
        page_size: usize,
        steps: usize,
    ) -> Self {
        let address = leaf.and_then(|page| pages.address(page)).unwrap_or(0);
        let end = if address == 0 { 0 } else { address + page_size };
        let step = (page_size / steps.max(1)).next_multiple_of(LINE_SIZE);
        Self { address, end, step }
    }

    #[inline]
    pub(super) fn step(&mut self) {
        let to = (self.address + self.step).min(self.end);
        while self.address < to {
            prefetch_line(self.address);
            self.address += LINE_SIZE;
        }
    }
}
