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

/// A query that stands for a condition.
#[derive(Clone)]
pub(crate) struct Compiled {
    pub(crate) statement: Arc<Statement>,
    /// The types of the parameters that it was compiled for.
    pub(crate) signature: Arc<Signature>,
    pub(crate) answers: Answers,
}

/// What the query answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// The ids of documents.
    Ids,
    /// Whole documents: where only one can be meant, it is not looked up again by its id.
    Lines,
}

/// The last statement of each condition.
type OfCollection = HashMap<Box<str>, Compiled, RandomState>;

/// Compiled conditions by collection. A lookup builds no text.
#[derive(Default)]
pub(crate) struct ConditionCache(Mutex<HashMap<Box<str>, OfCollection, RandomState>>);

impl ConditionCache {
    pub(crate) fn get(&self, collection: &str, condition: &str) -> Option<Compiled> {
        lock(&self.0).get(collection)?.get(condition).cloned()
    }

    pub(crate) fn insert(&self, collection: &str, condition: &str, compiled: Compiled) {
        if condition.len() > TEXT_SIZE_MAX {
            return;
        }
        let mut all = lock(&self.0);
        if all.values().map(HashMap::len).sum::<usize>() >= COUNT_MAX {
            all.clear();
        }
        all.entry(collection.into()).or_default().insert(condition.into(), compiled);
    }

    /// Forgets all: the handle is closed.
    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl fmt::Debug for ConditionCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = lock(&self.0);
        out.debug_map().entries(all.iter().map(|(name, own)| (name, own.len()))).finish()
    }
}
