//! What all connections share: the database, the token, and how many of them there are.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use folio::Database;
use uuid::Uuid;

use crate::limits::Limits;

/// More wait to be accepted.
const CONNECTIONS_MAX: usize = 64;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) limits: Limits,
    pub(crate) token: String,
    pub(crate) port: u16,
    pub(crate) is_ended: AtomicBool,
    running: Mutex<usize>,
    fewer: Condvar,
}

impl fmt::Debug for Shared {
    /// Without the token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(database: Database, limits: Limits, port: u16) -> Self {
        Self {
            database,
            limits,
            token: Uuid::new_v4().simple().to_string(),
            port,
            is_ended: AtomicBool::new(false),
            running: Mutex::new(0),
            fewer: Condvar::new(),
        }
    }

    pub(crate) fn running_count(&self) -> usize {
        *self.running()
    }

    fn running(&self) -> MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for one more.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let mut running = self.running();
        while *running >= CONNECTIONS_MAX {
            running = self.fewer.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        *running += 1;
        Place(Arc::clone(self))
    }
}

/// The place of a connection among those that run.
pub(crate) struct Place(pub(crate) Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.running() -= 1;
        self.0.fewer.notify_one();
    }
}
