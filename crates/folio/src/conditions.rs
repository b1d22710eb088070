//! Compiled conditions of scans. A scan has no session of its own that could cache them, so the
//! handle does.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use foldhash::fast::RandomState;
use folio_engine::{Signature, Statement};

use crate::lock::lock;

/// The maximum number of cached conditions.
const COUNT_MAX: usize = 256;

/// Longer texts are not cached.
const TEXT_SIZE_MAX: usize = 16 << 10;

/// A statement, and the types of the parameters that it was compiled for.
type Compiled = (Arc<Signature>, Arc<Statement>);

/// The last statement of each text.
#[derive(Default)]
pub(crate) struct Conditions(Mutex<HashMap<Box<str>, Compiled, RandomState>>);

impl Conditions {
    pub(crate) fn get(&self, text: &str) -> Option<Compiled> {
        lock(&self.0).get(text).cloned()
    }

    pub(crate) fn insert(&self, text: &str, compiled: Compiled) {
        if text.len() > TEXT_SIZE_MAX {
            return;
        }
        let mut all = lock(&self.0);
        if all.len() >= COUNT_MAX {
            all.clear();
        }
        all.insert(text.into(), compiled);
    }

    /// Forgets all: the handle is closed.
    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl fmt::Debug for Conditions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(lock(&self.0).keys()).finish()
    }
}
