//! Parameters of statements on the command line: `-p name=value`, `-p value`.
//!
//! A value is JSON: a number, true, false, null, a string in double quotes, a list, or an object,
//! whose type is json. Other text is a string. Numbers with a point keep their digits. Strings and
//! null take the type that their use requires. `-p name:type=value` sets an SQL type.

use folio::{ColumnType, Parameters, Value, list_of, parse_type, parse_value};

use crate::failure::Failure;

/// A value, and its type if given.
type Typed = (Value, Option<ColumnType>);

/// A parameter as given.
#[derive(Debug, PartialEq, Eq)]
struct Given<'g> {
    /// Empty for a positional value.
    name: &'g str,
    type_name: Option<&'g str>,
    value: &'g str,
}

/// The parameters of an SQL statement: all by name, or all by position.
pub(crate) fn by_name_or_position(given: &[String]) -> Result<Parameters, Failure> {
    let all: Vec<Given<'_>> = given.iter().map(|text| split(text)).collect();
    check_names(&all)?;
    let named_count = all.iter().filter(|given| !given.name.is_empty()).count();
    if named_count > 0 && named_count < all.len() {
        let position = given.iter().zip(&all).find(|(_, given)| given.name.is_empty());
        let text = position.map_or("", |(text, _)| text);
        return Err(Failure::Usage(format!(
            "parameter {text:?} has no name, but others do; name all of them (NAME=VALUE), or none"
        )));
    }
    gathered(&all)
}

/// The parameters of a ZiQL script, which have names.
pub(crate) fn by_name(given: &[String]) -> Result<Parameters, Failure> {
    let all: Vec<Given<'_>> = given.iter().map(|text| split(text)).collect();
    if let Some((text, _)) = given.iter().zip(&all).find(|(_, given)| given.name.is_empty()) {
        let error = format!("parameter {text:?} has no name; write NAME=VALUE");
        return Err(Failure::Usage(error));
    }
    check_names(&all)?;
    gathered(&all)
}

fn check_names(all: &[Given<'_>]) -> Result<(), Failure> {
    for (index, given) in all.iter().enumerate() {
        let is_taken = all[..index].iter().any(|earlier| earlier.name == given.name);
        if is_taken && !given.name.is_empty() {
            return Err(Failure::Usage(format!("parameter {:?} is given twice", given.name)));
        }
    }
    Ok(())
}

fn gathered(all: &[Given<'_>]) -> Result<Parameters, Failure> {
    let mut parameters = Parameters::default();
    for given in all {
        let (value, column_type) = match given.type_name {
            None => untyped(given.value),
            Some(type_name) => typed(given, type_name)?,
        };
        if given.name.is_empty() {
            parameters.push(value, column_type);
        } else {
            parameters.push_named(given.name, value, column_type);
        }
    }
    Ok(parameters)
}

/// `name=value`, `name:type=value`, `:type=value` or a value alone. If the text before the first
/// `=` is not a name, it belongs to the value.
fn split(text: &str) -> Given<'_> {
    let alone = Given { name: "", type_name: None, value: text };
    let Some((front, value)) = text.split_once('=') else { return alone };
    let (name, type_name) = match front.split_once(':') {
        Some((name, type_name)) => (name, Some(type_name)),
        None => (front, None),
    };
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|character| character == '_' || character.is_alphanumeric());
    let has_type = type_name.is_none_or(|name| name.starts_with(char::is_alphabetic));
    match is_name && has_type {
        true => Given { name, type_name, value },
        false => alone,
    }
}

/// A value of a given type.
fn typed(given: &Given<'_>, type_name: &str) -> Result<Typed, Failure> {
    let Given { name, value, .. } = given;
    let what =
        if name.is_empty() { "the parameter".to_owned() } else { format!("parameter {name:?}") };
    let fault = |error: folio::Error| Failure::Usage(format!("{what}: {error}"));
    let column_type = parse_type(type_name).map_err(|error| fault(error.into()))?;
    if *value == "null" {
        return Ok((Value::Null, Some(column_type)));
    }
    let value = parse_value(value, &column_type).map_err(|error| fault(error.into()))?;
    Ok((value, Some(column_type)))
}

/// A value whose type is inferred from its text.
fn untyped(text: &str) -> Typed {
    let json = serde_json::from_str(text).ok();
    // Keep the digits of the text.
    let number = json.as_ref().filter(|json: &&serde_json::Value| json.is_number());
    let value = match number {
        Some(_) => Some(number_of(text.trim())),
        None => json.as_ref().and_then(value_of),
    };
    value.unwrap_or_else(|| (Value::Text(text.to_owned()), None))
}

fn value_of(json: &serde_json::Value) -> Option<Typed> {
    use serde_json::Value as Json;
    Some(match json {
        Json::Null => (Value::Null, None),
        Json::Bool(value) => (Value::Boolean(*value), Some(ColumnType::Boolean)),
        // In a list with mixed numbers: integers, or floats, which convert to one type.
        Json::Number(number) => match number.as_i64() {
            Some(value) => (Value::Integer(value), Some(ColumnType::Int64)),
            None => (Value::Float(number.as_f64()?), Some(ColumnType::Float64)),
        },
        Json::String(text) => (Value::Text(text.clone()), None),
        Json::Array(items) => list_of(items.iter().map(value_of).collect::<Option<_>>()?)?,
        Json::Object(_) => (Value::Text(json.to_string()), Some(ColumnType::Json)),
    })
}

/// An integer; a decimal if there is a point; a float if there is an exponent, or too many digits
/// for a decimal.
fn number_of(text: &str) -> Typed {
    if let Ok(integer) = text.parse() {
        return (Value::Integer(integer), Some(ColumnType::Int64));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    let is_short = digits.trim_start_matches(['-', '0']).len() <= 38;
    match (digits.parse(), i8::try_from(fraction.len())) {
        (Ok(digits), Ok(scale)) if is_short && scale <= 38 => {
            let column_type = ColumnType::Decimal { precision: 38, scale };
            (Value::Decimal(digits), Some(column_type))
        }
        _ => (Value::Float(text.parse().unwrap_or(f64::NAN)), Some(ColumnType::Float64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_are_told_from_values() {
        for (text, name, type_name, value) in [
            ("n=1", "n", None, "1"),
            ("n=", "n", None, ""),
            ("n=a=b", "n", None, "a=b"),
            ("day:date=2024-01-31", "day", Some("date"), "2024-01-31"),
            (":numeric(10,2)=1.5", "", Some("numeric(10,2)"), "1.5"),
            ("-5", "", None, "-5"),
            ("=a=b", "", None, "a=b"),
            ("a b=c", "", None, "a b=c"),
            ("https://example.org/?q=1", "", None, "https://example.org/?q=1"),
            ("1=1", "", None, "1=1"),
        ] {
            assert_eq!(split(text), Given { name, type_name, value }, "{text}");
        }
    }

    #[test]
    fn values_have_the_type_of_their_text() {
        let decimal = |scale| Some(ColumnType::Decimal { precision: 38, scale });
        let object = "{\"b\":1.50,\"a\":[]}".to_owned();
        for (text, value, column_type) in [
            ("7", Value::Integer(7), Some(ColumnType::Int64)),
            ("12.50", Value::Decimal(1250), decimal(2)),
            ("9223372036854775808", Value::Decimal(9_223_372_036_854_775_808), decimal(0)),
            ("1e3", Value::Float(1000.0), Some(ColumnType::Float64)),
            ("true", Value::Boolean(true), Some(ColumnType::Boolean)),
            ("null", Value::Null, None),
            ("01234", Value::Text("01234".to_owned()), None),
            ("\"7\"", Value::Text("7".to_owned()), None),
            ("{\"b\": 1.50, \"a\": []}", Value::Text(object), Some(ColumnType::Json)),
            ("{b: 1.50}", Value::Text("{b: 1.50}".to_owned()), None),
            ("", Value::Text(String::new()), None),
        ] {
            assert_eq!(untyped(text), (value, column_type), "{text}");
        }
        let list = Some(ColumnType::List(Box::new(ColumnType::Int64)));
        let values = Value::List(vec![Value::Integer(1), Value::Integer(2)]);
        assert_eq!(untyped("[1, 2]"), (values, list));
        let list = Some(ColumnType::List(Box::new(ColumnType::Float64)));
        let values = Value::List(vec![Value::Float(1.0), Value::Float(2.5)]);
        assert_eq!(untyped("[1, 2.5]"), (values, list));
    }
}
