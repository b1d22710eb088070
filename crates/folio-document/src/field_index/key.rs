//! The keys of a line: the bytes that its values sort by.
//!
//! Each field of an index is a segment of its key: those of `folio_json::order`, or one byte for a
//! value that is missing or null. A descending field has all its bytes inverted. No segment is the
//! beginning of another, so the segments just follow each other.
//!
//! A line has one key in an index; none if it fails a condition; and one for each distinct element
//! if a field has `[]`.

use std::ops::Range;

use folio_json::{
    Scanner, Step, at_path, elements, push_boolean_key, push_number_key, push_order_key,
    push_text_key, unquote,
};

use super::condition::SegmentTest;
use super::definition::{IndexDefinition, IndexField};

/// The segment of a value that is missing or null: after all values.
pub(crate) const ABSENT: u8 = 0xFE;

/// Finds the values of several indexes in a line, in one pass over its members.
#[derive(Debug)]
pub(crate) struct Extractor {
    /// The members that paths begin with.
    names: Vec<String>,
    indexes: Vec<Places>,
    /// The value of each name in the current line.
    found: Vec<Option<Range<usize>>>,
    key: Vec<u8>,
}

/// Where the values of an index are.
#[derive(Debug)]
struct Places {
    fields: Vec<(Place, bool)>,
    /// The number of the field that has a key for each element.
    elements: Option<usize>,
    conditions: Vec<(Place, SegmentTest)>,
}

/// Where a value is.
#[derive(Debug)]
struct Place {
    /// The position of the first name.
    name: usize,
    rest: Vec<Step>,
}

impl Extractor {
    pub(crate) fn new<'d>(definitions: impl IntoIterator<Item = &'d IndexDefinition>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut place = |path: &[String]| {
            let name = names.iter().position(|known| *known == path[0]).unwrap_or_else(|| {
                names.push(path[0].clone());
                names.len() - 1
            });
            let rest = path[1..].iter().map(|name| Step::Member(name.clone())).collect();
            Place { name, rest }
        };
        let mut places = |definition: &IndexDefinition| Places {
            fields: definition
                .fields
                .iter()
                .map(|field| (place(&field.path), field.descending))
                .collect(),
            elements: definition.fields.iter().position(|field| field.elements),
            conditions: definition
                .conditions
                .iter()
                .map(|condition| (place(&condition.path), SegmentTest::new(&condition.test)))
                .collect(),
        };
        let indexes: Vec<Places> = definitions.into_iter().map(&mut places).collect();
        Self { found: vec![None; names.len()], names, indexes, key: Vec::new() }
    }

    /// Calls `each` with the number of the index, a key that a valid line has in it, and whether one
    /// of its values is missing or null. The keys of one index are distinct and ascend.
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
        let (found, key) = (&self.found, &mut self.key);
        for (number, places) in self.indexes.iter().enumerate() {
            let passes = |(place, test): &(Place, SegmentTest)| {
                key.clear();
                push_segment(place.value(text, found), key);
                test.passes(key)
            };
            if !places.conditions.iter().all(passes) {
                continue;
            }
            if let Some(list) = places.elements {
                element_keys(places, list, text, found, |key, absent| each(number, key, absent));
                continue;
            }
            key.clear();
            let mut has_absent = false;
            for (place, descending) in &places.fields {
                has_absent |= !push_field(place.value(text, found), *descending, key);
            }
            each(number, key, has_absent);
        }
    }

    /// The keys of a line in the only index.
    pub(crate) fn all_keys(&mut self, line: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        self.keys(line, |_, key, _| found.push(key.to_vec()));
        found
    }

    /// Whether a line has a key in the only index.
    pub(crate) fn has_key(&mut self, line: &[u8], wanted: &[u8]) -> bool {
        let mut is_found = false;
        self.keys(line, |_, key, _| is_found |= key == wanted);
        is_found
    }

    /// The keys of a line in the only index that a stored key may be the beginning of.
    pub(crate) fn keys_from(&mut self, line: &[u8], stored: &[u8]) -> Vec<Vec<u8>> {
        let mut found = self.all_keys(line);
        found.retain(|key| key.starts_with(stored));
        found
    }
}

impl Place {
    fn value<'t>(&self, text: &'t str, found: &[Option<Range<usize>>]) -> Option<&'t str> {
        let first = found[self.name].clone().map(|range| &text[range]);
        match &self.rest[..] {
            [] => first,
            rest => first.and_then(|first| at_path(first, rest)),
        }
    }
}

/// A key for each distinct element of a list, with the values of the other fields.
fn element_keys(
    places: &Places,
    list: usize,
    text: &str,
    found: &[Option<Range<usize>>],
    mut each: impl FnMut(&[u8], bool),
) {
    let value = places.fields[list].0.value(text, found);
    let items = value.filter(|json| json.starts_with('[')).and_then(elements).unwrap_or_default();
    let mut keys = Vec::with_capacity(items.len());
    let mut has_absent = false;
    for item in items {
        let (mut key, mut is_null) = (Vec::new(), false);
        for (number, (place, descending)) in places.fields.iter().enumerate() {
            let is_element = number == list;
            let value = if is_element { Some(item) } else { place.value(text, found) };
            let is_absent = !push_field(value, *descending, &mut key);
            is_null |= is_element && is_absent;
            has_absent |= !is_element && is_absent;
        }
        if !is_null {
            keys.push(key);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    keys.iter().for_each(|key| each(key, has_absent));
}

/// Appends the segment of a field. Returns whether there is a value.
fn push_field(value: Option<&str>, descending: bool, key: &mut Vec<u8>) -> bool {
    let start = key.len();
    let is_there = push_segment(value, key);
    if descending {
        invert(&mut key[start..]);
    }
    is_there
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

/// The values of an index in a line, for messages; of a list the element that is part of a key.
pub(crate) fn values_text(fields: &[IndexField], line: &[u8], key: &[u8]) -> String {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let value = |field: &IndexField| {
        let steps: Vec<Step> = field.path.iter().map(|name| Step::Member(name.clone())).collect();
        let value = at_path(text, &steps).unwrap_or("null");
        let is_meant = |item: &&str| {
            let mut segment = Vec::new();
            push_field(Some(item), field.descending, &mut segment);
            key.windows(segment.len()).any(|part| part == segment)
        };
        let items = if field.elements { elements(value) } else { None };
        items.and_then(|items| items.into_iter().find(is_meant)).unwrap_or(value).to_owned()
    };
    fields.iter().map(value).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use folio_types::{Comparison, FieldCondition, FieldTest, Literal};

    use super::*;

    fn keys(lines: &[&str], fields: &[&str]) -> Vec<Vec<u8>> {
        let definition = IndexDefinition::parse("c", None, fields, false).unwrap();
        let mut extractor = Extractor::new([&definition]);
        lines.iter().flat_map(|line| extractor.all_keys(line.as_bytes())).collect()
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

    #[test]
    fn a_list_has_a_key_for_each_distinct_element() {
        let of = |json: &str| keys(&[json], &["n", "a.t[] desc"]);
        assert_eq!(of(r#"{"_id":"1","n":1,"a":{"t":["x","y",1,1.0,null,"x",[2]]}}"#).len(), 4);
        for json in [r#"{"a":{"t":[]}}"#, r#"{"a":{"t":[null]}}"#, r#"{"a":{"t":"x"}}"#, "{}"] {
            assert!(of(json).is_empty(), "{json}");
        }
        let (one, two) = (of(r#"{"n":1,"a":{"t":["x"]}}"#), of(r#"{"a":{"t":["z","x"]},"n":1.0}"#));
        assert_eq!(one[0], two[1]);
        assert!(two[0] < two[1], "descending");
    }

    #[test]
    fn a_line_that_fails_a_condition_has_no_key() {
        let (number, text) = (|text: &str| Literal::Number(text.into()), Literal::Text("x".into()));
        for (test, passing, failing) in [
            (FieldTest::Compare(Comparison::Equal, text.clone()), r#""x""#, r#""y" null ["x"]"#),
            (FieldTest::Compare(Comparison::NotEqual, text), r#""y" 1"#, r#""x" null"#),
            (FieldTest::Compare(Comparison::Equal, number("1")), "1 1.0 1e0", r#"2 "1" true"#),
            (FieldTest::Compare(Comparison::Less, number("2")), "1 -3", "2 2.5 true null"),
            (FieldTest::Compare(Comparison::LessOrEqual, number("2")), "1 2.0", "3 null"),
            (FieldTest::Compare(Comparison::Greater, number("2")), "2.1 9", "2 1 null"),
            // A column of doubles reads this as 0.1.
            (
                FieldTest::Compare(Comparison::GreaterOrEqual, number("0.1")),
                "0.1 0.099999999999999999999",
                "0.09 null",
            ),
            (FieldTest::OneOf(vec![number("1"), Literal::Boolean(true)]), "1 true", "0 false null"),
            (FieldTest::Null, "null", "1 false"),
            (FieldTest::NotNull, r#"1 "" [] {}"#, "null"),
        ] {
            let condition = FieldCondition { path: vec!["c".into(), "d".into()], test };
            let definition = IndexDefinition {
                conditions: vec![condition],
                ..IndexDefinition::parse("c", None, &["n"], false).unwrap()
            };
            let mut extractor = Extractor::new([&definition]);
            let mut count = |value: &str| {
                extractor.all_keys(format!(r#"{{"c":{{"d":{value}}}}}"#).as_bytes()).len()
            };
            for value in passing.split(' ') {
                assert_eq!(count(value), 1, "{value} {definition}");
            }
            for value in failing.split(' ') {
                assert_eq!(count(value), 0, "{value} {definition}");
            }
        }
    }
}
