//! S3-FIFO: three queues; the third stores only block numbers.
//!
//! New pages enter the small queue, a tenth of the pool. Those used more than once there move to
//! the main queue. The others are evicted and remembered as ghosts. A page with a ghost enters the
//! main queue directly. The main queue gives a page as many more rounds as its counter says, at
//! most three (J. Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023,
//! algorithm 1).

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;

use super::Eviction;
use super::queue::Queue;
use crate::buffer::frame::{FrameId, Frames, Owned};
use crate::ids::BlockId;

/// The maximum of the use counter.
pub(super) const MAX_COUNT: u64 = 3;

#[derive(Debug)]
pub(super) struct S3Fifo {
    small: Queue,
    main: Queue,
    small_target: usize,
    ghosts: Ghosts,
}

impl S3Fifo {
    pub(super) fn new(frame_count: usize) -> Self {
        let small_target = (frame_count / 10).max(1);
        Self {
            small: Queue::new(frame_count),
            main: Queue::new(frame_count),
            small_target,
            ghosts: Ghosts::new(frame_count - small_target.min(frame_count)),
        }
    }

    fn victim_of_small<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>> {
        for _ in 0..self.small.len() {
            let frame = self.small.tail()?;
            self.small.remove(frame);
            if frames.mark(frame).load(Ordering::Relaxed) > 1 {
                frames.mark(frame).store(0, Ordering::Relaxed);
                self.main.push_head(frame);
            } else if let Some(owned) = frames.own(frame) {
                self.ghosts.extend(owned.block());
                return Some(owned);
            } else {
                self.small.push_head(frame);
            }
        }
        None
    }

    fn victim_of_main<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>> {
        let rounds = MAX_COUNT as usize + 1;
        for _ in 0..rounds * self.main.len() {
            let frame = self.main.tail()?;
            self.main.remove(frame);
            let count = frames.mark(frame).load(Ordering::Relaxed);
            if count > 0 {
                frames.mark(frame).store(count - 1, Ordering::Relaxed);
            } else if let Some(owned) = frames.own(frame) {
                return Some(owned);
            }
            self.main.push_head(frame);
        }
        None
    }
}

impl Eviction for S3Fifo {
    fn insert(&mut self, frames: &Frames, frame: FrameId, block: BlockId, _time: &AtomicU64) {
        frames.mark(frame).store(0, Ordering::Relaxed);
        if self.ghosts.remove(block) {
            self.main.push_head(frame);
        } else {
            self.small.push_head(frame);
        }
    }

    fn remove(&mut self, frame: FrameId) {
        if !self.small.remove(frame) {
            self.main.remove(frame);
        }
    }

    fn victim<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>> {
        if self.small.len() >= self.small_target {
            self.victim_of_small(frames).or_else(|| self.victim_of_main(frames))
        } else {
            self.victim_of_main(frames).or_else(|| self.victim_of_small(frames))
        }
    }
}

/// The numbers of blocks that left the small queue, oldest first.
#[derive(Debug)]
struct Ghosts {
    order: VecDeque<(BlockId, u64)>,
    /// The valid position in `order`: a block may be there twice.
    known: HashMap<BlockId, u64, RandomState>,
    next: u64,
    capacity: usize,
}

impl Ghosts {
    fn new(capacity: usize) -> Self {
        Self { order: VecDeque::new(), known: HashMap::default(), next: 0, capacity }
    }

    fn extend(&mut self, block: Option<BlockId>) {
        let Some(block) = block else { return };
        self.known.insert(block, self.next);
        self.order.push_back((block, self.next));
        self.next += 1;
        while self.known.len() > self.capacity || self.order.len() > 2 * self.capacity + 1 {
            let Some((oldest, number)) = self.order.pop_front() else { break };
            if self.known.get(&oldest) == Some(&number) {
                self.known.remove(&oldest);
            }
        }
    }

    fn remove(&mut self, block: BlockId) -> bool {
        self.known.remove(&block).is_some()
    }
}
