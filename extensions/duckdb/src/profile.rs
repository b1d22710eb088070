//! The time spent by a scan, for `profile := true`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Counters of one scan, shared by its threads.
#[derive(Default)]
pub(crate) struct Profile {
    enabled: bool,
    cut_ns: AtomicU64,
    parse_ns: AtomicU64,
    emit_ns: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    blocks: AtomicU64,
}

/// A separately timed part of the work.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    /// Reading the file, decompressing, cutting into blocks.
    Cut,
    /// Reading values into columns.
    Parse,
    /// Copying columns into DuckDB's vectors.
    Emit,
}

impl Profile {
    pub(crate) fn new(enabled: bool) -> Profile {
        let mut profile = Profile::default();
        profile.enabled = enabled;
        profile
    }

    /// Runs `work` and adds its time.
    #[inline]
    pub(crate) fn time<T>(&self, phase: Phase, work: impl FnOnce() -> T) -> T {
        if !self.enabled {
            return work();
        }
        let start = Instant::now();
        let done = work();
        let counter = match phase {
            Phase::Cut => &self.cut_ns,
            Phase::Parse => &self.parse_ns,
            Phase::Emit => &self.emit_ns,
        };
        counter.fetch_add(start.elapsed().as_nanos() as u64, Relaxed);
        done
    }

    /// Counts a block.
    pub(crate) fn block(&self, bytes: usize, rows: u64) {
        self.blocks.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        if !self.enabled {
            return;
        }
        let ms = |counter: &AtomicU64| counter.load(Relaxed) as f64 / 1e6;
        println!(
            "read_ion profile: cut_ms {:.1}, parse_ms {:.1}, emit_ms {:.1}, rows {}, bytes {}, blocks {}",
            ms(&self.cut_ns),
            ms(&self.parse_ns),
            ms(&self.emit_ns),
            self.rows.load(Relaxed),
            self.bytes.load(Relaxed),
            self.blocks.load(Relaxed),
        );
    }
}
