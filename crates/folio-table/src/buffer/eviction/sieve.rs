//! SIEVE: a queue, a bit per page, and a hand that walks from the oldest to the newest.
//!
//! New pages enter at the head. The hand clears the bits it meets and evicts the first page without
//! one. It then stays at that place in the queue, and starts over from the tail when it has passed
//! the head. Pages that survive do not move (Y. Zhang et al., "SIEVE is simpler than LRU", NSDI
//! 2024, algorithm 1).

use std::sync::atomic::{AtomicU64, Ordering};

use super::Eviction;
use super::queue::Queue;
use crate::buffer::frame::{FrameId, Frames, Owned};
use crate::ids::BlockId;

#[derive(Debug)]
pub(super) struct Sieve {
    queue: Queue,
    /// Where the next search begins; `None` is the tail.
    hand: Option<FrameId>,
}

impl Sieve {
    pub(super) fn new(frame_count: usize) -> Self {
        Self { queue: Queue::new(frame_count), hand: None }
    }
}

impl Eviction for Sieve {
    fn insert(&mut self, frames: &Frames, frame: FrameId, _block: BlockId, _time: &AtomicU64) {
        frames.mark(frame).store(0, Ordering::Relaxed);
        self.queue.push_head(frame);
    }

    fn remove(&mut self, frame: FrameId) {
        if self.hand == Some(frame) {
            self.hand = self.queue.newer(frame);
        }
        self.queue.remove(frame);
    }

    fn victim<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>> {
        // A little over two rounds: the first may only clear bits.
        for _ in 0..=2 * self.queue.len() {
            let frame = self.hand.or_else(|| self.queue.tail())?;
            self.hand = self.queue.newer(frame);
            if frames.is_held(frame) || frames.mark(frame).swap(0, Ordering::Relaxed) != 0 {
                continue;
            }
            if let Some(owned) = frames.own(frame) {
                self.queue.remove(frame);
                return Some(owned);
            }
        }
        None
    }
}
