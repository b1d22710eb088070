//! What a column holds: its most frequent values, and how its numbers are spread.
//!
//! Both are computed over all rows if that takes no longer than a page waits, and otherwise over the
//! first ones; the answer says which.

use std::time::{Duration, Instant};

use folio::{Error, ErrorCode, Session, Window, type_name, write_json};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::failure::{Failure, text};
use crate::rows::{self, Guarded};
use crate::shared::Shared;
use crate::window;

/// How long a page waits for values.
const VALUES_PATIENCE: Duration = Duration::from_millis(180);

/// How long it waits for a histogram, beside values that are there.
const SPREAD_PATIENCE: Duration = Duration::from_millis(1_500);

/// How many rows are looked at where all take longer.
const SAMPLE: u64 = 50_000;

const VALUES_MAX: usize = 12;
const BINS_MAX: usize = 24;

/// The most frequent values.
pub(crate) fn facet(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let (start, mut asked) = (Instant::now(), Asked::read(asked, connection, shared)?);
    let (facet, sample) =
        asked.within(VALUES_PATIENCE, shared, |session, window, path, sample| {
            session.facet(window, path, VALUES_MAX, sample)
        })?;
    let values = facet.values.iter().map(|(value, count)| {
        let mut out = String::new();
        write_json(value, &facet.column_type, &mut out);
        format!("[{out},{count}]")
    });
    let values = values.collect::<Vec<_>>().join(",");
    let ty = type_name(&facet.column_type);
    let rest = json!({"type": ty, "sample": sample, "ms": rows::elapsed(start)}).to_string();
    Ok(format!("{{\"values\":[{values}],{}", &rest[1..]))
}

/// How numbers and moments are spread.
pub(crate) fn histogram(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let (start, mut asked) = (Instant::now(), Asked::read(asked, connection, shared)?);
    let (found, sample) =
        asked.within(SPREAD_PATIENCE, shared, |session, window, path, sample| {
            session.histogram(window, path, BINS_MAX, sample)
        })?;
    let (bounds, counts) = found.map(|found| (found.bounds, found.counts)).unzip();
    let ms = rows::elapsed(start);
    Ok(json!({"bounds": bounds, "counts": counts, "sample": sample, "ms": ms}).to_string())
}

/// A path of a window, and who asks.
struct Asked<'a> {
    guarded: Guarded,
    window: Window,
    path: &'a str,
    /// Whether the page waits for all rows.
    is_patient: bool,
}

impl<'a> Asked<'a> {
    fn read(asked: &'a Value, connection: &Connection, shared: &Shared) -> Result<Self, Failure> {
        Ok(Self {
            window: window::read(asked)?,
            path: text(asked, "path")?,
            is_patient: asked.get("all").and_then(Value::as_bool).unwrap_or(false),
            guarded: Guarded::new(connection, shared)?,
        })
    }

    /// Computes over all rows, or over a sample if that takes too long. Returns the size of the
    /// sample.
    fn within<T>(
        &mut self,
        patience: Duration,
        shared: &Shared,
        compute: impl Fn(&mut Session, &Window, &str, Option<u64>) -> folio::Result<T>,
    ) -> Result<(T, Option<u64>), Failure> {
        let session = &mut self.guarded.session;
        let is_first = !self.is_patient && patience < shared.limits.time;
        if is_first {
            session.set_timeout(Some(patience));
        }
        match compute(session, &self.window, self.path, None) {
            Err(error) if is_first && is_timeout(&error) => {
                session.set_timeout(Some(shared.limits.time));
                let found = compute(session, &self.window, self.path, Some(SAMPLE))?;
                Ok((found, Some(SAMPLE)))
            }
            all => Ok((all?, None)),
        }
    }
}

fn is_timeout(error: &Error) -> bool {
    error.code() == ErrorCode::Timeout
}
