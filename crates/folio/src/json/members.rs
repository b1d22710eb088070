//! The members of an object as pieces of its text.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::JsonError;

/// The members of a JSON object in order: key, and the exact text of the value.
///
/// # Errors
/// When the text is not one JSON object.
///
/// ```
/// let members = folio::json::members(r#"{"a": 1.10, "b": [true, null]}"#)?;
/// assert_eq!(members, [("a".into(), "1.10"), ("b".into(), "[true, null]")]);
/// # Ok::<(), folio::json::JsonError>(())
/// ```
pub fn members(json: &str) -> Result<Vec<(Cow<'_, str>, &str)>, JsonError> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de str)>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                members.push((key, value.get()));
            }
            Ok(members)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let members = deserializer.deserialize_map(Members)?;
    deserializer.end()?;
    Ok(members)
}

/// Whether text is one JSON object, whatever its members are.
///
/// # Errors
/// When it is not.
#[cfg(feature = "sql")]
pub(crate) fn check(json: &str) -> Result<(), JsonError> {
    struct Whole;
    impl<'de> Visitor<'de> for Whole {
        type Value = ();

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(())
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.deserialize_map(Whole)?;
    deserializer.end()
}

/// The exact text of the value at a dotted path, or `None` where the path leads
/// nowhere. A key that itself contains dots is found under its whole name first;
/// of a key that comes twice, the first counts. Nothing behind the value is looked at.
///
/// # Errors
/// When the text is not one JSON object, as far as it is looked at.
///
/// ```
/// let json = r#"{"a": {"b": 1e400}, "a.c": 2}"#;
/// assert_eq!(folio::json::find(json, "a.b")?, Some("1e400"));
/// assert_eq!(folio::json::find(json, "a.c")?, Some("2"));
/// assert_eq!(folio::json::find(json, "a.x")?, None);
/// # Ok::<(), folio::json::JsonError>(())
/// ```
pub fn find<'a>(json: &'a str, path: &str) -> Result<Option<&'a str>, JsonError> {
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
fn member<'a>(json: &'a str, name: &str) -> Result<Option<&'a str>, JsonError> {
    struct Member<'n, 'f, 'de> {
        name: &'n str,
        found: &'f mut Option<&'de str>,
    }
    impl<'de> Visitor<'de> for Member<'_, '_, 'de> {
        type Value = ();

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                if key == self.name {
                    *self.found = Some(map.next_value::<&'de RawValue>()?.get());
                    // An error is how a visitor leaves early.
                    return Err(A::Error::custom("found"));
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let walked = deserializer.deserialize_map(Member { name, found: &mut found });
    if found.is_none() {
        walked?;
        deserializer.end()?;
    }
    Ok(found)
}

/// The text inside a JSON string, or `None` for a value of another type.
#[must_use]
pub fn unquote(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(value).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// A key, borrowed from the text where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
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
