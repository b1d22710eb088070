//! Eviction: which page leaves when another needs its frame.
//!
//! Four published policies implement one trait; the pool's creator chooses one. A hit takes no
//! lock: it sets a mark at the frame, which is a bit, a small counter or a time. The policy reads
//! the marks when it looks for a victim. Only `Policy::mark_hit` writes them on a hit.
//!
//! Pages enter unmarked: loading is not a second use.

mod clock;
mod lru;
mod queue;
mod s3_fifo;
mod sieve;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::buffer::frame::{FrameId, Frames, Owned};
use crate::ids::BlockId;
use clock::Clock;
use lru::Lru;
pub(super) use queue::Queue;
use s3_fifo::S3Fifo;
use sieve::Sieve;

/// An eviction policy by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Least recently used, exactly.
    Lru,
    /// Second chance with a hand (Corbató 1968).
    Clock,
    /// SIEVE (Zhang et al., NSDI 2024).
    Sieve,
    /// S3-FIFO (Yang et al., SOSP 2023).
    #[default]
    S3Fifo,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Lru, Self::Clock, Self::Sieve, Self::S3Fifo];

    /// The name in options and benchmarks.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::Clock => "clock",
            Self::Sieve => "sieve",
            Self::S3Fifo => "s3_fifo",
        }
    }

    pub(super) fn build(self, frame_count: usize) -> Box<dyn Eviction> {
        match self {
            Self::Lru => Box::new(Lru::new()),
            Self::Clock => Box::new(Clock::new(frame_count)),
            Self::Sieve => Box::new(Sieve::new(frame_count)),
            Self::S3Fifo => Box::new(S3Fifo::new(frame_count)),
        }
    }

    /// Sets the mark of a hit.
    #[inline]
    pub(super) fn mark_hit(self, frames: &Frames, frame: FrameId, time: &AtomicU64) {
        let mark = frames.mark(frame);
        match self {
            Self::Lru => mark.store(time.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed),
            // Reading first keeps the cache line shared between threads.
            Self::Clock | Self::Sieve => {
                if mark.load(Ordering::Relaxed) == 0 {
                    mark.store(1, Ordering::Relaxed);
                }
            }
            Self::S3Fifo => {
                let count = mark.load(Ordering::Relaxed);
                if count < s3_fifo::MAX_COUNT {
                    mark.store(count + 1, Ordering::Relaxed);
                }
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| {
            format!("eviction policy {name:?} is unknown; choose lru, clock, sieve or s3_fifo")
        })
    }
}

/// A policy's state. All calls are made under the pool's lock.
pub(super) trait Eviction: fmt::Debug + Send {
    /// A block was loaded into the frame.
    fn insert(&mut self, frames: &Frames, frame: FrameId, block: BlockId, time: &AtomicU64);

    /// The frame was emptied for a reason other than eviction.
    fn remove(&mut self, frame: FrameId);

    /// Chooses, removes and owns an unpinned frame; `None` when all are pinned.
    fn victim<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>>;
}
