//! What all connections share: the database, the token, and the places of connections and statements.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::Database;

use crate::dropped::Uploads;
use crate::limits::Limits;
use crate::listen::Names;
use crate::orders::Orders;
use crate::places::Places;
use crate::reach::Reach;
use crate::token::Token;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) limits: Limits,
    pub(crate) token: Token,
    pub(crate) names: Names,
    pub(crate) is_ended: AtomicBool,
    pub(crate) connections: Arc<Places>,
    pub(crate) statements: Arc<Places>,
    pub(crate) reach: Reach,
    pub(crate) orders: Orders,
    pub(crate) uploads: Uploads,
    changing: Mutex<()>,
}

impl fmt::Debug for Shared {
    /// Without the token.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(database: Database, limits: Limits, token: Token, names: Names) -> Self {
        Self {
            database,
            limits,
            token,
            names,
            is_ended: AtomicBool::new(false),
            connections: Arc::new(Places::new(limits.connection_count)),
            statements: Arc::new(Places::new(limits.statement_count)),
            reach: Reach::default(),
            orders: Orders::default(),
            uploads: Uploads::default(),
            changing: Mutex::new(()),
        }
    }

    /// Lets one page at a time compare a document and change it.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
