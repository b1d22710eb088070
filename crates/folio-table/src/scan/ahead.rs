//! The leaf that comes next, on its way into the processor's cache while the one before
//! it is read: memory takes longer to come than a row takes to read.

use folio_file::prefetch_line;

use crate::ids::PageId;
use crate::pager::Pages;

/// A leaf that is asked for a part at a time.
#[derive(Default)]
pub(super) struct Ahead {
    address: usize,
    end: usize,
    step: usize,
}

impl Ahead {
    const LINE_SIZE: usize = 64;

    /// A leaf, if it is in memory, to be asked for in so many steps.
    pub(super) fn of<'s>(
        pages: &impl Pages<'s>,
        leaf: Option<PageId>,
        page_size: usize,
        steps: usize,
    ) -> Self {
        let address = leaf.and_then(|page| pages.address(page)).unwrap_or(0);
        let end = if address == 0 { 0 } else { address + page_size };
        let step = (page_size / steps.max(1)).next_multiple_of(Self::LINE_SIZE);
        Self { address, end, step }
    }

    #[inline]
    pub(super) fn step(&mut self) {
        let to = (self.address + self.step).min(self.end);
        while self.address < to {
            prefetch_line(self.address);
            self.address += Self::LINE_SIZE;
        }
    }
}
