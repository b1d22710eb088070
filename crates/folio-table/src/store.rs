//! The store itself: what is opened, and what is asked of it.

use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;

use crate::buffer::PoolStatistics;
use crate::data_header::DATA_NAME;
use crate::error::Result;
use crate::options::Options;
use crate::recovery;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use crate::wal::LOG_NAME;

/// The tables of one database. Clones are the same store.
#[derive(Debug, Clone)]
pub struct TableStore {
    pub(crate) shared: Arc<Shared>,
}

impl TableStore {
    /// Opens the tables in a directory, making them when there are none.
    /// Recovery, if any is needed, happens here.
    ///
    /// # Errors
    /// [`Error::Corrupted`](crate::Error::Corrupted) when acknowledged data is
    /// damaged, [`Error::Locked`](crate::Error::Locked) when another process
    /// writes, [`Error::Unsupported`](crate::Error::Unsupported), and the
    /// system's refusals.
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

    /// Whether a directory has any of the files that tables are made of, damaged or not.
    #[must_use]
    pub fn any_file(files: &dyn FileSystem, directory: &Path) -> bool {
        [DATA_NAME, LOG_NAME].iter().any(|name| files.stat(&directory.join(name)).is_ok())
    }

    /// Whether an entry of a database's directory belongs to its tables.
    #[must_use]
    pub fn owns(name: &str) -> bool {
        name.starts_with(DATA_NAME)
    }

    /// A view of the newest durable state, which no writer changes.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::begin(&self.shared)
    }

    /// Begins a transaction that writes, waiting for the one before to end.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy) when it does not end within
    /// [`Options::timeout`]; [`Error::ReadOnly`](crate::Error::ReadOnly);
    /// [`Error::Poisoned`](crate::Error::Poisoned).
    pub fn begin(&self) -> Result<Transaction> {
        Transaction::begin(&self.shared)
    }

    /// Copies everything from the log to the data file and begins the log again.
    /// `false` when a snapshot that is still held stands in the way.
    ///
    /// # Errors
    /// The device's failure.
    pub fn checkpoint(&self) -> Result<bool> {
        self.shared.checkpoint()
    }

    /// Closes the store in a state that is quick to open and takes no more space than
    /// its pages: a checkpoint, and a log of nothing but its header. Clones of the
    /// store go on. `false` when somebody who reads stands in the way: then the log
    /// stays, and whoever opens the store next reads it.
    ///
    /// Dropping a store loses nothing either.
    ///
    /// # Errors
    /// The device's failure; [`Error::Busy`](crate::Error::Busy) while somebody
    /// writes; [`Error::ReadOnly`](crate::Error::ReadOnly).
    pub fn close(self) -> Result<bool> {
        self.shared.leave()
    }

    /// Whether another process has committed something since a store was opened for
    /// reading: opening it again shows it. A store that writes is never stale.
    ///
    /// # Errors
    /// The device's failure.
    pub fn is_stale(&self) -> Result<bool> {
        let shared = &self.shared;
        if !shared.pager.options.read_only {
            return Ok(false);
        }
        let wal = &shared.pager.blocks.wal;
        Ok(wal.has_begun_again() || wal.has_grown(*shared.pager.blocks.position())?)
    }

    /// Whether another process waits to write, which the store that is open here for writing
    /// keeps from it.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.shared.role.is_wanted()
    }

    /// Whether nobody uses the store but the holder of this value: no transaction, no snapshot,
    /// no clone.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }

    /// What the buffer pool has been doing.
    #[must_use]
    pub fn pool_statistics(&self) -> PoolStatistics {
        self.shared.pager.pool.statistics()
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.shared.pager.page_size
    }

    /// Bytes that the log takes on the disk.
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
