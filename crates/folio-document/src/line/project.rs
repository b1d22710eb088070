//! Extracts fields from a line by dotted path, on the text, in one pass.

use serde_json::{Map, Value};

use super::id_of_valid_line;
use folio_json::{Fault, Scanner};

/// A tree of wanted keys made from dotted paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct Projection {
    root: Vec<Field>,
}

#[derive(Debug, Clone)]
struct Field {
    key: String,
    /// Empty if the whole value is wanted.
    inner: Vec<Field>,
}

impl Projection {
    pub(crate) fn new(paths: &[String]) -> Self {
        let mut root = Vec::new();
        for path in paths {
            let keys: Vec<&str> = path.split('.').collect();
            insert(&mut root, &keys);
        }
        Self { root }
    }

    /// Appends the reduced document to `out`: `_id` first, then fields in the document's order.
    /// `false` if the line is not a document.
    pub(crate) fn apply(&self, line: &str, out: &mut String) -> bool {
        let (Some(id), Ok(members)) = (id_of_valid_line(line.as_bytes()), split_members(line))
        else {
            return false;
        };
        out.push_str("{\"_id\":\"");
        out.push_str(&id);
        out.push('"');
        for (key, value) in members {
            if let Some(field) = wanted(&self.root, key)
                && field.key != "_id"
            {
                let mark = out.len();
                out.push(',');
                out.push_str(key);
                out.push(':');
                if !project(field, value, out) {
                    out.truncate(mark);
                }
            }
        }
        out.push('}');
        true
    }
}

fn insert(fields: &mut Vec<Field>, keys: &[&str]) {
    let Some((first, rest)) = keys.split_first() else { return };
    let known = fields.iter().position(|field| field.key == *first);
    match known {
        Some(at) if rest.is_empty() => fields[at].inner.clear(),
        Some(at) if fields[at].inner.is_empty() => {} // the whole value is already wanted
        Some(at) => insert(&mut fields[at].inner, rest),
        None => {
            let mut inner = Vec::new();
            insert(&mut inner, rest);
            fields.push(Field { key: (*first).to_owned(), inner });
        }
    }
}

fn wanted<'f>(fields: &'f [Field], quoted: &str) -> Option<&'f Field> {
    let plain = &quoted[1..quoted.len() - 1];
    if plain.contains('\\') {
        let key: String = serde_json::from_str(quoted).ok()?;
        return fields.iter().find(|field| field.key == key);
    }
    fields.iter().find(|field| field.key == plain)
}

/// Appends the wanted parts of a value; `false` if there are none.
fn project(field: &Field, value: &str, out: &mut String) -> bool {
    if field.inner.is_empty() {
        out.push_str(value);
        return true;
    }
    let Ok(members) = split_members(value) else { return false };
    let start = out.len();
    out.push('{');
    for (key, value) in members {
        if let Some(inner) = wanted(&field.inner, key) {
            let mark = out.len();
            if mark > start + 1 {
                out.push(',');
            }
            out.push_str(key);
            out.push(':');
            if !project(inner, value, out) {
                out.truncate(mark);
            }
        }
    }
    out.push('}');
    out.len() > start + 2
}

/// The top-level members of an object as pieces of its text: quoted key, value.
fn split_members(json: &str) -> Result<Vec<(&str, &str)>, Fault> {
    let mut members = Vec::new();
    Scanner::new(json.as_bytes()).whole_object(|scanner, key| {
        scanner.whitespace();
        let value = scanner.at;
        scanner.value(1)?;
        members.push((&json[key.start - 1..=key.end], &json[value..scanner.at]));
        Ok(())
    })?;
    Ok(members)
}

/// Follows a dotted path into a value; digits index arrays.
pub(crate) fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => value.get(key),
    })
}

/// Moves `_id` to the front of an object that was written in another order.
pub(crate) fn move_id_first(object: &mut Map<String, Value>) {
    if object.keys().next().is_some_and(|key| key != "_id")
        && let Some(id) = object.shift_remove("_id")
    {
        object.shift_insert(0, "_id".to_owned(), id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, paths: &[&str], expected: &str) {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        let mut out = String::new();
        assert!(Projection::new(&paths).apply(line, &mut out));
        assert_eq!(out, expected, "{paths:?}");
    }

    #[test]
    fn cuts_by_dotted_path() {
        let line = r#"{"_id":"x","a":1,"b":{"c":[1, 2],"d":{"e":null}},"f":"g"}"#;
        check(line, &["a"], r#"{"_id":"x","a":1}"#);
        check(line, &["f", "a"], r#"{"_id":"x","a":1,"f":"g"}"#);
        check(line, &["b.c", "b.d.e"], r#"{"_id":"x","b":{"c":[1, 2],"d":{"e":null}}}"#);
        check(line, &["b.d", "b"], r#"{"_id":"x","b":{"c":[1, 2],"d":{"e":null}}}"#);
        check(line, &["b.z", "z", "a.b"], r#"{"_id":"x"}"#);
        check(line, &["_id"], r#"{"_id":"x"}"#);
    }

    #[test]
    fn id_comes_first_and_escaped_keys_are_found() {
        check(r#"{"\u0061":1,"_id":"x"}"#, &["a"], r#"{"_id":"x","\u0061":1}"#);
    }

    #[test]
    fn moves_the_id() {
        let mut value: Value = serde_json::from_str(r#"{"a":1,"_id":"x","b":2}"#).unwrap();
        move_id_first(value.as_object_mut().unwrap());
        assert_eq!(value.to_string(), r#"{"_id":"x","a":1,"b":2}"#);
        assert_eq!(lookup(&value, "b"), Some(&2.into()));
    }
}
