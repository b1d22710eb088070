//! Locks that a panic elsewhere does not spoil: each change of what is behind them is one call,
//! so that what is there is consistent.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
