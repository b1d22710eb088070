//! How other machines are asked.

use std::time::Duration;

/// Limits of requests to other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteOptions {
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a server may stay silent: before its answer, and between two pieces of it.
    pub timeout: Duration,
    /// How often a request that may succeed later is repeated: after 503 and its like, after a
    /// connection that broke, after silence.
    pub retry_count: u32,
    /// The wait before the first repetition. It doubles with each.
    pub retry_delay: Duration,
    /// Bytes of files that are cached in memory.
    pub cache_size: usize,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            retry_count: 4,
            retry_delay: Duration::from_millis(100),
            cache_size: 64 << 20,
        }
    }
}
