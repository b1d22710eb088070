//! Writes lines: one document on one line, `_id` first.

use serde_json::Value;

use super::{ID_PREFIX, TOMBSTONE_PREFIX};
use crate::error::{Error, Result};
use folio_json::{DEPTH_MAX, Fault, Scanner, push_json_string, push_json_value, push_minified};
use folio_types::check_document_id;

/// Appends a document as one line, without a line end. The id was already checked.
///
/// # Errors
/// [`Error::Invalid`] if it is not an object or nests too deep, [`Error::IdMismatch`] if it has
/// another `_id`.
pub(crate) fn encode_value(id: &str, document: &Value, line: &mut Vec<u8>) -> Result<()> {
    let Value::Object(object) = document else {
        return Err(Error::Invalid(format!(
            "document {id:?} is not a JSON object; wrap it in one"
        )));
    };
    push_id(id, line);
    for (key, value) in object {
        if key == "_id" {
            check_carried_id(id, value)?;
        } else {
            line.push(b',');
            push_json_string(key, line);
            line.push(b':');
            if !push_json_value(value, 1, line) {
                let text =
                    format!("document {id:?} nests deeper than {DEPTH_MAX} levels under {key:?}");
                return Err(Error::Invalid(text));
            }
        }
    }
    line.push(b'}');
    Ok(())
}

fn check_carried_id(id: &str, carried: &Value) -> Result<()> {
    let found = match carried {
        Value::String(found) if found == id => return Ok(()),
        Value::String(found) => found.clone(),
        other => other.to_string(),
    };
    Err(Error::IdMismatch { found, asked: id.to_owned() })
}

/// Writes the line of an object into the buffer, which is cleared first, from its id and the text
/// after its opening brace.
#[inline]
pub(crate) fn join_id(id: &str, rest: &str, line: &mut Vec<u8>) {
    line.clear();
    push_id(id, line);
    if !rest.starts_with('}') {
        line.push(b',');
    }
    line.extend_from_slice(rest.as_bytes());
}

/// The delete marker of an id, without a line end.
pub(crate) fn tombstone(id: &str) -> Vec<u8> {
    [TOMBSTONE_PREFIX, id.as_bytes(), b"\"}"].concat()
}

/// Turns JSON text into a line: validates it, removes white space between tokens, and puts `_id`
/// first. Key order and number text are preserved. Without `asked`, the text must have an `_id`;
/// with it, the two must be equal. Returns the id and the line.
///
/// # Errors
/// [`Error::Json`], [`Error::NoId`], [`Error::IdMismatch`] or [`Error::Name`].
pub(crate) fn normalize(asked: Option<&str>, json: &str) -> Result<(String, Vec<u8>)> {
    let mut line = Vec::with_capacity(json.len() + asked.map_or(0, str::len) + 16);
    if let Some(id) = asked {
        check_document_id(id)?;
        push_id(id, &mut line);
    }
    let carried = push_members(json, &mut line)
        .map_err(|Fault { offset, reason }| Error::Json { offset, reason })?;
    line.push(b'}');
    match (asked, carried) {
        (Some(asked), Some(found)) if asked != found => {
            Err(Error::IdMismatch { found, asked: asked.to_owned() })
        }
        (Some(asked), _) => Ok((asked.to_owned(), line)),
        (None, Some(found)) => {
            check_document_id(&found)?;
            let mut whole = Vec::with_capacity(ID_PREFIX.len() + found.len() + 1 + line.len());
            push_id(&found, &mut whole);
            whole.extend_from_slice(&line);
            Ok((found, whole))
        }
        (None, None) => Err(Error::NoId),
    }
}

/// Appends `,"key":value` for each member of an object except `_id`. Returns the value of `_id`.
fn push_members(json: &str, line: &mut Vec<u8>) -> Result<Option<String>, Fault> {
    let mut carried: Option<String> = None;
    Scanner::new(json.as_bytes()).whole_object(|scanner, key| {
        scanner.whitespace();
        let spaces = scanner.space_count;
        let value = &json[scanner.value_range(1)?];
        if key.is(json.as_bytes(), "_id") {
            // A value that is not a string cannot equal an id; errors show it as written.
            let id = serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
            return match carried.replace(id) {
                None => Ok(()),
                Some(_) => Err(Fault { offset: 0, reason: "\"_id\" appears twice" }),
            };
        }
        line.push(b',');
        line.extend_from_slice(&json.as_bytes()[key.start - 1..=key.end]);
        line.push(b':');
        match scanner.space_count == spaces {
            true => line.extend_from_slice(value.as_bytes()),
            false => push_minified(value.as_bytes(), line),
        }
        Ok(())
    })?;
    Ok(carried)
}

/// Appends the beginning of a line.
#[inline]
fn push_id(id: &str, line: &mut Vec<u8>) {
    line.extend_from_slice(ID_PREFIX);
    line.extend_from_slice(id.as_bytes());
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn normalize_keeps_order_and_digits() {
        let (id, line) = normalize(
            Some("x"),
            "{ \"b\" : 123456789012345678901234567890.1000 ,\n \"a\\\" b\": [ \" \\\" \" ] , \"_id\":\"x\" }",
        )
        .unwrap();
        assert_eq!(id, "x");
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, r#"{"_id":"x","b":123456789012345678901234567890.1000,"a\" b":[" \" "]}"#);
        assert_eq!(normalize(Some("x"), "{}").unwrap().1, br#"{"_id":"x"}"#);
        assert_eq!(normalize(None, r#"{"a":1,"_id":"y"}"#).unwrap().1, br#"{"_id":"y","a":1}"#);
        assert_eq!(normalize(None, r#"{"\u005fid":"y"}"#).unwrap().1, br#"{"_id":"y"}"#);
    }

    #[test]
    fn normalize_refuses_with_a_reason() {
        assert!(matches!(normalize(None, "{}"), Err(Error::NoId)));
        assert!(matches!(normalize(Some("x"), r#"{"_id":"y"}"#), Err(Error::IdMismatch { .. })));
        assert!(matches!(normalize(Some("x"), r#"{"_id":7}"#), Err(Error::IdMismatch { .. })));
        assert!(matches!(normalize(Some("a/b"), "{}"), Err(Error::Name(_))));
        assert!(matches!(normalize(Some("x"), "[]"), Err(Error::Json { .. })));
        assert!(matches!(normalize(Some("x"), "{} x"), Err(Error::Json { .. })));
    }

    #[test]
    fn values_are_written_as_serde_writes_them() {
        let value =
            json!({"a": ["\u{1}\"\\\n\u{7f}é", 1.5, null, true, {"k": {}}], "_id": "x", "": []});
        let mut line = Vec::new();
        encode_value("x", &value, &mut line).unwrap();
        let back: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(back, value);
        assert!(line.starts_with(b"{\"_id\":\"x\",\"a\":"));
    }

    #[test]
    fn depth_is_refused_where_it_could_not_be_read_again() {
        let mut value = json!(1);
        for _ in 0..126 {
            value = json!([value]);
        }
        let fits = json!({ "a": value });
        let mut line = Vec::new();
        encode_value("x", &fits, &mut line).unwrap();
        assert!(super::super::examine(&line).is_ok());
        assert!(serde_json::from_slice::<Value>(&line).is_ok());
        let too_deep = json!({ "a": [value] });
        assert!(encode_value("x", &too_deep, &mut Vec::new()).is_err());
    }
}
