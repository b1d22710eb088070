//! The pool itself: hits, misses, and a store's operations on blocks.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::eviction::Policy;
use super::frame::{FrameId, Frames, Owned, Pinned, Unpinned};
use super::guard::{PageGuard, PageGuardMut};
use super::replacement::Replacement;
use super::statistics::{Counters, PoolStatistics, count};
use super::translation::Translation;
use crate::error::{Error, Result};
use crate::ids::{BlockId, BlockPlace, PageId};

/// Reads blocks, and stores changed ones.
pub trait BlockStorage: fmt::Debug + Send + Sync {
    /// Fills `page` with the block's bytes.
    ///
    /// # Errors
    /// An error of the device, or damage.
    fn read(&self, block: BlockId, page: &mut [u8]) -> Result<()>;

    /// Stores the bytes of a block that leaves the pool.
    ///
    /// # Errors
    /// An error of the device.
    fn write(&self, block: BlockId, page: &mut [u8]) -> Result<()>;
}

/// How a page will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// It may be used again.
    #[default]
    Normal,
    /// It is one of many pages in a scan, used once.
    Scan,
}

/// The state of a changed page.
#[derive(Debug)]
pub(crate) enum DirtyPage<'p> {
    /// The storage does not have it yet.
    Here(PageGuardMut<'p>),
    /// The storage has it.
    Stored,
    /// Another thread is writing it to the storage.
    Leaving,
}

/// How often all frames must be found pinned before the pool gives up.
const ROUNDS_UNTIL_EXHAUSTED: u32 = 24;

/// How often a request retries an owned frame before it gives up: with the sleeps of [`rest`],
/// about ten seconds.
const ROUNDS_UNTIL_BUSY: u32 = 10_000;

/// Pages in a fixed number of frames.
#[derive(Debug)]
pub struct BufferPool {
    frames: Frames,
    translation: Translation,
    policy: Policy,
    replacement: Mutex<Replacement>,
    storage: Arc<dyn BlockStorage>,
    /// The clock of LRU.
    time: AtomicU64,
    counters: Counters,
}

impl BufferPool {
    /// A pool of `frame_count` frames of `page_size` bytes, all free.
    #[must_use]
    pub fn new(
        frame_count: usize,
        page_size: usize,
        policy: Policy,
        storage: Arc<dyn BlockStorage>,
    ) -> Self {
        assert!(frame_count > 0, "a pool has frames");
        Self {
            frames: Frames::new(frame_count, page_size),
            translation: Translation::new(),
            policy,
            replacement: Mutex::new(Replacement::new(policy, frame_count)),
            storage,
            time: AtomicU64::new(1),
            counters: Counters::default(),
        }
    }

    /// The block's page, to read.
    ///
    /// # Errors
    /// Errors of the storage; [`Error::PoolExhausted`] when every frame is pinned.
    #[inline]
    pub fn pin(&self, block: BlockId) -> Result<PageGuard<'_>> {
        if let Some(frame) = self.translation.get(block)
            && let Ok(pinned) = self.frames.pin(frame, block)
        {
            self.policy.mark_hit(&self.frames, frame, &self.time);
            return Ok(PageGuard::new(pinned));
        }
        self.pin_slowly(block, Access::Normal)
    }

    /// The same for a page of a scan: a hit does not count as a use, and a miss does not evict
    /// pages that others use.
    ///
    /// # Errors
    /// As [`BufferPool::pin`].
    pub fn pin_for_scan(&self, block: BlockId) -> Result<PageGuard<'_>> {
        if let Some(frame) = self.translation.get(block)
            && let Ok(pinned) = self.frames.pin(frame, block)
        {
            return Ok(PageGuard::new(pinned));
        }
        self.pin_slowly(block, Access::Scan)
    }

    /// The address of a block's bytes if they are in memory: only for a prefetch, as it is not
    /// pinned.
    pub(crate) fn address(&self, block: BlockId) -> Option<usize> {
        self.translation.get(block).map(|frame| self.frames.address(frame))
    }

    #[cold]
    fn pin_slowly(&self, block: BlockId, access: Access) -> Result<PageGuard<'_>> {
        for round in 0..ROUNDS_UNTIL_BUSY {
            let Some(frame) = self.translation.get(block) else {
                match self.load(block, access)? {
                    Some(pinned) => return Ok(PageGuard::new(pinned)),
                    None => continue,
                }
            };
            match self.frames.pin(frame, block) {
                Ok(pinned) => {
                    if access == Access::Normal {
                        self.policy.mark_hit(&self.frames, frame, &self.time);
                    }
                    return Ok(PageGuard::new(pinned));
                }
                Err(Unpinned::Moved) => {}
                Err(Unpinned::Busy) => self.rest(round),
            }
        }
        Err(Error::PageBusy { page: page_of(block) })
    }

    /// The block's page, to change. The storage gets it on eviction.
    ///
    /// # Errors
    /// As [`BufferPool::pin`]; [`Error::PageBusy`] when it is continually read.
    pub fn pin_mut(&self, block: BlockId) -> Result<PageGuardMut<'_>> {
        for round in 0..ROUNDS_UNTIL_BUSY {
            if let Some(frame) = self.translation.get(block) {
                match self.frames.own(frame) {
                    Some(mut owned) if owned.block() == Some(block) => {
                        self.policy.mark_hit(&self.frames, frame, &self.time);
                        owned.set_dirty(true);
                        return Ok(PageGuardMut::new(owned));
                    }
                    Some(_) => {}
                    None => self.rest(round),
                }
            } else {
                drop(self.load(block, Access::Normal)?);
            }
        }
        Err(Error::PageBusy { page: page_of(block) })
    }

    /// A page for a block that the storage does not have yet, or whose old bytes do not matter. Its
    /// content is undefined. It is dirty from the start.
    ///
    /// # Errors
    /// As [`BufferPool::pin`]; [`Error::PageBusy`] when the old bytes are pinned.
    pub fn create(&self, block: BlockId) -> Result<PageGuardMut<'_>> {
        let mut owned = self.take_frame(Access::Normal)?;
        while !self.translation.claim(block, owned.frame()) {
            if !self.discard(block) {
                self.lock().give_back(owned);
                return Err(Error::PageBusy { page: page_of(block) });
            }
        }
        owned.set_block(Some(block));
        owned.set_dirty(true);
        self.enter(owned.frame(), block, Access::Normal);
        Ok(PageGuardMut::new(owned))
    }

    /// The block's page, if it is in the pool and not in the storage. Never waits: the frame's
    /// owner may be waiting for the caller.
    pub(crate) fn pin_dirty(&self, block: BlockId) -> DirtyPage<'_> {
        let Some(frame) = self.translation.get(block) else { return DirtyPage::Stored };
        match self.frames.own(frame) {
            Some(owned) if owned.block() != Some(block) => DirtyPage::Leaving,
            Some(owned) if owned.is_dirty() => DirtyPage::Here(PageGuardMut::new(owned)),
            Some(_) => DirtyPage::Stored,
            None => DirtyPage::Leaving,
        }
    }

    /// Drops a block without writing it out. `false` when it is pinned.
    pub fn discard(&self, block: BlockId) -> bool {
        self.discard_within(100, block)
    }

    /// Drops a block that is unlikely to be needed, unless it is pinned.
    pub(crate) fn let_go(&self, block: BlockId) {
        self.discard_within(1, block);
    }

    fn discard_within(&self, rounds: u32, block: BlockId) -> bool {
        for round in 0..rounds {
            let Some(frame) = self.translation.get(block) else { return true };
            match self.frames.own(frame) {
                Some(mut owned) if owned.block() == Some(block) => {
                    self.leave(&mut owned, block);
                    self.lock().remove(owned);
                    return true;
                }
                Some(_) => {}
                None => self.rest(round),
            }
        }
        false
    }

    /// Drops a block whose bytes are outdated. Guards of the page stay valid, but new requests do
    /// not find it.
    pub(crate) fn detach(&self, block: BlockId) {
        if self.discard_within(16, block) {
            return;
        }
        if let Some(frame) = self.translation.get(block) {
            self.translation.clear(block, frame);
        }
    }

    /// Makes the frame of `from` serve `to`, whose bytes are the same. If that is impossible,
    /// `from` is dropped.
    pub(crate) fn rename(&self, from: BlockId, to: BlockId) {
        let Some(frame) = self.translation.get(from) else { return };
        let Some(mut owned) = self.frames.own(frame) else { return };
        if owned.block() != Some(from) || !self.translation.claim(to, frame) {
            drop(owned);
            self.discard(from);
            return;
        }
        owned.set_block(Some(to));
        owned.set_dirty(false);
        self.translation.clear(from, frame);
    }

    /// Loads a block; `None` when another thread loaded it first.
    fn load(&self, block: BlockId, access: Access) -> Result<Option<Pinned<'_>>> {
        let mut owned = self.take_frame(access)?;
        owned.set_block(Some(block));
        if !self.translation.claim(block, owned.frame()) {
            self.lock().give_back(owned);
            return Ok(None);
        }
        if let Err(error) = self.storage.read(block, owned.bytes_mut()) {
            self.translation.clear(block, owned.frame());
            self.lock().give_back(owned);
            return Err(error);
        }
        self.enter(owned.frame(), block, access);
        Ok(Some(owned.into_pinned()))
    }

    fn enter(&self, frame: FrameId, block: BlockId, access: Access) {
        count(&self.counters.misses);
        self.lock().insert(&self.frames, frame, block, access, &self.time);
    }

    /// An owned frame without a block.
    fn take_frame(&self, access: Access) -> Result<Owned<'_>> {
        for round in 0..ROUNDS_UNTIL_EXHAUSTED {
            let taken = self.lock().take(&self.frames, access, &self.time);
            let Some(mut owned) = taken else {
                self.rest(round);
                continue;
            };
            if let Some(block) = owned.block() {
                self.write_back(&mut owned, block)?;
                self.leave(&mut owned, block);
                count(&self.counters.evictions);
            }
            return Ok(owned);
        }
        let frames = self.frames.len();
        let pins = (0..frames as FrameId).map(|frame| self.frames.pins(frame)).sum();
        Err(Error::PoolExhausted { frames, pins })
    }

    /// Writes a victim out if it is dirty. On failure the victim stays in its frame.
    fn write_back(&self, owned: &mut Owned<'_>, block: BlockId) -> Result<()> {
        if !owned.is_dirty() {
            return Ok(());
        }
        if let Err(error) = self.storage.write(block, owned.bytes_mut()) {
            let frame = owned.frame();
            self.lock().insert(&self.frames, frame, block, Access::Normal, &self.time);
            return Err(error);
        }
        owned.set_dirty(false);
        count(&self.counters.write_backs);
        Ok(())
    }

    /// Notes that the block has no frame any more.
    fn leave(&self, owned: &mut Owned<'_>, block: BlockId) {
        self.counters.past_hits.fetch_add(owned.take_hits(), Ordering::Relaxed);
        owned.set_block(None);
        self.translation.clear(block, owned.frame());
    }

    /// The counts so far. Exact while no other thread uses the pool.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        let frames = self.frames.len();
        let hits: u64 = (0..frames as FrameId).map(|frame| self.frames.hits(frame)).sum();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PoolStatistics {
            hits: hits + read(&self.counters.past_hits),
            misses: read(&self.counters.misses),
            evictions: read(&self.counters.evictions),
            write_backs: read(&self.counters.write_backs),
            pin_waits: read(&self.counters.pin_waits),
            frames,
            frames_used: frames - self.lock().free_count(),
        }
    }

    /// Whether a frame holds the block.
    #[must_use]
    pub fn is_resident(&self, block: BlockId) -> bool {
        self.translation.get(block).is_some()
    }

    /// The eviction policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Whether any page is pinned.
    #[must_use]
    pub fn is_held(&self) -> bool {
        (0..self.frames.len() as FrameId)
            .any(|frame| self.frames.block(frame).is_some() && self.frames.is_held(frame))
    }

    fn lock(&self) -> MutexGuard<'_, Replacement> {
        // No code under the lock panics half-way through a change.
        self.replacement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for an owner, longer with each round.
    fn rest(&self, round: u32) {
        count(&self.counters.pin_waits);
        match round {
            0..8 => std::hint::spin_loop(),
            8..16 => thread::yield_now(),
            _ => thread::sleep(Duration::from_micros(u64::from(round.min(100)) * 10)),
        }
    }
}

fn page_of(block: BlockId) -> PageId {
    match block.place() {
        BlockPlace::Page(page) => page,
        BlockPlace::Version(slot) => PageId(slot),
    }
}
