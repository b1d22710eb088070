//! The frames: memory for pages, and the only `unsafe` code of this crate.
//!
//! All frames are in one allocation, which the system backs only as it is touched. A second such
//! allocation has one header per frame, each on its own cache line: the [`State`] word, the block
//! in the frame, and the mark that eviction policies read. The state word alone makes handing out
//! slices sound:
//!
//! - a [`Pinned`] exists only between a successful `try_pin` and its `unpin`;
//!   while there are pins no thread can become the owner;
//! - an [`Owned`] exists only between `try_own` (or the creation of the frame) and
//!   `release`; meanwhile no thread can pin.
//!
//! So bytes are either shared and constant, or exclusively owned.
#![allow(unsafe_code)]

mod state;
/// The atomics of the state word; a test replaces them with a model's.
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

/// One frame's header; a new one is all zeros. The alignment separates the pins of frames.
#[derive(Debug)]
#[repr(align(64))]
struct Header {
    state: State,
    /// The block number plus one; 0 without a block.
    block: AtomicU32,
    /// The eviction policy's record of hits: a bit, a counter or a time.
    mark: AtomicU64,
}

/// A block as stored in a header.
#[inline]
fn entry(block: BlockId) -> u32 {
    block.number() + 1
}

/// All frames of a pool.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The first of `frame_count`.
    headers: NonNull<Header>,
    frame_count: usize,
    /// The first frame.
    start: NonNull<u8>,
    page_size: usize,
    /// Headers and frames, accessed through these pointers only.
    _memory: [AnonymousMemory; 2],
}

// SAFETY: the memory behind the pointers belongs to this value alone. Headers are
// atomics, and access to frames is ordered by the state words as the module's
// documentation says.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

/// Why a frame could not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unpinned {
    /// It has an owner.
    Busy,
    /// It holds another block by now.
    Moved,
}

impl Frames {
    /// Creates this many frames, all owned: [`Frames::owned`] hands each out once.
    pub(crate) fn new(frame_count: usize, page_size: usize) -> Self {
        let mut memory = AnonymousMemory::of_great_pages(frame_count * page_size);
        // One great page would hold the headers of 128 MiB of frames. There is one more than
        // frames, since the memory's beginning need not be that of a header.
        let mut of_headers = AnonymousMemory::new((frame_count + 1) * size_of::<Header>());
        let (start, headers) = (memory.start(), of_headers.start());
        let skipped = headers.align_offset(align_of::<Header>());
        // SAFETY: fewer bytes are skipped than the one header more has.
        let headers = unsafe { headers.add(skipped) }.cast();
        Self { headers, frame_count, start, page_size, _memory: [memory, of_headers] }
    }

    pub(crate) fn len(&self) -> usize {
        self.frame_count
    }

    fn header(&self, frame: FrameId) -> &Header {
        assert!((frame as usize) < self.frame_count, "frames have numbers below their count");
        // SAFETY: there is a header for each number below the count; it is atomic integers,
        // for which the zeros of new memory are values, and nobody has it in another way.
        unsafe { self.headers.add(frame as usize).as_ref() }
    }

    fn page(&self, frame: FrameId) -> *mut u8 {
        assert!((frame as usize) < self.frame_count, "frames have numbers below their count");
        // SAFETY: the memory has `page_size` bytes for each number below the count.
        unsafe { self.start.as_ptr().add(frame as usize * self.page_size) }
    }

    /// The address of a frame's bytes, for a prefetch.
    pub(crate) fn address(&self, frame: FrameId) -> usize {
        self.page(frame).addr()
    }

    /// Pins a frame if it holds `block`.
    #[inline]
    pub(crate) fn pin(&self, frame: FrameId, block: BlockId) -> Result<Pinned<'_>, Unpinned> {
        let header = self.header(frame);
        if !header.state.try_pin() {
            return Err(Unpinned::Busy);
        }
        // Only an owner changes the block, and now there is none.
        if header.block.load(Ordering::Relaxed) == entry(block) {
            return Ok(Pinned { frames: self, frame });
        }
        header.state.unpin_uncounted();
        Err(Unpinned::Moved)
    }

    /// Becomes the owner of an unpinned frame.
    pub(crate) fn own(&self, frame: FrameId) -> Option<Owned<'_>> {
        self.header(frame).state.try_own().then(|| Owned { frames: self, frame })
    }

    /// Takes over the ownership left when the frame was created or emptied. The caller has taken
    /// the frame off the free list, so it is the only owner.
    pub(crate) fn owned(&self, frame: FrameId) -> Owned<'_> {
        Owned { frames: self, frame }
    }

    pub(crate) fn block(&self, frame: FrameId) -> Option<BlockId> {
        let entry = self.header(frame).block.load(Ordering::Relaxed);
        entry.checked_sub(1).map(BlockId::from_number)
    }

    /// The number of pins of a frame.
    pub(crate) fn pins(&self, frame: FrameId) -> u64 {
        self.header(frame).state.pins()
    }

    /// Whether a frame is pinned or owned.
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

/// A pin on a frame, for reading.
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

/// Exclusive ownership of a frame.
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
        self.frames.header(self.frame).block.store(block.map_or(0, entry), Ordering::Relaxed);
    }

    /// Takes the hits counted since the frame was loaded.
    pub(crate) fn take_hits(&mut self) -> u64 {
        self.frames.header(self.frame).state.take_hits()
    }

    /// Turns the ownership into a pin.
    pub(crate) fn into_pinned(self) -> Pinned<'f> {
        let pinned = Pinned { frames: self.frames, frame: self.frame };
        self.frames.header(self.frame).state.release_to_pin();
        std::mem::forget(self);
        pinned
    }

    /// Leaves the frame owned without an `Owned`: it goes to the free list.
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
