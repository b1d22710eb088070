//! How other machines are asked.

use std::path::PathBuf;
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
    /// Bytes of files that are cached in memory, or were fetched ahead of scans: up to three quarters.
    pub cache_size: usize,
    /// A folder in which what was read stays for the next process, by URL and ETag. `None` is the
    /// one that the environment names, `FOLIO_CACHE_DIR`, or no folder.
    pub disk_cache_folder: Option<PathBuf>,
    /// Bytes of files in that folder, and of the one that the environment names, if it does not
    /// say another size (`FOLIO_CACHE_SIZE`).
    pub disk_cache_size: u64,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            retry_count: 4,
            retry_delay: Duration::from_millis(100),
            cache_size: 64 << 20,
            disk_cache_folder: None,
            disk_cache_size: 1 << 30,
        }
    }
}
