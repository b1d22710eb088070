//! Changes to values.

use serde_json::{Map, Value};

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
