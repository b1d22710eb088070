//! A document as a line that is ready to be stored.

use folio_types::check_document_id;

use super::MAX_LINE_SIZE;
use crate::error::{Error, Result};

/// The line of a document as an encoder writes it: one valid JSON object on one line, `_id` first,
/// with a checked id. Only this type can be stored, so each line is validated once, where it
/// enters.
#[derive(Debug, Clone, Copy)]
pub struct EncodedLine<'a> {
    id: &'a str,
    text: &'a [u8],
}

impl<'a> EncodedLine<'a> {
    /// Accepts a line that a document encoder has just written. It is not validated again, except
    /// in debug builds and in tests of failpoints. Text from any other source must go through
    /// `put_raw`. An invalid line would be stored, and reported when the collection is next
    /// indexed.
    ///
    /// # Errors
    /// [`Error::NoId`], [`Error::Name`] for its id, [`Error::Json`] for a line feed,
    /// [`Error::Invalid`] for more than 2 GiB.
    ///
    /// # Panics
    /// In debug builds, for a line that is not in the encoder's form.
    #[inline]
    pub fn trust(line: &'a [u8]) -> Result<Self> {
        let id = folio_json::leading_id(line)
            .and_then(|id| std::str::from_utf8(id).ok())
            .ok_or(Error::NoId)?;
        check_document_id(id)?;
        if let Some(offset) = memchr::memchr(b'\n', line) {
            return Err(Error::Json { offset, reason: "a line feed inside a line" });
        }
        Self::new(id, line)
    }

    /// The line of a document whose id was checked.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than 2 GiB.
    #[inline]
    pub(crate) fn new(id: &'a str, text: &'a [u8]) -> Result<Self> {
        if text.len() > MAX_LINE_SIZE {
            return Err(Error::Invalid(format!(
                "document {id:?} is longer than 2 GiB as JSON; split it"
            )));
        }
        if cfg!(any(debug_assertions, feature = "planted-bugs")) {
            check_strictly(id, text);
        }
        Ok(Self { id, text })
    }

    /// The document's id.
    #[must_use]
    #[inline]
    pub fn id(self) -> &'a str {
        self.id
    }

    /// The line, without a line end.
    #[must_use]
    #[inline]
    pub fn text(self) -> &'a [u8] {
        self.text
    }
}

/// Validates a line as strictly as one from a foreign file.
fn check_strictly(id: &str, text: &[u8]) {
    let found = super::examine(text);
    let expected = super::Line::Document { id: id.into(), id_first: true };
    assert!(found == Ok(expected), "no encoder wrote the line of {id:?}: {found:?}");
    assert!(memchr::memchr(b'\n', text).is_none(), "a line feed inside the line of {id:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_that_of_the_line() {
        let line = EncodedLine::trust(br#"{"_id":"x","a":1}"#).unwrap();
        assert_eq!((line.id(), line.text()), ("x", &br#"{"_id":"x","a":1}"#[..]));
        let refused = |line: &'static [u8]| EncodedLine::trust(line).unwrap_err();
        assert!(matches!(refused(br#"{"a":1,"_id":"x"}"#), Error::NoId));
        assert!(matches!(refused(br#"{"_tombstone":"x"}"#), Error::NoId));
        assert!(matches!(refused(br#"{"_id":"a/b"}"#), Error::Name(_)));
        assert!(matches!(refused(b"{\"_id\":\"x\",\n\"a\":1}"), Error::Json { offset: 11, .. }));
    }

    #[test]
    #[cfg(any(debug_assertions, feature = "planted-bugs"))]
    #[should_panic(expected = "no encoder wrote the line")]
    fn a_line_that_no_encoder_writes_is_noticed() {
        drop(EncodedLine::trust(br#"{"_id":"x","a":}"#));
    }
}
