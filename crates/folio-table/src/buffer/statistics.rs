//! What the pool has been asked for and what it did.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the pool was made. `hits + misses` is the number of requests
/// that were given a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatistics {
    /// Requests that found their block in a frame.
    pub hits: u64,
    /// Requests that loaded it, or made it.
    pub misses: u64,
    /// Blocks that left for another.
    pub evictions: u64,
    /// Blocks written out before they left.
    pub write_backs: u64,
    /// Times a request waited for the owner of a frame.
    pub pin_waits: u64,
    /// Frames in all.
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

/// The counts that are not kept in the frames.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Hits on blocks that have left their frames.
    pub(super) past_hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) write_backs: AtomicU64,
    pub(super) pin_waits: AtomicU64,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
