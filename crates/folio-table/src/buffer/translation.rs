//! Maps a block to its frame: two arrays, one for each half of the block numbers.

use std::sync::atomic::{AtomicU32, Ordering};

use super::frame::FrameId;
use crate::chunked_array::ChunkedArray;
use crate::ids::{BlockId, BlockPlace};

/// An entry is 0, or the frame's number plus one.
#[derive(Debug)]
pub(super) struct Translation {
    pages: ChunkedArray<AtomicU32>,
    versions: ChunkedArray<AtomicU32>,
}

impl Translation {
    pub(super) fn new() -> Self {
        Self { pages: ChunkedArray::new(), versions: ChunkedArray::new() }
    }

    #[inline]
    pub(super) fn get(&self, block: BlockId) -> Option<FrameId> {
        let entry = match block.place() {
            BlockPlace::Page(page) => self.pages.get(page.0),
            BlockPlace::Version(slot) => self.versions.get(slot),
        }?;
        entry.load(Ordering::Acquire).checked_sub(1)
    }

    /// Assigns a frame to a block; `false` when the block has one.
    pub(super) fn claim(&self, block: BlockId, frame: FrameId) -> bool {
        self.entry(block)
            .compare_exchange(0, frame + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Removes the assignment of this frame. The block may be in another by now.
    pub(super) fn clear(&self, block: BlockId, frame: FrameId) {
        let _ =
            self.entry(block).compare_exchange(frame + 1, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    fn entry(&self, block: BlockId) -> &AtomicU32 {
        match block.place() {
            BlockPlace::Page(page) => self.pages.at(page.0),
            BlockPlace::Version(slot) => self.versions.at(slot),
        }
    }
}
