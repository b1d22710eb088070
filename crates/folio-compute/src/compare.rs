//! Comparisons. A null on either side gives null, except where null counts as a value.
//!
//! Arrow orders floats by their bits. SQL has one zero and one NaN, so both are normalized
//! before values are compared, sorted or grouped. Intervals compare by length, with months of
//! 30 days and days of 24 hours.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use arrow_array::{ArrayRef, BooleanArray, Datum, ListArray, MapArray, StructArray};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};
use folio_types::Comparison;

use crate::error::Result;
use crate::evaluated::Evaluated;

/// Compares two sides of one type. The result is boolean; null if either side is null, unless null
/// counts as a value for this comparison.
///
/// # Errors
/// None for types that have an order.
pub fn compare(op: Comparison, left: &Evaluated, right: &Evaluated) -> Result<Evaluated> {
    use arrow_ord::cmp;
    let both_scalar = left.is_scalar() && right.is_scalar();
    let sides = (left.with(canonical(left.inner())), right.with(canonical(right.inner())));
    let (left, right) = (&sides.0, &sides.1);
    let array = if is_nested(left.get().0.data_type()) {
        compare_nested(op, left, right)?
    } else {
        match op {
            Comparison::Equal => cmp::eq(left, right)?,
            Comparison::NotEqual => cmp::neq(left, right)?,
            Comparison::Less => cmp::lt(left, right)?,
            Comparison::LessOrEqual => cmp::lt_eq(left, right)?,
            Comparison::Greater => cmp::gt(left, right)?,
            Comparison::GreaterOrEqual => cmp::gt_eq(left, right)?,
            Comparison::Distinct => cmp::distinct(left, right)?,
            Comparison::NotDistinct => cmp::not_distinct(left, right)?,
        }
    };
    let array: ArrayRef = Arc::new(array);
    Ok(if both_scalar { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// Normalizes floats (one zero, one NaN) and intervals, also within lists, structs and maps. Returns
/// other arrays unchanged.
#[must_use]
pub fn canonical(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float64 => {
            let array = column.as_primitive::<Float64Type>();
            let is_odd = |value: &f64| value.is_nan() || value.to_bits() == 1 << 63;
            if !array.values().iter().any(is_odd) {
                return ArrayRef::clone(column);
            }
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(array.unary::<_, Float64Type>(one))
        }
        DataType::Float32 => {
            let array = column.as_primitive::<Float32Type>();
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(array.unary::<_, Float32Type>(one))
        }
        DataType::Interval(_) => {
            let array = column.as_primitive::<IntervalMonthDayNanoType>();
            Arc::new(array.unary::<_, IntervalMonthDayNanoType>(carried))
        }
        ty if !has_several_forms(ty) => ArrayRef::clone(column),
        DataType::List(_) => {
            let (field, offsets, items, nulls) = column.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::new(field, offsets, canonical(&items), nulls))
        }
        DataType::Map(..) => {
            let (field, offsets, entries, nulls, is_sorted) = column.as_map().clone().into_parts();
            Arc::new(MapArray::new(field, offsets, canonical_members(entries), nulls, is_sorted))
        }
        _ => Arc::new(canonical_members(column.as_struct().clone())),
    }
}

fn canonical_members(structs: StructArray) -> StructArray {
    let (fields, columns, nulls) = structs.into_parts();
    StructArray::new(fields, columns.iter().map(canonical).collect(), nulls)
}

/// Whether equal values of a type may differ in their bits.
fn has_several_forms(ty: &DataType) -> bool {
    match ty {
        DataType::Float32 | DataType::Float64 | DataType::Interval(_) => true,
        DataType::List(item) | DataType::Map(item, _) => has_several_forms(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_several_forms(field.data_type())),
        _ => false,
    }
}

/// Normalizes an interval: carries 24 hours into days and 30 days into months, so that equal
/// lengths have one form.
fn carried(interval: IntervalMonthDayNano) -> IntervalMonthDayNano {
    const DAY: i64 = 86_400_000_000_000;
    let days = i64::from(interval.days) + interval.nanoseconds.div_euclid(DAY);
    let months = i64::from(interval.months) + days.div_euclid(30);
    IntervalMonthDayNano {
        months: i32::try_from(months).unwrap_or(if months < 0 { i32::MIN } else { i32::MAX }),
        days: i32::try_from(days.rem_euclid(30)).unwrap_or_default(),
        nanoseconds: interval.nanoseconds.rem_euclid(DAY),
    }
}

fn is_nested(ty: &DataType) -> bool {
    use DataType::{Interval, List, Map, Struct};
    matches!(ty, List(_) | Struct(_) | Map(..) | Interval(_))
}

/// Lists, structs and maps compare element by element.
fn compare_nested(op: Comparison, left: &Evaluated, right: &Evaluated) -> Result<BooleanArray> {
    let (left_array, right_array) = (left.get().0, right.get().0);
    let count = match (left.is_scalar(), right.is_scalar()) {
        (true, true) => 1,
        (true, false) => right_array.len(),
        _ => left_array.len(),
    };
    // Within lists and structs, null is the greatest value.
    let options = SortOptions { descending: false, nulls_first: false };
    let order = make_comparator(left_array, right_array, options)?;
    let position = |operand: &Evaluated, row| if operand.is_scalar() { 0 } else { row };
    let null_is_a_value = matches!(op, Comparison::Distinct | Comparison::NotDistinct);
    Ok((0..count)
        .map(|row| {
            let (at, other) = (position(left, row), position(right, row));
            let is_null = left_array.is_null(at) || right_array.is_null(other);
            (!is_null || null_is_a_value).then(|| op.holds(order(at, other)))
        })
        .collect())
}
