//! Whether a collection may still be used, and its notices that were not yet reported.
//!
//! In either layout, a collection is open until it is closed, and writable unless it was opened for
//! reading. After a failed sync it is poisoned: it is unknown what is on the device, so nothing
//! further is promised. So it is when its files were removed or replaced.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use folio_file::WriterGuard;

use crate::error::{Error, Result};
use crate::options::{Access, CollectionOptions};
use crate::report::Notice;

/// The state of one collection, shared by all its handles.
#[derive(Debug)]
pub(crate) struct HandleState {
    collection: String,
    access: Access,
    /// A failpoint: writes continue after a failed sync.
    forgives: bool,
    notices: Mutex<Vec<Notice>>,
    /// Why nothing is written any more, if so.
    poison: OnceLock<String>,
    is_closed: AtomicBool,
    /// What the manifest says of paths that no document has.
    has_open_paths: AtomicBool,
}

impl HandleState {
    pub(crate) fn new(collection: &str, options: &CollectionOptions) -> Self {
        Self {
            collection: collection.to_owned(),
            access: options.access,
            forgives: options.failpoints().forgive_failed_sync(),
            notices: Mutex::default(),
            poison: OnceLock::new(),
            is_closed: AtomicBool::new(false),
            has_open_paths: AtomicBool::new(false),
        }
    }

    /// The name of the collection, for errors.
    pub(crate) fn collection(&self) -> &str {
        &self.collection
    }

    /// Whether statements may name paths that no document has.
    pub(crate) fn has_open_paths(&self) -> bool {
        self.has_open_paths.load(Ordering::Acquire)
    }

    /// Follows the manifest in that.
    pub(crate) fn set_open_paths(&self, open: bool) {
        self.has_open_paths.store(open, Ordering::Release);
    }

    /// Checks that reads are possible.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed { collection: self.collection.clone() });
        }
        Ok(())
    }

    /// Checks that writes are possible.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::ReadOnly`], [`Error::Poisoned`].
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.access == Access::Read {
            let reason = "open the database for writing".to_owned();
            return Err(Error::ReadOnly { collection: self.collection.clone(), reason });
        }
        match self.poison.get() {
            Some(cause) => {
                Err(Error::Poisoned { collection: self.collection.clone(), cause: cause.clone() })
            }
            None => Ok(()),
        }
    }

    /// Records that a sync of `path` failed. Nothing can be promised from now on.
    pub(crate) fn poison(&self, path: &Path, error: std::io::Error) -> Error {
        if !self.forgives {
            let _ = self.poison.set(error.to_string());
        }
        Error::io("sync", path)(error)
    }

    /// Checks that the writer's lock still protects the collection. If not, nothing is written from now
    /// on: at this path there may be another database.
    ///
    /// # Errors
    /// [`Error::LockLost`].
    pub(crate) fn check_lock(&self, guard: &WriterGuard) -> Result<()> {
        guard.check().map_err(|error| {
            let _ = self.poison.set(error.to_string());
            Error::LockLost(error)
        })
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poison.get().is_some()
    }

    /// Flushes a writable collection, then refuses all calls.
    ///
    /// # Errors
    /// Those of `flush`. After an error such as a full disk, closing can be retried. After a failed
    /// sync it would always fail, so the collection is closed anyway.
    pub(crate) fn close(&self, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let flushed = if self.access == Access::Read { Ok(()) } else { flush() };
        if flushed.is_ok() || self.is_poisoned() {
            self.is_closed.store(true, Ordering::Release);
        }
        flushed
    }

    /// Whether dropping a handle may have to write something.
    pub(crate) fn closes_on_drop(&self) -> bool {
        self.access == Access::ReadWrite && !self.is_poisoned()
    }

    /// Adds to the notices. What one statement finds twice is said once.
    pub(crate) fn notice(&self, notices: impl IntoIterator<Item = Notice>) {
        let mut known = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        for notice in notices {
            if !known.contains(&notice) {
                known.push(notice);
            }
        }
    }

    pub(crate) fn has_notices(&self) -> bool {
        !self.notices.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// What was noticed since the last call.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
