//! Times of operators, for EXPLAIN ANALYZE.
//!
//! Each operator is charged with its own time: that of its calls, without what the operators below
//! it take in them. The threads of a scan charge the scan and the operators that they run on its
//! rows, so those times are sums over threads, and waiting for threads is charged to nobody. All
//! other operators run on the thread that asks for rows.
//!
//! Clocks are read once for a batch, and only in runs that are timed.

use std::time::Instant;

use folio_compute::{Batch, Result};

use super::{Operator, Running};
use crate::context::Context;
use crate::times::Node;

/// Does work of an operator on the thread that asks for rows.
pub(super) fn own<T>(node: Option<Node>, context: &Context, work: impl FnOnce() -> T) -> T {
    let (Some(times), Some(node)) = (context.times(), node) else { return work() };
    let (done, time) = times.measured(work);
    times.add(node, 0, time);
    done
}

/// Waits on that thread for others.
pub(super) fn wait<T>(context: &Context, work: impl FnOnce() -> T) -> T {
    match context.times() {
        Some(times) => times.measured(work).0,
        None => work(),
    }
}

/// Does work of an operator on a thread of a scan. `count` says how many rows it returned.
pub(super) fn aside<T>(
    node: Node,
    context: &Context,
    count: impl FnOnce(&T) -> usize,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(times) = context.times() else { return work() };
    let start = Instant::now();
    let done = work()?;
    times.add(node, count(&done), start.elapsed());
    Ok(done)
}

/// An operator whose calls are timed if those of the run are.
pub(super) fn timed(node: Option<Node>, running: Running, context: &Context) -> Running {
    match (context.times(), node) {
        (Some(_), Some(node)) => Box::new(Timed { node, running }),
        _ => running,
    }
}

struct Timed {
    node: Node,
    running: Running,
}

impl Operator for Timed {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let Some(times) = context.times() else { return self.running.next(context) };
        let (batch, time) = times.measured(|| self.running.next(context));
        let row_count = batch.iter().flatten().map(|batch| batch.row_count).sum();
        times.add(self.node, row_count, time);
        batch
    }

    fn skip(&mut self, count: u64, context: &Context) -> Result<u64> {
        own(Some(self.node), context, || self.running.skip(count, context))
    }
}
