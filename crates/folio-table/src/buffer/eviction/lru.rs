//! Exact LRU, without a list that every hit would have to lock.
//!
//! A hit stores the time in the frame's mark. The heap orders frames by the last time it saw for
//! each, which is never later than the true one. If the top frame still has the time it is listed
//! under, no other frame is older and it is the victim. If not, it goes back under its true time.
//! Each hit causes at most one such correction.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Eviction;
use crate::buffer::frame::{FrameId, Frames, Owned};
use crate::ids::BlockId;

#[derive(Debug)]
pub(super) struct Lru {
    oldest_first: BinaryHeap<Reverse<(u64, FrameId)>>,
    /// Frames that are still in the heap but were emptied.
    removed: HashSet<FrameId>,
}

impl Lru {
    pub(super) fn new() -> Self {
        Self { oldest_first: BinaryHeap::new(), removed: HashSet::new() }
    }
}

impl Eviction for Lru {
    fn insert(&mut self, frames: &Frames, frame: FrameId, _block: BlockId, time: &AtomicU64) {
        let now = time.fetch_add(1, Ordering::Relaxed);
        frames.mark(frame).store(now, Ordering::Relaxed);
        // Emptied and refilled before its entry came up: the old entry serves.
        if !self.removed.remove(&frame) {
            self.oldest_first.push(Reverse((now, frame)));
        }
    }

    fn remove(&mut self, frame: FrameId) {
        self.removed.insert(frame);
    }

    fn victim<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>> {
        let mut held = Vec::new();
        let mut victim = None;
        while let Some(Reverse((listed, frame))) = self.oldest_first.pop() {
            if self.removed.remove(&frame) {
                continue;
            }
            let used = frames.mark(frame).load(Ordering::Relaxed);
            if used != listed {
                self.oldest_first.push(Reverse((used, frame)));
            } else if let Some(owned) = frames.own(frame) {
                victim = Some(owned);
                break;
            } else {
                held.push(Reverse((listed, frame)));
            }
        }
        self.oldest_first.extend(held);
        victim
    }
}
