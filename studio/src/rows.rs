//! Rows on their way to a page, within the limits, and only while somebody waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use folio::{ColumnBatch, ColumnType, Interrupt, Rows, Session, type_name, value_at, write_json};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::places::Place;
use crate::shared::Shared;

/// How often the connection is looked at while a statement runs.
const LOOK: Duration = Duration::from_millis(20);

/// A session within the limits, whose statement ends when the page is gone. Work that is no statement
/// asks in its steps whether it goes on.
pub(crate) struct Guarded {
    pub(crate) session: Session,
    watched: Watched,
    end: Instant,
    _place: Place,
}

impl Guarded {
    pub(crate) fn new(connection: &Connection, shared: &Shared) -> Result<Self, Failure> {
        let mut session = shared.database.session()?;
        session.set_timeout(Some(shared.limits.time));
        session.set_memory_limit(Some(shared.limits.memory));
        session.confine();
        let watched = Watched::new(connection, session.interrupt());
        let place = shared.statements.enter_while(&|| !watched.is_left());
        let place = place.ok_or(Failure::Left)?;
        let end = Instant::now() + shared.limits.time;
        Ok(Self { session, watched, end, _place: place })
    }

    /// Ends work that takes too long, or that nobody waits for.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.watched.is_left() {
            return Err(Failure::Left);
        }
        if Instant::now() >= self.end { Err(Failure::Late) } else { Ok(()) }
    }

    /// Whether such work goes on.
    pub(crate) fn goes_on(&self) -> bool {
        self.check().is_ok()
    }
}

/// A connection that is looked at until this is dropped. Once its other end has closed it, what runs for
/// it is interrupted, and whatever begins to run.
pub(crate) struct Watched {
    is_done: Arc<AtomicBool>,
    is_left: Arc<AtomicBool>,
}

impl Watched {
    pub(crate) fn new(connection: &Connection, interrupt: Interrupt) -> Self {
        let (is_done, is_left) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let watched = Self { is_done: Arc::clone(&is_done), is_left: Arc::clone(&is_left) };
        let connection = connection.clone();
        let watching = thread::Builder::new().name("folio-studio-watch".to_owned());
        // Without the thread a statement runs until its time is over.
        let _ = watching.spawn(move || {
            while !is_done.load(Ordering::Acquire) {
                if is_left.load(Ordering::Acquire) {
                    thread::sleep(LOOK);
                } else if connection.is_left(LOOK) {
                    is_left.store(true, Ordering::Release);
                } else {
                    continue;
                }
                // Each statement clears the flag when it begins.
                interrupt.store(true, Ordering::Release);
            }
        });
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

/// Writes rows as JSON: `{"columns": [{"name", "type"}], "rows": [[…]], …}`, with what else is known
/// about them.
pub(crate) fn write(
    rows: &mut Rows,
    about: Value,
    start: Instant,
    limits: &Limits,
) -> Result<String, Failure> {
    let mut written = Written::new(rows, limits);
    written.add(rows, 0, u64::MAX)?;
    Ok(written.finish(about, start))
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
        let columns = columns.collect::<Value>();
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
    pub(crate) fn finish(mut self, mut about: Value, start: Instant) -> String {
        about["is_cut"] = json!(self.is_cut);
        about["ms"] = elapsed(start);
        self.out.push_str("],");
        self.out.push_str(&about.to_string()[1..]);
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
pub(crate) fn elapsed(start: Instant) -> Value {
    short((start.elapsed().as_secs_f64() * 10_000.0).round() / 10.0)
}

/// A number without `.0`: pages take one that they would write otherwise for digits of a document.
pub(crate) fn short(number: f64) -> Value {
    #[allow(clippy::cast_possible_truncation, reason = "there is nothing to lose")]
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use folio::Database;

    use super::*;
    use crate::listen::Names;
    use crate::token::Token;

    /// What reads a history or the types of a collection asks this between its steps.
    #[test]
    fn work_ends_with_its_time_and_with_its_page() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("data")).expect("it opens");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = |time| {
            let limits = Limits { time, ..Limits::default() };
            Shared::new(database.clone(), limits, Token::random(), Names::new(None, address))
        };
        let page = TcpStream::connect(address).expect("a connection");
        let connection = Connection::plain(listener.accept().expect("a connection").0);
        let late = Guarded::new(&connection, &shared(Duration::ZERO)).expect("a place");
        assert!(matches!(late.check(), Err(Failure::Late)));

        let guarded = Guarded::new(&connection, &shared(Duration::from_secs(60))).expect("a place");
        assert!(guarded.goes_on());
        drop(page);
        let end = Instant::now() + Duration::from_secs(5);
        while guarded.goes_on() && Instant::now() < end {
            thread::sleep(LOOK);
        }
        assert!(matches!(guarded.check(), Err(Failure::Left)));
        let interrupt = guarded.session.interrupt();
        interrupt.store(false, Ordering::Release); // as a statement does that begins
        thread::sleep(10 * LOOK);
        assert!(interrupt.load(Ordering::Acquire));
    }
}
