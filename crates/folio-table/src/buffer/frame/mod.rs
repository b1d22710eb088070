//! The frames: memory for pages, and the only `unsafe` code of this crate.
//!
//! All frames lie in one piece of memory, which the system gives only as it is
//! touched. Beside it stands a header per frame, on a cache line of its
//! own: the [`State`] word, the block the frame holds, and the mark that
//! eviction policies read. What makes handing out slices sound is the state
//! word alone:
//!
//! - a [`Pinned`] exists only between a successful `try_pin` and its `unpin`;
//!   while pins are counted nobody becomes the owner;
//! - an [`Owned`] exists only between `try_own` (or the making of the frame) and
//!   `release`; while it does nobody pins.
//!
//! So bytes are either shared and constant, or somebody's own.
#![allow(unsafe_code)]

mod state;
/// The atomics of the state word; a test replaces them by a model's.
mod sync {
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use folio_file::AnonymousMemory;

use crate::ids::BlockId;
use state::State;

/// Number of a frame.
pub(crate) type FrameId = u32;

/// No block in the frame.
const NO_BLOCK: u32 = u32::MAX;

/// One frame's header. The alignment keeps two frames' pins apart.
#[derive(Debug)]
#[repr(align(64))]
struct Header {
    state: State,
    block: AtomicU32,
    /// What the eviction policy keeps about hits: a bit, a counter or a time.
    mark: AtomicU64,
}

/// All frames of a pool.
#[derive(Debug)]
pub(crate) struct Frames {
    headers: Box<[Header]>,
    /// Where `memory` begins.
    start: NonNull<u8>,
    /// Touched through `start` only.
    _memory: AnonymousMemory,
    page_size: usize,
}

// SAFETY: the memory behind the pointer belongs to this value alone, and access
// to it is ordered by the state words as the module's documentation says.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

/// Why a frame could not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unpinned {
    /// Somebody owns it.
    Busy,
    /// It holds another block by now.
    Moved,
}

impl Frames {
    /// So many frames, all owned: [`Frames::owned`] gives each out once.
    pub(crate) fn new(frame_count: usize, page_size: usize) -> Self {
        let mut memory = AnonymousMemory::new(frame_count * page_size);
        let start = memory.start();
        let headers = (0..frame_count).map(|_| Header {
            state: State::busy(),
            block: AtomicU32::new(NO_BLOCK),
            mark: AtomicU64::new(0),
        });
        Self { headers: headers.collect(), start, _memory: memory, page_size }
    }

    pub(crate) fn len(&self) -> usize {
        self.headers.len()
    }

    fn header(&self, frame: FrameId) -> &Header {
        &self.headers[frame as usize]
    }

    fn page(&self, frame: FrameId) -> *mut u8 {
        assert!((frame as usize) < self.headers.len(), "frames have numbers below their count");
        // SAFETY: the memory has `page_size` bytes for each number below the count.
        unsafe { self.start.as_ptr().add(frame as usize * self.page_size) }
    }

    /// Where a frame's bytes are in memory: for a hint to the processor.
    pub(crate) fn address(&self, frame: FrameId) -> usize {
        self.page(frame).addr()
    }

    /// Pins a frame that should hold `block`.
    #[inline]
    pub(crate) fn pin(&self, frame: FrameId, block: BlockId) -> Result<Pinned<'_>, Unpinned> {
        let header = self.header(frame);
        if !header.state.try_pin() {
            return Err(Unpinned::Busy);
        }
        // Only owners change the block, and from here on there is none.
        if header.block.load(Ordering::Relaxed) == block.number() {
            return Ok(Pinned { frames: self, frame });
        }
        header.state.unpin_uncounted();
        Err(Unpinned::Moved)
    }

    /// Becomes the owner of a frame nobody holds.
    pub(crate) fn own(&self, frame: FrameId) -> Option<Owned<'_>> {
        self.header(frame).state.try_own().then(|| Owned { frames: self, frame })
    }

    /// The ownership that was left standing when the frame was made or emptied.
    /// The caller has taken the frame off the free list, so it has the only one.
    pub(crate) fn owned(&self, frame: FrameId) -> Owned<'_> {
        Owned { frames: self, frame }
    }

    pub(crate) fn block(&self, frame: FrameId) -> Option<BlockId> {
        match self.header(frame).block.load(Ordering::Relaxed) {
            NO_BLOCK => None,
            number => Some(BlockId::from_number(number)),
        }
    }

    /// Readers of a frame.
    pub(crate) fn pins(&self, frame: FrameId) -> u64 {
        self.header(frame).state.pins()
    }

    /// Whether anybody holds the frame.
    pub(crate) fn is_held(&self, frame: FrameId) -> bool {
        self.header(frame).state.is_held()
    }

    /// Hits on a frame since it was loaded.
    pub(crate) fn hits(&self, frame: FrameId) -> u64 {
        self.header(frame).state.hits()
    }

    /// The policy's mark.
    #[inline]
    pub(crate) fn mark(&self, frame: FrameId) -> &AtomicU64 {
        &self.header(frame).mark
    }
}

/// A reader's hold on a frame.
#[derive(Debug)]
pub(crate) struct Pinned<'f> {
    frames: &'f Frames,
    frame: FrameId,
}

impl<'f> Pinned<'f> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: while this pin is counted nobody owns the frame, and only an
        // owner writes; the pin's acquire saw the last owner's writes.
        unsafe { std::slice::from_raw_parts(self.frames.page(self.frame), self.frames.page_size) }
    }
}

impl Drop for Pinned<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frames.header(self.frame).state.unpin();
    }
}

/// The hold of a frame's only user.
#[derive(Debug)]
pub(crate) struct Owned<'f> {
    frames: &'f Frames,
    frame: FrameId,
}

impl<'f> Owned<'f> {
    pub(crate) fn frame(&self) -> FrameId {
        self.frame
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the owner is alone, and lends its bytes under the rules of
        // borrowing `self`.
        unsafe { std::slice::from_raw_parts(self.frames.page(self.frame), self.frames.page_size) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `&mut self` makes it the only slice.
        unsafe {
            std::slice::from_raw_parts_mut(self.frames.page(self.frame), self.frames.page_size)
        }
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.frames.header(self.frame).state.is_dirty()
    }

    pub(crate) fn set_dirty(&mut self, is_dirty: bool) {
        self.frames.header(self.frame).state.set_dirty(is_dirty);
    }

    pub(crate) fn block(&self) -> Option<BlockId> {
        self.frames.block(self.frame)
    }

    pub(crate) fn set_block(&mut self, block: Option<BlockId>) {
        let number = block.map_or(NO_BLOCK, BlockId::number);
        self.frames.header(self.frame).block.store(number, Ordering::Relaxed);
    }

    /// Takes the hits counted since the frame was loaded.
    pub(crate) fn take_hits(&mut self) -> u64 {
        self.frames.header(self.frame).state.take_hits()
    }

    /// Goes on as a reader.
    pub(crate) fn into_pinned(self) -> Pinned<'f> {
        let pinned = Pinned { frames: self.frames, frame: self.frame };
        self.frames.header(self.frame).state.release_to_pin();
        std::mem::forget(self);
        pinned
    }

    /// Leaves the frame owned by nobody in particular: it goes to the free list.
    pub(crate) fn into_free(self) -> FrameId {
        let frame = self.frame;
        std::mem::forget(self);
        frame
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        self.frames.header(self.frame).state.release();
    }
}
