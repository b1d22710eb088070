//! What all connections share: the database, the token, and the places of connections and statements.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::Database;
use uuid::Uuid;

use crate::dropped::Uploads;
use crate::limits::Limits;
use crate::places::Places;
use crate::reach::Reach;

/// More wait to be accepted.
const CONNECTIONS_MAX: usize = 2048;

/// More wait for one to end; each may use as much memory as the limits say.
const STATEMENTS_MAX: usize = 16;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) limits: Limits,
    pub(crate) token: String,
    pub(crate) port: u16,
    pub(crate) is_ended: AtomicBool,
    pub(crate) connections: Arc<Places>,
    pub(crate) statements: Arc<Places>,
    pub(crate) reach: Reach,
    pub(crate) uploads: Uploads,
    changing: Mutex<()>,
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
            connections: Arc::new(Places::new(CONNECTIONS_MAX)),
            statements: Arc::new(Places::new(STATEMENTS_MAX)),
            reach: Reach::default(),
            uploads: Uploads::default(),
            changing: Mutex::new(()),
        }
    }

    /// Lets one page at a time compare a document and change it.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
