//! Extracts fields from a line by dotted path, on the text, in one pass.

use serde_json::{Map, Value};

use super::id_of_valid_line;
use folio_json::{Fault, ID_PREFIX, Scanner};

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
        // It is in every document.
        root.retain(|field: &Field| field.key != "_id");
        Self { root }
    }

    /// Appends the reduced document to `out`: `_id` first, then fields in the document's order.
    /// `false` if the line is not a document.
    pub(crate) fn apply(&self, line: &str, out: &mut String) -> bool {
        let Some(id) = id_of_valid_line(line.as_bytes()) else { return false };
        let start = out.len();
        out.extend([ID_PREFIX, &id, "\""]);
        let is_document = push_fields(&self.root, line, out).is_ok();
        out.push('}');
        if !is_document {
            out.truncate(start);
        }
        is_document
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

/// Appends the wanted members of an object, separated by commas.
fn push_fields(fields: &[Field], json: &str, out: &mut String) -> Result<(), Fault> {
    Scanner::new(json.as_bytes()).whole_object(|scanner, key| {
        let value = &json[scanner.value_range(1)?];
        if let Some(field) = fields.iter().find(|field| key.is(json.as_bytes(), &field.key)) {
            let mark = out.len();
            if !out.ends_with('{') {
                out.push(',');
            }
            out.extend([&json[key.start - 1..=key.end], ":"]);
            if !push_wanted(field, value, out) {
                out.truncate(mark);
            }
        }
        Ok(())
    })
}

/// Appends the wanted parts of a value; `false` if there are none.
fn push_wanted(field: &Field, value: &str, out: &mut String) -> bool {
    if field.inner.is_empty() {
        out.push_str(value);
        return true;
    }
    let start = out.len();
    out.push('{');
    let is_object = push_fields(&field.inner, value, out).is_ok();
    out.push('}');
    is_object && out.len() > start + 2
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
