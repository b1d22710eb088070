//! How a table store is opened.

use std::time::Duration;

use crate::buffer::Policy;
use crate::planted::Switches;

/// When a commit is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// When it returns: it survives a loss of power.
    #[default]
    Full,
    /// After the next checkpoint: a loss of power may take the last commits, in
    /// order, and nothing else; the end of the process takes none.
    Normal,
    /// When the system sees fit: a loss of power may damage the files.
    Off,
}

/// How a table store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of a page, for files yet to be made: 4, 8, 16, 32 or 64 KiB.
    pub page_size: usize,
    /// Memory for pages, in bytes. At least six pages are always there.
    pub pool_size: usize,
    /// Which page leaves the pool when another is needed.
    pub policy: Policy,
    /// When a commit is durable.
    pub synchronous: Synchronous,
    /// The size of the log, in bytes, from which on commits try a checkpoint.
    pub checkpoint_size: u64,
    /// The size of the log, in bytes, from which on snapshots that stand in a
    /// checkpoint's way are ended.
    pub log_size_max: u64,
    /// How long a transaction waits for the writer before it.
    pub timeout: Duration,
    /// Whether anything is ever written.
    pub read_only: bool,
    /// One promise to break, to see whether the tests notice.
    #[cfg(feature = "planted-bugs")]
    pub planted: Option<crate::PlantedBug>,
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
            read_only: false,
            #[cfg(feature = "planted-bugs")]
            planted: None,
        }
    }
}

impl Options {
    pub(crate) fn switches(&self) -> Switches {
        Switches {
            #[cfg(feature = "planted-bugs")]
            planted: self.planted,
        }
    }
}
