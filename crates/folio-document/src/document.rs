//! One document: its exact line, and ways to read it.

use std::borrow::Cow;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::line::{self, ID_PREFIX};

/// A document: an id and its exact text as stored.
///
/// Nothing is parsed before it is needed. Key order and the text of numbers are those of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    line: String,
    id: IdPlace,
}

/// Where the id of a document is in its line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum IdPlace {
    /// At the start of the line, with this many bytes.
    Leading(usize),
    /// Elsewhere: the line was not written by an encoder.
    Apart(Box<str>),
}

impl Document {
    /// Makes a document from the line of an id.
    ///
    /// # Errors
    /// As [`Document::of_line`].
    #[inline]
    pub(crate) fn of_id(id: &str, line: Vec<u8>) -> Result<Self> {
        let rest = line.strip_prefix(ID_PREFIX).and_then(|rest| rest.strip_prefix(id.as_bytes()));
        match rest {
            Some([b'"', ..]) => Ok(Self { line: text(line)?, id: IdPlace::Leading(id.len()) }),
            _ => Self::of_line(line),
        }
    }

    /// Makes a document from a line of the file.
    ///
    /// # Errors
    /// [`Error::Json`] for a line that is not UTF-8, [`Error::NoId`] for one that is not a
    /// document.
    pub(crate) fn of_line(line: Vec<u8>) -> Result<Self> {
        let line = text(line)?;
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
    /// [`Error::Json`] if the file changed since it was indexed.
    pub fn to_value(&self) -> Result<Value> {
        let mut value: Value = serde_json::from_str(&self.line).map_err(|error| Error::Json {
            offset: error.column().saturating_sub(1),
            reason: "no longer a JSON object",
        })?;
        if let Some(object) = value.as_object_mut() {
            line::move_id_first(object);
        }
        Ok(value)
    }

    /// The value at a dotted path, or `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Json`] if the file changed since it was indexed.
    pub fn field(&self, path: &str) -> Result<Option<Value>> {
        let value = self.to_value()?;
        Ok(line::lookup(&value, path).cloned())
    }
}

fn text(line: Vec<u8>) -> Result<String> {
    String::from_utf8(line).map_err(|_| Error::Json { offset: 0, reason: "not valid UTF-8" })
}
