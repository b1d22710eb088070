//! Lines.
use serde_json::{Map, Value};

pub(crate) fn move_id_first(object: &mut Map<String, Value>) {
    let _ = object;
}

pub(crate) fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}
