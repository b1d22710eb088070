//! Strict mode: the schema that every document of a collection must follow.
//!
//! A schema is a small part of JSON Schema: `type`, `properties`, `required`,
//! `additionalProperties` (true or false), `items`, `enum`, `const`, `minimum`, `maximum`,
//! `minLength`, `maxLength`. Keywords that only describe (`title`, `description`, `default`, ...)
//! are stored and have no effect. Any other keyword is rejected by name: a rule that is silently
//! not enforced is worse than none.
//!
//! ZDS departs from JSON Schema in two ways that its users rely on. `integer` and `number` are one
//! type, so a column of measurements may hold `1` and `1.5`. `null` is allowed everywhere, so a
//! field may be known to be unknown; a required field must still be present.
//!
//! The manifest stores the schema as the original JSON. [`parse`] compiles it, [`infer`] creates
//! one from a first document. Both limit the nesting, so checking, which follows the schema, needs
//! no limit. `_id` belongs to the collection and not to the schema: it is ignored at the top level.

mod check;
mod infer;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::Value;

use crate::error::Result;

/// The maximum nesting of a schema. A document may nest deeper where the schema has no rule.
const MAX_DEPTH: usize = 64;

/// A compiled schema.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    rule: Rule,
    source: Value,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`crate::Error::BadSchema`] with the path and what is wrong there.
    pub(crate) fn parse(source: &Value) -> Result<Self> {
        Ok(Self { rule: parse::parse(source)?, source: source.clone() })
    }

    /// The schema that a first document sets: exactly its fields, with their types. Where it has
    /// `null`, an empty array, or an array of several types, any value is allowed.
    pub(crate) fn infer(document: &Value) -> Self {
        let source = infer::infer(document);
        let rule = parse::parse(&source).expect("an inferred schema uses known keywords only");
        Self { rule, source }
    }

    /// The schema as JSON, as given or inferred.
    pub(crate) fn to_json(&self) -> &Value {
        &self.source
    }

    /// Checks a document of a collection.
    ///
    /// # Errors
    /// [`crate::Error::Schema`] with the dotted path of the first value that does not fit.
    pub(crate) fn check(&self, collection: &str, id: &str, document: &Value) -> Result<()> {
        check::check(&self.rule, document).map_err(|mismatch| crate::Error::Schema {
            collection: collection.to_owned(),
            id: id.to_owned(),
            path: mismatch.path,
            reason: mismatch.reason,
        })
    }

    /// Why a line does not follow the schema: the dotted path of the first value that does not fit,
    /// and what was expected there.
    pub(crate) fn mismatch(&self, line: &[u8]) -> Option<String> {
        let document = match serde_json::from_slice(line) {
            Ok(document) => document,
            Err(error) => return Some(error.to_string()),
        };
        let mismatch = check::check(&self.rule, &document).err()?;
        Some(match &*mismatch.path {
            "" => mismatch.reason,
            path => format!("{path}: {}", mismatch.reason),
        })
    }
}

/// The constraints on one value. What is not set allows everything.
#[derive(Debug, Clone, Default, PartialEq)]
struct Rule {
    kinds: Option<Kinds>,
    properties: HashMap<String, Rule>,
    required: Vec<String>,
    /// Whether properties without a rule are rejected.
    is_closed: bool,
    items: Option<Box<Rule>>,
    /// `enum`, or the one value of `const`.
    allowed: Vec<Value>,
    minimum: Option<String>,
    maximum: Option<String>,
    min_length: Option<u64>,
    max_length: Option<u64>,
}

/// A kind of JSON value; `integer` is `Number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Null, Self::Boolean, Self::Number, Self::String, Self::Array, Self::Object];

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// The name in JSON Schema.
    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        let name = if name == "integer" { "number" } else { name };
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Kinds(u8);

impl Kinds {
    fn insert(&mut self, kind: Kind) {
        self.0 |= 1 << kind as u8;
    }

    fn contains(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// `string or number`
    fn names(self) -> String {
        let names: Vec<_> =
            Kind::ALL.into_iter().filter(|&kind| self.contains(kind)).map(Kind::name).collect();
        names.join(" or ")
    }
}
