//! Conditional functions, and those that fit nowhere else.

use crate::compare::compare;
use crate::{Evaluated, Result, array, order_keys};
use folio_types::{ColumnType, Comparison, Value};

use super::Body::{Lenient, Stated};
use super::Takes::Same;
use super::{Given, Overload, Returns, function, variadic};

pub(super) const OVERLOADS: &[Overload] = &[
    function("nullif", &[Same, Same], Returns::As(0), Lenient(nullif)),
    variadic(
        "greatest",
        &[Same],
        Returns::As(0),
        Lenient(|a, t| greatest_or_least(a, t, Comparison::Greater)),
    ),
    variadic(
        "least",
        &[Same],
        Returns::As(0),
        Lenient(|a, t| greatest_or_least(a, t, Comparison::Less)),
    ),
    function("gen_random_uuid", &[], Returns::Uuid, Stated(Given::RandomUuid)),
    function("uuid_v7", &[], Returns::Uuid, Stated(Given::OrderedUuid)),
    function(
        "current_schema",
        &[],
        Returns::Text,
        Lenient(|_, _| Ok(Value::Text("public".to_owned()))),
    ),
    function(
        "version",
        &[],
        Returns::Text,
        Lenient(|_, _| Ok(Value::Text(concat!("FolioDB ", env!("CARGO_PKG_VERSION")).to_owned()))),
    ),
];

/// Whether a comparison of two values is true.
fn holds(op: Comparison, left: &Value, right: &Value, ty: &ColumnType) -> Result<bool> {
    let scalar = |operand: &Value| -> Result<Evaluated> {
        let operand = array::repeat(operand, ty, 1)?;
        Ok(Evaluated::Scalar(order_keys::of_column(&operand, ty)))
    };
    let verdict = compare(op, &scalar(left)?, &scalar(right)?)?;
    Ok(array::value_at(verdict.inner(), 0, &ColumnType::Boolean) == Value::Boolean(true))
}

fn nullif(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let is_equal = holds(Comparison::Equal, &arguments[0], &arguments[1], &types[0])?;
    Ok(if is_equal { Value::Null } else { arguments[0].clone() })
}

fn greatest_or_least(
    arguments: &[Value],
    types: &[ColumnType],
    better: Comparison,
) -> Result<Value> {
    let mut best = Value::Null;
    for (value, ty) in arguments.iter().zip(types) {
        if matches!(best, Value::Null)
            || (!matches!(value, Value::Null) && holds(better, value, &best, ty)?)
        {
            best = value.clone();
        }
    }
    Ok(best)
}
