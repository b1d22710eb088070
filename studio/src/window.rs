//! The rows that a grid shows.

use std::time::Instant;

use folio::{Partition, Window, WindowTest};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::failure::{Failure, text};
use crate::orders::SIZE_MAX as ORDERS_SIZE_MAX;
use crate::overview::revision_of;
use crate::rows::{self, Guarded, Written};
use crate::shared::Shared;

/// The most rows of a window.
const ROWS_MAX: u64 = 1_000;

pub(crate) fn window(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let window = read(asked)?;
    let start = Instant::now();
    refresh(&window, shared)?;
    let mut guarded = Guarded::new(connection, shared)?;
    let is_counted = asked.get("count") == Some(&Value::Bool(true));
    let about = match is_counted {
        true => {
            let revision = revision_of(&mut guarded, &window.relation, &shared.database);
            json!({"revision": revision, "count": guarded.session.count_window(&window)?})
        }
        false => json!({"count": null}),
    };
    let is_plain = window.tests.is_empty() && window.order.is_empty();
    if is_plain && window.offset >= FAR {
        let place = (&*window.relation, window.offset, window.limit);
        let mut found = shared.reach.rows_at(&shared.database, &mut guarded.session, place)?;
        if let Some([first, rest @ ..]) = found.as_deref_mut() {
            let mut written = Written::new(&first.rows, &shared.limits);
            for piece in std::iter::once(first).chain(rest) {
                written.add(&mut piece.rows, piece.skip, piece.take)?;
            }
            return Ok(written.finish(about, start));
        }
    }
    // A view that opens shows what is there now.
    let ordered = match is_plain || is_counted {
        true => None,
        false => shared.orders.rows(&mut guarded.session, &window)?,
    };
    let mut rows = match ordered {
        Some(rows) => rows,
        None => guarded.session.window(&window)?,
    };
    rows::write(&mut rows, about, start, &shared.limits)
}

/// Makes rows far from the first ones of a view come soon: puts them in order, or divides a relation
/// of which all rows are shown as they are stored. Without a count, windows are as slow as before:
/// there are too many rows, or they have no key.
pub(crate) fn order(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let (start, window) = (Instant::now(), read(asked)?);
    refresh(&window, shared)?;
    let mut guarded = Guarded::new(connection, shared)?;
    let session = &mut guarded.session;
    if window.tests.is_empty() && window.order.is_empty() {
        let parts = shared.reach.divide(&shared.database, session, &window.relation)?;
        let count = parts.map(|parts| parts.iter().map(Partition::row_count).sum::<u64>());
        return Ok(json!({"count": count, "ms": rows::elapsed(start)}).to_string());
    }
    let known = match shared.orders.find(&window) {
        Some(order) if session.is_current(&order)? => Some(order),
        _ => session
            .order_window(&window, ORDERS_SIZE_MAX)?
            .map(|order| shared.orders.keep(&window, order)),
    };
    let count = known.map(|order| order.row_count());
    Ok(json!({"count": count, "ms": rows::elapsed(start)}).to_string())
}

/// Lets a collection see what others have written.
pub(crate) fn refresh(window: &Window, shared: &Shared) -> Result<(), Failure> {
    if let Ok(collection) = shared.database.existing_collection(&window.relation) {
        collection.refresh()?;
    }
    Ok(())
}

/// The rows that a collection begins with, for a page that waits for its window: without its index
/// and its types, which the window may have to find first. Without rows, there are none to show yet.
pub(crate) fn first(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let start = Instant::now();
    let count = usize::try_from(read(asked)?.limit).unwrap_or(0);
    match shared.database.first_rows(text(asked, "relation")?, count)? {
        Some(mut rows) => rows::write(&mut rows, json!({"count": null}), start, &shared.limits),
        None => Ok(json!({"count": null, "ms": rows::elapsed(start)}).to_string()),
    }
}

/// From here on, rows are looked for without those before them.
const FAR: u64 = 2_000;

/// What a page asks for.
pub(crate) fn read(asked: &Value) -> Result<Window, Failure> {
    let list = |name| asked.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    // A number beyond 64 bits is read as a double, and is as far as any.
    let far = |number: &Value| number.as_f64().filter(|number| *number > 0.0).map(|_| u64::MAX);
    let number = |name| {
        asked.get(name).and_then(|number| number.as_u64().or_else(|| far(number))).unwrap_or(0)
    };
    let tests = list("tests").iter().map(|test| {
        let value = test.get("value").and_then(Value::as_str).unwrap_or("");
        Ok((text(test, "column")?.to_owned(), named(text(test, "test")?)?, value.to_owned()))
    });
    let order = list("order").iter().map(|key| {
        let is_descending = key.get("descending").and_then(Value::as_bool).unwrap_or(false);
        Ok((text(key, "column")?.to_owned(), is_descending))
    });
    Ok(Window {
        relation: text(asked, "relation")?.to_owned(),
        tests: tests.collect::<Result<_, Failure>>()?,
        order: order.collect::<Result<_, Failure>>()?,
        offset: number("offset"),
        limit: number("limit").min(ROWS_MAX),
    })
}

fn named(test: &str) -> Result<WindowTest, Failure> {
    Ok(match test {
        "is" => WindowTest::Equal,
        "not" => WindowTest::NotEqual,
        "less" => WindowTest::Less,
        "most" => WindowTest::AtMost,
        "greater" => WindowTest::Greater,
        "least" => WindowTest::AtLeast,
        "contains" => WindowTest::Contains,
        "null" => WindowTest::Null,
        "some" => WindowTest::NotNull,
        _ => return Err(Failure::Asked("there is no such test")),
    })
}
