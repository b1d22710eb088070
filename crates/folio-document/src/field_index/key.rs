//! The keys of a line: the bytes that its values sort by.
//!
//! Each field of an index is a segment of its key: those of `folio_json::order`, or one byte for a
//! value that is missing or null. A descending field has all its bytes inverted. No segment is the
//! beginning of another, so the segments just follow each other.

use std::ops::Range;

use folio_json::{
    Scanner, Step, at_path, push_boolean_key, push_number_key, push_order_key, push_text_key,
    unquote,
};

use super::definition::{IndexDefinition, IndexField};

/// The segment of a value that is missing or null: after all values.
pub(crate) const ABSENT: u8 = 0xFE;

/// Finds the values of several indexes in a line, in one pass over its members.
#[derive(Debug)]
pub(crate) struct Extractor {
    /// The members that paths begin with.
    names: Vec<String>,
    indexes: Vec<Vec<Place>>,
    /// The value of each name in the current line.
    found: Vec<Option<Range<usize>>>,
    key: Vec<u8>,
}

/// Where the value of a field is.
#[derive(Debug)]
struct Place {
    /// The position of the first name.
    name: usize,
    rest: Vec<Step>,
    descending: bool,
}

impl Extractor {
    pub(crate) fn new<'d>(definitions: impl IntoIterator<Item = &'d IndexDefinition>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut place = |field: &IndexField| {
            let first = &field.path[0];
            let name = names.iter().position(|known| known == first).unwrap_or_else(|| {
                names.push(first.clone());
                names.len() - 1
            });
            let rest = field.path[1..].iter().map(|name| Step::Member(name.clone())).collect();
            Place { name, rest, descending: field.descending }
        };
        let indexes: Vec<Vec<Place>> = definitions
            .into_iter()
            .map(|definition| definition.fields.iter().map(&mut place).collect())
            .collect();
        Self { found: vec![None; names.len()], names, indexes, key: Vec::new() }
    }

    /// Calls `each` with the number of every index, the key that a valid line has in it, and whether
    /// one of its values is missing or null.
    pub(crate) fn keys(&mut self, line: &[u8], mut each: impl FnMut(usize, &[u8], bool)) {
        let Ok(text) = std::str::from_utf8(line) else { return };
        self.found.fill(None);
        // A line in the file is valid. What a failed walk has found is what counts.
        let _ = Scanner::lenient(line).whole_object(|scanner, key| {
            let wanted = self.names.iter().position(|name| key.is(line, name));
            let value = scanner.value_range(1)?;
            if let Some(name) = wanted {
                self.found[name] = Some(value); // of a repeated member, the last value counts
            }
            Ok(())
        });
        for (number, places) in self.indexes.iter().enumerate() {
            self.key.clear();
            let mut has_absent = false;
            for place in places {
                let first = self.found[place.name].clone().map(|range| &text[range]);
                let value = match &place.rest[..] {
                    [] => first,
                    rest => first.and_then(|first| at_path(first, rest)),
                };
                let start = self.key.len();
                has_absent |= !push_segment(value, &mut self.key);
                if place.descending {
                    invert(&mut self.key[start..]);
                }
            }
            each(number, &self.key, has_absent);
        }
    }

    /// The key of a line in the only index.
    pub(crate) fn key(&mut self, line: &[u8]) -> Vec<u8> {
        let mut found = Vec::new();
        self.keys(line, |_, key, _| found = key.to_vec());
        found
    }
}

pub(crate) fn invert(segment: &mut [u8]) {
    segment.iter_mut().for_each(|byte| *byte = !*byte);
}

/// Appends the segment of a value. Returns whether there is one.
fn push_segment(value: Option<&str>, key: &mut Vec<u8>) -> bool {
    let json = value.unwrap_or_default();
    match json.as_bytes().first() {
        Some(b'"') => match unquote(json) {
            Some(text) => push_text_key(&text, key),
            None => push_order_key(json, key),
        },
        Some(b'0'..=b'9' | b'-') => push_number_key(json, key),
        Some(b't') => push_boolean_key(true, key),
        Some(b'f') => push_boolean_key(false, key),
        None | Some(b'n') => {
            key.push(ABSENT);
            return false;
        }
        Some(_) => push_order_key(json, key),
    }
    true
}

/// The values of an index in a line, for messages.
pub(crate) fn values_text(fields: &[IndexField], line: &[u8]) -> String {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let value = |field: &IndexField| {
        let steps: Vec<Step> = field.path.iter().map(|name| Step::Member(name.clone())).collect();
        at_path(text, &steps).unwrap_or("null").to_owned()
    };
    fields.iter().map(value).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(lines: &[&str], fields: &[&str]) -> Vec<Vec<u8>> {
        let definition = IndexDefinition::parse("c", None, fields, false).unwrap();
        let mut extractor = Extractor::new([&definition]);
        lines.iter().map(|line| extractor.key(line.as_bytes())).collect()
    }

    #[test]
    fn keys_sort_as_values_with_absent_ones_last() {
        let lines = [
            r#"{"_id":"1","a":{"b":""}}"#,
            r#"{"_id":"1","a":{"b":"x"}}"#,
            r#"{"_id":"1","a":{"b":-1}}"#,
            r#"{"_id":"1","a":{"b":2.5},"c":1}"#,
            r#"{"_id":"1","a":{"b":false}}"#,
            r#"{"_id":"1","a":{"b":[1]}}"#,
            r#"{"_id":"1","a":{"b":{"c":null}}}"#,
            r#"{"_id":"1","a":{"b":null}}"#,
        ];
        let ascending = keys(&lines, &["a.b"]);
        assert!(ascending.is_sorted_by(|one, other| one < other), "{ascending:?}");
        let descending = keys(&lines, &["a.b desc"]);
        assert!(descending.is_sorted_by(|one, other| one > other), "{descending:?}");
        let both = keys(&lines[..4], &["c", "a.b"]);
        assert!(both[3] < both[0] && both[0] < both[1]);
    }

    #[test]
    fn what_is_missing_null_or_deeper_than_a_scalar_is_absent() {
        let lines = [
            r#"{"_id":"1"}"#,
            r#"{"_id":"1","a":null}"#,
            r#"{"_id":"1","a":7}"#,
            r#"{"_id":"1","a":[{"b":1}]}"#,
            r#"{"_id":"1","a":{"b":1},"a":{}}"#,
        ];
        for key in keys(&lines, &["a.b"]) {
            assert_eq!(key, [ABSENT]);
        }
    }
}
