//! What a statement of a page may use.

use std::time::Duration;

/// What a statement of a page may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most rows of an answer.
    pub row_count: usize,
    /// The most bytes of an answer, about.
    pub size: usize,
    /// The longest time.
    pub time: Duration,
    /// The most memory, in bytes.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { row_count: 10_000, size: 16 << 20, time: Duration::from_secs(60), memory: 1 << 30 }
    }
}
