//! Parallel scans: parts of a large scan on several threads, with rows in the order of one scan.
//!
//! The range of keys is split into parts of some ten thousand rows. Each thread takes a part
//! ([`super::parts`]), reads it, applies the filters and sends the rows into the channel of the part.
//! The reader empties the channels part by part. The result does not depend on the number or speed of
//! threads: sums of floats are identical to the last bit, and the order of the scan is preserved.
//!
//! Threads also run the stages directly above the scan ([`super::stage`]), and group rows. Groups of
//! neighbouring parts that a thread reads go together, into the channel of the first of them.
//! Everything else runs on the thread that asks for rows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use folio_compute::{BATCH_SIZE, Batch, Error, Result};
use folio_types::{ErrorCode, with_wait_end};

use super::Operator;
use super::parts::{Parts, Taken};
use super::reading::Reading;
use super::scan::{self, Scan};
use super::stage::{self, PartGroups, Produced, Stage};
use super::timed::{aside, wait};
use crate::context::Context;
use crate::plan::aggregate::AggregateFunction;
use crate::plan::physical;
use crate::plan::terms::Path;
use crate::source::{Among, RelationKind, RowStream};
use crate::times::Node;

/// Approximate number of batches in a part.
const PART_BATCHES: usize = 8;

/// Messages of a part that wait for the reader. Parts are not equally long, and a thread that waits
/// for room in a channel begins no other part. [`Parts`] bounds how many parts wait.
const PART_MESSAGES: usize = 2 * PART_BATCHES;

const PART_ROWS: u64 = (PART_BATCHES * BATCH_SIZE) as u64;

/// The rows of a table from which on a scan is split: rows of pages are read so quickly that threads
/// cost more than they save below it. Documents are split from two parts on.
const LEAST_TABLE_ROWS: u64 = 4 * PART_ROWS;

/// How long to wait for rows before the limits are checked.
const PATIENCE: Duration = Duration::from_millis(50);

/// The number of parts to split a scan into; 1 if it is not worth splitting. The same with one
/// thread, which groups within parts and reads columns as they are stored like several.
pub(super) fn parts_worth(node: &physical::Scan, context: &Context) -> Result<usize> {
    let is_fit = context.outer.is_empty()
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
    if node.relation.kind == RelationKind::Table && rows < LEAST_TABLE_ROWS {
        return Ok(1);
    }
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

/// A part that is not read to its end.
struct Unread {
    place: usize,
    from: Receiver<Message>,
    /// Whether it has brought rows.
    has_rows: bool,
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
    unread: VecDeque<Unread>,
    /// How many of them, at the end, give rows instead of groups.
    ungrouped: usize,
    parts: Option<Arc<Parts<Part>>>,
    workers: Vec<JoinHandle<()>>,
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
            unread: VecDeque::new(),
            ungrouped: 0,
            parts: None,
            workers: Vec::new(),
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

    /// Stops grouping in parts that no thread has begun. Those that have been begun are read first.
    pub(super) fn end_groups(&mut self) {
        let Some(parts) = &self.parts else { return };
        let Some(begun) = parts.end_groups() else { return };
        let (grouped, other): (Vec<_>, Vec<_>) =
            self.unread.drain(..).partition(|part| begun[part.place]);
        self.ungrouped = other.len();
        self.unread = grouped.into_iter().chain(other).collect();
        if let Some(part) = self.unread.front() {
            parts.read_on(false, part.place);
        }
    }

    /// Whether groups may come, and not only rows.
    pub(super) fn may_bring_groups(&self) -> bool {
        self.grouping.is_some() && self.unread.len() > self.ungrouped
    }

    /// Starts the threads, after as many of the first `skip` rows as the source can skip; returns how
    /// many.
    fn begin(&mut self, skip: u64, context: &Context) -> Result<u64> {
        self.has_begun = true;
        let (reading, request) = Reading::begin(&self.node, context)?;
        let Some(mut request) = request else { return Ok(0) };
        request.among = std::mem::take(&mut self.among);
        request.as_stored = std::mem::take(&mut self.as_stored);
        let reading = Arc::new(reading);
        let source = context.source()?;
        let (mut all, mut skipped) = (Vec::new(), 0);
        let mut parts = source.scan_parts(&self.node.relation, &request, self.count)?;
        for rows in &mut parts {
            let passed = scan::skip(&mut **rows, skip - skipped, context)?;
            skipped += passed;
            if passed == 0 {
                break; // perhaps it could not
            }
        }
        for rows in parts {
            let (to, from) = sync_channel(PART_MESSAGES);
            self.unread.push_back(Unread { place: all.len(), from, has_rows: false });
            all.push(Part { rows, to });
        }
        let threads = context.threads().min(all.len());
        let in_order = self.grouping.as_ref().is_some_and(|grouping| depends_on_order(grouping));
        let parts = Arc::new(Parts::new(all, threads, self.grouping.is_some(), in_order));
        self.parts = Some(Arc::clone(&parts));
        for number in 0..threads {
            let worker = Worker {
                node: Node::of(&self.node),
                parts: Arc::clone(&parts),
                reading: Arc::clone(&reading),
                stages: self.stages.clone(),
                grouping: self.grouping.clone(),
                context: context.clone(),
            };
            let name = format!("folio-scan-{number}");
            match thread::Builder::new().name(name).spawn(move || worker.begin()) {
                Ok(handle) => self.workers.push(handle),
                // Fewer threads are enough.
                Err(_) if number > 0 => break,
                Err(error) => {
                    let text = format!("cannot start a thread to read rows: {error}");
                    return Err(Error::new(ErrorCode::Io, text));
                }
            }
        }
        Ok(skipped)
    }
}

impl ParallelScan {
    /// The next rows, or groups of them; `None` after the last.
    ///
    /// # Errors
    /// Errors of the source and the expressions.
    pub(super) fn next_produced(&mut self, context: &Context) -> Result<Option<Produced>> {
        if !self.has_begun {
            self.begin(0, context)?;
        }
        while let Some(part) = self.unread.front_mut() {
            context.check()?;
            match wait(context, || part.from.recv_timeout(PATIENCE)) {
                Ok(Message::Some(produced)) => {
                    part.has_rows |= matches!(produced, Produced::Rows(_));
                    return Ok(Some(produced));
                }
                Ok(Message::Failed(error)) => return Err(error),
                Ok(Message::End) => self.read_on(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::invalid("a thread that read rows has ended early"));
                }
            }
        }
        Ok(None)
    }

    /// Goes on with the next part.
    fn read_on(&mut self) {
        let (done, next) = (self.unread.pop_front(), self.unread.front());
        if let (Some(parts), Some(done), Some(next)) = (&self.parts, done, next) {
            parts.read_on(done.has_rows, next.place);
        }
    }
}

/// Whether the result is another if groups merge in another order.
fn depends_on_order(grouping: &physical::Grouping) -> bool {
    grouping.aggregates.iter().any(|aggregate| aggregate.function == AggregateFunction::First)
}

impl Operator for ParallelScan {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.next_produced(context)? {
            Some(Produced::Rows(batch)) => Ok(Some(batch)),
            Some(Produced::Groups(_)) => unreachable!("a scan that is grouped hands groups on"),
            None => Ok(None),
        }
    }

    fn skip(&mut self, count: u64, context: &Context) -> Result<u64> {
        let mut stages = self.stages.iter();
        let has_all_rows = self.node.filters.is_empty()
            && self.among.is_empty()
            && stages.all(|stage| matches!(stage, Stage::Project(_)));
        if has_all_rows && !self.has_begun { self.begin(count, context) } else { Ok(0) }
    }
}

impl Drop for ParallelScan {
    /// Stops and joins all threads.
    fn drop(&mut self) {
        if let Some(parts) = &self.parts {
            parts.end();
        }
        // Closes the channels, so that no thread waits for room in one.
        self.unread.clear();
        for worker in self.workers.drain(..) {
            // A panic has been reported when its rows were missing.
            let _ = worker.join();
        }
    }
}

/// A thread that reads parts.
struct Worker {
    node: Node,
    parts: Arc<Parts<Part>>,
    reading: Arc<Reading>,
    stages: Vec<Stage>,
    grouping: Option<Arc<physical::Grouping>>,
    context: Context,
}

impl Worker {
    /// Runs. Its waits for other machines end with the scan.
    fn begin(self) {
        let parts = Arc::clone(&self.parts);
        with_wait_end(Some(Arc::new(move || parts.has_ended())), || self.run());
    }

    fn run(self) {
        while let Some(Taken { place, part, makes_groups }) = self.parts.take() {
            let message = match self.read_run(place, part.rows, makes_groups, &part.to) {
                Ok(()) => Message::End,
                Err(error) => Message::Failed(error),
            };
            if part.to.send(message).is_err() {
                return;
            }
        }
    }

    /// Reads a part, and those after it whose rows are grouped with its own.
    fn read_run(
        &self,
        mut place: usize,
        rows: Box<dyn RowStream>,
        makes_groups: bool,
        to: &SyncSender<Message>,
    ) -> Result<()> {
        let grouping = self.grouping.as_ref();
        let mut groups = grouping.map(|grouping| PartGroups::new(grouping, makes_groups));
        self.read(rows, &mut groups, to)?;
        while groups.as_ref().is_some_and(PartGroups::may_go_on)
            && let Some(next) = self.parts.take_after(place)
        {
            next.part.to.send(Message::End).map_err(|_| Error::cancelled())?;
            self.read(next.part.rows, &mut groups, to)?;
            place = next.place;
        }
        match groups.as_mut().and_then(PartGroups::finish) {
            Some(groups) => to.send(Message::Some(groups)).map_err(|_| Error::cancelled()),
            None => Ok(()),
        }
    }

    /// Reads a part to its end.
    fn read(
        &self,
        rows: Box<dyn RowStream>,
        groups: &mut Option<PartGroups>,
        to: &SyncSender<Message>,
    ) -> Result<()> {
        let mut has_rows = false;
        let mut send = |produced: Option<Produced>| {
            let Some(produced) = produced else { return Ok(()) };
            if matches!(produced, Produced::Rows(_)) && !std::mem::replace(&mut has_rows, true) {
                self.parts.note_rows();
            }
            // The reader is gone.
            to.send(Message::Some(produced)).map_err(|_| Error::cancelled())
        };
        let mut scan = Scan::of_part(Arc::clone(&self.reading), rows);
        let count = |batch: &Option<Batch>| batch.as_ref().map_or(0, |batch| batch.row_count);
        let mut next = || scan.passed(|| self.go_on(), &self.context);
        while let Some(batch) = aside(self.node, &self.context, count, &mut next)? {
            stage::run(&self.stages, batch, &self.context, &mut |batch| {
                self.go_on()?;
                match groups {
                    _ if batch.row_count == 0 => Ok(()),
                    Some(groups) => send(groups.take(batch, &self.context)?),
                    None => send(Some(Produced::Rows(batch))),
                }
            })?;
        }
        Ok(())
    }

    /// Fails if the scan was dropped. The limits are checked by the thread that asks for rows.
    fn go_on(&self) -> Result<()> {
        if self.parts.has_ended() { Err(Error::cancelled()) } else { Ok(()) }
    }
}
