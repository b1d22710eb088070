//! Places: how many may do something at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often somebody who waits looks whether that is still wanted.
const LOOK: Duration = Duration::from_millis(20);

/// Places for so many at once; more wait.
pub(crate) struct Places {
    count_max: usize,
    taken: Mutex<usize>,
    fewer: Condvar,
}

impl Places {
    pub(crate) fn new(count_max: usize) -> Self {
        Self { count_max, taken: Mutex::new(0), fewer: Condvar::new() }
    }

    pub(crate) fn taken_count(&self) -> usize {
        *self.taken()
    }

    /// Waits until there is room for one more.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.enter_while(&|| true) {
                return place;
            }
        }
    }

    /// The same, as long as it is wanted.
    pub(crate) fn enter_while(self: &Arc<Self>, is_wanted: &dyn Fn() -> bool) -> Option<Place> {
        let mut taken = self.taken();
        while *taken >= self.count_max {
            if !is_wanted() {
                return None;
            }
            let waited = self.fewer.wait_timeout(taken, LOOK);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken += 1;
        Some(Place(Arc::clone(self)))
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is taken, until it is dropped.
pub(crate) struct Place(Arc<Places>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.taken() -= 1;
        self.0.fewer.notify_one();
    }
}
