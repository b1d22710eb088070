//! Converts between single values and Arrow arrays.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use arrow_select::nullif::nullif;
use arrow_select::take::take;
use folio_types::{ColumnType, Interval, Value};

use crate::error::{Error, Result};

/// A column as all operators read it. Sources may give it as it is stored where only those read it
/// that know it: texts as dictionaries, also those of lists, decimals with 64 bits.
#[must_use]
pub fn plain(column: &ArrayRef) -> ArrayRef {
    if let Some(own) = column.as_dictionary_opt::<Int32Type>() {
        let values = take(own.values(), own.keys(), None);
        return plain(&values.expect("keys are within the dictionary"));
    }
    if let Some(list) = column.as_list_opt::<i32>()
        && let DataType::Dictionary(..) = list.value_type()
    {
        let (field, offsets, items, nulls) = list.clone().into_parts();
        let items = plain(&items);
        let field = field.as_ref().clone().with_data_type(items.data_type().clone());
        return Arc::new(ListArray::new(Arc::new(field), offsets, items, nulls));
    }
    match (column.as_primitive_opt::<Decimal64Type>(), column.data_type()) {
        (Some(own), DataType::Decimal64(precision, scale)) => {
            let wide = own.unary::<_, Decimal128Type>(i128::from);
            Arc::new(wide.with_data_type(DataType::Decimal128(*precision, *scale)))
        }
        _ => ArrayRef::clone(column),
    }
}

/// Builds an array of one type from values.
///
/// # Errors
/// `type_mismatch` for a value of another type.
pub fn to_array<'v>(
    values: impl ExactSizeIterator<Item = &'v Value>,
    ty: &ColumnType,
) -> Result<ArrayRef> {
    let mismatch = |value: &Value| mismatch(value, ty);
    macro_rules! primitive {
        ($type:ty, $pattern:pat => $value:expr) => {{
            let mut builder = PrimitiveBuilder::<$type>::with_capacity(values.len())
                .with_data_type(ty.to_arrow());
            for value in values {
                match value {
                    Value::Null => builder.append_null(),
                    $pattern => builder.append_value($value.ok_or_else(|| mismatch(value))?),
                    other => return Err(mismatch(other)),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    macro_rules! variable {
        ($builder:expr, $pattern:pat => $value:expr) => {{
            let mut builder = $builder;
            for value in values {
                match value {
                    Value::Null => builder.append_null(),
                    $pattern => builder.append_value($value),
                    other => return Err(mismatch(other)),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    Ok(match ty {
        ColumnType::Boolean => {
            variable!(BooleanBuilder::new(), Value::Boolean(value) => *value)
        }
        ColumnType::Int16 => {
            primitive!(Int16Type, Value::Integer(value) => i16::try_from(*value).ok())
        }
        ColumnType::Int32 => {
            primitive!(Int32Type, Value::Integer(value) => i32::try_from(*value).ok())
        }
        ColumnType::Int64 => primitive!(Int64Type, Value::Integer(value) => Some(*value)),
        #[allow(clippy::cast_possible_truncation, reason = "real is what was asked for")]
        ColumnType::Float32 => primitive!(Float32Type, Value::Float(value) => Some(*value as f32)),
        ColumnType::Float64 => primitive!(Float64Type, Value::Float(value) => Some(*value)),
        ColumnType::Decimal { .. } => {
            primitive!(Decimal128Type, Value::Decimal(value) => Some(*value))
        }
        ColumnType::Date => primitive!(Date32Type, Value::Date(value) => Some(*value)),
        ColumnType::Time => primitive!(Time64MicrosecondType, Value::Time(value) => Some(*value)),
        ColumnType::Timestamp { .. } => {
            primitive!(TimestampMicrosecondType, Value::Timestamp(value) => Some(*value))
        }
        ColumnType::Interval => {
            primitive!(IntervalMonthDayNanoType, Value::Interval(value) => Some(to_arrow(*value)))
        }
        ColumnType::Text | ColumnType::Json => {
            let count = values.len();
            variable!(StringBuilder::with_capacity(count, 0), Value::Text(value) => value)
        }
        ColumnType::Binary => {
            let count = values.len();
            variable!(BinaryBuilder::with_capacity(count, 0), Value::Bytes(value) => value)
        }
        ColumnType::Uuid => uuid_array(values)?,
        ColumnType::List(element) => list_array(values, element, ty)?,
        ColumnType::Map(value) => map_array(values, &ColumnType::entry(value), ty)?,
        ColumnType::Struct(fields) => struct_array(values, fields, ty)?,
        _ => return Err(Error::unsupported("this type is not known to this release")),
    })
}

fn uuid_array<'v>(values: impl ExactSizeIterator<Item = &'v Value>) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), 16);
    for value in values {
        match value {
            Value::Null => builder.append_null(),
            Value::Uuid(value) => builder.append_value(value)?,
            other => return Err(mismatch(other, &ColumnType::Uuid)),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn mismatch(value: &Value, ty: &ColumnType) -> Error {
    let (name, kind) = (crate::type_name::type_name(ty), value.as_ref().kind());
    Error::mismatch(format!("{kind} does not fit type {name}"))
}

fn list_array<'v>(
    values: impl Iterator<Item = &'v Value>,
    element: &ColumnType,
    ty: &ColumnType,
) -> Result<ArrayRef> {
    let (offsets, items, nulls) = list_parts(values, element, ty)?;
    let field = Arc::new(Field::new("item", element.to_arrow(), true));
    Ok(Arc::new(ListArray::try_new(field, offsets, items, nulls)?))
}

/// The offsets, the elements and the nulls of lists.
fn list_parts<'v>(
    values: impl Iterator<Item = &'v Value>,
    element: &ColumnType,
    ty: &ColumnType,
) -> Result<(OffsetBuffer<i32>, ArrayRef, Option<NullBuffer>)> {
    let (mut lengths, mut valid, mut elements) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value {
            Value::Null => lengths.push(0),
            Value::List(list) => {
                lengths.push(list.len());
                elements.extend(list);
            }
            other => return Err(mismatch(other, ty)),
        }
        valid.push(!matches!(value, Value::Null));
    }
    let items = to_array(elements.into_iter(), element)?;
    Ok((OffsetBuffer::from_lengths(lengths), items, Some(NullBuffer::from(valid))))
}

/// Maps, from lists of their entries.
fn map_array<'v>(
    values: impl Iterator<Item = &'v Value>,
    entry: &ColumnType,
    ty: &ColumnType,
) -> Result<ArrayRef> {
    let (offsets, entries, nulls) = list_parts(values, entry, ty)?;
    map_of(ty, offsets, entries.as_struct().columns().to_vec(), nulls)
}

/// Maps of a type, from the keys and the values of all of them.
///
/// # Errors
/// A key that is null.
pub fn map_of(
    ty: &ColumnType,
    offsets: OffsetBuffer<i32>,
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let DataType::Map(field, is_sorted) = ty.to_arrow() else {
        return Err(Error::unsupported("a map is wanted as something else"));
    };
    let DataType::Struct(fields) = field.data_type() else {
        return Err(Error::unsupported("the entries of a map are structs"));
    };
    let entries = StructArray::try_new(fields.clone(), columns, None)?;
    Ok(Arc::new(MapArray::try_new(field, offsets, entries, nulls, is_sorted)?))
}

/// The values of the n-th member of structs.
///
/// # Errors
/// None for a member of the structs.
pub fn member_of(structs: &StructArray, index: usize) -> Result<ArrayRef> {
    let column = structs.column(index);
    // A member of a null struct is null, whatever its slot holds.
    match structs.nulls() {
        None => Ok(ArrayRef::clone(column)),
        Some(nulls) => {
            let missing = BooleanArray::new(!nulls.inner(), None);
            Ok(nullif(column, &missing)?)
        }
    }
}

fn struct_array<'v>(
    values: impl Iterator<Item = &'v Value>,
    fields: &[(String, ColumnType)],
    ty: &ColumnType,
) -> Result<ArrayRef> {
    let rows: Vec<&Value> = values.collect();
    let valid: Vec<bool> = rows.iter().map(|row| !matches!(row, Value::Null)).collect();
    let mut columns = Vec::with_capacity(fields.len());
    for (index, (_, field)) in fields.iter().enumerate() {
        let mut column = Vec::with_capacity(rows.len());
        for row in &rows {
            column.push(match row {
                Value::Null => &Value::Null,
                Value::Struct(values) if values.len() == fields.len() => &values[index],
                other => return Err(mismatch(other, ty)),
            });
        }
        columns.push(to_array(column.into_iter(), field)?);
    }
    let fields = fields.iter().map(|(name, ty)| Field::new(name, ty.to_arrow(), true)).collect();
    Ok(Arc::new(StructArray::try_new(fields, columns, Some(NullBuffer::from(valid)))?))
}

fn to_arrow(interval: Interval) -> IntervalMonthDayNano {
    IntervalMonthDayNano::new(interval.months, interval.days, interval.nanoseconds)
}

/// The value in one row of an array.
#[must_use]
pub fn value_at(array: &dyn Array, row: usize, ty: &ColumnType) -> Value {
    fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    if array.is_null(row) {
        return Value::Null;
    }
    match ty {
        ColumnType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        ColumnType::Int16 => Value::Integer(number::<Int16Type>(array, row).into()),
        ColumnType::Int32 => Value::Integer(number::<Int32Type>(array, row).into()),
        ColumnType::Int64 => Value::Integer(number::<Int64Type>(array, row)),
        ColumnType::Float32 => Value::Float(number::<Float32Type>(array, row).into()),
        ColumnType::Float64 => Value::Float(number::<Float64Type>(array, row)),
        ColumnType::Decimal { .. } => Value::Decimal(number::<Decimal128Type>(array, row)),
        ColumnType::Date => Value::Date(number::<Date32Type>(array, row)),
        ColumnType::Time => Value::Time(number::<Time64MicrosecondType>(array, row)),
        ColumnType::Timestamp { .. } => {
            Value::Timestamp(number::<TimestampMicrosecondType>(array, row))
        }
        ColumnType::Interval => {
            let value = number::<IntervalMonthDayNanoType>(array, row);
            let (months, days, nanoseconds) = (value.months, value.days, value.nanoseconds);
            Value::Interval(Interval { months, days, nanoseconds })
        }
        ColumnType::Text | ColumnType::Json => {
            Value::Text(array.as_string::<i32>().value(row).to_owned())
        }
        ColumnType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_owned()),
        ColumnType::Uuid => {
            let bytes = array.as_fixed_size_binary().value(row);
            Value::Uuid(bytes.try_into().unwrap_or_default())
        }
        ColumnType::List(element) => {
            let items = array.as_list::<i32>().value(row);
            Value::List((0..items.len()).map(|row| value_at(&items, row, element)).collect())
        }
        ColumnType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let values =
                fields.iter().zip(columns).map(|((_, ty), column)| value_at(column, row, ty));
            Value::Struct(values.collect())
        }
        ColumnType::Map(value) => {
            let map = array.as_map();
            let (keys, values) = (map.keys().as_string::<i32>(), map.values());
            let entries = map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize;
            let entry = |at| {
                let key = Value::Text(keys.value(at).to_owned());
                Value::Struct(vec![key, value_at(values, at, value)])
            };
            Value::List(entries.map(entry).collect())
        }
        _ => Value::Null,
    }
}

/// An array that repeats one value `count` times.
///
/// # Errors
/// As [`to_array`].
pub fn repeat(value: &Value, ty: &ColumnType, count: usize) -> Result<ArrayRef> {
    to_array(std::iter::repeat_n(value, count), ty)
}

/// An array of `count` nulls.
#[must_use]
pub fn nulls(ty: &ColumnType, count: usize) -> ArrayRef {
    arrow_array::new_null_array(&ty.to_arrow(), count)
}
