//! Compiles JSON Schema, or reports what it does not support.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Kind, Kinds, MAX_DEPTH, Rule};
use crate::error::{Error, Result};

/// Keywords that describe but do not restrict.
const ANNOTATIONS: [&str; 10] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

const KEYWORDS: &str = "type, properties, required, additionalProperties, items, enum, const, \
                        minimum, maximum, minLength, maxLength";

/// Compiles a schema for documents.
pub(super) fn parse(source: &Value) -> Result<Rule> {
    let mut path = Vec::new();
    let mut rule = parse_rule(source, &mut path)?;
    if rule.kinds.is_some_and(|kinds| !kinds.contains(Kind::Object)) {
        return Err(bad(&path, "type", "documents are objects, so no document could match it"));
    }
    rule.properties.remove("_id");
    rule.required.retain(|name| name != "_id");
    Ok(rule)
}

fn parse_rule<'a>(source: &'a Value, path: &mut Vec<&'a str>) -> Result<Rule> {
    let object = match source {
        Value::Bool(true) => return Ok(Rule::default()),
        Value::Object(object) => object,
        _ => return Err(bad(path, "", "a schema is an object, or true for anything")),
    };
    if path.len() / 2 >= MAX_DEPTH {
        return Err(bad(path, "", &format!("schemas may nest {MAX_DEPTH} levels at most")));
    }
    let mut rule = Rule::default();
    for (keyword, value) in object {
        match keyword.as_str() {
            "type" => rule.kinds = Some(kinds(value, path)?),
            "properties" => rule.properties = properties(value, path)?,
            "required" => rule.required = names(value, path)?,
            "additionalProperties" => match value {
                Value::Bool(allowed) => rule.is_closed = !allowed,
                _ => return Err(bad(path, keyword, "only true and false are supported")),
            },
            "items" => {
                path.push("items");
                path.push("");
                rule.items = Some(Box::new(parse_rule(value, path)?));
                path.truncate(path.len() - 2);
            }
            "enum" | "const" => rule.allowed = allowed(object, path)?,
            "minimum" => rule.minimum = Some(number(value, path, keyword)?),
            "maximum" => rule.maximum = Some(number(value, path, keyword)?),
            "minLength" => rule.min_length = Some(length(value, path, keyword)?),
            "maxLength" => rule.max_length = Some(length(value, path, keyword)?),
            known if ANNOTATIONS.contains(&known) => {}
            unknown => {
                let reason = format!("this keyword is not supported; known are {KEYWORDS}");
                return Err(bad(path, unknown, &reason));
            }
        }
    }
    Ok(rule)
}

fn kinds(value: &Value, path: &[&str]) -> Result<Kinds> {
    let names = match value {
        Value::Array(names) if !names.is_empty() => names.as_slice(),
        single => std::slice::from_ref(single),
    };
    let mut kinds = Kinds::default();
    for name in names {
        let kind = name.as_str().and_then(Kind::of_name).ok_or_else(|| {
            let known = "null, boolean, integer, number, string, array, object";
            bad(
                path,
                "type",
                &format!("{name} is not a type; use one of {known}, or a list of them"),
            )
        })?;
        kinds.insert(kind);
    }
    Ok(kinds)
}

fn properties<'a>(value: &'a Value, path: &mut Vec<&'a str>) -> Result<HashMap<String, Rule>> {
    let Value::Object(object) = value else {
        return Err(bad(path, "properties", "an object of names and schemas is expected"));
    };
    let mut properties = HashMap::with_capacity(object.len());
    for (name, source) in object {
        path.push("properties");
        path.push(name);
        properties.insert(name.clone(), parse_rule(source, path)?);
        path.truncate(path.len() - 2);
    }
    Ok(properties)
}

fn names(value: &Value, path: &[&str]) -> Result<Vec<String>> {
    let names = value.as_array().and_then(|names| {
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    names.ok_or_else(|| bad(path, "required", "a list of names is expected"))
}

/// The values of `enum`, restricted by `const`.
fn allowed(object: &Map<String, Value>, path: &[&str]) -> Result<Vec<Value>> {
    let listed = match object.get("enum") {
        Some(Value::Array(values)) if !values.is_empty() => Some(values.clone()),
        Some(_) => return Err(bad(path, "enum", "a list of at least one value is expected")),
        None => None,
    };
    let allowed = match (object.get("const"), listed) {
        (Some(value), None) => vec![value.clone()],
        (Some(value), Some(listed)) if listed.contains(value) => vec![value.clone()],
        (Some(_), Some(_)) => {
            return Err(bad(path, "const", "it is not one of the values of enum"));
        }
        (None, listed) => listed.unwrap_or_default(),
    };
    if allowed.iter().any(|value| nests_deeper(value, MAX_DEPTH)) {
        return Err(bad(path, "enum", &format!("values may nest {MAX_DEPTH} levels at most")));
    }
    Ok(allowed)
}

fn nests_deeper(value: &Value, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => true,
        (Value::Array(items), Some(left)) => items.iter().any(|item| nests_deeper(item, left)),
        (Value::Object(items), Some(left)) => items.values().any(|item| nests_deeper(item, left)),
        _ => false,
    }
}

fn number(value: &Value, path: &[&str], keyword: &str) -> Result<String> {
    match value {
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(bad(path, keyword, "a number is expected")),
    }
}

fn length(value: &Value, path: &[&str], keyword: &str) -> Result<u64> {
    value.as_u64().ok_or_else(|| bad(path, keyword, "a count of characters is expected"))
}

fn bad(path: &[&str], keyword: &str, reason: &str) -> Error {
    let steps: Vec<_> =
        path.iter().copied().chain([keyword]).filter(|step| !step.is_empty()).collect();
    Error::BadSchema { path: steps.join("."), reason: reason.to_owned() }
}
