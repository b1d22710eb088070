//! One document as read: the exact line, and what can be asked of it.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::line;

/// A document: an id and the exact text it is stored as.
///
/// Nothing is parsed until asked for, so key order and the text of every
/// number are those of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    id: String,
    line: String,
}

impl Document {
    pub(crate) fn new(id: String, line: String) -> Self {
        Self { id, line }
    }

    /// The document's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The exact line, without its line end.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.line
    }

    pub(crate) fn into_id(self) -> String {
        self.id
    }

    /// The exact line, without its line end.
    #[must_use]
    pub fn into_raw(self) -> String {
        self.line
    }

    /// The document as a value, `_id` first. Numbers keep their text.
    ///
    /// # Errors
    /// [`Error::Json`] where the file was changed since it was indexed.
    pub fn to_value(&self) -> Result<Value> {
        let mut value: Value = serde_json::from_str(&self.line).map_err(|error| Error::Json {
            offset: error.column().saturating_sub(1),
            reason: "not a JSON object any more",
        })?;
        if let Some(object) = value.as_object_mut() {
            line::move_id_first(object);
        }
        Ok(value)
    }

    /// The value at a dotted path, or `None` where the path leads nowhere.
    ///
    /// # Errors
    /// [`Error::Json`] where the file was changed since it was indexed.
    pub fn field(&self, path: &str) -> Result<Option<Value>> {
        let value = self.to_value()?;
        Ok(line::lookup(&value, path).cloned())
    }
}
