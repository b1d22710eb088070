//! The columns indexes of a collection, and what is known of their parts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use folio_types::IndexMethod;

use crate::column_part::ColumnPart;
use crate::field_index::IndexDefinition;

/// The columns indexes of a collection.
#[derive(Debug, Default)]
pub(crate) struct ColumnIndexes {
    all: RwLock<Vec<Arc<ColumnIndex>>>,
    has_any: AtomicBool,
}

/// One of them, with what is known of its parts.
#[derive(Debug)]
pub(crate) struct ColumnIndex {
    pub(super) definition: IndexDefinition,
    pub(super) fingerprint: u64,
    known: Mutex<Known>,
    /// Held by whoever writes files.
    pub(super) writing: Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// The generation of the view that the parts are proven for; `None` before the first use.
    pub(super) generation: Option<u64>,
    /// By range, without overlap.
    pub(super) parts: Vec<LivePart>,
    /// How many lines were dead when the dead rows were found.
    pub(super) skip_count: u64,
}

/// A part that fits the data.
#[derive(Debug, Clone)]
pub(super) struct LivePart {
    pub(super) part: Arc<ColumnPart>,
    /// Rows of lines that have died since it was built, ascending.
    pub(super) dead: Arc<[u32]>,
}

impl ColumnIndex {
    pub(super) fn new(definition: IndexDefinition) -> Self {
        let fingerprint = definition.fingerprint();
        let (known, writing) = (Mutex::default(), Mutex::default());
        Self { definition, fingerprint, known, writing }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ColumnIndexes {
    /// Sets the definitions. Unchanged indexes keep what is known of them.
    pub(crate) fn set(&self, definitions: &[IndexDefinition]) {
        let is_columns = |own: &&IndexDefinition| own.method == IndexMethod::Columns;
        let mut definitions = definitions.iter().filter(is_columns).peekable();
        if definitions.peek().is_none() && !self.has_any() {
            return;
        }
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::take(&mut *all);
        all.extend(definitions.map(|definition| {
            let same = known.iter().find(|index| index.definition == *definition);
            same.map_or_else(|| Arc::new(ColumnIndex::new(definition.clone())), Arc::clone)
        }));
        self.has_any.store(!all.is_empty(), Ordering::Release);
    }

    #[inline]
    fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    pub(super) fn all(&self) -> RwLockReadGuard<'_, Vec<Arc<ColumnIndex>>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner)
    }
}
