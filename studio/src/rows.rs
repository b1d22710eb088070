//! Rows on their way to a page, within the limits, and only while somebody waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use folio::{ColumnBatch, ColumnType, Interrupt, Rows, Session, type_name, value_at, write_json};
use serde_json::json;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::places::Place;
use crate::shared::Shared;

/// How often the connection is looked at while a statement runs.
const LOOK: Duration = Duration::from_millis(20);

/// A session within the limits, whose statement ends when the page is gone.
pub(crate) struct Guarded {
    pub(crate) session: Session,
    _watched: Watched,
    _place: Place,
}

impl Guarded {
    pub(crate) fn new(connection: &Connection, shared: &Shared) -> Result<Self, Failure> {
        let place = shared.statements.enter();
        let mut session = shared.database.session()?;
        session.set_timeout(Some(shared.limits.time));
        session.set_memory_limit(Some(shared.limits.memory));
        session.confine();
        let watched = Watched::new(connection, session.interrupt());
        Ok(Self { session, _watched: watched, _place: place })
    }
}

/// A connection that is looked at until this is dropped: when its other end closes it, a flag is set.
pub(crate) struct Watched {
    is_done: Arc<AtomicBool>,
    is_left: Interrupt,
}

impl Watched {
    pub(crate) fn new(connection: &Connection, is_left: Interrupt) -> Self {
        let is_done = Arc::new(AtomicBool::new(false));
        let watched = Self { is_done: Arc::clone(&is_done), is_left: Arc::clone(&is_left) };
        let connection = connection.clone();
        let watching = thread::Builder::new().name("folio-studio-watch".to_owned());
        // Without the thread a statement runs until its time is over.
        let _ = watching.spawn(move || watch(&connection, &is_done, &is_left));
        watched
    }

    /// Whether the page is gone.
    pub(crate) fn is_left(&self) -> bool {
        self.is_left.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
    }
}

/// Interrupts the statement once the other end has closed the connection.
fn watch(connection: &Connection, is_done: &AtomicBool, interrupt: &AtomicBool) {
    while !is_done.load(Ordering::Acquire) {
        if connection.is_left(LOOK) {
            interrupt.store(true, Ordering::Release);
            return;
        }
    }
}

/// Writes rows as JSON: `{"columns": [{"name", "type"}], "rows": [[…]], …}`.
pub(crate) fn write(
    rows: &mut Rows,
    count: Option<u64>,
    start: Instant,
    limits: &Limits,
) -> Result<String, Failure> {
    let mut written = Written::new(rows, limits);
    written.add(rows, 0, u64::MAX)?;
    Ok(written.finish(count, start))
}

/// An answer as far as it is written.
pub(crate) struct Written<'l> {
    out: String,
    row_count: usize,
    is_cut: bool,
    limits: &'l Limits,
}

impl<'l> Written<'l> {
    /// An answer with the columns of these rows.
    pub(crate) fn new(rows: &Rows, limits: &'l Limits) -> Self {
        let columns = rows
            .names()
            .iter()
            .zip(rows.types())
            .map(|(name, ty)| json!({"name": name, "type": type_name(ty)}));
        let columns = columns.collect::<serde_json::Value>();
        let out = format!("{{\"columns\":{columns},\"rows\":[");
        Self { out, row_count: 0, is_cut: false, limits }
    }

    /// Adds so many rows after those that are skipped.
    pub(crate) fn add(&mut self, rows: &mut Rows, skip: u64, take: u64) -> Result<(), Failure> {
        let types = rows.types().to_vec();
        let wanted = skip..skip.saturating_add(take);
        let mut place = 0;
        if let Some(row) = rows.take_row() {
            push(&mut self.out, row.iter().zip(&types), self.row_count);
            self.row_count += 1;
        }
        while place < wanted.end {
            let Some(batch) = rows.next_batch().map_err(folio::Error::from)? else { break };
            for row in 0..batch.row_count {
                if wanted.contains(&place) {
                    if self.row_count == self.limits.row_count || self.out.len() >= self.limits.size
                    {
                        self.is_cut = true;
                        return Ok(());
                    }
                    push_row(&mut self.out, &batch, row, &types, self.row_count);
                    self.row_count += 1;
                }
                place += 1;
            }
        }
        Ok(())
    }

    /// The whole answer.
    pub(crate) fn finish(mut self, count: Option<u64>, start: Instant) -> String {
        self.out.push_str("],");
        let rest = json!({"count": count, "is_cut": self.is_cut, "ms": elapsed(start)}).to_string();
        self.out.push_str(&rest[1..]);
        self.out
    }
}

fn push_row(out: &mut String, batch: &ColumnBatch, row: usize, types: &[ColumnType], place: usize) {
    let values: Vec<_> =
        batch.columns.iter().zip(types).map(|(array, ty)| value_at(array, row, ty)).collect();
    push(out, values.iter().zip(types), place);
}

fn push<'a>(
    out: &mut String,
    values: impl Iterator<Item = (&'a folio::Value, &'a ColumnType)>,
    place: usize,
) {
    out.push_str(if place == 0 { "[" } else { ",\n[" });
    for (column, (value, ty)) in values.enumerate() {
        if column > 0 {
            out.push(',');
        }
        write_json(value, ty, out);
    }
    out.push(']');
}

/// Milliseconds since a moment.
pub(crate) fn elapsed(start: Instant) -> serde_json::Value {
    short((start.elapsed().as_secs_f64() * 10_000.0).round() / 10.0)
}

/// A number without `.0`: pages take one that they would write otherwise for digits of a document.
pub(crate) fn short(number: f64) -> serde_json::Value {
    #[allow(clippy::cast_possible_truncation, reason = "there is nothing to lose")]
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}
