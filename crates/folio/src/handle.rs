//! A handle on a shared store: its access, and whether it was closed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "sql")]
use std::sync::{Mutex, Weak};
use std::time::Duration;

use folio_document::{Access, Notice};
use folio_file::{LockError, fork_count, is_url};
#[cfg(feature = "sql")]
use folio_table::Transaction;

#[cfg(feature = "sql")]
use crate::condition_cache::ConditionCache;
use crate::error::{Error, Result};
#[cfg(feature = "sql")]
use crate::lock::lock;
#[cfg(feature = "sql")]
use crate::registered::Registered;
use crate::store::Store;

/// The handle shared by a `Database` and everything opened from it.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) store: Arc<Store>,
    pub(crate) access: Access,
    pub(crate) lock_timeout: Duration,
    /// The path as given by the user.
    pub(crate) path: PathBuf,
    pub(crate) is_archive: bool,
    /// Rows registered for statements through this handle.
    #[cfg(feature = "sql")]
    pub(crate) registered: Registered,
    #[cfg(feature = "sql")]
    pub(crate) conditions: ConditionCache,
    /// The transactions that sessions have begun. Closing rolls back those that are still open.
    #[cfg(feature = "sql")]
    transactions: Mutex<Vec<Weak<Mutex<Option<Transaction>>>>>,
    /// The process that opened it, as [`fork_count`] numbers it.
    process: u32,
    closed: AtomicBool,
    /// Whether it was said that the place is a network file system.
    pub(crate) has_told_network: AtomicBool,
}

impl Handle {
    pub(crate) fn new(
        store: Arc<Store>,
        (access, lock_timeout): (Access, Duration),
        path: PathBuf,
        is_archive: bool,
    ) -> Self {
        Self {
            store,
            access,
            lock_timeout,
            path,
            is_archive,
            #[cfg(feature = "sql")]
            registered: Registered::default(),
            #[cfg(feature = "sql")]
            conditions: ConditionCache::default(),
            #[cfg(feature = "sql")]
            transactions: Mutex::default(),
            process: fork_count(),
            closed: AtomicBool::new(false),
            has_told_network: AtomicBool::new(false),
        }
    }

    /// Drops notices that tell nothing: an archive never has an index.
    pub(crate) fn retain_telling(&self, notices: &mut Vec<Notice>) {
        notices.retain(|notice| !(self.is_archive && notice.0.contains("had no index")));
    }

    /// Whether the handle takes writes.
    pub(crate) fn is_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Refuses calls after `close`, and those of a child of the process that opened the database.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::Closed { path: self.path.clone() });
        }
        if self.process != fork_count() {
            return Err(Error::lock(&self.path)(LockError::Forked));
        }
        Ok(())
    }

    /// Refuses writes through a read-only handle. The first write makes the directory a database.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.access == Access::Read {
            let hint = if self.path.to_str().is_some_and(is_url) {
                "copy it from its URL to a directory, and write there"
            } else if self.is_archive {
                "unpack the archive and write to the directory"
            } else {
                "open it for writing"
            };
            return Err(Error::ReadOnly { path: self.path.clone(), hint });
        }
        self.store.prepare_write(self.lock_timeout)
    }

    /// Notes a transaction that lasts for several statements.
    #[cfg(feature = "sql")]
    pub(crate) fn note_transaction(&self, transaction: &Arc<Mutex<Option<Transaction>>>) {
        let mut transactions = lock(&self.transactions);
        transactions.retain(|other| other.strong_count() > 0);
        transactions.push(Arc::downgrade(transaction));
    }

    /// Closes the handle; a second call does nothing, and one in a child of its process: the parent
    /// closes it.
    pub(crate) fn close(&self) -> Result<()> {
        if self.process != fork_count() || self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        #[cfg(feature = "sql")]
        {
            self.registered.clear();
            self.conditions.clear();
            let transactions = std::mem::take(&mut *lock(&self.transactions));
            for transaction in transactions.iter().filter_map(Weak::upgrade) {
                // One in use is its session's to end. It may be of the statement that this call has
                // interrupted, on the same thread.
                if let Ok(mut transaction) = transaction.try_lock() {
                    drop(transaction.take());
                }
            }
        }
        self.store.detach(self.access)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.process != fork_count() {
            std::mem::forget(Arc::clone(&self.store)); // it is the parent's, with all it has open
        }
        // A caller that needs to know whether the last sync succeeded calls `close`.
        let _ = self.close();
    }
}
