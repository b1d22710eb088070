//! Chooses the frame for the next miss: a free one, a scan's, or the policy's victim.
//!
//! A scan of a table larger than the pool would evict everything else. So blocks loaded for scans
//! are in a separate queue, which the policy does not see. It grows into free frames. Once there
//! are none, scans reuse its frames, and other misses take from it until few of its frames are
//! left. A block that is also used otherwise moves to the policy.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::eviction::{Eviction, Policy, Queue};
use super::frame::{FrameId, Frames, Owned};
use super::pool::Access;
use crate::ids::BlockId;

/// The state guarded by the pool's lock.
#[derive(Debug)]
pub(super) struct Replacement {
    /// Frames without a block, each left owned.
    free: Vec<FrameId>,
    /// Frames that never had a block.
    unused: Range<FrameId>,
    policy: Box<dyn Eviction>,
    /// Frames of scans.
    scanned: Queue,
    /// How many of those other misses do not take.
    scanned_max: usize,
}

impl Replacement {
    pub(super) fn new(policy: Policy, frame_count: usize) -> Self {
        Self {
            free: Vec::new(),
            unused: 0..frame_count as FrameId,
            policy: policy.build(frame_count),
            scanned: Queue::new(frame_count),
            scanned_max: (frame_count / 8).max(1),
        }
    }

    /// A frame to load into, owned; it may still have its old block.
    pub(super) fn take<'f>(
        &mut self,
        frames: &'f Frames,
        access: Access,
        time: &AtomicU64,
    ) -> Option<Owned<'f>> {
        if let Some(frame) = self.free.pop().or_else(|| self.unused.next()) {
            return Some(frames.owned(frame));
        }
        let kept = self.scanned_max - usize::from(access == Access::Scan);
        if self.scanned.len() > kept {
            return self.scan_victim(frames, time).or_else(|| self.policy.victim(frames));
        }
        self.policy.victim(frames).or_else(|| self.scan_victim(frames, time))
    }

    fn scan_victim<'f>(&mut self, frames: &'f Frames, time: &AtomicU64) -> Option<Owned<'f>> {
        for _ in 0..self.scanned.len() {
            let frame = self.scanned.tail()?;
            self.scanned.remove(frame);
            let Some(owned) = frames.own(frame) else {
                self.scanned.push_head(frame);
                continue;
            };
            // Marked during the scan, so it is used otherwise too.
            match owned.block() {
                Some(block) if frames.mark(frame).load(Ordering::Relaxed) > 0 => {
                    self.policy.insert(frames, frame, block, time);
                }
                _ => return Some(owned),
            }
        }
        None
    }

    /// Notes that a block was loaded into the frame.
    pub(super) fn insert(
        &mut self,
        frames: &Frames,
        frame: FrameId,
        block: BlockId,
        access: Access,
        time: &AtomicU64,
    ) {
        if access == Access::Scan {
            frames.mark(frame).store(0, Ordering::Relaxed);
            self.scanned.push_head(frame);
        } else {
            self.policy.insert(frames, frame, block, time);
        }
    }

    /// Notes that the frame's block was dropped.
    pub(super) fn remove(&mut self, owned: Owned<'_>) {
        let frame = owned.frame();
        if !self.scanned.remove(frame) {
            self.policy.remove(frame);
        }
        self.give_back(owned);
    }

    /// Returns the frame for the next miss.
    pub(super) fn give_back(&mut self, mut owned: Owned<'_>) {
        owned.set_block(None);
        owned.set_dirty(false);
        self.free.push(owned.into_free());
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.len() + self.unused.len()
    }
}
