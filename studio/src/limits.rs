//! What a statement of a page may use, and how many may run.

use std::time::Duration;

/// What a statement of a page may use, and how many may run.
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
    /// The most statements at once; more wait for one to end.
    pub statement_count: usize,
    /// The most connections at once; more wait to be accepted.
    pub connection_count: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            row_count: 10_000,
            size: 16 << 20,
            time: Duration::from_secs(60),
            memory: 1 << 30,
            statement_count: 16,
            connection_count: 2048,
        }
    }
}
