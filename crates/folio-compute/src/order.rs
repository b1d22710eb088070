//! Sorts rows by columns of any type.
//!
//! Each row has a number made of the first eight bytes of its first column, which decides most
//! comparisons. Equal rows are compared by Arrow's comparators, column by column, and finally by
//! position, so that the result is deterministic. With a limit, at most twice as many rows are
//! held.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{DataType, SortOptions, TimeUnit};

use crate::error::Result;

/// A sort column.
pub struct OrderColumn {
    /// A value per row. Floats and intervals are normalized ([`canonical`](crate::compare::canonical)).
    pub values: ArrayRef,
    /// Its direction, and where nulls go.
    pub options: SortOptions,
}

/// A row, with a number whose order never contradicts the order of rows.
type Place = (u64, u32);

/// The positions of the rows in order: all, or the first `limit`. Without columns, the order is
/// that of the rows.
///
/// # Errors
/// None for types that have an order.
pub fn in_order(
    columns: &[OrderColumn],
    row_count: usize,
    limit: Option<usize>,
) -> Result<UInt32Array> {
    let comparators: Vec<DynComparator> = columns
        .iter()
        .map(|column| Ok(make_comparator(&column.values, &column.values, column.options)?))
        .collect::<Result<_>>()?;
    let compare = |left: &Place, right: &Place| -> Ordering {
        left.0.cmp(&right.0).then_with(|| {
            let (left, right) = (left.1, right.1);
            comparators
                .iter()
                .map(|compare| compare(left as usize, right as usize))
                .find(|order| order.is_ne())
                .unwrap_or_else(|| left.cmp(&right))
        })
    };
    let starts = columns.first().map_or_else(|| vec![0; row_count], starts);
    let places = starts.into_iter().zip(0..row_count as u32);
    let mut places: Vec<Place> = match limit {
        Some(0) => Vec::new(),
        Some(limit) if limit < row_count => first(places, limit, compare),
        _ => places.collect(),
    };
    places.sort_unstable_by(compare);
    Ok(places.into_iter().map(|place| place.1).collect())
}

/// The first `limit` rows of the order, unsorted.
fn first(
    places: impl Iterator<Item = Place>,
    limit: usize,
    compare: impl Fn(&Place, &Place) -> Ordering,
) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    // The last row within the limit, once there are enough rows.
    let mut last: Option<Place> = None;
    for place in places {
        if last.as_ref().is_some_and(|last| compare(&place, last).is_gt()) {
            continue;
        }
        kept.push(place);
        if kept.len() >= limit.saturating_mul(2) {
            last = Some(*kept.select_nth_unstable_by(limit - 1, &compare).1);
            kept.truncate(limit);
        }
    }
    if kept.len() > limit {
        kept.select_nth_unstable_by(limit - 1, &compare);
        kept.truncate(limit);
    }
    kept
}

/// A number for each value that has the order of the first eight bytes.
#[allow(clippy::cast_sign_loss, reason = "the bits are what is meant")]
fn starts(column: &OrderColumn) -> Vec<u64> {
    const SIGN: u64 = 1 << 63;
    let values = &column.values;
    let integer = |value: i64| value as u64 ^ SIGN;
    // The order of `f64::total_cmp`, as in Arrow.
    let float = |value: f64| match value.to_bits() {
        bits if bits & SIGN == 0 => bits ^ SIGN,
        bits => !bits,
    };
    macro_rules! each {
        ($type:ty, $number:expr) => {
            values.as_primitive::<$type>().values().iter().map($number).collect()
        };
    }
    let mut starts: Vec<u64> = match values.data_type() {
        DataType::Int16 => each!(Int16Type, |value| integer((*value).into())),
        DataType::Int32 => each!(Int32Type, |value| integer((*value).into())),
        DataType::Int64 => each!(Int64Type, |value| integer(*value)),
        DataType::UInt32 => each!(UInt32Type, |value| u64::from(*value)),
        DataType::Float32 => each!(Float32Type, |value| float((*value).into())),
        DataType::Float64 => each!(Float64Type, |value| float(*value)),
        DataType::Date32 => each!(Date32Type, |value| integer((*value).into())),
        DataType::Time64(TimeUnit::Microsecond) => {
            each!(Time64MicrosecondType, |value| integer(*value))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            each!(TimestampMicrosecondType, |value| integer(*value))
        }
        DataType::Utf8 => {
            let texts = values.as_string::<i32>();
            (0..texts.len()).map(|row| first_bytes(texts.value(row).as_bytes())).collect()
        }
        _ => return vec![0; values.len()],
    };
    if column.options.descending {
        starts.iter_mut().for_each(|start| *start = !*start);
    }
    if let Some(nulls) = values.nulls() {
        let null = if column.options.nulls_first { 0 } else { u64::MAX };
        for (start, is_valid) in starts.iter_mut().zip(nulls) {
            if !is_valid {
                *start = null;
            }
        }
    }
    starts
}

/// The first eight bytes, padded with zeros, as a number with the order of bytes.
fn first_bytes(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let size = text.len().min(8);
    bytes[..size].copy_from_slice(&text[..size]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    fn column(values: ArrayRef, descending: bool, nulls_first: bool) -> OrderColumn {
        OrderColumn { values, options: SortOptions { descending, nulls_first } }
    }

    proptest! {
        /// Gives the same order as a stable sort by the comparators alone, with any limit.
        #[test]
        fn rows_come_in_the_order_of_their_columns(
            rows in prop::collection::vec(
                (
                    prop::option::of(prop::sample::select(vec![i64::MIN, -1, 0, 1, i64::MAX])),
                    prop::option::of(prop::sample::select(vec![-1.5, -0.0, 0.0, 2.5, f64::NAN, f64::INFINITY])),
                    prop::option::of("[a-c]{0,10}"),
                ),
                0..200,
            ),
            flags in prop::array::uniform6(any::<bool>()),
            first in 0..3usize,
            limit in prop::option::of(0..40usize),
        ) {
            let integers: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
            let floats: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Float64Array>());
            let texts: ArrayRef = Arc::new(rows.iter().map(|row| row.2.clone()).collect::<StringArray>());
            let mut columns = vec![
                column(integers, flags[0], flags[1]),
                column(floats, flags[2], flags[3]),
                column(texts, flags[4], flags[5]),
            ];
            columns.rotate_left(first);
            let comparators: Vec<_> = columns
                .iter()
                .map(|column| make_comparator(&column.values, &column.values, column.options).unwrap())
                .collect();
            let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
            expected.sort_by(|left, right| {
                let orders = comparators.iter().map(|compare| compare(*left as usize, *right as usize));
                orders.fold(Ordering::Equal, Ordering::then)
            });
            expected.truncate(limit.unwrap_or(usize::MAX));
            let found = in_order(&columns, rows.len(), limit).unwrap();
            prop_assert_eq!(found.values(), &expected[..]);
        }
    }
}
