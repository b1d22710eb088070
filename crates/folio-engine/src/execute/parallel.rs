//! Parallel scans: parts of a large scan on several threads, with rows in the order of one scan.
//!
//! The range of keys is split into parts of some ten thousand rows. Each thread takes the next
//! part, reads it, applies the filters and sends the rows into the channel of the part. The reader
//! empties the channels part by part. The result does not depend on the number or speed of
//! threads: sums of floats are identical to the last bit, and the order of the scan is preserved.
//!
//! A channel holds a whole part, and a thread begins a part when it is free, so memory holds one
//! part per thread. Threads also run the stages directly above the scan ([`super::stage`]).
//! Everything else runs on the thread that asks for rows.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use folio_compute::{BATCH_SIZE, Batch, Error, Result};
use folio_types::ErrorCode;

use super::Operator;
use super::reading::Reading;
use super::scan::Scan;
use super::stage::{self, PartGroups, Produced, Stage};
use super::timed::{aside, wait};
use crate::context::Context;
use crate::plan::physical;
use crate::plan::terms::Path;
use crate::source::{Among, RelationKind, RowStream};
use crate::times::Node;

/// Approximate number of batches in a part; also the capacity of its channel.
const PART_BATCHES: usize = 16;

const PART_ROWS: u64 = (PART_BATCHES * BATCH_SIZE) as u64;

/// How long to wait for rows before the limits are checked.
const PATIENCE: Duration = Duration::from_millis(50);

/// The number of parts to split a scan into; 1 if it is not worth splitting.
pub(super) fn parts_worth(node: &physical::Scan, context: &Context) -> Result<usize> {
    let is_fit = context.threads() > 1
        && context.outer.is_empty()
        && matches!(
            node.relation.kind,
            RelationKind::Table | RelationKind::Collection | RelationKind::File
        )
        && node.limit.is_none()
        && matches!(node.path, Path::Full)
        && !node.filters.iter().any(|filter| filter.has_subquery() || filter.is_of_one_thread());
    if !is_fit {
        return Ok(1);
    }
    let rows = context.source()?.row_count(&node.relation)?.unwrap_or(0);
    Ok(usize::try_from(rows / PART_ROWS).unwrap_or(usize::MAX).max(1))
}

/// A message from a thread about a part.
enum Message {
    Some(Produced),
    Failed(Error),
    /// The part is complete. If a channel closes without it, its thread has failed.
    End,
}

/// A part that no thread has begun.
struct Part {
    rows: Box<dyn RowStream>,
    to: SyncSender<Message>,
}

/// The parts that no thread has begun.
#[derive(Default)]
struct Queue {
    parts: VecDeque<Part>,
    /// Whether threads group the rows of the remaining parts.
    makes_groups: bool,
}

/// The filtered rows of a relation, read by several threads.
pub(super) struct ParallelScan {
    node: Arc<physical::Scan>,
    stages: Vec<Stage>,
    /// The keys that the joins among the stages have partners for.
    among: Vec<Among>,
    /// The columns that may come as they are stored ([`crate::source::ScanRequest`]).
    as_stored: Vec<usize>,
    grouping: Option<Arc<physical::Grouping>>,
    count: usize,
    /// Threads start when rows are first asked for.
    has_begun: bool,
    /// Parts that are not read to their end, in order.
    parts: VecDeque<Receiver<Message>>,
    queue: Arc<Mutex<Queue>>,
    /// How many parts at the end of `parts` give rows instead of groups.
    ungrouped: usize,
    workers: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl ParallelScan {
    /// A scan in about `count` parts, whose rows pass through these stages.
    pub(super) fn new(node: &Arc<physical::Scan>, count: usize, stages: Vec<Stage>) -> Self {
        Self {
            node: Arc::clone(node),
            stages,
            among: Vec::new(),
            as_stored: Vec::new(),
            grouping: None,
            count,
            has_begun: false,
            parts: VecDeque::new(),
            queue: Arc::default(),
            ungrouped: 0,
            workers: Vec::new(),
            stop: Arc::default(),
        }
    }

    /// Lets the source leave out rows that find no partner in a join.
    pub(super) fn among(mut self, among: &[Among]) -> Self {
        self.among = among.to_vec();
        self
    }

    /// Groups rows within parts if that is worth it.
    pub(super) fn group(&mut self, grouping: &Arc<physical::Grouping>, as_stored: Vec<usize>) {
        self.as_stored = as_stored;
        self.grouping = Some(Arc::clone(grouping));
    }

    /// Stops grouping in parts that no thread has begun.
    pub(super) fn end_groups(&mut self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut queue.makes_groups) {
            self.ungrouped = queue.parts.len();
        }
    }

    /// Whether groups may come, and not only rows.
    pub(super) fn may_bring_groups(&self) -> bool {
        self.grouping.is_some() && self.parts.len() > self.ungrouped
    }

    fn begin(&mut self, context: &Context) -> Result<()> {
        let (reading, request) = Reading::begin(&self.node, context)?;
        let Some(mut request) = request else { return Ok(()) };
        request.among = std::mem::take(&mut self.among);
        request.as_stored = std::mem::take(&mut self.as_stored);
        let reading = Arc::new(reading);
        let source = context.source()?;
        let mut queue = Queue { parts: VecDeque::new(), makes_groups: self.grouping.is_some() };
        for rows in source.scan_parts(&self.node.relation, &request, self.count)? {
            let (to, from) = sync_channel(PART_BATCHES);
            queue.parts.push_back(Part { rows, to });
            self.parts.push_back(from);
        }
        let threads = context.threads().min(queue.parts.len());
        self.queue = Arc::new(Mutex::new(queue));
        for number in 0..threads {
            let worker = Worker {
                node: Node::of(&self.node),
                queue: Arc::clone(&self.queue),
                reading: Arc::clone(&reading),
                stages: self.stages.clone(),
                grouping: self.grouping.clone(),
                stop: Arc::clone(&self.stop),
                context: context.clone(),
            };
            let name = format!("folio-scan-{number}");
            match thread::Builder::new().name(name).spawn(move || worker.run()) {
                Ok(handle) => self.workers.push(handle),
                // Fewer threads are enough.
                Err(_) if number > 0 => break,
                Err(error) => {
                    let text = format!("cannot start a thread to read rows: {error}");
                    return Err(Error::new(ErrorCode::Io, text));
                }
            }
        }
        Ok(())
    }
}

impl ParallelScan {
    /// The next rows, or groups of them; `None` after the last.
    ///
    /// # Errors
    /// Errors of the source and the expressions.
    pub(super) fn next_produced(&mut self, context: &Context) -> Result<Option<Produced>> {
        if !self.has_begun {
            self.has_begun = true;
            self.begin(context)?;
        }
        while let Some(part) = self.parts.front() {
            context.check()?;
            match wait(context, || part.recv_timeout(PATIENCE)) {
                Ok(Message::Some(produced)) => return Ok(Some(produced)),
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

impl Operator for ParallelScan {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.next_produced(context)? {
            Some(Produced::Rows(batch)) => Ok(Some(batch)),
            Some(Produced::Groups(_)) => unreachable!("a scan that is grouped hands groups on"),
            None => Ok(None),
        }
    }
}

impl Drop for ParallelScan {
    /// Stops and joins all threads.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Closes the channels, so that no thread waits for room in one.
        self.parts.clear();
        for worker in self.workers.drain(..) {
            // A panic has been reported when its rows were missing.
            let _ = worker.join();
        }
    }
}

/// A thread that reads parts.
struct Worker {
    node: Node,
    queue: Arc<Mutex<Queue>>,
    reading: Arc<Reading>,
    stages: Vec<Stage>,
    grouping: Option<Arc<physical::Grouping>>,
    stop: Arc<AtomicBool>,
    context: Context,
}

impl Worker {
    fn run(self) {
        loop {
            let (part, makes_groups) = {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                (queue.parts.pop_front(), queue.makes_groups)
            };
            let Some(Part { rows, to }) = part else { return };
            let message = match self.read(rows, makes_groups, &to) {
                Ok(()) => Message::End,
                Err(error) => Message::Failed(error),
            };
            if to.send(message).is_err() {
                return;
            }
        }
    }

    /// Reads a part to its end.
    fn read(
        &self,
        rows: Box<dyn RowStream>,
        makes_groups: bool,
        to: &SyncSender<Message>,
    ) -> Result<()> {
        let send = |produced: Option<Produced>| match produced {
            // The reader is gone.
            Some(produced) => to.send(Message::Some(produced)).map_err(|_| Error::cancelled()),
            None => Ok(()),
        };
        let mut scan = Scan::of_part(Arc::clone(&self.reading), rows);
        let grouping = self.grouping.as_ref();
        let mut groups = grouping.map(|grouping| PartGroups::new(grouping, makes_groups));
        let count = |batch: &Option<Batch>| batch.as_ref().map_or(0, |batch| batch.row_count);
        let mut next = || scan.passed(|| self.go_on(), &self.context);
        while let Some(batch) = aside(self.node, &self.context, count, &mut next)? {
            stage::run(&self.stages, batch, &self.context, &mut |batch| {
                self.go_on()?;
                match &mut groups {
                    _ if batch.row_count == 0 => Ok(()),
                    Some(groups) => send(groups.take(batch, &self.context)?),
                    None => send(Some(Produced::Rows(batch))),
                }
            })?;
        }
        send(groups.as_mut().and_then(PartGroups::finish))
    }

    /// Fails if the scan was dropped. The limits are checked by the thread that asks for rows.
    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::cancelled()) } else { Ok(()) }
    }
}
