//! Statistics of the pool.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the pool was created. `hits + misses` is the number of requests that got a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatistics {
    /// Requests that found their block in a frame.
    pub hits: u64,
    /// Requests that loaded or created the block.
    pub misses: u64,
    /// Blocks evicted for another.
    pub evictions: u64,
    /// Blocks written out before eviction.
    pub write_backs: u64,
    /// How often a request waited for the owner of a frame.
    pub pin_waits: u64,
    /// The number of frames.
    pub frames: usize,
    /// Frames that hold a block.
    pub frames_used: usize,
}

impl PoolStatistics {
    /// Hits per request, 0 to 1.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub fn hit_rate(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

/// The counts that are not in the frames.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Hits on blocks that are no longer in a frame.
    pub(super) past_hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) write_backs: AtomicU64,
    pub(super) pin_waits: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
