//! Converts values to JSON text and back.
//!
//! JSON stays text: numbers keep all digits, members keep their order.

use std::borrow::Cow;
use std::fmt::Write;

use folio_json::Kind;
use folio_types::{ColumnType, Value};
use serde_json::Value as Json;

use super::{format, format_decimal, format_float, parse};
use crate::type_rules::scale_of;

/// The JSON text of a value.
#[must_use]
pub fn to_json(value: &Value, ty: &ColumnType) -> String {
    let mut out = String::new();
    write_json(value, ty, &mut out);
    out
}

/// Whether a text reads as an object or an array.
#[must_use]
pub fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// The JSON text of a text: an object or an array if it reads as one, otherwise a string.
#[must_use]
pub fn from_text(text: &str) -> String {
    match is_document(text) {
        true => text.to_owned(),
        false => to_json(&Value::Text(text.to_owned()), &ColumnType::Text),
    }
}

/// Appends the JSON text of a value.
pub fn write_json(value: &Value, ty: &ColumnType, out: &mut String) {
    match (value, ty) {
        (Value::Null, _) => out.push_str("null"),
        (Value::Boolean(value), _) => out.push_str(if *value { "true" } else { "false" }),
        (Value::Integer(value), _) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{value}");
        }
        (Value::Float(value), _) if value.is_finite() => {
            let text = format_float(*value, ty);
            out.push_str(&text);
            if !text.contains(['.', 'e']) {
                out.push_str(".0");
            }
        }
        (Value::Decimal(digits), ty) => {
            out.push_str(&format_decimal(*digits, scale_of(ty)));
        }
        (Value::Text(text), ColumnType::Json) => out.push_str(text),
        (Value::Text(text), _) => write_string(text, out),
        (Value::List(values), ColumnType::List(element)) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(value, element, out);
            }
            out.push(']');
        }
        (Value::Timestamp(_), ColumnType::Timestamp { utc }) => {
            let text = format(value, ty).replacen(' ', "T", 1);
            let text = if *utc { text.replace("+00", "Z") } else { text };
            write_string(&text, out);
        }
        (value, ty) => match members_of(value, ty) {
            Some(members) => {
                out.push('{');
                for (index, (name, value, ty)) in members.enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    write_json(value, ty, out);
                }
                out.push('}');
            }
            None => write_string(&format(value, ty), out),
        },
    }
}

/// The members of a struct or a map: their names, values and types. `None` for other values.
pub fn members_of<'v>(
    value: &'v Value,
    ty: &'v ColumnType,
) -> Option<Box<dyn Iterator<Item = (&'v str, &'v Value, &'v ColumnType)> + 'v>> {
    match (value, ty) {
        (Value::Struct(values), ColumnType::Struct(fields)) => {
            let member = |(value, (name, ty)): (&'v Value, &'v (String, ColumnType))| {
                (name.as_str(), value, ty)
            };
            Some(Box::new(values.iter().zip(fields).map(member)))
        }
        (Value::List(entries), ColumnType::Map(ty)) => {
            Some(Box::new(entries.iter().filter_map(|entry| match entry {
                Value::Struct(parts) => match &parts[..] {
                    [Value::Text(key), value] => Some((key.as_str(), value, &**ty)),
                    _ => None,
                },
                _ => None,
            })))
        }
        _ => None,
    }
}

pub use folio_json::write_json_string as write_string;

/// Reads a value of a type from JSON text; `None` if it is not of the type.
#[must_use]
pub fn from_json(text: &str, ty: &ColumnType) -> Option<Value> {
    convert(&serde_json::from_str(text).ok()?, ty)
}

fn convert(json: &Json, ty: &ColumnType) -> Option<Value> {
    match (json, ty) {
        (Json::Null, _) => Some(Value::Null),
        (json, ColumnType::Json) => Some(Value::Text(json.to_string())),
        (Json::Bool(value), ColumnType::Boolean) => Some(Value::Boolean(*value)),
        (Json::Array(items), ColumnType::List(element)) => {
            items.iter().map(|item| convert(item, element)).collect::<Option<_>>().map(Value::List)
        }
        (Json::Object(members), ColumnType::Struct(fields)) => fields
            .iter()
            .map(|(name, ty)| members.get(name).map_or(Some(Value::Null), |json| convert(json, ty)))
            .collect::<Option<_>>()
            .map(Value::Struct),
        (Json::Object(members), ColumnType::Map(ty)) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let entry = |(key, json): (&String, &Json)| {
                Some(Value::Struct(vec![Value::Text(key.clone()), convert(json, ty)?]))
            };
            members.into_iter().map(entry).collect::<Option<_>>().map(Value::List)
        }
        // Only a JSON array or object becomes a nested value; text is not parsed.
        (_, ty) if ty.is_nested() => None,
        (Json::String(text), ty) => parse(text, ty).ok(),
        (json @ Json::Number(_), ty) => parse(&json.to_string(), ty).ok(),
        _ => None,
    }
}

/// JSON as plain text: strings without quotes; `None` for null.
#[must_use]
pub fn unquote(json: &str) -> Option<String> {
    match Kind::of(json)? {
        Kind::Text => folio_json::unquote(json).map(Cow::into_owned),
        Kind::Null => None,
        _ => Some(json.to_owned()),
    }
}
