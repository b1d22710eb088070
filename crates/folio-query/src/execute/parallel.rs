//! Large scans on several threads: in parts, whose rows come in the order of one scan.
//!
//! The range of keys is cut into parts of some ten thousand rows. Each thread takes the
//! next part, reads it, holds its rows to the filters and puts those that pass into the
//! part's channel; whoever wants the rows empties the channels part after part. So the
//! answer does not depend on the number of threads, nor on which of them was faster: sums
//! of floats come out the same to the last bit, and an order that the scan has is kept.
//!
//! A channel holds a whole part, and a part is begun when a thread is free for it: what
//! waits in memory is a part per thread. What stands above the scan runs on the thread
//! that asks for rows.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use folio_types::ErrorCode;

use super::Operator;
use super::context::Context;
use super::scan::{Scan, late_columns, request};
use crate::batch::{BATCH_SIZE, Batch};
use crate::error::{Error, Result};
use crate::plan::logical::Path;
use crate::plan::physical;
use crate::source::{RelationKind, RowStream};

/// Batches of a part, about: also what its channel holds.
const PART_BATCHES: usize = 16;

const PART_ROWS: u64 = (PART_BATCHES * BATCH_SIZE) as u64;

/// How long to wait for rows before looking whether the statement is to end.
const PATIENCE: Duration = Duration::from_millis(50);

/// Threads a statement reads with, unless the session says otherwise: one per processor.
pub(super) fn default_threads() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Into how many parts a scan is worth cutting; 1 where it is not.
pub(super) fn parts_worth(node: &physical::Scan, context: &Context) -> Result<usize> {
    let is_fit = context.threads() > 1
        && context.outer.is_empty()
        && node.relation.kind == RelationKind::Table
        && node.limit.is_none()
        && matches!(node.path, Path::Full)
        && !node.filters.iter().any(|filter| filter.has_subquery() || filter.is_of_one_thread());
    if !is_fit {
        return Ok(1);
    }
    let rows = context.source()?.row_count(&node.relation)?.unwrap_or(0);
    Ok(usize::try_from(rows / PART_ROWS).unwrap_or(usize::MAX).max(1))
}

/// What a thread says of a part.
enum Message {
    Rows(Batch),
    Failed(Error),
    /// The part is read. A channel that closes without it has lost its thread.
    End,
}

/// A part that nobody has begun.
struct Part {
    rows: Box<dyn RowStream>,
    to: SyncSender<Message>,
}

type Queue = Arc<Mutex<VecDeque<Part>>>;

/// Rows of a relation that pass the filters, read by several threads.
pub(super) struct ParallelScan {
    node: Arc<physical::Scan>,
    count: usize,
    /// Threads begin when rows are first asked for.
    has_begun: bool,
    /// Parts that are not read to their end, the first one first.
    parts: VecDeque<Receiver<Message>>,
    workers: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl ParallelScan {
    /// A scan in about `count` parts.
    pub(super) fn new(node: &Arc<physical::Scan>, count: usize) -> Self {
        let (parts, workers, stop) = (VecDeque::new(), Vec::new(), Arc::default());
        Self { node: Arc::clone(node), count, has_begun: false, parts, workers, stop }
    }

    fn begin(&mut self, context: &Context) -> Result<()> {
        let late = late_columns(&self.node);
        let Some(request) = request(&self.node, &late, context)? else { return Ok(()) };
        let source = context.source()?;
        let mut queue = VecDeque::new();
        for rows in source.scan_parts(&self.node.relation, &request, self.count)? {
            let (to, from) = sync_channel(PART_BATCHES);
            queue.push_back(Part { rows, to });
            self.parts.push_back(from);
        }
        let threads = context.threads().min(queue.len());
        let queue: Queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let worker = Worker {
                queue: Arc::clone(&queue),
                node: Arc::clone(&self.node),
                late: late.clone(),
                stop: Arc::clone(&self.stop),
                context: context.clone(),
            };
            let name = format!("folio-scan-{number}");
            match thread::Builder::new().name(name).spawn(move || worker.run()) {
                Ok(handle) => self.workers.push(handle),
                // Fewer do it too.
                Err(_) if number > 0 => break,
                Err(error) => {
                    let text = format!("no thread can be started to read rows: {error}");
                    return Err(Error::new(ErrorCode::Io, text));
                }
            }
        }
        Ok(())
    }
}

impl Operator for ParallelScan {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if !self.has_begun {
            self.has_begun = true;
            self.begin(context)?;
        }
        while let Some(part) = self.parts.front() {
            context.check()?;
            match part.recv_timeout(PATIENCE) {
                Ok(Message::Rows(batch)) => return Ok(Some(batch)),
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) => drop(self.parts.pop_front()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::invalid("a thread that read rows has ended early"));
                }
            }
        }
        Ok(None)
    }
}

impl Drop for ParallelScan {
    /// Nothing of the statement goes on behind its back.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever waits for room in a channel sees that nobody reads any more.
        self.parts.clear();
        for worker in self.workers.drain(..) {
            // A panic has been reported where its rows were missed.
            let _ = worker.join();
        }
    }
}

/// What a thread reads parts with.
struct Worker {
    queue: Queue,
    node: Arc<physical::Scan>,
    late: Vec<usize>,
    stop: Arc<AtomicBool>,
    context: Context,
}

impl Worker {
    fn run(self) {
        loop {
            let part = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(Part { rows, to }) = part else { return };
            let (node, late) = (Arc::clone(&self.node), self.late.clone());
            let mut scan = Scan::of_part(node, late, rows);
            loop {
                let message = match scan.passed(|| self.go_on(), &self.context) {
                    Ok(Some(batch)) => Message::Rows(batch),
                    Ok(None) => Message::End,
                    Err(error) => Message::Failed(error),
                };
                let is_over = !matches!(message, Message::Rows(_));
                if to.send(message).is_err() {
                    return;
                }
                if is_over {
                    break;
                }
            }
        }
    }

    /// The statement is asked whether to end where rows are wanted; here it has ended.
    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::cancelled()) } else { Ok(()) }
    }
}
