//! Writes the schema that a first document sets, from the types that `folio-json` finds in it.
//!
//! `{}` allows everything. It is used where only null was found, where values of several types were
//! found, and below the maximum depth of a schema.

use folio_json::{Counts, Node, Tree, push_json_value};
use serde_json::{Map, Value, json};

use super::{Kind, MAX_DEPTH};

/// A JSON schema for documents like this one.
pub(super) fn infer(document: &Value) -> Value {
    let (mut types, mut text) = (Tree::default(), Vec::new());
    // A value that nests too deep for text also nests too deep for a schema.
    push_json_value(document, 0, &mut text);
    // Only an object has members to find.
    let _ = types.observe(&text);
    let fields = types.members().filter(|(name, _)| *name != "_id");
    of_objects(fields, types.document_count(), 1)
}

/// The schema of the values at a path that is nested `depth` levels deep.
fn of_values(node: &Node, depth: usize) -> Value {
    let Counts { boolean, integer, number, string, list, object, .. } = *node.counts();
    let counts = [
        (Kind::Boolean, boolean),
        (Kind::Number, integer + number),
        (Kind::String, string),
        (Kind::Array, list),
        (Kind::Object, object),
    ];
    let mut kinds = counts.iter().filter(|(_, count)| *count > 0).map(|(kind, _)| *kind);
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return json!({}) };
    match kind {
        Kind::Array | Kind::Object if depth >= MAX_DEPTH || node.is_collapsed() => json!({}),
        Kind::Array => match node.element().map(|element| of_values(element, depth + 1)) {
            Some(items) if items != json!({}) => json!({"type": "array", "items": items}),
            _ => json!({"type": "array"}),
        },
        Kind::Object if node.values().is_some() => json!({"type": "object"}),
        Kind::Object => of_objects(node.members(), object, depth),
        kind => json!({"type": kind.name()}),
    }
}

/// The schema of objects: exactly their members, with those required that all of them had.
fn of_objects<'t>(
    members: impl Iterator<Item = (&'t str, &'t Node)>,
    count: u64,
    depth: usize,
) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, node) in members {
        properties.insert(name.to_owned(), of_values(node, depth + 1));
        if node.counts().total() == count {
            required.push(name);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
