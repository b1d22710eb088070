//! Functions on JSON.

use crate::cast::json::{from_text, to_json, unquote, write_string};
use crate::{Error, Result, order_keys};
use folio_json::{Edit, Kind, Step, at_path, edit_at, elements, set_member, strip_nulls};
use folio_types::{ColumnType, Value};

use super::Body::{Lenient, Strict, Typed, Whole};
use super::Takes::{Any, Boolean, Integer, Json, Text, TextList};
use super::{Overload, Returns, function, integer_of, text_of, variadic};

pub(super) const OVERLOADS: &[Overload] = &[
    function("json_get", &[Json, Text], Returns::Json, Strict(|a| get(a, member(&a[1]), false))),
    function(
        "json_get",
        &[Json, Integer],
        Returns::Json,
        Strict(|a| get(a, element(&a[1]), false)),
    ),
    function(
        "json_get_text",
        &[Json, Text],
        Returns::Text,
        Strict(|a| get(a, member(&a[1]), true)),
    ),
    function(
        "json_get_text",
        &[Json, Integer],
        Returns::Text,
        Strict(|a| get(a, element(&a[1]), true)),
    ),
    function(
        "json_path",
        &[Json, super::Takes::List],
        Returns::Json,
        Strict(|a| get(a, path(&a[1]), false)),
    ),
    function(
        "json_path_text",
        &[Json, super::Takes::List],
        Returns::Text,
        Strict(|a| get(a, path(&a[1]), true)),
    ),
    function(
        "json_extract",
        &[Json, Text],
        Returns::Json,
        Strict(|a| get(a, dollar_path(&a[1])?, false)),
    ),
    variadic(
        "json_extract_path",
        &[Json, Text],
        Returns::Json,
        Strict(|a| get(a, steps(&a[1..]), false)),
    ),
    variadic(
        "json_extract_path_text",
        &[Json, Text],
        Returns::Text,
        Strict(|a| get(a, steps(&a[1..]), true)),
    ),
    function(
        "json_order",
        &[Any],
        Returns::OrderKey,
        Whole(|call| Ok(order_keys::of_column(&call.arrays[0], &call.types[0]))),
    ),
    function(
        "json_from_text",
        &[Text],
        Returns::Json,
        Strict(|a| Ok(Value::Text(from_text(text_of(&a[0]))))),
    ),
    function("json_concat", &[Json, Json], Returns::Json, Strict(concat)),
    function("json_array_length", &[Json], Returns::Integer, Strict(array_length)),
    function("json_typeof", &[Json], Returns::Text, Strict(type_of)),
    function(
        "json_valid",
        &[Text],
        Returns::Boolean,
        Strict(|a| {
            Ok(Value::Boolean(
                serde_json::from_str::<&serde_json::value::RawValue>(text_of(&a[0])).is_ok(),
            ))
        }),
    ),
    function("json_keys", &[Json], Returns::TextList, Strict(keys)),
    function(
        "json_contains_key",
        &[Json, Text],
        Returns::Boolean,
        Strict(|a| Ok(Value::Boolean(has_key(&parsed(&a[0]), text_of(&a[1]))))),
    ),
    function(
        "json_contains",
        &[Json, Json],
        Returns::Boolean,
        Strict(|a| Ok(Value::Boolean(contains(&parsed(&a[0]), &parsed(&a[1]), true)))),
    ),
    function(
        "to_json",
        &[Any],
        Returns::Json,
        Typed(|a, types| Ok(Value::Text(to_json(&a[0], &types[0])))),
    ),
    function("json_set", &[Json, TextList, Json], Returns::Json, Lenient(set)),
    function("jsonb_set", &[Json, TextList, Json], Returns::Json, Strict(set_at)),
    function("jsonb_set", &[Json, TextList, Json, Boolean], Returns::Json, Strict(set_at)),
    function("json_remove", &[Json, Text], Returns::Json, Strict(remove_name)),
    function("json_remove", &[Json, Integer], Returns::Json, Strict(remove_position)),
    function("json_remove", &[Json, TextList], Returns::Json, Strict(remove_names)),
    function("json_remove_path", &[Json, TextList], Returns::Json, Strict(remove_path)),
    function(
        "json_strip_nulls",
        &[Json],
        Returns::Json,
        Strict(|a| Ok(Value::Text(strip_nulls(text_of(&a[0]))))),
    ),
    variadic("json_build_object", &[Any], Returns::Json, Lenient(build_object)),
    variadic("json_object", &[Any], Returns::Json, Lenient(build_object)),
    variadic("json_build_array", &[Any], Returns::Json, Lenient(build_array)),
    variadic("json_array", &[Any], Returns::Json, Lenient(build_array)),
    function("json_array", &[], Returns::Json, Lenient(build_array)),
    function("json_object", &[], Returns::Json, Lenient(build_object)),
    function(
        "row_to_json",
        &[Any],
        Returns::Json,
        Typed(|a, types| Ok(Value::Text(to_json(&a[0], &types[0])))),
    ),
];

fn member(name: &Value) -> Vec<Step> {
    vec![Step::Member(text_of(name).to_owned())]
}

fn element(index: &Value) -> Vec<Step> {
    vec![Step::Element(integer_of(index))]
}

fn step(value: &Value) -> Step {
    match value {
        Value::Integer(index) => Step::Element(*index),
        value => Step::Either(text_of(value).to_owned()),
    }
}

fn steps(values: &[Value]) -> Vec<Step> {
    values.iter().map(step).collect()
}

fn path(list: &Value) -> Vec<Step> {
    match list {
        Value::List(values) => steps(values),
        _ => Vec::new(),
    }
}

/// `$.a.b[0]`
fn dollar_path(text: &Value) -> Result<Vec<Step>> {
    let text = text_of(text);
    let bad =
        || Error::invalid(format!("{text:?} is not a path")).help("write it as '$.member[0]'");
    let mut rest = text.strip_prefix('$').ok_or_else(bad)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = after.find(']').ok_or_else(bad)?;
            let inside = after[..end].trim_matches(['"', '\'']);
            steps.push(step(&Value::Text(inside.to_owned())));
            rest = &after[end + 1..];
        } else {
            let after = rest.strip_prefix('.').ok_or_else(bad)?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            steps.push(Step::Member(after[..end].to_owned()));
            rest = &after[end..];
        }
    }
    Ok(steps)
}

#[allow(clippy::needless_pass_by_value, reason = "it is made for the call")]
fn get(arguments: &[Value], steps: Vec<Step>, as_text: bool) -> Result<Value> {
    let found = at_path(text_of(&arguments[0]), &steps);
    let found = if as_text { found.and_then(unquote) } else { found.map(str::to_owned) };
    Ok(found.map_or(Value::Null, Value::Text))
}

/// Whether JSON has this member, contains this text as an element, or equals it.
fn has_key(json: &serde_json::Value, key: &str) -> bool {
    match json {
        serde_json::Value::Object(members) => members.contains_key(key),
        serde_json::Value::Array(items) => items.iter().any(|item| item.as_str() == Some(key)),
        other => other.as_str() == Some(key),
    }
}

fn parsed(json: &Value) -> serde_json::Value {
    serde_json::from_str(text_of(json)).unwrap_or_default()
}

/// Whether JSON contains other JSON: members by name, elements in any position. At the top, an
/// array may also contain a single value.
fn contains(whole: &serde_json::Value, part: &serde_json::Value, is_top: bool) -> bool {
    use serde_json::Value as Json;
    match (whole, part) {
        (Json::Object(whole), Json::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part, false))),
        (Json::Array(whole), Json::Array(part)) => {
            part.iter().all(|part| whole.iter().any(|whole| contains(whole, part, false)))
        }
        (Json::Array(whole), part) if is_top && !part.is_object() => {
            whole.iter().any(|whole| contains(whole, part, false))
        }
        (Json::Number(whole), Json::Number(part)) => {
            whole == part || whole.as_f64() == part.as_f64()
        }
        (whole, part) => whole == part,
    }
}

/// Merges two objects, the right one's members winning. Concatenates arrays; any other value
/// counts as an array of one.
fn concat(arguments: &[Value]) -> Result<Value> {
    use serde_json::Value as Json;
    let joined = match (parsed(&arguments[0]), parsed(&arguments[1])) {
        (Json::Object(mut left), Json::Object(right)) => {
            left.extend(right);
            Json::Object(left)
        }
        (left, right) => {
            let items = |side| match side {
                Json::Array(items) => items,
                other => vec![other],
            };
            Json::Array(items(left).into_iter().chain(items(right)).collect())
        }
    };
    Ok(Value::Text(joined.to_string()))
}

fn array_length(arguments: &[Value]) -> Result<Value> {
    let items = elements(text_of(&arguments[0]))
        .ok_or_else(|| Error::invalid("the JSON value is not an array"))?;
    Ok(Value::Integer(i64::try_from(items.len()).unwrap_or(i64::MAX)))
}

fn type_of(arguments: &[Value]) -> Result<Value> {
    let kind = match Kind::of(text_of(&arguments[0])) {
        Some(Kind::Object) => "object",
        Some(Kind::Array) => "array",
        Some(Kind::Text) => "string",
        Some(Kind::Bool(_)) => "boolean",
        Some(Kind::Null) => "null",
        Some(Kind::Number) | None => "number",
    };
    Ok(Value::Text(kind.to_owned()))
}

fn keys(arguments: &[Value]) -> Result<Value> {
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(text_of(&arguments[0]))
            .map_err(|_| Error::invalid("the JSON value is not an object"))?;
    Ok(Value::List(members.into_iter().map(|(name, _)| Value::Text(name)).collect()))
}

/// JSON with another value, or none, at a path of names.
fn set(arguments: &[Value], _: &[ColumnType]) -> Result<Value> {
    let [json, Value::List(path), value] = arguments else { return Ok(Value::Null) };
    if matches!((json, value), (Value::Null, Value::Null)) {
        return Ok(Value::Null);
    }
    let names: Vec<&str> = path.iter().map(text_of).collect();
    let json = if matches!(json, Value::Null) { "null" } else { text_of(json) };
    let value = if matches!(value, Value::Null) { None } else { Some(text_of(value)) };
    let set = set_member(json, &names, value).map_err(|depth| {
        let name = names[..depth].join(".");
        let place = if depth == 0 { "the value".to_owned() } else { format!("{name:?}") };
        Error::invalid(format!(
            "{place} is no object, so it cannot get a member {:?}",
            names[depth]
        ))
        .help("set the whole value, or remove it first")
    })?;
    Ok(Value::Text(set))
}

/// JSON with another value at a path, as PostgreSQL's `jsonb_set`. Without the last argument, or if
/// it is true, a member or an element that is missing is added.
fn set_at(arguments: &[Value]) -> Result<Value> {
    let value = text_of(&arguments[2]);
    let edit = match arguments.get(3) {
        Some(Value::Boolean(false)) => Edit::Replace(value),
        _ => Edit::Set(value),
    };
    edited(&arguments[0], &arguments[1], edit)
}

fn remove_path(arguments: &[Value]) -> Result<Value> {
    edited(&arguments[0], &arguments[1], Edit::Remove)
}

fn edited(json: &Value, path: &Value, edit: Edit<'_>) -> Result<Value> {
    let json = text_of(json);
    let Value::List(path) = path else { return Ok(Value::Null) };
    check_has_parts(json)?;
    if path.contains(&Value::Null) {
        return Err(Error::invalid("a step of the path is null"));
    }
    let steps: Vec<&str> = path.iter().map(text_of).collect();
    let edited = edit_at(json, &steps, edit).map_err(|depth| {
        Error::invalid(format!(
            "step {} of the path, {:?}, is not an integer",
            depth + 1,
            steps[depth]
        ))
        .help("it leads into an array: write a position, from 0, or from the end if negative")
    })?;
    Ok(Value::Text(edited))
}

/// `json - name`: an object without a member, or an array without the texts that are equal.
fn remove_name(arguments: &[Value]) -> Result<Value> {
    without(text_of(&arguments[0]), &[text_of(&arguments[1])])
}

/// The same for several names.
fn remove_names(arguments: &[Value]) -> Result<Value> {
    let Value::List(names) = &arguments[1] else { return Ok(Value::Null) };
    let names = names.iter().filter(|name| !matches!(name, Value::Null));
    without(text_of(&arguments[0]), &names.map(text_of).collect::<Vec<_>>())
}

fn without(json: &str, names: &[&str]) -> Result<Value> {
    check_has_parts(json)?;
    if let Some(items) = elements(json) {
        let is_removed = |item: &&str| {
            item.starts_with('"') && unquote(item).is_some_and(|text| names.contains(&&*text))
        };
        let kept: Vec<&str> = items.into_iter().filter(|item| !is_removed(item)).collect();
        return Ok(Value::Text(format!("[{}]", kept.join(","))));
    }
    let mut left = json.to_owned();
    for name in names {
        left = edit_at(&left, &[name], Edit::Remove).unwrap_or(left);
    }
    Ok(Value::Text(left))
}

/// `json - position`: an array without an element.
fn remove_position(arguments: &[Value]) -> Result<Value> {
    let json = text_of(&arguments[0]);
    let position = integer_of(&arguments[1]).to_string();
    if elements(json).is_none() {
        return Err(Error::invalid("the JSON value is not an array").help(
            "a member is removed by its name: json - 'name'; to subtract, cast to a number",
        ));
    }
    let left = edit_at(json, &[&position], Edit::Remove);
    Ok(Value::Text(left.unwrap_or_else(|_| json.to_owned())))
}

fn check_has_parts(json: &str) -> Result<()> {
    match Kind::of(json) {
        Some(Kind::Object | Kind::Array) => Ok(()),
        _ => Err(Error::invalid("the JSON value is not an object or an array")),
    }
}

fn build_object(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    if arguments.len() % 2 == 1 {
        return Err(Error::invalid("json_object takes names and values in pairs"));
    }
    let mut out = String::from("{");
    for (index, (pair, types)) in arguments.chunks(2).zip(types.chunks(2)).enumerate() {
        if index > 0 {
            out.push(',');
        }
        if matches!(pair[0], Value::Null) {
            return Err(Error::invalid("a name in json_object is null"));
        }
        write_string(&crate::cast::format(&pair[0], &types[0]), &mut out);
        out.push(':');
        out.push_str(&to_json(&pair[1], &types[1]));
    }
    out.push('}');
    Ok(Value::Text(out))
}

fn build_array(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let items: Vec<String> =
        arguments.iter().zip(types).map(|(value, ty)| to_json(value, ty)).collect();
    Ok(Value::Text(format!("[{}]", items.join(","))))
}
