//! Options for opening a table store.

use std::time::Duration;

use crate::buffer::Policy;
use crate::failpoint::Failpoints;

/// When a commit is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// When the commit returns: it survives a power failure.
    #[default]
    Full,
    /// After the next checkpoint: a power failure may lose the last commits, in order, and nothing
    /// else. The end of the process loses none.
    Normal,
    /// Whenever the system writes: a power failure may damage the files.
    Off,
}

/// Options for opening a table store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The page size in bytes for new files: 4, 8, 16, 32 or 64 KiB.
    pub page_size: usize,
    /// Memory for pages, in bytes. There are always at least six pages.
    pub pool_size: usize,
    /// The eviction policy of the pool.
    pub policy: Policy,
    /// When a commit is durable.
    pub synchronous: Synchronous,
    /// The size of the log, in bytes, at which commits try a checkpoint.
    pub checkpoint_size: u64,
    /// The size of the log, in bytes, at which snapshots that prevent a checkpoint are ended.
    pub log_size_max: u64,
    /// How long a transaction waits for the previous writer.
    pub timeout: Duration,
    /// How long opening waits for another process that writes; `timeout` where it is `None`.
    pub lock_timeout: Option<Duration>,
    /// Whether the store is read-only.
    pub read_only: bool,
    /// One promise to break, to check that the tests notice.
    #[cfg(feature = "planted-bugs")]
    pub failpoint: Option<crate::Failpoint>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            page_size: 8192,
            pool_size: 128 << 20,
            policy: Policy::default(),
            synchronous: Synchronous::Full,
            checkpoint_size: 16 << 20,
            log_size_max: 1 << 30,
            timeout: Duration::from_secs(5),
            lock_timeout: None,
            read_only: false,
            #[cfg(feature = "planted-bugs")]
            failpoint: None,
        }
    }
}

impl Options {
    pub(crate) fn failpoints(&self) -> Failpoints {
        Failpoints {
            #[cfg(feature = "planted-bugs")]
            failpoint: self.failpoint,
        }
    }
}
