//! The store itself: opening it, and its operations.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use folio_file::{FileSystem, Stat};

use crate::buffer::PoolStatistics;
use crate::data_header::DATA_NAME;
use crate::error::Result;
use crate::options::Options;
use crate::recovery;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use crate::wal::LOG_NAME;

/// Who uses a store, besides its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Users {
    /// Nobody.
    Nobody,
    /// Snapshots.
    Readers,
    /// Somebody writes, or may be about to: there is a transaction, or a clone.
    Writers,
}

/// The tables of one database. Clones share one store.
#[derive(Debug, Clone)]
pub struct TableStore {
    pub(crate) shared: Arc<Shared>,
}

impl TableStore {
    /// Opens the tables in a directory, creating them if there are none. Runs recovery if needed.
    ///
    /// # Errors
    /// [`Error::Corrupted`](crate::Error::Corrupted) when acknowledged data is damaged,
    /// [`Error::Locked`](crate::Error::Locked) when another process writes,
    /// [`Error::Unsupported`](crate::Error::Unsupported), and errors of the operating system.
    #[allow(clippy::needless_pass_by_value, reason = "options are made where they are given")]
    pub fn open(files: &Arc<dyn FileSystem>, directory: &Path, options: Options) -> Result<Self> {
        let shared = recovery::open(files, directory, &options)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether a directory has tables.
    #[must_use]
    pub fn exists(files: &dyn FileSystem, directory: &Path) -> bool {
        files.stat(&directory.join(DATA_NAME)).is_ok()
    }

    /// When the files of the tables in a directory were last changed; `None` without tables.
    #[must_use]
    pub fn changed(files: &dyn FileSystem, directory: &Path) -> Option<SystemTime> {
        let stats = [DATA_NAME, LOG_NAME].map(|name| files.stat(&directory.join(name)));
        stats.iter().flatten().filter_map(Stat::modified).max()
    }

    /// Whether a directory has any of the tables' files, damaged or not.
    #[must_use]
    pub fn any_file(files: &dyn FileSystem, directory: &Path) -> bool {
        [DATA_NAME, LOG_NAME].iter().any(|name| files.stat(&directory.join(name)).is_ok())
    }

    /// Whether an entry of a database's directory belongs to its tables.
    #[must_use]
    pub fn owns(name: &str) -> bool {
        name.starts_with(DATA_NAME)
    }

    /// A snapshot of the newest durable state, which no writer changes.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::begin(&self.shared)
    }

    /// Begins a write transaction, after waiting for the previous one to end.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) when the previous one does not end within
    /// [`Options::timeout`]; [`Error::ReadOnly`](crate::Error::ReadOnly);
    /// [`Error::Poisoned`](crate::Error::Poisoned).
    pub fn begin(&self) -> Result<Transaction> {
        Transaction::begin(&self.shared, self.shared.pager.options.timeout)
    }

    /// The same, with another timeout.
    ///
    /// # Errors
    /// As [`TableStore::begin`].
    pub fn begin_within(&self, timeout: Duration) -> Result<Transaction> {
        Transaction::begin(&self.shared, timeout)
    }

    /// The same for work that may as well be done later.
    ///
    /// # Errors
    /// As [`TableStore::begin`]; [`Error::Busy`](crate::Error::Busy) at once.
    pub fn begin_at_once(&self) -> Result<Transaction> {
        Transaction::begin(&self.shared, Duration::ZERO)
    }

    /// Copies everything from the log to the data file and restarts the log. `false` when an open
    /// snapshot prevents it.
    ///
    /// # Errors
    /// An error of the device.
    pub fn checkpoint(&self) -> Result<bool> {
        self.shared.checkpoint()
    }

    /// Closes the store so that it is quick to open and takes no more space than its pages: runs a
    /// checkpoint and cuts the log to its header. Clones of the store stay open. `false` when a
    /// reader prevents it: then the log stays, and the next open reads it.
    ///
    /// Dropping a store loses nothing either.
    ///
    /// # Errors
    /// An error of the device; [`Error::Busy`](crate::Error::Busy) while a transaction writes;
    /// [`Error::ReadOnly`](crate::Error::ReadOnly).
    pub fn close(self) -> Result<bool> {
        self.shared.leave()
    }

    /// Whether another process has committed since a store was opened for reading. Opening it again
    /// shows the commit. A writing store is never stale.
    ///
    /// # Errors
    /// An error of the device.
    pub fn is_stale(&self) -> Result<bool> {
        let shared = &self.shared;
        if !shared.pager.options.read_only {
            return Ok(false);
        }
        let wal = &shared.pager.blocks.wal;
        Ok(wal.has_begun_again() || wal.has_grown(*shared.pager.blocks.position())?)
    }

    /// Whether another process waits to write, because this store is open for writing.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.shared.role.is_wanted()
    }

    /// Who uses the store, besides its owner.
    #[must_use]
    pub fn users(&self) -> Users {
        let snapshots = &self.shared.pager.snapshots;
        // Between two counts, a snapshot may end: they are equal if none did.
        let (count, next) = snapshots.open();
        let held = Arc::strong_count(&self.shared) - 1;
        match count {
            _ if held != count || snapshots.open() != (count, next) => Users::Writers,
            0 => Users::Nobody,
            _ => Users::Readers,
        }
    }

    /// Gives the writer's lock back. Open snapshots are read on, beside the next writer. While a
    /// transaction runs, the lock stays until it ends.
    pub fn give_lock_back(self) {
        self.shared.give_lock_back();
    }

    /// Statistics of the buffer pool.
    #[must_use]
    pub fn pool_statistics(&self) -> PoolStatistics {
        self.shared.pager.pool.statistics()
    }

    /// The size of a page in bytes.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.shared.pager.page_size
    }

    /// The size of the log on disk, in bytes.
    #[must_use]
    pub fn log_file_size(&self) -> u64 {
        self.shared.pager.blocks.wal.file_size()
    }

    /// Bytes of the log that the next checkpoint would copy.
    #[must_use]
    pub fn log_size(&self) -> u64 {
        let wal = &self.shared.pager.blocks.wal;
        wal.size(wal.written())
    }
}

impl Transaction {
    /// The store that it changes.
    #[must_use]
    pub fn store(&self) -> TableStore {
        TableStore { shared: Arc::clone(&self.shared) }
    }
}
