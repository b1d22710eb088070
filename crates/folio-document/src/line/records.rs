//! Validates the objects of a JSON array and splits them, in one pass.
//!
//! A program with many documents writes them as one array: one call of its JSON writer and one text
//! to pass on. [`Records`] walks that text once. It checks the grammar, finds the end of each
//! object, and notes the values of the members that may hold an id. Only this iterator makes a
//! [`Record`], so a record need not be validated again.

use super::{ID_PREFIX, MAX_LINE_SIZE};
use crate::error::{Error, Result};
use folio_json::{Fault, Scanner, plain_string};

/// One object of an array: valid JSON text, and its noted members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    text: &'a str,
    id: Option<&'a str>,
    field: Option<&'a str>,
}

impl<'a> Record<'a> {
    /// The object's text, unchanged.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The text of the value of `_id`, if there is one.
    #[must_use]
    pub fn id(&self) -> Option<&'a str> {
        self.id
    }

    /// The text of the value of the requested member, if there is one.
    #[must_use]
    pub fn field(&self) -> Option<&'a str> {
        self.field
    }

    /// The string under `_id`, if the text begins with it and needs no rewriting.
    pub(crate) fn leading_id(&self) -> Option<&'a str> {
        let is_ready = self.text.as_bytes().starts_with(ID_PREFIX) && !self.spans_lines();
        plain_string(self.id?).filter(|_| is_ready)
    }

    /// The text after the opening brace, if it can follow an `_id` unchanged.
    pub(crate) fn rest(&self) -> Option<&'a str> {
        (self.id.is_none() && !self.spans_lines()).then(|| self.text[1..].trim_start())
    }

    fn spans_lines(&self) -> bool {
        memchr::memchr2(b'\n', b'\r', self.text.as_bytes()).is_some()
    }
}

/// An iterator over the objects of a JSON array.
///
/// # Errors
/// Items are `syntax` errors for text that is not an array of objects; the iterator then ends.
#[derive(Debug)]
pub struct Records<'a> {
    text: &'a str,
    scanner: Scanner<'a>,
    field: Option<&'a str>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    Ended,
}

impl<'a> Records<'a> {
    /// Walks an array, and notes the member `field` of each object.
    #[must_use]
    pub fn new(text: &'a str, field: Option<&'a str>) -> Self {
        Self { text, scanner: Scanner::new(text.as_bytes()), field, state: State::Start }
    }

    fn advance(&mut self) -> Result<Option<Record<'a>>, Fault> {
        let is_first = match self.state {
            State::Ended => return Ok(None),
            State::Start => {
                self.scanner.expect(b'[', "an array of documents: \"[\" expected")?;
                true
            }
            State::Inside => false,
        };
        self.state = State::Inside;
        if self.scanner.next_element(is_first)? {
            return self.object().map(Some);
        }
        self.state = State::Ended;
        self.scanner.end("text after the end of the array")?;
        Ok(None)
    }

    fn object(&mut self) -> Result<Record<'a>, Fault> {
        let scanner = &mut self.scanner;
        scanner.whitespace();
        let start = scanner.at;
        let mut record = Record { text: "", id: None, field: None };
        let (text, field) = (self.text, self.field);
        scanner.object(|scanner, found| {
            let value = &text[scanner.value_range(1)?];
            if found.is(text.as_bytes(), "_id") && record.id.replace(value).is_some() {
                return scanner.fault("\"_id\" appears twice");
            }
            if field.is_some_and(|field| found.is(text.as_bytes(), field)) {
                record.field = Some(value);
            }
            Ok(())
        })?;
        record.text = &self.text[start..self.scanner.at];
        if record.text.len() > MAX_LINE_SIZE {
            return self.scanner.fault("a document longer than 2 GiB");
        }
        Ok(record)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose().map(|record| {
            record.map_err(|Fault { offset, reason }| {
                self.state = State::Ended;
                Error::Json { offset, reason }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(text: &str, field: Option<&str>) -> std::result::Result<Vec<String>, &'static str> {
        Records::new(text, field)
            .map(|record| match record {
                Ok(record) => Ok(format!("{:?} {:?} {}", record.id, record.field, record.text)),
                Err(Error::Json { reason, .. }) => Err(reason),
                Err(other) => panic!("{other}"),
            })
            .collect()
    }

    #[test]
    fn objects_and_their_ids() {
        for (text, field, expected) in [
            ("[]", None, vec![]),
            (" [ { } ] ", None, vec!["None None { }"]),
            (
                r#"[{"_id":"x"},{"a":1}]"#,
                None,
                vec![r#"Some("\"x\"") None {"_id":"x"}"#, r#"None None {"a":1}"#],
            ),
            (
                r#"[{"a":{"k":"in"},"k":7}]"#,
                Some("k"),
                vec![r#"None Some("7") {"a":{"k":"in"},"k":7}"#],
            ),
            (r#"[{"\u006b":"]}"}]"#, Some("k"), vec![r#"None Some("\"]}\"") {"\u006b":"]}"}"#]),
        ] {
            assert_eq!(taken(text, field).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_array_of_objects() {
        for (text, reason) in [
            ("", "an array of documents: \"[\" expected"),
            ("{}", "an array of documents: \"[\" expected"),
            ("[1]", "a document is a JSON object: \"{\" expected"),
            ("[{}", "\",\" or \"]\" expected"),
            ("[{}] x", "text after the end of the array"),
            ("[{},]", "a document is a JSON object: \"{\" expected"),
            (r#"[{"_id":"x","_id":"x"}]"#, "\"_id\" appears twice"),
            (r#"[{"a":"\ud800"}]"#, "surrogate without its pair"),
        ] {
            assert_eq!(taken(text, None), Err(reason), "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in "\\[(\\{(\"_id\":\"x\")?(,?\"a\":[0-9e\\[\\]]{0,3})?\\},?){0,4}\\]?") {
            let ours = taken(&text, None);
            let theirs = serde_json::from_str::<Vec<serde_json::Map<String, serde_json::Value>>>(&text);
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}", text);
        }
    }
}
