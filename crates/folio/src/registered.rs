//! What a handle has registered for its statements, by name: rows and functions. Dropped with the
//! handle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use folio_engine::ScalarFunction;
use folio_engine::source::Relation;

use crate::lock::lock;

/// What a handle has registered, by name in lower case.
#[derive(Debug, Default)]
pub(crate) struct Registered {
    relations: Mutex<HashMap<String, Arc<Relation>>>,
    functions: Mutex<HashMap<String, Arc<ScalarFunction>>>,
    /// Grows with each change.
    version: AtomicU64,
}

impl Registered {
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn relation(&self, name: &str) -> Option<Arc<Relation>> {
        // Nearly every handle has nothing registered.
        match self.version() {
            0 => None,
            _ => lock(&self.relations).get(&name.to_lowercase()).cloned(),
        }
    }

    pub(crate) fn function(&self, name: &str) -> Option<Arc<ScalarFunction>> {
        match self.version() {
            0 => None,
            _ => lock(&self.functions).get(&name.to_lowercase()).cloned(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let known = lock(&self.relations);
        let mut names: Vec<String> =
            known.values().map(|relation| relation.schema.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Removes everything: the handle is closed.
    pub(crate) fn clear(&self) {
        lock(&self.relations).clear();
        lock(&self.functions).clear();
        self.change();
    }

    pub(crate) fn insert_relation(&self, name: &str, relation: Arc<Relation>) {
        lock(&self.relations).insert(name.to_lowercase(), relation);
        self.change();
    }

    pub(crate) fn insert_function(&self, name: &str, function: ScalarFunction) {
        lock(&self.functions).insert(name.to_lowercase(), Arc::new(function));
        self.change();
    }

    /// Returns whether there was one.
    pub(crate) fn remove_relation(&self, name: &str) -> bool {
        let known = lock(&self.relations).remove(&name.to_lowercase());
        self.change();
        known.is_some()
    }

    /// Returns whether there was one.
    pub(crate) fn remove_function(&self, name: &str) -> bool {
        let known = lock(&self.functions).remove(&name.to_lowercase());
        self.change();
        known.is_some()
    }

    /// Notes a change, which invalidates older plans.
    fn change(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}
