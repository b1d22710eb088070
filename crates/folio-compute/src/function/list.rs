//! Functions on arrays. Positions count from 1.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use crate::{Result, cast, order_keys};
use foldhash::fast::FixedState;
use folio_types::{ColumnType, Value};

use super::Body::{Lenient, Strict, Typed};
use super::Takes::{Any, Element, Integer, List, Same, Text};
use super::{Overload, Returns, function, integer_of, text_of, variadic};

pub(super) const OVERLOADS: &[Overload] = &[
    variadic("array", &[Same], Returns::ListOf(0), Lenient(|a, _| Ok(Value::List(a.to_vec())))),
    function("array_length", &[List], Returns::Integer, Strict(length)),
    function("array_length", &[List, Integer], Returns::Integer, Strict(length_along)),
    function("cardinality", &[List], Returns::Integer, Strict(length)),
    function("len", &[List], Returns::Integer, Strict(length)),
    function("array_get", &[List, Integer], Returns::ElementOf(0), Strict(get)),
    function("array_slice", &[List, Integer, Integer], Returns::As(0), Strict(slice)),
    function(
        "array_append",
        &[List, Element],
        Returns::As(0),
        Lenient(|a, _| joined(&a[0], Some(&a[1]), true)),
    ),
    function(
        "array_prepend",
        &[Element, List],
        Returns::As(1),
        Lenient(|a, _| joined(&a[1], Some(&a[0]), false)),
    ),
    function("array_cat", &[Same, Same], Returns::As(0), Lenient(cat)),
    function("array_contains", &[List, Element], Returns::Boolean, Typed(contains)),
    function("array_has", &[List, Element], Returns::Boolean, Typed(contains)),
    function("array_any_equal", &[List, Element], Returns::Boolean, Lenient(any_equal)),
    function("array_position", &[List, Element], Returns::Integer, Lenient(position)),
    function("array_remove", &[List, Element], Returns::As(0), Lenient(remove)),
    function(
        "array_reverse",
        &[List],
        Returns::As(0),
        Strict(|a| Ok(Value::List(items(&a[0]).iter().rev().cloned().collect()))),
    ),
    function("array_to_string", &[List, Text], Returns::Text, Typed(to_string)),
    function("array_to_string", &[List, Text, Text], Returns::Text, Lenient(to_string)),
    function("array_overlap", &[Same, Same], Returns::Boolean, Typed(overlap)),
    function("array_contains_all", &[Same, Same], Returns::Boolean, Typed(contains_all)),
    function("array_distinct", &[List], Returns::As(0), Typed(distinct)),
    function(
        "typeof",
        &[Any],
        Returns::Text,
        Lenient(|_, types| Ok(Value::Text(crate::type_name(&types[0])))),
    ),
    function(
        "pg_typeof",
        &[Any],
        Returns::Text,
        Lenient(|_, types| Ok(Value::Text(crate::type_name(&types[0])))),
    ),
];

fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn length(arguments: &[Value]) -> Result<Value> {
    Ok(Value::Integer(i64::try_from(items(&arguments[0]).len()).unwrap_or(i64::MAX)))
}

/// The length of a dimension; null for an array without elements.
fn length_along(arguments: &[Value]) -> Result<Value> {
    match (items(&arguments[0]), integer_of(&arguments[1])) {
        ([], _) => Ok(Value::Null),
        (_, 1) => length(arguments),
        ([first @ Value::List(_), ..], dimension) if dimension > 1 => {
            length_along(&[first.clone(), Value::Integer(dimension - 1)])
        }
        _ => Ok(Value::Null),
    }
}

fn get(arguments: &[Value]) -> Result<Value> {
    let index = usize::try_from(integer_of(&arguments[1]) - 1).ok();
    Ok(index.and_then(|index| items(&arguments[0]).get(index)).cloned().unwrap_or_default())
}

fn slice(arguments: &[Value]) -> Result<Value> {
    let items = items(&arguments[0]);
    let from = usize::try_from(integer_of(&arguments[1]) - 1).unwrap_or(0);
    let to = usize::try_from(integer_of(&arguments[2])).unwrap_or(0).min(items.len());
    Ok(Value::List(items.get(from..to).unwrap_or_default().to_vec()))
}

fn joined(list: &Value, item: Option<&Value>, at_end: bool) -> Result<Value> {
    let mut all = items(list).to_vec();
    if let Some(item) = item {
        all.insert(if at_end { all.len() } else { 0 }, item.clone());
    }
    Ok(Value::List(all))
}

fn cat(arguments: &[Value], _: &[ColumnType]) -> Result<Value> {
    match (&arguments[0], &arguments[1]) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.clone()),
        (left, right) => Ok(Value::List([items(left), items(right)].concat())),
    }
}

/// What two arguments compare by.
fn keys_of_two<'a>(
    arguments: &'a [Value],
    types: &[ColumnType],
) -> (Cow<'a, Value>, Cow<'a, Value>) {
    let key = |index: usize| order_keys::of_value(&arguments[index], &types[index]);
    (key(0), key(1))
}

fn contains(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (list, value) = keys_of_two(arguments, types);
    Ok(Value::Boolean(items(&list).contains(&value)))
}

/// Whether an element of one list is in another. Null equals nothing.
fn overlap(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (left, right) = keys_of_two(arguments, types);
    let right = Elements::of(items(&right));
    Ok(Value::Boolean(items(&left).iter().any(|item| right.holds(item))))
}

/// Whether all elements of one list are in another. Null equals nothing.
fn contains_all(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (whole, part) = keys_of_two(arguments, types);
    let whole = Elements::of(items(&whole));
    Ok(Value::Boolean(items(&part).iter().all(|item| whole.holds(item))))
}

/// Up to so many elements are looked at one after the other.
const FEW_ELEMENTS: usize = 16;

/// The elements of a list, for looking others up.
enum Elements<'v> {
    Few(&'v [Value]),
    Many(HashSet<Hashed<'v>, FixedState>),
}

impl<'v> Elements<'v> {
    fn of(items: &'v [Value]) -> Self {
        match items.len() {
            0..=FEW_ELEMENTS => Self::Few(items),
            _ => Self::Many(items.iter().map(Hashed).collect()),
        }
    }

    /// Whether an element is among them. Null equals nothing.
    fn holds(&self, item: &Value) -> bool {
        !matches!(item, Value::Null)
            && match self {
                Self::Few(items) => items.contains(item),
                Self::Many(items) => items.contains(&Hashed(item)),
            }
    }
}

/// A value with a hash.
#[derive(PartialEq)]
struct Hashed<'v>(&'v Value);

impl Eq for Hashed<'_> {}

impl Hash for Hashed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Value::Null => {}
            Value::Boolean(value) => value.hash(state),
            Value::Integer(value) | Value::Time(value) | Value::Timestamp(value) => {
                value.hash(state);
            }
            // Both zeros are equal.
            Value::Float(value) => (value + 0.0).to_bits().hash(state),
            Value::Decimal(digits) => digits.hash(state),
            Value::Text(text) => text.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::Uuid(bytes) => bytes.hash(state),
            Value::Date(day) => day.hash(state),
            Value::Interval(interval) => interval.hash(state),
            Value::List(items) | Value::Struct(items) => {
                items.iter().for_each(|item| Hashed(item).hash(state));
            }
        }
    }
}

fn remove(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (list, value) = keys_of_two(arguments, types);
    let Value::List(keys) = &*list else { return Ok(Value::Null) };
    let kept = items(&arguments[0]).iter().zip(keys).filter(|(_, key)| **key != *value);
    Ok(Value::List(kept.map(|(item, _)| item.clone()).collect()))
}

/// `x = ANY (list)`: unknown if the list is null, or if nothing is equal and a comparison is with
/// null.
fn any_equal(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (list, value) = keys_of_two(arguments, types);
    let (Value::List(items), value) = (&*list, &*value) else { return Ok(Value::Null) };
    let is_null = |value: &Value| matches!(value, Value::Null);
    let is_found = !is_null(value) && items.contains(value);
    let is_unknown = !items.is_empty() && (is_null(value) || items.iter().any(is_null));
    Ok(if is_unknown && !is_found { Value::Null } else { Value::Boolean(is_found) })
}

fn position(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (list, value) = keys_of_two(arguments, types);
    let found = items(&list).iter().position(|item| *item == *value);
    Ok(found.map_or(Value::Null, |at| Value::Integer(i64::try_from(at + 1).unwrap_or(i64::MAX))))
}

/// Joins elements with a separator. Nulls are left out, or shown as a given text.
fn to_string(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let (ColumnType::List(element), Value::List(items), Value::Text(between)) =
        (&types[0], &arguments[0], &arguments[1])
    else {
        return Ok(Value::Null);
    };
    let null = arguments.get(2).filter(|shown| !matches!(shown, Value::Null));
    let shown = items.iter().filter_map(|item| match item {
        Value::Null => null.map(|shown| text_of(shown).to_owned()),
        item => Some(cast::format_short(item, element)),
    });
    Ok(Value::Text(shown.collect::<Vec<_>>().join(between)))
}

fn distinct(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let keys = order_keys::of_value(&arguments[0], &types[0]);
    let mut seen = HashSet::with_hasher(FixedState::default());
    let pairs = items(&arguments[0]).iter().zip(items(&keys));
    let kept = pairs.filter(|(_, key)| seen.insert(Hashed(key)));
    Ok(Value::List(kept.map(|(item, _)| item.clone()).collect()))
}
