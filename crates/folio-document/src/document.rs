//! One document as read: the exact line, and what can be asked of it.

use std::borrow::Cow;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::line::{self, ID_PREFIX};

/// A document: an id and the exact text it is stored as.
///
/// Nothing is parsed until asked for, so key order and the text of every
/// number are those of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    line: String,
    id: IdPlace,
}

/// Where the id of a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum IdPlace {
    /// It begins the line and has so many bytes.
    Leading(usize),
    /// Somebody wrote the line another way.
    Apart(Box<str>),
}

impl Document {
    /// The document that a line of the file holds.
    ///
    /// # Errors
    /// [`Error::Json`] for a line that is not UTF-8, [`Error::NoId`] for one that is no document.
    pub(crate) fn of_line(line: Vec<u8>) -> Result<Self> {
        let line = String::from_utf8(line)
            .map_err(|_| Error::Json { offset: 0, reason: "not valid UTF-8" })?;
        let id = line::id_of_valid_line(line.as_bytes()).ok_or(Error::NoId)?;
        let id = match line.as_bytes().starts_with(ID_PREFIX) && matches!(id, Cow::Borrowed(_)) {
            true => IdPlace::Leading(id.len()),
            false => IdPlace::Apart(id.into()),
        };
        Ok(Self { line, id })
    }

    /// The document's id.
    #[must_use]
    #[inline]
    pub fn id(&self) -> &str {
        match &self.id {
            IdPlace::Leading(size) => &self.line[ID_PREFIX.len()..ID_PREFIX.len() + size],
            IdPlace::Apart(id) => id,
        }
    }

    /// The exact line, without its line end.
    #[must_use]
    #[inline]
    pub fn raw(&self) -> &str {
        &self.line
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
