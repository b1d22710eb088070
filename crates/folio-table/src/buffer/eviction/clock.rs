//! CLOCK: frames in a circle, a hand, and a bit per frame.
//!
//! The hand passes over frames whose bit is set, clearing it, and evicts the first whose bit is
//! clear. It stays where it evicted one (F. Corbató, "A paging experiment with the Multics system",
//! 1968).

use std::sync::atomic::{AtomicU64, Ordering};

use super::Eviction;
use crate::buffer::frame::{FrameId, Frames, Owned};
use crate::ids::BlockId;

#[derive(Debug)]
pub(super) struct Clock {
    is_in: Vec<bool>,
    hand: usize,
}

impl Clock {
    pub(super) fn new(frame_count: usize) -> Self {
        Self { is_in: vec![false; frame_count], hand: 0 }
    }
}

impl Eviction for Clock {
    fn insert(&mut self, frames: &Frames, frame: FrameId, _block: BlockId, _time: &AtomicU64) {
        frames.mark(frame).store(0, Ordering::Relaxed);
        self.is_in[frame as usize] = true;
    }

    fn remove(&mut self, frame: FrameId) {
        self.is_in[frame as usize] = false;
    }

    fn victim<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>> {
        // Two rounds: the first may only clear bits.
        for _ in 0..2 * self.is_in.len() {
            let position = self.hand;
            self.hand = (self.hand + 1) % self.is_in.len();
            let frame = position as FrameId;
            if !self.is_in[position] || frames.is_held(frame) {
                continue;
            }
            if frames.mark(frame).swap(0, Ordering::Relaxed) != 0 {
                continue;
            }
            if let Some(owned) = frames.own(frame) {
                self.is_in[position] = false;
                return Some(owned);
            }
        }
        None
    }
}
