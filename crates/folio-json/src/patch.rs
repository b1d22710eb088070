//! Changes to values.

use serde_json::{Map, Value};

use crate::members::{members, push_object};
use crate::path::{elements, place_of};
use crate::scan::DEPTH_MAX;

/// Applies a JSON Merge Patch (RFC 7396): null removes a member, objects are merged, everything
/// else is replaced.
///
/// ```
/// let mut value = serde_json::json!({"a": {"b": 1, "c": 2}, "d": [1]});
/// folio_json::merge_patch(&mut value, &serde_json::json!({"a": {"b": null}, "d": 3}));
/// assert_eq!(value, serde_json::json!({"a": {"c": 2}, "d": 3}));
/// ```
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let object = target.as_object_mut().expect("made an object above");
    for (key, value) in patch {
        if value.is_null() {
            object.shift_remove(key);
        } else {
            merge_patch(object.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// Sets the member at a path of names, or removes it without a value. Everything else keeps its
/// text. Objects on the way are made for a value if they are missing or null.
///
/// # Errors
/// The number of names that lead to a value that is no object, or that lies too deep.
///
/// ```
/// use folio_json::set_member;
/// let set = |json, path: &[&str], value| set_member(json, path, value).unwrap();
/// assert_eq!(set(r#"{"a":{"b":1.10}}"#, &["a", "c"], Some("2")), r#"{"a":{"b":1.10,"c":2}}"#);
/// assert_eq!(set(r#"{"a":{"b":1.10}}"#, &["a", "b"], None), r#"{"a":{}}"#);
/// assert_eq!(set("null", &["a", "b"], Some("2")), r#"{"a":{"b":2}}"#);
/// assert_eq!(set(r#"{"c": 1}"#, &["a", "b"], None), r#"{"c": 1}"#);
/// assert_eq!(set_member(r#"{"a":1}"#, &["a", "b"], Some("2")), Err(1));
/// ```
pub fn set_member(json: &str, path: &[&str], value: Option<&str>) -> Result<String, usize> {
    let [name, below @ ..] = path else { return Ok(value.unwrap_or("null").to_owned()) };
    let mut own = match json.trim_ascii() {
        "null" => Vec::new(),
        json => members(json).map_err(|_| 0_usize)?,
    };
    let at = own.iter().rposition(|(known, _)| known == name);
    let old = at.map_or("null", |at| own[at].1);
    if value.is_none() && (at.is_none() || old == "null" && !below.is_empty()) {
        return Ok(json.to_owned()); // there is nothing to remove
    }
    let is_removed = value.is_none() && below.is_empty();
    let new = match is_removed {
        true => String::new(),
        false => set_member(old, below, value).map_err(|depth| depth + 1)?,
    };
    match (at, is_removed) {
        (_, true) => own.retain(|(known, _)| known != name),
        (Some(at), false) => own[at].1 = &new,
        (None, false) => own.push(((*name).into(), &new)),
    }
    let mut out = String::with_capacity(json.len() + new.len());
    push_object(own, &mut out);
    Ok(out)
}

/// What is done at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit<'v> {
    /// The value is set; a member or an element that is missing is added.
    Set(&'v str),
    /// The value is set if there is one.
    Replace(&'v str),
    /// The member or element is removed.
    Remove,
}

/// Edits what is at a path of members and elements, as PostgreSQL's `jsonb_set` and `#-` do. A step
/// names a member of an object, or is a position in an array, from the end if negative. Everything
/// else keeps its text. A path that leads nowhere before its last step changes nothing, and neither
/// does one of more than [`DEPTH_MAX`] steps.
///
/// # Errors
/// The number of steps that lead to an array whose next step is no position.
///
/// ```
/// use folio_json::{Edit, edit_at};
/// let json = r#"{"a":[1.10,{"b":2}]}"#;
/// let set = |path: &[&str]| edit_at(json, path, Edit::Set("9")).unwrap();
/// assert_eq!(set(&["a", "0"]), r#"{"a":[9,{"b":2}]}"#);
/// assert_eq!(set(&["a", "-1", "b"]), r#"{"a":[1.10,{"b":9}]}"#);
/// assert_eq!(set(&["a", "7"]), r#"{"a":[1.10,{"b":2},9]}"#);
/// assert_eq!(set(&["c", "d"]), json);
/// assert_eq!(edit_at(json, &["a"], Edit::Remove).unwrap(), "{}");
/// assert_eq!(edit_at(json, &["a", "x"], Edit::Remove), Err(1));
/// ```
pub fn edit_at(json: &str, path: &[&str], edit: Edit<'_>) -> Result<String, usize> {
    let json = json.trim_ascii();
    let unchanged = || Ok(json.to_owned());
    let [step, below @ ..] = path else { return unchanged() };
    if path.len() > DEPTH_MAX as usize {
        return unchanged();
    }
    // The new text of the value at this step; `None` to remove it.
    let new_text = |old: &str| match (below, edit) {
        ([], Edit::Remove) => Ok(None),
        ([], Edit::Set(value) | Edit::Replace(value)) => Ok(Some(value.to_owned())),
        _ => edit_at(old, below, edit).map(Some).map_err(|depth| depth + 1),
    };
    let added = match (below, edit) {
        ([], Edit::Set(value)) => Some(value),
        _ => None,
    };
    if let Some(mut own) = elements(json) {
        let position: i64 = step.parse().map_err(|_| 0_usize)?;
        let at = place_of(position, own.len());
        let known = at.filter(|at| *at < own.len());
        let new = match (known, added) {
            (Some(at), _) => new_text(own[at])?,
            (None, Some(value)) => Some(value.to_owned()),
            (None, None) => return unchanged(),
        };
        match (known, &new) {
            (Some(at), Some(new)) => own[at] = new,
            (Some(at), None) => drop(own.remove(at)),
            (None, Some(new)) => own.insert(at.map_or(0, |_| own.len()), new),
            (None, None) => {}
        }
        return Ok(format!("[{}]", own.join(",")));
    }
    let Ok(mut own) = members(json) else { return unchanged() };
    let known = own.iter().rposition(|(name, _)| name == step);
    let new = match (known, added) {
        (Some(at), _) => new_text(own[at].1)?,
        (None, Some(value)) => Some(value.to_owned()),
        (None, None) => return unchanged(),
    };
    match (known, &new) {
        (Some(at), Some(new)) => own[at].1 = new,
        (_, None) => own.retain(|(name, _)| name != step),
        (None, Some(new)) => own.push(((*step).into(), new)),
    }
    let mut out = String::with_capacity(json.len());
    push_object(own, &mut out);
    Ok(out)
}

/// Removes members that are null, at any depth. Elements of arrays stay.
///
/// ```
/// let json = r#"{"a":null,"b":[null,{"c":null}],"d":1.10}"#;
/// assert_eq!(folio_json::strip_nulls(json), r#"{"b":[null,{}],"d":1.10}"#);
/// ```
#[must_use]
pub fn strip_nulls(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    push_stripped(json, &mut out);
    out
}

fn push_stripped(json: &str, out: &mut String) {
    let json = json.trim_ascii();
    if json.starts_with('{')
        && let Ok(own) = members(json)
    {
        let kept = own.into_iter().filter(|(_, value)| *value != "null");
        push_object(kept.map(|(name, value)| (name, strip_nulls(value))), out);
    } else if json.starts_with('[')
        && members(&format!("{{\"a\":{json}}}")).is_ok()
        && let Some(own) = elements(json)
    {
        out.push('[');
        for (index, element) in own.into_iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            push_stripped(element, out);
        }
        out.push(']');
    } else {
        out.push_str(json);
    }
}
