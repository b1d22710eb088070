//! The part of the keys of an index that a lookup asks for.

use std::ptr;

use folio_json::{
    KeyScalar, push_boolean_key, push_double_key, push_integer_key, push_order_key, push_text_key,
    take_scalar,
};
use folio_types::{Bound, ColumnType, Value, ValueRef};

use super::key::{ABSENT, invert};

/// A field of an index: the type of its column, and whether greater values come first.
pub type KeyField<'a> = (&'a ColumnType, bool);

/// Keys from `from` on, and before `to` if that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRange {
    /// The least key.
    pub from: Vec<u8>,
    /// Keys from here on are left out; `None` includes all.
    pub to: Option<Vec<u8>>,
}

/// Initial capacity for a key.
const KEY_SIZE: usize = 64;

impl KeyRange {
    /// All keys.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Keys between two bounds, each with values of the first fields. A bound with fewer values than
    /// the index has fields includes, or leaves out, all keys that begin with them.
    #[must_use]
    pub fn between(
        fields: &[KeyField<'_>],
        from: Bound<&[ValueRef<'_>]>,
        to: Bound<&[ValueRef<'_>]>,
    ) -> Self {
        let key = |values: &[ValueRef<'_>]| Self::key_of(fields.iter().copied(), values);
        let start = match from {
            Bound::Unbounded => Vec::new(),
            Bound::Included(values) => key(values),
            Bound::Excluded(values) => match successor(key(values)) {
                Some(next) => next,
                None => return Self { from: Vec::new(), to: Some(Vec::new()) },
            },
        };
        let lower = match from {
            Bound::Unbounded => 0,
            Bound::Included(values) | Bound::Excluded(values) => values.len(),
        };
        // A range with only a lower end leaves out what is missing, which comes last.
        let end = |values: &[ValueRef<'_>]| {
            let is_open = lower == values.len() + 1 && !fields[values.len()].1;
            is_open.then(|| {
                let mut end = key(values);
                end.push(ABSENT);
                end
            })
        };
        let to = match to {
            Bound::Unbounded => end(&[]),
            Bound::Included(values) => end(values).or_else(|| {
                let is_same = matches!(from, Bound::Included(other) if ptr::eq(other, values));
                successor(if is_same { start.clone() } else { key(values) })
            }),
            Bound::Excluded(values) => Some(key(values)),
        };
        Self { from: start, to }
    }

    /// What the keys of documents with these values in the first fields begin with.
    #[must_use]
    pub fn key_of<'f>(
        fields: impl Iterator<Item = KeyField<'f>>,
        values: &[ValueRef<'_>],
    ) -> Vec<u8> {
        let mut key = Vec::with_capacity(KEY_SIZE);
        for ((column_type, descends), value) in fields.zip(values) {
            let start = key.len();
            push_value(column_type, *value, &mut key);
            if descends {
                invert(&mut key[start..]);
            }
        }
        key
    }

    /// The values of a key; `None` if a document has them otherwise, or may have.
    #[must_use]
    pub fn values_of(fields: &[KeyField<'_>], key: &[u8]) -> Option<Vec<Value>> {
        let mut inverted;
        let mut rest = key;
        let mut values = Vec::with_capacity(fields.len());
        for (column_type, descends) in fields {
            values.push(match descends {
                false => take_value(column_type, &mut rest)?,
                true => {
                    inverted = rest.to_vec();
                    invert(&mut inverted);
                    let mut own = &inverted[..];
                    let value = take_value(column_type, &mut own)?;
                    rest = &rest[rest.len() - own.len()..];
                    value
                }
            });
        }
        rest.is_empty().then_some(values)
    }

    /// Keys that begin with these bytes.
    pub(crate) fn beginning_with(prefix: &[u8]) -> Self {
        Self { from: prefix.to_vec(), to: successor(prefix.to_vec()) }
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        key >= &self.from[..] && self.to.as_ref().is_none_or(|to| key < &to[..])
    }
}

/// The least key after all that begin with these bytes; `None` if there is none.
pub(super) fn successor(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return Some(key);
        }
        key.pop();
    }
    None
}

/// Integers up to here are doubles.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Takes the value of a column from the front of a key.
fn take_value(column_type: &ColumnType, key: &mut &[u8]) -> Option<Value> {
    if let Some((&ABSENT, rest)) = key.split_first() {
        *key = rest;
        return Some(Value::Null);
    }
    match (take_scalar(key)?, column_type) {
        (KeyScalar::Text(text), ColumnType::Text) => Some(Value::Text(text)),
        (KeyScalar::Boolean(truth), ColumnType::Boolean) => Some(Value::Boolean(truth)),
        // -0.0 has the key of 0.
        (KeyScalar::Number(value), ColumnType::Float64) => {
            (value != 0.0).then_some(Value::Float(value))
        }
        (KeyScalar::Number(value), ColumnType::Int64) => {
            let is_exact = value.fract() == 0.0 && value.abs() < EXACT_MAX;
            is_exact.then_some(Value::Integer(value as i64))
        }
        _ => None,
    }
}

/// Appends what the keys of a value begin with: a double stands for all numbers next to it.
fn push_value(column_type: &ColumnType, value: ValueRef<'_>, key: &mut Vec<u8>) {
    match value {
        ValueRef::Null => key.push(ABSENT),
        ValueRef::Boolean(truth) => push_boolean_key(truth, key),
        ValueRef::Integer(number) => push_integer_key(number, key),
        ValueRef::Float(number) => push_double_key(number, key),
        ValueRef::Text(json) if *column_type == ColumnType::Json => push_order_key(json, key),
        ValueRef::Text(text) => push_text_key(text, key),
        // No column of documents has such values.
        _ => key.push(u8::MAX),
    }
}
