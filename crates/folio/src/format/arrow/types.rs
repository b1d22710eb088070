//! Converts foreign Arrow types and arrays to ours.
//!
//! They differ in width, in the unit of times, in zone names, and in the memory layout of texts and
//! lists: twenty conversions in all. Arrow's own crate handles every pair of its types and would be
//! a tenth of the command's size.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, ListArray, StructArray, UInt32Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, TimeUnit};
use arrow_select::take::take;
use folio_compute::array::map_of;
use folio_types::ColumnType;

/// Our type for a column of a file; `None` for types without a counterpart.
pub(crate) fn column_type(field: &Field) -> Option<ColumnType> {
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
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => text_type(field),
        DataType::FixedSizeBinary(16) if is_extension(field, "arrow.uuid") => ColumnType::Uuid,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => ColumnType::Binary,
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Interval(IntervalUnit::MonthDayNano) => ColumnType::Interval,
        DataType::Time32(_) | DataType::Time64(_) => ColumnType::Time,
        DataType::Timestamp(_, zone) => ColumnType::Timestamp { utc: zone.is_some() },
        DataType::Null => ColumnType::Text,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            ColumnType::List(Box::new(column_type(item)?))
        }
        DataType::Dictionary(_, values) => {
            column_type(&Field::new(field.name(), values.as_ref().clone(), true))?
        }
        DataType::Map(entries, _) => match column_type(entries)? {
            ColumnType::Struct(parts) if matches!(&parts[..], [(_, ColumnType::Text), _]) => {
                ColumnType::Map(Box::new(parts[1].1.clone()))
            }
            entry => ColumnType::List(Box::new(entry)),
        },
        DataType::Struct(fields) => {
            let fields =
                fields.iter().map(|field| Some((field.name().clone(), column_type(field)?)));
            ColumnType::Struct(fields.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn text_type(field: &Field) -> ColumnType {
    match is_extension(field, "arrow.json") {
        true => ColumnType::Json,
        false => ColumnType::Text,
    }
}

/// Whether a field is marked as one of Arrow's canonical extension types.
fn is_extension(field: &Field, name: &str) -> bool {
    field.extension_type_name() == Some(name)
}

/// Converts a foreign array to the type of its column.
///
/// # Errors
/// Values out of the type's range: a time before the year -290,000, say.
pub(crate) fn convert(array: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef, ArrowError> {
    let wanted = ty.to_arrow();
    if *array.data_type() == wanted && !has_maps(ty) {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), ty) {
        (DataType::List(_), ColumnType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = convert(list.values(), item)?;
            list_of(&wanted, list.offsets().clone(), values, list.nulls().cloned())
        }
        (DataType::LargeList(_), ColumnType::List(item)) => {
            let list = array.as_list::<i64>();
            let values = convert(list.values(), item)?;
            list_of(&wanted, narrow_offsets(list.offsets())?, values, list.nulls().cloned())
        }
        (DataType::FixedSizeList(..), ColumnType::List(item)) => {
            let list = array.as_fixed_size_list();
            let values = convert(list.values(), item)?;
            let size = usize::try_from(list.value_length()).unwrap_or_default();
            let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(size, list.len()));
            list_of(&wanted, offsets, values, list.nulls().cloned())
        }
        (DataType::Dictionary(..), _) => {
            let dictionary = array.as_any_dictionary();
            let values = convert(dictionary.values(), ty)?;
            take(&values, dictionary.keys(), None)
        }
        (DataType::Map(..), ColumnType::List(item)) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let values = convert(&entries, item)?;
            list_of(&wanted, map.offsets().clone(), values, map.nulls().cloned())
        }
        (DataType::Map(..), ColumnType::Map(value)) => {
            let map = array.as_map();
            let keys = convert(map.keys(), &ColumnType::Text)?;
            let values = convert(map.values(), value)?;
            sorted_map(ty, map.offsets(), map.nulls(), &[keys, values])
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

/// Whether there are maps in values of a type: those of a file may have any order.
fn has_maps(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Map(_) => true,
        ColumnType::List(item) => has_maps(item),
        ColumnType::Struct(fields) => fields.iter().any(|(_, ty)| has_maps(ty)),
        _ => false,
    }
}

/// Maps of a type, from the keys and values of all of them. Ours have each key once, in the order of
/// their bytes; of values with one key, the last counts.
pub(crate) fn sorted_map(
    ty: &ColumnType,
    offsets: &OffsetBuffer<i32>,
    nulls: Option<&NullBuffer>,
    columns: &[ArrayRef; 2],
) -> Result<ArrayRef, ArrowError> {
    let texts = columns[0].as_string::<i32>();
    let key = |at: &u32| texts.value(*at as usize);
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for (row, ends) in offsets.windows(2).enumerate() {
        let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        let end = if is_valid { ends[1] } else { ends[0] };
        let mut entries: Vec<u32> = (ends[0] as u32..end as u32).collect();
        entries.sort_by(|one, other| key(one).cmp(key(other)).then(other.cmp(one)));
        entries.dedup_by(|later, first| key(later) == key(first));
        lengths.push(entries.len());
        places.append(&mut entries);
    }
    let places = UInt32Array::from(places);
    let columns = columns.iter().map(|column| take(column, &places, None));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    map_of(ty, OffsetBuffer::from_lengths(lengths), columns, nulls.cloned())
        .map_err(|error| ArrowError::CastError(error.to_string()))
}

/// Converts an array that is not nested to `wanted`, which can hold its values.
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
            binary_of(array.as_fixed_size_binary().iter())
        }
        (DataType::LargeBinary, DataType::Binary) => binary_of(array.as_binary::<i64>().iter()),
        (DataType::BinaryView, DataType::Binary) => binary_of(array.as_binary_view().iter()),
        (DataType::LargeUtf8, DataType::Utf8) => text_of(array.as_string::<i64>().iter()),
        (DataType::Utf8View, DataType::Utf8) => text_of(array.as_string_view().iter()),
        (DataType::Date64, DataType::Date32) => {
            let day = |at: i64| at.div_euclid(86_400_000);
            let days = array.as_primitive::<Date64Type>();
            Arc::new(days.try_unary::<_, Date32Type, ArrowError>(|at| {
                i32::try_from(day(at)).map_err(|_| beyond(at))
            })?)
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
            widened::<Time64NanosecondType, Time64MicrosecondType>(array, microseconds)
        }
        (DataType::Timestamp(unit, _), DataType::Timestamp(_, zone)) => {
            let zone = zone.clone();
            match unit {
                TimeUnit::Second => moment::<TimestampSecondType>(array, zone, 1_000_000)?,
                TimeUnit::Millisecond => moment::<TimestampMillisecondType>(array, zone, 1_000)?,
                TimeUnit::Microsecond => moment::<TimestampMicrosecondType>(array, zone, 1)?,
                TimeUnit::Nanosecond => {
                    let values = array.as_primitive::<TimestampNanosecondType>();
                    let rounded = values.unary::<_, TimestampMicrosecondType>(microseconds);
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

/// Converts every value to a wider type.
fn widened<G: ArrowPrimitiveType, W: ArrowPrimitiveType>(
    array: &ArrayRef,
    widen: impl Fn(G::Native) -> W::Native,
) -> ArrayRef {
    Arc::new(array.as_primitive::<G>().unary::<_, W>(widen))
}

fn binary_of<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    let mut bytes = BinaryBuilder::new();
    bytes.extend(values);
    Arc::new(bytes.finish())
}

fn text_of<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut texts = StringBuilder::new();
    texts.extend(values);
    Arc::new(texts.finish())
}

fn beyond(at: i64) -> ArrowError {
    ArrowError::ComputeError(format!("{at} is out of range for the type"))
}

/// List offsets as 32 bits; an error for more than 2^31 elements in total.
fn narrow_offsets(wide: &OffsetBuffer<i64>) -> Result<OffsetBuffer<i32>, ArrowError> {
    let narrow = wide.iter().map(|offset| i32::try_from(*offset).map_err(|_| beyond(*offset)));
    Ok(OffsetBuffer::new(narrow.collect::<Result<ScalarBuffer<i32>, _>>()?))
}

/// Nanoseconds as microseconds, rounded like the text of a time.
fn microseconds(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000) + i64::from(nanoseconds.rem_euclid(1_000) >= 500)
}

/// Converts instants whose unit is a number of microseconds.
fn moment<G: ArrowTimestampType>(
    array: &ArrayRef,
    zone: Option<Arc<str>>,
    microseconds: i64,
) -> Result<ArrayRef, ArrowError> {
    let scaled = |at: i64| at.checked_mul(microseconds).ok_or_else(|| beyond(at));
    let values = array.as_primitive::<G>();
    let values = values.try_unary::<_, TimestampMicrosecondType, ArrowError>(scaled)?;
    Ok(Arc::new(values.with_timezone_opt(zone)))
}

fn list_of(
    wanted: &DataType,
    offsets: OffsetBuffer<i32>,
    values: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let DataType::List(field) = wanted else {
        return Err(ArrowError::SchemaError("a list is wanted as something else".to_owned()));
    };
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
}
