//! What the operators of a run have done, for EXPLAIN ANALYZE.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A node of a plan: its address, which copies of the plan share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Node(usize);

impl Node {
    pub(crate) fn of<T: ?Sized>(node: &Arc<T>) -> Self {
        Self(Arc::as_ptr(node).cast::<()>().addr())
    }
}

/// What an operator has done.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) row_count: u64,
    pub(crate) time: Duration,
}

/// What the operators of one run have done.
#[derive(Debug, Default)]
pub(crate) struct Times {
    spent: Mutex<HashMap<Node, Spent>>,
    /// Nanoseconds that are charged already of the call that is being measured.
    charged: AtomicU64,
}

impl Times {
    pub(crate) fn of(&self, node: Node) -> Option<Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).get(&node).copied()
    }

    pub(crate) fn add(&self, node: Node, row_count: usize, time: Duration) {
        let mut all = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = all.entry(node).or_default();
        spent.row_count += row_count as u64;
        spent.time += time;
    }

    /// Does work on the thread that asks for rows, and measures it without the work that is measured
    /// within it.
    pub(crate) fn measured<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        let before = self.charged.swap(0, Ordering::Relaxed);
        let start = Instant::now();
        let done = work();
        let all = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let others = self.charged.swap(before.saturating_add(all), Ordering::Relaxed);
        (done, Duration::from_nanos(all.saturating_sub(others)))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn work_within_work_is_measured_once() {
        let (times, moment) = (Times::default(), Duration::from_millis(20));
        let (inner, outer) = times.measured(|| {
            let work = || times.measured(|| sleep(3 * moment)).1;
            sleep(moment);
            (work() + work(), sleep(moment)).0
        });
        assert!(inner >= 6 * moment, "{inner:?}");
        assert!(outer >= 2 * moment && outer < 6 * moment, "{outer:?}");
    }
}
