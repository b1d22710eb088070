//! One document: its line as it stands in the file, its earlier lines, and its change.

use std::time::Instant;

use folio::Collection;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::failure::{Failure, text};
use crate::rows::{Guarded, elapsed};
use crate::shared::Shared;

/// The most earlier lines that are shown.
const EARLIER_MAX: usize = 50;

/// The most bytes of one of them.
const TEXT_MAX: usize = 20_000;

pub(crate) fn document(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let guarded = Guarded::new(connection, shared)?;
    guarded.check()?;
    shown(asked, shared)
}

fn shown(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let (collection, id) = found(asked, shared)?;
    let found = collection.get(id)?;
    let line = found.as_ref().map(folio::Document::raw);
    let is_writable = shared.database.is_writable();
    let answer = json!({
        "collection": collection.name(), "id": id, "line": line, "is_writable": is_writable,
    });
    Ok(answer.to_string())
}

/// The number of a document's line and its earlier lines that are still in the file, as long as the page
/// waits.
pub(crate) fn history(
    asked: &Value,
    connection: &Connection,
    shared: &Shared,
) -> Result<String, Failure> {
    let start = Instant::now();
    let (collection, id) = found(asked, shared)?;
    let guarded = Guarded::new(connection, shared)?;
    let history = collection.history(id, EARLIER_MAX, &mut |_, _| guarded.goes_on())?;
    let lines = history.lines.iter().map(|line| {
        let text = line.text.as_deref();
        let shown = text.map(|text| &text[..text.floor_char_boundary(TEXT_MAX)]);
        let is_cut = shown.map(str::len) < text.map(str::len);
        json!({"number": line.line_number, "text": shown, "is_cut": is_cut})
    });
    let lines: Vec<Value> = lines.collect();
    let answer = json!({
        "line_number": history.line_number, "lines": lines, "is_partial": history.is_partial,
        "ms": elapsed(start),
    });
    Ok(answer.to_string())
}

/// Puts a line in place of the one that the page has shown, or deletes it.
pub(crate) fn put(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let _alone = shared.changing();
    let (collection, id) = found(asked, shared)?;
    let was = asked.get("was").and_then(Value::as_str);
    if collection.get(id)?.as_ref().map(folio::Document::raw) != was {
        return Err(Failure::Changed);
    }
    match asked.get("line").and_then(Value::as_str) {
        Some(line) => {
            collection.put_raw(id, line)?;
        }
        None => {
            collection.delete(id)?;
        }
    }
    // What the page says is saved is in the file.
    collection.flush()?;
    shown(asked, shared)
}

fn found<'a>(asked: &'a Value, shared: &Shared) -> Result<(Collection, &'a str), Failure> {
    let collection = shared.database.existing_collection(text(asked, "collection")?)?;
    collection.refresh()?;
    Ok((collection, text(asked, "id")?))
}
