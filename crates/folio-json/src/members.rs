//! The members of an object as pieces of its text. Numbers keep their digits, members their order.

use std::borrow::Cow;

use crate::scan::{Fault, Key, Scanner};
use crate::string::write_json_string;

/// The beginning of a document with `_id` in first place and without white space.
pub const ID_PREFIX: &str = "{\"_id\":\"";

/// The members of a JSON object in order: key, and exact text of the value.
///
/// # Errors
/// If the text is not one JSON object.
///
/// ```
/// let members = folio_json::members(r#"{"a": 1.10, "b": [true, null]}"#)?;
/// assert_eq!(members, [("a".into(), "1.10"), ("b".into(), "[true, null]")]);
/// # Ok::<(), folio_json::Fault>(())
/// ```
pub fn members(json: &str) -> Result<Vec<(Cow<'_, str>, &str)>, Fault> {
    let mut members = Vec::new();
    Scanner::lenient(json.as_bytes()).whole_object(|scanner, key| {
        let key = key.text(json)?;
        members.push((key, &json[scanner.value_range(1)?]));
        Ok(())
    })?;
    Ok(members)
}

/// Checks that text is one JSON object.
///
/// # Errors
/// If it is not.
pub fn check(json: &str) -> Result<(), Fault> {
    Scanner::lenient(json.as_bytes()).whole_object(|scanner, _| scanner.value(1))
}

/// The exact text of the value at a dotted path, or `None` if there is none. A key that contains
/// dots is first searched by its whole name. If a key occurs twice, the first value counts. The
/// text after the value is not read.
///
/// # Errors
/// If the text read so far is not part of one JSON object.
///
/// ```
/// let json = r#"{"a": {"b": 1e400}, "a.c": 2}"#;
/// assert_eq!(folio_json::find(json, "a.b")?, Some("1e400"));
/// assert_eq!(folio_json::find(json, "a.c")?, Some("2"));
/// assert_eq!(folio_json::find(json, "a.x")?, None);
/// # Ok::<(), folio_json::Fault>(())
/// ```
pub fn find<'a>(json: &'a str, path: &str) -> Result<Option<&'a str>, Fault> {
    let whole = member(json, path)?;
    let Some((first, rest)) = path.split_once('.').filter(|_| whole.is_none()) else {
        return Ok(whole);
    };
    match member(json, first)? {
        Some(inner) if inner.starts_with('{') => find(inner, rest),
        _ => Ok(None),
    }
}

/// The exact text of one member's value.
fn member<'a>(json: &'a str, name: &str) -> Result<Option<&'a str>, Fault> {
    let mut found = None;
    let walked = Scanner::lenient(json.as_bytes()).whole_object(|scanner, key| {
        let is_it = key.text(json)? == name;
        let value = scanner.value_range(1)?;
        if is_it {
            found = Some(&json[value]);
            // An error ends the walk early.
            return scanner.fault("found");
        }
        Ok(())
    });
    if found.is_none() {
        walked?;
    }
    Ok(found)
}

impl Key {
    /// The text of the key, borrowed if it has no escapes.
    ///
    /// # Errors
    /// If an escape is half of a surrogate pair.
    #[inline]
    pub fn text<'a>(&self, json: &'a str) -> Result<Cow<'a, str>, Fault> {
        if !self.is_escaped {
            return Ok(Cow::Borrowed(&json[self.start..self.end]));
        }
        let text = unquote(&json[self.start - 1..=self.end]);
        text.ok_or(Fault { offset: self.start, reason: "key is not a valid string" })
    }

    /// Whether the key is this name, in the text where it was found.
    #[inline]
    #[must_use]
    pub fn is(&self, text: &[u8], name: &str) -> bool {
        if self.is_escaped {
            self.unescapes_to(text, name)
        } else {
            text[self.start..self.end] == *name.as_bytes()
        }
    }

    #[cold]
    fn unescapes_to(&self, text: &[u8], name: &str) -> bool {
        let key = serde_json::from_slice::<String>(&text[self.start - 1..=self.end]);
        key.is_ok_and(|key| key == name)
    }
}

/// The text inside a JSON string, or `None` for a value of another type.
#[must_use]
pub fn unquote(value: &str) -> Option<Cow<'_, str>> {
    match plain_string(value) {
        Some(text) => Some(Cow::Borrowed(text)),
        None if value.starts_with('"') => serde_json::from_str(value).ok().map(Cow::Owned),
        None => None,
    }
}

/// The text between the quotes of a JSON string without escapes; `None` for any other value.
#[inline]
#[must_use]
pub fn plain_string(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    memchr::memchr(b'\\', inner.as_bytes()).is_none().then_some(inner)
}

/// The `_id` of a document that begins with it, if it has no escapes.
#[inline]
#[must_use]
pub fn leading_id(document: &[u8]) -> Option<&[u8]> {
    let rest = document.strip_prefix(ID_PREFIX.as_bytes())?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    (rest[end] == b'"').then(|| &rest[..end])
}

/// The text of a document with `_id` as its first member. A line that FolioDB wrote is returned
/// unchanged; one written by hand may have `_id` elsewhere.
///
/// # Errors
/// If the text is not one JSON object.
///
/// ```
/// use folio_json::id_first;
/// assert_eq!(id_first(r#"{"_id":"x","a":1}"#)?, r#"{"_id":"x","a":1}"#);
/// assert_eq!(id_first(r#"{ "a": 1.10, "_id": "x" }"#)?, r#"{"_id":"x","a":1.10}"#);
/// # Ok::<(), folio_json::Fault>(())
/// ```
#[inline]
pub fn id_first(json: &str) -> Result<Cow<'_, str>, Fault> {
    if json.starts_with(ID_PREFIX) { Ok(Cow::Borrowed(json)) } else { reordered(json) }
}

#[cold]
fn reordered(json: &str) -> Result<Cow<'_, str>, Fault> {
    let mut members = members(json)?;
    if let Some(index) = members.iter().position(|(key, _)| key == "_id") {
        members[..=index].rotate_right(1);
    }
    Ok(Cow::Owned(object_of(members)))
}

/// The text of an object with these members, in the form that [`members`] returns.
#[must_use]
pub fn object_of<'a>(members: impl IntoIterator<Item = (Cow<'a, str>, &'a str)>) -> String {
    let mut text = String::new();
    push_object(members, &mut text);
    text
}

/// Appends an object with these members.
pub fn push_object(
    members: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    out: &mut String,
) {
    out.push('{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_json_string(key.as_ref(), out);
        out.push(':');
        out.push_str(value.as_ref());
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_numbers_survives() {
        let json = r#" {"_id":"x", "n":-0.10E+5, "big":123456789012345678901234567890, "\u0061":{"b":[1.0]}} "#;
        let texts: Vec<_> = members(json).unwrap().into_iter().map(|(_, value)| value).collect();
        assert_eq!(
            texts,
            [r#""x""#, "-0.10E+5", "123456789012345678901234567890", r#"{"b":[1.0]}"#]
        );
        assert_eq!(find(json, "a.b").unwrap(), Some("[1.0]"));
        assert_eq!(find(json, "a.b.c").unwrap(), None);
        assert_eq!(find(json, "n.x").unwrap(), None);
    }

    #[test]
    fn other_text_is_an_error() {
        for json in ["", "[]", "1", "{", "{}x", "{\"a\":01}", "{\"a\":\"\u{1}\"}", "\"{}\""] {
            assert!(members(json).is_err(), "{json:?}");
            assert!(find(json, "a.b").is_err(), "{json:?}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let _ = (members(&deep), find(&deep, "a.b")); // depth costs no stack
    }

    #[test]
    fn strings_lose_their_quotes() {
        assert_eq!(unquote(r#""a\n\"b""#).as_deref(), Some("a\n\"b"));
        assert_eq!(unquote(r#""plain é""#).as_deref(), Some("plain é"));
        assert_eq!(unquote("\"\"").as_deref(), Some(""));
        assert_eq!(unquote("12"), None);
        assert_eq!(unquote("\""), None);
    }
}
