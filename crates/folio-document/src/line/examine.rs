//! Classifies a line: a document and its id, a tombstone, blank, or a fault.

use std::borrow::Cow;

use folio_json::{Fault, Scanner, leading_id};
use folio_types::check_document_id;

use super::{ID_PREFIX, MAX_LINE_SIZE, TOMBSTONE_PREFIX};

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Only white space.
    Blank,
    /// A delete marker for an id.
    Tombstone(&'a str),
    /// A document.
    Document {
        id: Cow<'a, str>,
        /// Whether the line starts with the bytes of [`ID_PREFIX`].
        id_first: bool,
    },
}

/// Validates one line, without its line end.
pub(crate) fn examine(line: &[u8]) -> Result<Line<'_>, Fault> {
    // Most lines are ASCII, which is told in a fraction of the time.
    if !line.is_ascii()
        && let Err(error) = std::str::from_utf8(line)
    {
        return Err(Fault { offset: error.valid_up_to(), reason: "not valid UTF-8" });
    }
    if line.len() > MAX_LINE_SIZE {
        return Err(Fault { offset: MAX_LINE_SIZE, reason: "longer than 2 GiB" });
    }
    let mut scanner = Scanner::new(line);
    scanner.whitespace();
    if scanner.peek().is_none() {
        return Ok(Line::Blank);
    }
    if let Some(id) = tombstone_id(line) {
        return Ok(Line::Tombstone(id));
    }
    let Some(id) = object_id(&mut scanner)? else {
        return Err(Fault { offset: 0, reason: "no \"_id\"" });
    };
    match check_document_id(&id) {
        Ok(()) => Ok(Line::Document { id_first: line.starts_with(ID_PREFIX), id }),
        Err(_) => Err(Fault { offset: 0, reason: "\"_id\" breaks the rules for ids" }),
    }
}

/// The id of a tombstone, which is exactly the prefix, a valid id and `"}`.
#[must_use]
pub fn tombstone_id(line: &[u8]) -> Option<&str> {
    let id = line.strip_prefix(TOMBSTONE_PREFIX)?.strip_suffix(b"\"}")?;
    let id = std::str::from_utf8(id).ok()?;
    check_document_id(id).ok().map(|()| id)
}

/// Walks an object to the end of the line. Returns the string under `_id`.
fn object_id<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, Fault> {
    let mut id = None;
    scanner.whole_object(|scanner, key| {
        if !key.is(scanner.bytes, "_id") {
            return scanner.value(1);
        }
        if id.is_some() {
            return scanner.fault("\"_id\" appears twice");
        }
        id = Some(id_value(scanner)?);
        Ok(())
    })?;
    Ok(id)
}

#[inline]
fn id_value<'a>(scanner: &mut Scanner<'a>) -> Result<Cow<'a, str>, Fault> {
    scanner.expect(b'"', "\"_id\" must be a string")?;
    let start = scanner.at;
    let escaped = scanner.string()?;
    let end = scanner.at - 1;
    let id = match escaped {
        false => std::str::from_utf8(&scanner.bytes[start..end]).ok().map(Cow::Borrowed),
        true => serde_json::from_slice(&scanner.bytes[start - 1..=end]).ok().map(Cow::Owned),
    };
    id.ok_or(Fault { offset: start, reason: "\"_id\" is not a valid string" })
}

/// The id of a line that is known to be a valid document, by the cheapest way.
pub(crate) fn id_of_valid_line(line: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(id) = leading_id(line) {
        return std::str::from_utf8(id).ok().map(Cow::Borrowed);
    }
    match examine(line) {
        Ok(Line::Document { id, .. }) => Some(id),
        _ => None,
    }
}

/// Whether a line that is known to be valid belongs to an id; `None` if it is not a document.
#[inline]
pub(crate) fn has_id(line: &[u8], id: &str) -> Option<bool> {
    match leading_id(line) {
        Some(found) => Some(found == id.as_bytes()),
        None => Some(id_of_valid_line(line)? == id),
    }
}

/// The id of a line written by an encoder: of a document or of a tombstone.
pub(crate) fn id_of_stored_line(line: &[u8]) -> Option<&str> {
    let tombstone = line.strip_prefix(TOMBSTONE_PREFIX).and_then(|id| id.strip_suffix(b"\"}"));
    std::str::from_utf8(leading_id(line).or(tombstone)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(line: &str) -> String {
        match examine(line.as_bytes()) {
            Ok(Line::Document { id, .. }) => id.into_owned(),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn reason(line: &[u8]) -> &'static str {
        examine(line).expect_err("the line is faulty").reason
    }

    #[test]
    fn finds_the_id_wherever_it_stands() {
        assert_eq!(id(r#"{"_id":"x"}"#), "x");
        assert_eq!(id(r#" { "a" : [ 1 , { "_id" : 2 } ] , "_id" : "x" } "#), "x");
        assert_eq!(id(r#"{"\u005fid":"\u0078"}"#), "x");
        assert_eq!(id(r#"{"a":{},"b":[],"_id":"größe"}"#), "größe");
    }

    #[test]
    fn tells_tombstones_and_blanks() {
        assert_eq!(examine(br#"{"_tombstone":"x"}"#), Ok(Line::Tombstone("x")));
        assert_eq!(examine(b" \t\r"), Ok(Line::Blank));
        assert_eq!(reason(br#"{"_tombstone":"x","a":1}"#), "no \"_id\"");
        assert_eq!(reason(br#"{"_tombstone":"a/b"}"#), "no \"_id\"");
    }

    #[test]
    fn names_what_is_wrong() {
        for (line, expected) in [
            ("{}", "no \"_id\""),
            (r#"{"_id":1}"#, "\"_id\" must be a string"),
            (r#"{"_id":"../x"}"#, "\"_id\" breaks the rules for ids"),
            (r#"{"_id":"x","_id":"x"}"#, "\"_id\" appears twice"),
            (r#"{"_id":"x"}{"_id":"y"}"#, "text after the end of the document"),
            (r#"[{"_id":"x"}]"#, "a document is a JSON object: \"{\" expected"),
            (r#"{"_id":"x","a":[1,]}"#, "value expected"),
            (r#"{"_id":"x","a":[,]}"#, "value expected"),
            (r#"{"_id":"x","a":{"b"}}"#, "\":\" expected"),
            (r#"{"_id":"x","a":01}"#, "number with a leading zero"),
            (r#"{"_id":"x","a":"\ud800"}"#, "surrogate without its pair"),
            (r#"{"_id":"x","#, "a name in double quotes expected"),
        ] {
            assert_eq!(reason(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(reason(b"{\"_id\":\"x\",\"a\":\"\0\"}"), "control character in a string");
        assert_eq!(reason(b"{\"_id\":\"x\",\"a\":\"\xff\"}"), "not valid UTF-8");
    }

    #[test]
    fn depth_is_bounded_as_serde_bounds_it() {
        for depth in [126, 127] {
            let line = format!(r#"{{"_id":"x","a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
            let ours = examine(line.as_bytes()).is_ok();
            let serde = serde_json::from_str::<serde_json::Value>(&line).is_ok();
            assert_eq!(ours, serde, "{depth}");
        }
    }

    /// Text that is close to the grammar: most of it is almost JSON.
    fn nearly_json() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(","),
            Just(":"),
            Just("\"a\""),
            Just("\"_id\":\"x\""),
            Just("\"\\u00e9\\n\""),
            Just("0"),
            Just("-1.5e+3"),
            Just("01"),
            Just("true"),
            Just("null"),
            Just(" "),
            Just("\"é\""),
            Just("\"\\ud83d\\ude00\""),
            Just("1e")
        ];
        prop::collection::vec(token, 0..24)
            .prop_map(|tokens| format!("{{\"_id\":\"x\"{}", tokens.concat()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn agrees_with_serde_json(text in nearly_json()) {
            let serde: Result<Box<serde_json::value::RawValue>, _> = serde_json::from_str(&text);
            let ours = examine(text.as_bytes());
            let twice = matches!(ours, Err(Fault { reason: "\"_id\" appears twice", .. }));
            prop_assert!(twice || ours.is_ok() == serde.is_ok(), "{text}: {ours:?} {serde:?}");
        }
    }
}
