//! Rows on their way to a page, within the limits, and only while somebody waits for them.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use folio::{ColumnBatch, ColumnType, Rows, Session, type_name, value_at, write_json};
use serde_json::json;

use crate::failure::Failure;
use crate::limits::Limits;
use crate::places::Place;
use crate::shared::Shared;

/// How often the connection is looked at while a statement runs.
const LOOK: Duration = Duration::from_millis(20);

/// A session within the limits, whose statement ends when the page is gone.
pub(crate) struct Guarded {
    pub(crate) session: Session,
    is_done: Arc<AtomicBool>,
    _place: Place,
}

impl Guarded {
    pub(crate) fn new(connection: &TcpStream, shared: &Shared) -> Result<Self, Failure> {
        let place = shared.statements.enter();
        let mut session = shared.database.session()?;
        session.set_timeout(Some(shared.limits.time));
        session.set_memory_limit(Some(shared.limits.memory));
        session.confine();
        let is_done = Arc::new(AtomicBool::new(false));
        if let Ok(connection) = connection.try_clone() {
            let (is_done, interrupt) = (Arc::clone(&is_done), session.interrupt());
            let watching = thread::Builder::new().name("folio-studio-watch".to_owned());
            // Without the thread a statement runs until its time is over.
            let _ = watching.spawn(move || watch(&connection, &is_done, &interrupt));
        }
        Ok(Self { session, is_done, _place: place })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
    }
}

/// Interrupts the statement once the other end has closed the connection.
fn watch(connection: &TcpStream, is_done: &AtomicBool, interrupt: &AtomicBool) {
    if connection.set_read_timeout(Some(LOOK)).is_err() {
        return;
    }
    while !is_done.load(Ordering::Acquire) {
        let is_open = match connection.peek(&mut [0]) {
            Ok(0) => false,
            Ok(_) => {
                thread::sleep(LOOK); // more than was asked for has come
                true
            }
            Err(error) => {
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
            }
        };
        if !is_open {
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
    let types = rows.types().to_vec();
    let columns = rows
        .names()
        .iter()
        .zip(&types)
        .map(|(name, ty)| json!({"name": name, "type": type_name(ty)}));
    let mut out = format!("{{\"columns\":{},\"rows\":[", columns.collect::<serde_json::Value>());
    let (mut row_count, mut is_cut) = (0, false);
    if let Some(row) = rows.take_row() {
        push(&mut out, row.iter().zip(&types), row_count);
        row_count += 1;
    }
    'all: while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        for row in 0..batch.row_count {
            if row_count == limits.row_count || out.len() >= limits.size {
                is_cut = true;
                break 'all;
            }
            push_row(&mut out, &batch, row, &types, row_count);
            row_count += 1;
        }
    }
    out.push_str("],");
    let rest = json!({"count": count, "is_cut": is_cut, "ms": elapsed(start)}).to_string();
    out.push_str(&rest[1..]);
    Ok(out)
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
pub(crate) fn elapsed(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
}
