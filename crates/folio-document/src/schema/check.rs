//! Checks a value against a rule.

use std::cmp::Ordering;

use folio_json::push_number_key;
use serde_json::{Map, Value};

use super::{Kind, Rule};

/// The first value that does not fit.
#[derive(Debug)]
pub(super) struct Mismatch {
    /// A dotted path; empty for the document itself.
    pub(super) path: String,
    pub(super) reason: String,
}

/// Checks a document. Ignores `_id` at its top level.
pub(super) fn check(rule: &Rule, document: &Value) -> Result<(), Mismatch> {
    check_value(rule, document, true)
}

/// Recurses as deep as the rule nests, which is limited.
fn check_value(rule: &Rule, value: &Value, is_document: bool) -> Result<(), Mismatch> {
    if value.is_null() && !is_document {
        return Ok(());
    }
    if let Some(kinds) = rule.kinds
        && !kinds.contains(Kind::of(value))
    {
        return mismatch(format!("expected {}, found {}", kinds.names(), shown(value)));
    }
    if !rule.allowed.is_empty() && !rule.allowed.iter().any(|allowed| same(allowed, value)) {
        let allowed: Vec<_> = rule.allowed.iter().map(shown).collect();
        return mismatch(format!("expected {}, found {}", allowed.join(" or "), shown(value)));
    }
    match value {
        Value::Number(number) => check_range(rule, &number.to_string()),
        Value::String(text) => check_length(rule, text),
        Value::Array(items) => check_items(rule, items),
        Value::Object(object) => check_object(rule, object, is_document),
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

fn check_range(rule: &Rule, number: &str) -> Result<(), Mismatch> {
    if let Some(minimum) = &rule.minimum
        && compare(number, minimum) == Ordering::Less
    {
        return mismatch(format!("{number} is less than the minimum {minimum}"));
    }
    if let Some(maximum) = &rule.maximum
        && compare(number, maximum) == Ordering::Greater
    {
        return mismatch(format!("{number} is more than the maximum {maximum}"));
    }
    Ok(())
}

fn check_length(rule: &Rule, text: &str) -> Result<(), Mismatch> {
    if rule.min_length.is_none() && rule.max_length.is_none() {
        return Ok(());
    }
    let length = text.chars().count() as u64;
    match (rule.min_length, rule.max_length) {
        (Some(least), _) if length < least => {
            mismatch(format!("{length} characters, at least {least} are expected"))
        }
        (_, Some(most)) if length > most => {
            mismatch(format!("{length} characters, at most {most} are expected"))
        }
        _ => Ok(()),
    }
}

fn check_items(rule: &Rule, items: &[Value]) -> Result<(), Mismatch> {
    let Some(rule) = &rule.items else { return Ok(()) };
    for (index, item) in items.iter().enumerate() {
        check_value(rule, item, false).map_err(|mismatch| mismatch.within(&index.to_string()))?;
    }
    Ok(())
}

fn check_object(
    rule: &Rule,
    object: &Map<String, Value>,
    is_document: bool,
) -> Result<(), Mismatch> {
    if let Some(missing) = rule.required.iter().find(|name| !object.contains_key(*name)) {
        return mismatch("missing, but required".to_owned())
            .map_err(|mismatch| mismatch.within(missing));
    }
    for (name, value) in object {
        if is_document && name == "_id" {
            continue;
        }
        let checked = match rule.properties.get(name) {
            Some(rule) => check_value(rule, value, false),
            None if rule.is_closed => mismatch("not one of the fields of the schema".to_owned()),
            None => Ok(()),
        };
        checked.map_err(|mismatch| mismatch.within(name))?;
    }
    Ok(())
}

/// Equality as in JSON Schema: numbers by value, objects in any order. Recurses as deep as `left`,
/// which comes from the schema and is limited.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare(&left.to_string(), &right.to_string()) == Ordering::Equal
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, l)| right.get(name).is_some_and(|r| same(l, r)))
        }
        (Value::Number(_) | Value::Array(_) | Value::Object(_), _) => false,
        (left, right) => left == right,
    }
}

/// A value as shown in an error: scalars shortened, the rest by kind.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::Array(_) | Value::Object(_) => Kind::of(value).name().to_owned(),
        scalar => {
            let text = scalar.to_string();
            match text.char_indices().nth(LONGEST) {
                None => text,
                Some((cut, _)) => format!("{}...", &text[..cut]),
            }
        }
    }
}

fn mismatch(reason: String) -> Result<(), Mismatch> {
    Err(Mismatch { path: String::new(), reason })
}

impl Mismatch {
    /// Prefixes the path with `step`, the key in the enclosing value.
    fn within(self, step: &str) -> Self {
        let path = match self.path.as_str() {
            "" => step.to_owned(),
            path => format!("{step}.{path}"),
        };
        Self { path, ..self }
    }
}

/// Compares two numbers exactly, given as text: with `f64`, 9007199254740993 would not exceed a
/// maximum of 9007199254740992.
fn compare(left: &str, right: &str) -> Ordering {
    let [left, right] = [left, right].map(|text| {
        let mut key = Vec::new();
        push_number_key(text, &mut key);
        key
    });
    left.cmp(&right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn compares_by_value() {
        let ascending = [
            "-1e99999999999999999999",
            "-10",
            "-9.5",
            "-1e-3",
            "0",
            "1e-99999999999999999999",
            "0.001",
            "1",
            "1.000000000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "1e20",
            "1e999999999",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), at.cmp(&other), "{left} {right}");
            }
        }
        for (left, right) in [("1", "1.0"), ("100", "1E+2"), ("0", "-0.0e7"), ("12e-1", "1.20")] {
            assert_eq!(compare(left, right), Ordering::Equal, "{left} {right}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(left in any::<i64>(), right in any::<i64>()) {
            prop_assert_eq!(compare(&left.to_string(), &right.to_string()), left.cmp(&right));
        }

        #[test]
        fn agrees_with_fractions(left in -10_000i64..10_000, right in -10_000i64..10_000) {
            let text = |hundredths: i64| {
                let sign = if hundredths < 0 { "-" } else { "" };
                format!("{sign}{}.{:02}", hundredths.abs() / 100, hundredths.abs() % 100)
            };
            prop_assert_eq!(compare(&text(left), &text(right)), left.cmp(&right));
            prop_assert_eq!(compare(&format!("{left}e-2"), &text(right)), left.cmp(&right));
        }
    }
}
