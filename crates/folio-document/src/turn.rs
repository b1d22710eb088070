//! Turns to write: what is read in one is still true when it is written.

use crate::error::Result;
use crate::held::Held;
use crate::layout::AnyStore;

/// A turn of one thread to write to a collection: until it is dropped, no other thread and no other
/// process writes to it. The thread reads, puts, deletes, and opens batches as without a turn.
/// Readers are not blocked.
#[derive(Debug)]
#[must_use = "a turn ends when it is dropped"]
pub struct Turn {
    store: AnyStore,
    held: Held,
}

impl Turn {
    pub(crate) fn begin(store: &AnyStore) -> Result<Self> {
        let held = store.begin_turn()?;
        Ok(Self { store: store.clone(), held })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.store.end_turn(self.held);
    }
}
