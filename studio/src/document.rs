//! One document: its line as it stands in the file.

use serde_json::{Value, json};

use crate::failure::{Failure, text};
use crate::shared::Shared;

pub(crate) fn document(asked: &Value, shared: &Shared) -> Result<String, Failure> {
    let (name, id) = (text(asked, "collection")?, text(asked, "id")?);
    let collection = shared.database.existing_collection(name)?;
    collection.refresh()?;
    let found = collection.get(id)?;
    let line = found.as_ref().map(folio::Document::raw);
    Ok(json!({"collection": name, "id": id, "line": line}).to_string())
}
