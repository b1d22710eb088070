//! Strict mode: the shape every document of a collection must have.
//!
//! A schema is a small part of JSON Schema: `type`, `properties`, `required`,
//! `additionalProperties` (true or false), `items`, `enum`, `const`, `minimum`,
//! `maximum`, `minLength`, `maxLength`. Keywords that only describe (`title`,
//! `description`, `default`, ...) are kept and mean nothing; any other keyword is
//! refused by name, because a rule that is silently not enforced is worse than none.
//!
//! Two departures from JSON Schema, which ZDS made and its users rely on:
//! `integer` and `number` are one type, so a column of measurements may hold `1`
//! and `1.5`; and `null` fits everywhere, so a field may be known to be unknown.
//! A required field must still be there.
//!
//! The schema is kept as the JSON it came as, in the manifest; [`parse`] compiles
//! it, [`infer`] writes one for a first document. Nesting is bounded in both, so
//! checking, which follows the schema, needs no bound of its own. `_id` belongs to
//! the collection and not to the schema: it is ignored on the top level.

mod check;
mod decimal;
mod infer;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::Value;

use crate::error::Result;

/// Schemas nest this deep at most. A document may nest deeper where the schema says nothing.
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
    /// [`crate::Error::BadSchema`] names the place and what is wrong there.
    pub(crate) fn parse(source: &Value) -> Result<Self> {
        Ok(Self { rule: parse::parse(source)?, source: source.clone() })
    }

    /// The schema a first document sets: its fields, all of them and no others,
    /// with their types. Where it holds `null`, an empty array, or an array of
    /// several types, anything may stand.
    pub(crate) fn infer(document: &Value) -> Self {
        let source = infer::infer(document);
        let rule = parse::parse(&source).expect("an inferred schema uses known keywords only");
        Self { rule, source }
    }

    /// The schema as JSON, as it was given or inferred.
    pub(crate) fn to_json(&self) -> &Value {
        &self.source
    }

    /// Checks a document of a collection.
    ///
    /// # Errors
    /// [`crate::Error::Schema`] with the dotted path of the first value that does not fit.
    pub(crate) fn check(&self, collection: &str, document: &Value) -> Result<()> {
        check::check(&self.rule, document).map_err(|misfit| crate::Error::Schema {
            collection: collection.to_owned(),
            path: misfit.path,
            reason: misfit.reason,
        })
    }
}

/// What one value must be; everything left out allows everything.
#[derive(Debug, Clone, Default, PartialEq)]
struct Rule {
    kinds: Option<Kinds>,
    properties: HashMap<String, Rule>,
    required: Vec<String>,
    /// Whether properties without a rule are refused.
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

    /// The word of JSON Schema.
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
