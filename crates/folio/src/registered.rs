//! What a handle has registered for its statements, by name: rows and functions. It goes with
//! the handle.

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
        // Nearly every handle has none.
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

    /// Forgets everything: the handle is closed.
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

    /// Whether there was one.
    pub(crate) fn remove_relation(&self, name: &str) -> bool {
        let known = lock(&self.relations).remove(&name.to_lowercase());
        self.change();
        known.is_some()
    }

    /// Whether there was one.
    pub(crate) fn remove_function(&self, name: &str) -> bool {
        let known = lock(&self.functions).remove(&name.to_lowercase());
        self.change();
        known.is_some()
    }

    /// Notes that something has changed: plans that were made before are void.
    fn change(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}
