//! Which page leaves when another needs its frame.
//!
//! Four published policies behind one trait, chosen when the pool is made. A hit
//! takes no lock: it leaves a mark at the frame, a bit or a small counter or a
//! time, and the policy reads the marks when it looks for a victim.
//! `Policy::mark_hit` is the one place that writes them on a hit.
//!
//! Pages enter unmarked: being loaded is not yet being used again.

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

    /// The name, as options and benches spell it.
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

    /// Leaves the mark of a hit.
    #[inline]
    pub(super) fn mark_hit(self, frames: &Frames, frame: FrameId, time: &AtomicU64) {
        let mark = frames.mark(frame);
        match self {
            Self::Lru => mark.store(time.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed),
            // Looking first keeps the line shared between threads.
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

/// A policy at work. All calls come under the pool's lock.
pub(super) trait Eviction: fmt::Debug + Send {
    /// A block was loaded into the frame.
    fn insert(&mut self, frames: &Frames, frame: FrameId, block: BlockId, time: &AtomicU64);

    /// The frame was emptied for another reason than eviction.
    fn remove(&mut self, frame: FrameId);

    /// Chooses a frame nobody holds, forgets it, and owns it; `None` when all are held.
    fn victim<'f>(&mut self, frames: &'f Frames) -> Option<Owned<'f>>;
}
