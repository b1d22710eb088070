//! Writes the schema that a first document sets.
//!
//! A document is first brought to its shape, because shapes can be laid over each
//! other (the elements of an array) and a schema cannot: `{}` does not tell "nothing
//! seen but null", which any type may still narrow, from "several types seen".

use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value, json};

use super::{Kind, MAX_DEPTH};

/// A schema, as JSON, for documents shaped like this one.
pub(super) fn infer(document: &Value) -> Value {
    let mut shape = shape(document, 1);
    if let Shape::Object(objects) = &mut shape {
        objects.fields.remove("_id");
    }
    shape.to_schema()
}

/// What values were seen in one place.
#[derive(Debug, PartialEq)]
enum Shape {
    /// None but null.
    Unseen,
    /// Several types, or more levels than are looked at.
    Anything,
    /// A boolean, number or string.
    Scalar(Kind),
    /// Arrays, with the elements of all of them.
    Array(Box<Shape>),
    /// Objects, with the fields of all of them.
    Object(Objects),
}

#[derive(Debug, PartialEq)]
struct Objects {
    count: u64,
    fields: HashMap<String, Field>,
}

#[derive(Debug, PartialEq)]
struct Field {
    /// Fields are written in the order they were first seen in.
    position: usize,
    shape: Shape,
    /// How many of the objects had it.
    count: u64,
}

fn shape(value: &Value, depth: usize) -> Shape {
    match value {
        Value::Null => Shape::Unseen,
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => Shape::Anything,
        Value::Array(items) => {
            let elements = items.iter().map(|item| shape(item, depth + 1));
            Shape::Array(Box::new(elements.fold(Shape::Unseen, Shape::over)))
        }
        Value::Object(object) => {
            let field = |(position, (name, value)): (usize, (&String, &Value))| {
                (name.clone(), Field { position, shape: shape(value, depth + 1), count: 1 })
            };
            let fields = object.iter().enumerate().map(field).collect();
            Shape::Object(Objects { count: 1, fields })
        }
        scalar => Shape::Scalar(Kind::of(scalar)),
    }
}

impl Shape {
    /// The shape that both fit.
    fn over(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unseen, shape) | (shape, Self::Unseen) => shape,
            (Self::Array(left), Self::Array(right)) => Self::Array(Box::new(left.over(*right))),
            (Self::Object(left), Self::Object(right)) => Self::Object(left.over(right)),
            (left, right) if left == right => left,
            _ => Self::Anything,
        }
    }

    fn to_schema(&self) -> Value {
        match self {
            Self::Unseen | Self::Anything => json!({}),
            Self::Scalar(kind) => json!({"type": kind.name()}),
            Self::Array(elements) => match elements.to_schema() {
                nothing if nothing == json!({}) => json!({"type": "array"}),
                items => json!({"type": "array", "items": items}),
            },
            Self::Object(objects) => objects.to_schema(),
        }
    }
}

impl Objects {
    fn over(mut self, other: Self) -> Self {
        self.count += other.count;
        let mut added: Vec<_> = other.fields.into_iter().collect();
        added.sort_unstable_by_key(|(_, field)| field.position);
        for (name, field) in added {
            let position = self.fields.len();
            let unseen = Field { position, shape: Shape::Unseen, count: 0 };
            let known = self.fields.entry(name).or_insert(unseen);
            known.count += field.count;
            known.shape = mem::replace(&mut known.shape, Shape::Unseen).over(field.shape);
        }
        self
    }

    fn to_schema(&self) -> Value {
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_unstable_by_key(|(_, field)| field.position);
        let required: Vec<&String> = fields
            .iter()
            .filter(|(_, field)| field.count == self.count)
            .map(|&(name, _)| name)
            .collect();
        let properties: Map<String, Value> =
            fields.iter().map(|(name, field)| ((*name).clone(), field.shape.to_schema())).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}
