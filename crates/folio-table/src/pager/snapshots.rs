//! The open snapshots and their positions.
//!
//! Beginning a snapshot records the newest durable commit here; ending one removes it. Writers
//! never wait for snapshots, but check the oldest one before they release old versions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ids::Lsn;
use crate::state::State;

/// The database as of one commit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommitPoint {
    pub(crate) end: Lsn,
    pub(crate) state: State,
}

/// All snapshots of this process.
#[derive(Debug)]
pub(crate) struct Snapshots {
    inner: Mutex<Inner>,
    ended: Condvar,
    /// Snapshots from before this position have expired.
    expired_below: AtomicU64,
    /// Snapshots from before this position may be too old: the greatest position once another process
    /// may write.
    doubtful_below: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    /// The commit that a new snapshot sees.
    visible: CommitPoint,
    /// Numbers and positions, both ascending, of those that have not expired. A list, because there
    /// are usually few, and it keeps its memory.
    active: Vec<(u64, Lsn)>,
    /// How many there are, expired ones too.
    count: usize,
    next: u64,
    /// The number of threads waiting for snapshots to end.
    waiting: usize,
}

impl Inner {
    fn oldest(&self) -> Option<Lsn> {
        self.active.first().map(|(_, at)| *at)
    }
}

impl Snapshots {
    pub(crate) fn new(visible: CommitPoint) -> Self {
        let inner = Inner { visible, active: Vec::new(), count: 0, next: 0, waiting: 0 };
        Self {
            inner: Mutex::new(inner),
            ended: Condvar::new(),
            expired_below: AtomicU64::new(0),
            doubtful_below: AtomicU64::new(0),
        }
    }

    /// Begins a snapshot; its number is used to end it.
    pub(crate) fn begin(&self) -> (u64, CommitPoint) {
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        let visible = inner.visible;
        inner.active.push((number, visible.end));
        inner.count += 1;
        (number, visible)
    }

    pub(crate) fn end(&self, number: u64) {
        let mut inner = self.lock();
        inner.count -= 1;
        // An expired snapshot is no longer in the list.
        if let Ok(place) = inner.active.binary_search_by_key(&number, |(number, _)| *number) {
            inner.active.remove(place);
        }
        // A wake-up is a system call, even if no thread is asleep.
        let is_awaited = inner.waiting > 0;
        drop(inner);
        if is_awaited {
            self.ended.notify_all();
        }
    }

    /// Makes a durable commit visible to later snapshots.
    pub(crate) fn show(&self, commit: CommitPoint) {
        let mut inner = self.lock();
        if commit.end > inner.visible.end {
            inner.visible = commit;
        }
    }

    /// The oldest position that is read, or may be read by a snapshot that begins now.
    pub(crate) fn horizon(&self) -> Lsn {
        let inner = self.lock();
        inner.oldest().unwrap_or(inner.visible.end)
    }

    /// The number of open snapshots, and the number of the next: equal at two moments if none began
    /// or ended between them.
    pub(crate) fn open(&self) -> (usize, u64) {
        let inner = self.lock();
        (inner.count, inner.next)
    }

    /// From now on another process may write: [`Snapshots::may_be_too_old`] is true of all snapshots.
    /// Returns the position of the oldest.
    pub(crate) fn read_beside_writer(&self) -> Option<Lsn> {
        self.doubtful_below.store(u64::MAX, Ordering::SeqCst);
        self.lock().oldest()
    }

    /// The number the next snapshot will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.lock().next
    }

    /// Whether every snapshot begun before the one with this number has ended.
    pub(crate) fn have_ended_before(&self, number: u64) -> bool {
        self.lock().active.first().is_none_or(|(first, _)| *first >= number)
    }

    /// Waits until no snapshot is before `end`; `false` if one still is.
    pub(crate) fn wait_for_older(&self, end: Lsn, patience: Duration) -> bool {
        let start = Instant::now();
        let mut inner = self.lock();
        inner.waiting += 1;
        let is_over = loop {
            if inner.oldest().is_none_or(|at| at >= end) {
                break true;
            }
            let Some(left) = patience.checked_sub(start.elapsed()) else { break false };
            inner = self
                .ended
                .wait_timeout(inner, left.max(Duration::from_micros(1)))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        };
        inner.waiting -= 1;
        is_over
    }

    /// Expires older snapshots.
    pub(crate) fn expire_below(&self, end: Lsn) {
        self.expired_below.fetch_max(end.0, Ordering::SeqCst);
        self.doubtful_below.fetch_max(end.0, Ordering::SeqCst);
        self.lock().active.retain(|(_, at)| *at >= end);
    }

    /// Whether a page that was read for a snapshot may be of a later commit.
    #[inline]
    pub(crate) fn may_be_too_old(&self, at: Lsn) -> bool {
        at.0 < self.doubtful_below.load(Ordering::SeqCst)
    }

    pub(crate) fn is_expired(&self, at: Lsn) -> bool {
        at.0 < self.expired_below.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn who_waits_for_older_snapshots_is_woken_by_the_last() {
        let at = |end| CommitPoint { end: Lsn(end), state: State::empty() };
        let snapshots = Snapshots::new(at(1));
        let (first, _) = snapshots.begin();
        let (second, _) = snapshots.begin();
        snapshots.show(at(2));
        let (newer, _) = snapshots.begin();
        assert!(!snapshots.wait_for_older(Lsn(2), Duration::ZERO), "both still read");
        thread::scope(|scope| {
            let started = Instant::now();
            let waits = scope.spawn(|| snapshots.wait_for_older(Lsn(2), Duration::from_secs(60)));
            for number in [second, first] {
                thread::sleep(Duration::from_millis(20));
                assert!(!waits.is_finished(), "one still reads");
                snapshots.end(number);
            }
            assert!(waits.join().expect("it does not panic"));
            assert!(started.elapsed() < Duration::from_secs(30), "it was not woken");
        });
        assert_eq!((snapshots.horizon(), snapshots.next_number()), (Lsn(2), 3));
        snapshots.end(newer);
        assert!(snapshots.have_ended_before(u64::MAX));
    }
}
