//! One document: its line as it stands in the file, and its change.

use folio::Collection;
use serde_json::{Value, json};

use crate::failure::{Failure, text};
use crate::shared::Shared;

pub(crate) fn document(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let (collection, id) = found(asked, shared)?;
    let found = collection.get(id)?;
    let line = found.as_ref().map(folio::Document::raw);
    let is_writable = shared.database.is_writable();
    let answer = json!({
        "collection": collection.name(), "id": id, "line": line, "is_writable": is_writable,
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
    document(asked, shared)
}

fn found<'a>(asked: &'a Value, shared: &Shared) -> Result<(Collection, &'a str), Failure> {
    let collection = shared.database.existing_collection(text(asked, "collection")?)?;
    collection.refresh()?;
    Ok((collection, text(asked, "id")?))
}
