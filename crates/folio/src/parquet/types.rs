//! The types of Parquet columns, as Arrow reads them, and their arrays as ours.
//!
//! Columns differ from ours in width, in the unit of times and in the name of a zone, ten
//! conversions in all. Arrow's own crate for them knows every pair of its types and would
//! be a tenth of the command.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Decimal128Type, Float16Type, Float32Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, ListArray, StructArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use folio_types::ColumnType;

/// The type a column of a file has here; `None` for types that have no counterpart.
pub(super) fn column_type(field: &Field) -> Option<ColumnType> {
    Some(match field.data_type() {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => ColumnType::Int16,
        DataType::Int32 | DataType::UInt16 => ColumnType::Int32,
        DataType::Int64 | DataType::UInt32 => ColumnType::Int64,
        DataType::UInt64 => ColumnType::Decimal { precision: 20, scale: 0 },
        DataType::Float16 | DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Decimal128(precision, scale) if *scale >= 0 => {
            ColumnType::Decimal { precision: *precision, scale: *scale }
        }
        DataType::Utf8 => ColumnType::Text,
        DataType::Binary | DataType::FixedSizeBinary(_) => ColumnType::Binary,
        DataType::Date32 => ColumnType::Date,
        DataType::Time32(_) | DataType::Time64(_) => ColumnType::Time,
        DataType::Timestamp(_, zone) => ColumnType::Timestamp { utc: zone.is_some() },
        DataType::Null => ColumnType::Text,
        DataType::List(item) => ColumnType::List(Box::new(column_type(item)?)),
        DataType::Map(entries, _) => ColumnType::List(Box::new(column_type(entries)?)),
        DataType::Struct(fields) => {
            let fields =
                fields.iter().map(|field| Some((field.name().clone(), column_type(field)?)));
            ColumnType::Struct(fields.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// An array of a file as an array of the type its column has here.
///
/// # Errors
/// Values beyond what the type holds: a time before the year -290,000, say.
pub(super) fn convert(array: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef, ArrowError> {
    let wanted = ty.to_arrow();
    if *array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), ty) {
        (DataType::List(_), ColumnType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = convert(list.values(), item)?;
            list_of(&wanted, list.offsets().clone(), values, list.nulls().cloned())
        }
        (DataType::Map(..), ColumnType::List(item)) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let values = convert(&entries, item)?;
            list_of(&wanted, map.offsets().clone(), values, map.nulls().cloned())
        }
        (DataType::Struct(_), ColumnType::Struct(fields)) => {
            let DataType::Struct(wanted) = wanted else { return Ok(Arc::clone(array)) };
            let given = array.as_struct();
            let columns = given.columns().iter().zip(fields);
            let columns = columns.map(|(column, (_, ty))| convert(column, ty));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new(wanted, columns, given.nulls().cloned())?))
        }
        _ => plain(array, &wanted),
    }
}

/// An array without others in it as one of the type `wanted`, which holds its values.
fn plain(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    Ok(match (array.data_type(), wanted) {
        (DataType::Null, _) => new_null_array(wanted, array.len()),
        (DataType::Int8, DataType::Int16) => widened::<Int8Type, Int16Type>(array, i16::from),
        (DataType::UInt8, DataType::Int16) => widened::<UInt8Type, Int16Type>(array, i16::from),
        (DataType::UInt16, DataType::Int32) => widened::<UInt16Type, Int32Type>(array, i32::from),
        (DataType::UInt32, DataType::Int64) => widened::<UInt32Type, Int64Type>(array, i64::from),
        (DataType::UInt64, &DataType::Decimal128(precision, scale)) => {
            let values = array.as_primitive::<UInt64Type>();
            let wide = values.unary::<_, Decimal128Type>(i128::from);
            Arc::new(wide.with_precision_and_scale(precision, scale)?)
        }
        (DataType::Float16, DataType::Float32) => {
            widened::<Float16Type, Float32Type>(array, f32::from)
        }
        (DataType::FixedSizeBinary(_), DataType::Binary) => {
            let mut bytes = BinaryBuilder::new();
            bytes.extend(array.as_fixed_size_binary().iter());
            Arc::new(bytes.finish())
        }
        (DataType::Time32(TimeUnit::Second), _) => {
            widened::<Time32SecondType, Time64MicrosecondType>(array, |at| {
                i64::from(at) * 1_000_000
            })
        }
        (DataType::Time32(_), _) => {
            widened::<Time32MillisecondType, Time64MicrosecondType>(array, |at| {
                i64::from(at) * 1_000
            })
        }
        (DataType::Time64(_), _) => {
            widened::<Time64NanosecondType, Time64MicrosecondType>(array, |at| at / 1_000)
        }
        (DataType::Timestamp(unit, _), DataType::Timestamp(_, zone)) => {
            let zone = zone.clone();
            match unit {
                TimeUnit::Second => moment::<TimestampSecondType>(array, zone, 1_000_000)?,
                TimeUnit::Millisecond => moment::<TimestampMillisecondType>(array, zone, 1_000)?,
                TimeUnit::Microsecond => moment::<TimestampMicrosecondType>(array, zone, 1)?,
                TimeUnit::Nanosecond => {
                    let values = array.as_primitive::<TimestampNanosecondType>();
                    let before = |at: i64| at.div_euclid(1_000);
                    let rounded = values.unary::<_, TimestampMicrosecondType>(before);
                    Arc::new(rounded.with_timezone_opt(zone))
                }
            }
        }
        (given, _) => {
            let text = format!("a column of {given} does not become one of {wanted}");
            return Err(ArrowError::CastError(text));
        }
    })
}

/// Every value as one of a type that holds all of them.
fn widened<G: ArrowPrimitiveType, W: ArrowPrimitiveType>(
    array: &ArrayRef,
    widen: impl Fn(G::Native) -> W::Native,
) -> ArrayRef {
    Arc::new(array.as_primitive::<G>().unary::<_, W>(widen))
}

/// Moments of a unit of so many microseconds.
fn moment<G: ArrowTimestampType>(
    array: &ArrayRef,
    zone: Option<Arc<str>>,
    microseconds: i64,
) -> Result<ArrayRef, ArrowError> {
    let beyond = |at: i64| {
        ArrowError::ComputeError(format!("{at} is beyond what a timestamp holds in microseconds"))
    };
    let scaled = |at: i64| at.checked_mul(microseconds).ok_or_else(|| beyond(at));
    let values = array.as_primitive::<G>();
    let values = values.try_unary::<_, TimestampMicrosecondType, ArrowError>(scaled)?;
    Ok(Arc::new(values.with_timezone_opt(zone)))
}

fn list_of(
    wanted: &DataType,
    offsets: arrow_buffer::OffsetBuffer<i32>,
    values: ArrayRef,
    nulls: Option<arrow_buffer::NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let DataType::List(field) = wanted else {
        return Err(ArrowError::SchemaError("a list is wanted as something else".to_owned()));
    };
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
}
