//! What a value must satisfy for its line to become a row.

use std::cmp::Ordering;

use folio_types::{Comparison, Value};

use super::place::Place;
use crate::column::{Mismatch, Result};
use crate::number::{double, integer};
use crate::text::push_text;
use crate::types::Type;

/// A test of the value of a path. A value that is null or missing never satisfies it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathCondition {
    /// Names of members, outermost first.
    pub path: Vec<String>,
    /// The type of the values.
    pub field_type: Type,
    /// The test.
    pub test: PathTest,
}

/// A test of a value, true or false for every value of its type.
#[derive(Debug, Clone, PartialEq)]
pub enum PathTest {
    /// Compares with a value. Nothing compares with null.
    Compare(Comparison, Value),
    /// Is one of these. Nulls among them are ignored.
    OneOf(Vec<Value>),
}

impl PathTest {
    /// Whether values of a type can be tested: the values of the test are of that type, which is
    /// boolean, an integer, a double or text. Otherwise no line with a value has a result.
    #[must_use]
    pub fn suits(&self, field_type: &Type) -> bool {
        !matches!(Check::of(self, field_type), Check::Never)
    }

    pub(super) fn map<T>(
        &self,
        own: impl Fn(&Value) -> Option<T>,
        sort: fn(&T, &T) -> Ordering,
    ) -> Option<Test<T>> {
        match self {
            Self::Compare(_, Value::Null) => Some(Test::OneOf(Vec::new())),
            Self::Compare(Comparison::Equal, value) => Some(Test::OneOf(vec![own(value)?])),
            Self::Compare(comparison, value) => Some(Test::Compare(*comparison, own(value)?)),
            Self::OneOf(values) => {
                let known = values.iter().filter(|value| **value != Value::Null);
                let mut values = known.map(own).collect::<Option<Vec<T>>>()?;
                values.sort_by(sort);
                Some(Test::OneOf(values))
            }
        }
    }
}

/// A test for values of one type.
#[derive(Debug)]
pub(super) enum Check {
    Boolean(Test<bool>),
    Integer(Test<i64>),
    Float(Test<f64>),
    Text(Test<Box<[u8]>>),
    /// The test does not suit the type.
    Never,
}

#[derive(Debug)]
pub(super) enum Test<T> {
    /// Any comparison but equality.
    Compare(Comparison, T),
    /// In ascending order, texts [`by_size`].
    OneOf(Vec<T>),
}

impl<T> Test<T> {
    /// `order` compares a value of the test with the one tested.
    #[inline]
    pub(super) fn holds(&self, order: impl Fn(&T) -> Ordering) -> bool {
        match self {
            Self::Compare(comparison, own) => comparison.holds(order(own).reverse()),
            Self::OneOf(all) => all.binary_search_by(order).is_ok(),
        }
    }
}

impl<T> Test<T> {
    /// The same test of values of another type in the same order, if it has them all.
    pub(super) fn try_map<U>(&self, of: impl Fn(&T) -> Option<U>) -> Option<Test<U>> {
        Some(match self {
            Self::Compare(comparison, own) => Test::Compare(*comparison, of(own)?),
            Self::OneOf(all) => Test::OneOf(all.iter().map(of).collect::<Option<_>>()?),
        })
    }
}

impl Test<Box<[u8]>> {
    #[inline]
    pub(super) fn holds_for(&self, text: &[u8]) -> bool {
        match self {
            Self::Compare(..) => self.holds(|own| (**own).cmp(text)),
            Self::OneOf(_) => self.holds(|own| by_size(own, text)),
        }
    }
}

/// Shorter texts first: sizes alone tell most texts apart.
#[inline]
pub(super) fn by_size(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Check {
    pub(super) fn new(condition: &PathCondition) -> Self {
        Self::of(&condition.test, &condition.field_type)
    }

    fn of(test: &PathTest, field_type: &Type) -> Self {
        let check = match field_type {
            Type::Boolean => test.map(boolean_of, bool::cmp).map(Self::Boolean),
            Type::Int64 => test.map(integer_of, i64::cmp).map(Self::Integer),
            Type::Float64 => test.map(float_of, f64::total_cmp).map(Self::Float),
            Type::Text => test.map(text_of, |a, b| by_size(a, b)).map(Self::Text),
            _ => None,
        };
        check.unwrap_or(Self::Never)
    }

    /// Whether the value at a place of the line satisfies the test.
    #[inline]
    pub(super) fn holds(&self, place: &Place, line: &[u8]) -> Result<bool> {
        if !place.is_present() {
            return Ok(false);
        }
        let text = place.text(line);
        match self {
            Self::Text(test) => match place.inner(line) {
                Some(text) if place.is_plain() => Ok(test.holds_for(text)),
                Some(text) => {
                    let mut plain = Vec::new();
                    push_text(text, true, &mut plain)?;
                    Ok(test.holds_for(&plain))
                }
                None => Err(Mismatch),
            },
            Self::Integer(test) => {
                let value = integer(text).ok_or(Mismatch)?;
                Ok(test.holds(|own| own.cmp(&value)))
            }
            Self::Float(test) => {
                let value = canonical(double(text).ok_or(Mismatch)?);
                Ok(test.holds(|own| own.total_cmp(&value)))
            }
            Self::Boolean(test) => {
                let value = match text {
                    b"true" => true,
                    b"false" => false,
                    _ => return Err(Mismatch),
                };
                Ok(test.holds(|own| own.cmp(&value)))
            }
            Self::Never => Err(Mismatch),
        }
    }
}

pub(super) fn boolean_of(value: &Value) -> Option<bool> {
    if let Value::Boolean(value) = value { Some(*value) } else { None }
}

pub(super) fn integer_of(value: &Value) -> Option<i64> {
    if let Value::Integer(value) = value { Some(*value) } else { None }
}

/// As SQL compares doubles: there is one zero, and one NaN, which is greater than all numbers.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(canonical(*value)),
        _ => None,
    }
}

pub(super) fn text_of(value: &Value) -> Option<Box<[u8]>> {
    if let Value::Text(value) = value { Some(value.as_bytes().into()) } else { None }
}

/// One zero, and one NaN, which is greater than all other floats.
pub(super) fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}
