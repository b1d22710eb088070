//! Progress of long work on another thread, and a way to stop it.
//!
//! Calling JavaScript from another thread needs a queue that must be closed. Two shared numbers and
//! a flag are simpler: the other half (`../lib/progress.js`) polls them while it waits for the
//! promise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use napi_derive::napi;

#[derive(Debug, Default)]
struct State {
    done_size: AtomicU64,
    total_size: AtomicU64,
    is_cancelled: AtomicBool,
}

/// What a piece of work and those who wait for it share.
#[napi]
#[derive(Debug, Default)]
pub struct NativeProgress {
    state: Arc<State>,
}

#[napi]
impl NativeProgress {
    /// Nothing done yet.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes done.
    #[napi(getter)]
    pub fn done(&self) -> f64 {
        self.state.done_size.load(Ordering::Relaxed) as f64
    }

    /// Bytes in all; 0 where that is not known.
    #[napi(getter)]
    pub fn total(&self) -> f64 {
        self.state.total_size.load(Ordering::Relaxed) as f64
    }

    /// The work stops with `cancelled` when it next looks.
    #[napi]
    pub fn cancel(&self) {
        self.state.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl NativeProgress {
    /// The callback for the facade: stores the progress, and returns whether to continue.
    pub(crate) fn callback(&self) -> impl FnMut(u64, u64) -> bool + Send + 'static {
        let state = Arc::clone(&self.state);
        move |done, total| {
            state.done_size.store(done, Ordering::Relaxed);
            state.total_size.store(total, Ordering::Relaxed);
            !state.is_cancelled.load(Ordering::Relaxed)
        }
    }
}

/// The callback for calls without progress or cancellation.
pub(crate) fn goes_on(_done: u64, _total: u64) -> bool {
    true
}
