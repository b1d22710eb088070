//! Writes pending lines in the background, so that a killed process loses little.
//!
//! Puts collect in memory until a flush. A store that has a disk gets one thread, at its first
//! write. The thread parks while nothing is pending. After a write it looks once per delay:
//!
//! ```text
//! written to since the last look   pending lines go to the file, without a sync
//! not written to                   flush: sync, publish, give the writer's lock back; park
//! ```
//!
//! It also checks whether another process waits to write, and yields to it as soon as no
//! transaction is open. If no process waits, the tables stay open for writing until they are idle
//! for a while, because reopening them loses the content of the buffer pool.
//!
//! So a kill loses at most what was put within the delay, and a power cut what was not flushed. A
//! process that has stopped writing does not block others.
//!
//! Failures are not reported from here: the lines stay pending, and the next put or flush meets the
//! same failure. The thread holds the store weakly and never keeps it open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::lock::lock;

/// How often to check for waiting processes when nothing is pending.
const LOOK_DELAY: Duration = Duration::from_secs(1);

/// The tables are closed after so many looks without a write.
const QUIET_LOOKS: u32 = 30;

/// Something with pending writes.
pub(crate) trait Pending: Send + Sync + 'static {
    /// Writes pending lines to the file, without a sync.
    fn write_pending(&self) -> Result<()>;

    /// Makes pending writes durable, without waiting for batches, which have nothing pending.
    fn flush_pending(&self) -> Result<()>;

    /// Yields the writer's lock to a waiting process, or releases it when this process is idle.
    /// Returns whether this process still has a lock.
    fn yield_lock(&self, is_idle: bool) -> bool;
}

/// The background thread of one store, and its state.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    /// How long puts may stay pending; `None` means until a flush.
    delay: Option<Duration>,
    /// Whether the store is on disk. A test's file system sees only the calls that the test makes.
    is_on_disk: bool,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Whether there was a write since the last look.
    is_touched: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_thread: bool,
    is_closed: bool,
}

impl WriteBehind {
    pub(crate) fn new(delay: Option<Duration>, is_on_disk: bool) -> Self {
        Self { delay, is_on_disk, shared: Arc::default() }
    }

    /// Called after each write that a flush would make durable.
    #[inline]
    pub(crate) fn note_write(&self, store: &Arc<impl Pending>) {
        if !self.shared.is_touched.load(Ordering::Relaxed) && self.is_on_disk {
            self.wake(store);
        }
    }

    #[cold]
    fn wake(&self, store: &Arc<impl Pending>) {
        self.shared.is_touched.store(true, Ordering::Release);
        let mut state = self.shared.lock();
        if !state.has_thread && !state.is_closed {
            let (shared, store) = (Arc::clone(&self.shared), Arc::downgrade(store));
            let delay = self.delay;
            let thread = thread::Builder::new().name("folio-write-behind".to_owned());
            // If the thread cannot start, a flush writes.
            state.has_thread = thread.spawn(move || run(&shared, &store, delay)).is_ok();
        }
        drop(state);
        self.shared.changed.notify_one();
    }

    /// Ends the thread. The caller writes what is pending.
    pub(crate) fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_one();
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Sleeps until a write; `false` when the store is closed.
    fn park(&self) -> bool {
        let mut state = self.lock();
        while !state.is_closed && !self.is_touched.load(Ordering::Acquire) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_closed
    }

    /// Sleeps for the delay; `false` when the store is closed.
    fn pause(&self, delay: Duration) -> bool {
        let end = Instant::now() + delay;
        let mut state = self.lock();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if state.is_closed || left.is_zero() {
                return !state.is_closed;
            }
            let (woken, _) =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = woken;
        }
    }
}

fn run(shared: &Shared, store: &Weak<impl Pending>, delay: Option<Duration>) {
    while shared.park() {
        let mut quiet_count = 0;
        loop {
            if !shared.pause(delay.unwrap_or(LOOK_DELAY)) {
                return;
            }
            let is_busy = shared.is_touched.swap(false, Ordering::AcqRel);
            let Some(store) = store.upgrade() else { return };
            let written = match delay {
                Some(_) if is_busy => store.write_pending(),
                Some(_) => store.flush_pending(),
                None => Ok(()),
            };
            if written.is_err() {
                shared.is_touched.store(true, Ordering::Release); // tried again after the delay
            }
            quiet_count = if is_busy { 0 } else { quiet_count + 1 };
            let holds_lock = store.yield_lock(quiet_count >= QUIET_LOOKS);
            if quiet_count > 0 && written.is_ok() && !holds_lock {
                break;
            }
        }
    }
}
