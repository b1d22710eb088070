//! Converts columns of the Ion reader to those of the query engine.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, ListArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_ion::shred::{Column, Data, Field, ListEntry, Text, Type, Validity};
use folio_types::ColumnType;

use crate::format::arrow::sorted_map;

/// The storable type that can hold the values of a type found in a file.
pub(crate) fn storable(found: Type) -> Type {
    match found {
        Type::HugeInt => Type::Decimal { precision: 38, scale: 0 },
        Type::Map(value) => Type::Map(Box::new(storable(*value))),
        Type::List(item) => Type::List(Box::new(storable(*item))),
        Type::Struct(fields) => {
            let fields = fields.into_iter();
            let stored = |field: Field| Field { field_type: storable(field.field_type), ..field };
            Type::Struct(fields.map(stored).collect())
        }
        other => other,
    }
}

/// The type of a column in the engine.
pub(crate) fn column_type(found: &Type) -> ColumnType {
    match found {
        Type::Bool => ColumnType::Boolean,
        Type::Int(_) | Type::UInt(_) => ColumnType::Int64,
        Type::HugeInt => ColumnType::Decimal { precision: 38, scale: 0 },
        Type::Decimal { precision, scale } => {
            ColumnType::Decimal { precision: *precision, scale: scale.cast_signed() }
        }
        Type::Float(_) => ColumnType::Float64,
        Type::Timestamp => ColumnType::Timestamp { utc: true },
        Type::UtcTimestamp => ColumnType::Timestamp { utc: false },
        Type::Date => ColumnType::Date,
        Type::String => ColumnType::Text,
        Type::Json => ColumnType::Json,
        Type::Map(value) => ColumnType::Map(Box::new(column_type(value))),
        Type::Blob => ColumnType::Binary,
        Type::List(item) => ColumnType::List(Box::new(column_type(item))),
        Type::Struct(fields) => {
            let named = |field: &Field| (field.name.clone(), column_type(&field.field_type));
            ColumnType::Struct(fields.iter().map(named).collect())
        }
    }
}

/// The values of a column of a [`storable`] type.
///
/// # Errors
/// More list elements or bytes of text in one batch than 32-bit offsets can count.
pub(crate) fn to_array(column: &Column) -> QueryResult<ArrayRef> {
    let wanted = column_type(column.column_type()).to_arrow();
    let nulls = nulls(column.validity(), column.len());
    Ok(match column.data() {
        Data::Bool(values) => {
            let bits = BooleanBuffer::collect_bool(values.len(), |index| values[index] != 0);
            Arc::new(BooleanArray::new(bits, nulls))
        }
        Data::Int(values) => Arc::new(Int64Array::new(values.clone().into(), nulls)),
        Data::UInt(values) => {
            let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
            Arc::new(Int64Array::new(values.into(), nulls))
        }
        Data::Float(values) => Arc::new(Float64Array::new(values.clone().into(), nulls)),
        Data::Date(values) => Arc::new(Date32Array::new(values.clone().into(), nulls)),
        Data::Decimal(values) => {
            let units: Vec<i128> = values.iter().copied().map(i128::from).collect();
            decimals(units, nulls, &wanted)
        }
        Data::Wide(units) => decimals(units.clone(), nulls, &wanted),
        Data::Timestamp(values) => {
            let values = TimestampMicrosecondArray::new(values.clone().into(), nulls);
            Arc::new(values.with_data_type(wanted))
        }
        Data::Text(text) => texts(text, column, &wanted)?,
        Data::List(entries, child) => list(entries, child, nulls, &wanted)?,
        Data::Struct(record) => {
            let DataType::Struct(fields) = &wanted else {
                unreachable!("a struct is one in Arrow")
            };
            let columns = record.fields.iter().map(to_array).collect::<QueryResult<Vec<_>>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
        }
        Data::Map(entries, map) => {
            let columns = [to_array(&map.keys)?, to_array(&map.values)?];
            let (ty, offsets) = (column_type(column.column_type()), offsets(entries)?);
            sorted_map(&ty, &offsets, nulls.as_ref(), &columns)?
        }
    })
}

fn nulls(validity: &Validity, count: usize) -> Option<NullBuffer> {
    if validity.words().is_empty() {
        return None;
    }
    let bits = BooleanBuffer::collect_bool(count, |index| validity.is_valid(index));
    Some(NullBuffer::new(bits))
}

fn decimals(units: Vec<i128>, nulls: Option<NullBuffer>, wanted: &DataType) -> ArrayRef {
    Arc::new(Decimal128Array::new(units.into(), nulls).with_data_type(wanted.clone()))
}

/// Text or bytes, collected from inline values and the heap.
fn texts(text: &Text, column: &Column, wanted: &DataType) -> QueryResult<ArrayRef> {
    let (count, validity) = (column.len(), column.validity());
    if *wanted == DataType::Binary {
        let mut builder = BinaryBuilder::with_capacity(count, 0);
        each(text, count, validity, |bytes| builder.append_option(bytes));
        return Ok(Arc::new(builder.finish()));
    }
    let mut builder = StringBuilder::with_capacity(count, 0);
    let mut is_text = true;
    each(text, count, validity, |bytes| {
        let text = bytes.map(std::str::from_utf8);
        is_text &= !matches!(text, Some(Err(_)));
        builder.append_option(text.and_then(Result::ok));
    });
    if !is_text {
        let text = "a text is not valid UTF-8";
        return Err(QueryError::new(folio_types::ErrorCode::Syntax, text));
    }
    Ok(Arc::new(builder.finish()))
}

fn each(text: &Text, count: usize, validity: &Validity, mut take: impl FnMut(Option<&[u8]>)) {
    for (index, view) in text.views().iter().enumerate().take(count) {
        if !validity.is_valid(index) {
            take(None);
        } else if let Some(bytes) = text.long(*view) {
            take(Some(bytes));
        } else {
            let bytes = view.to_le_bytes();
            let size = usize::from(bytes[0]);
            take(bytes.get(4..4 + size));
        }
    }
}

fn list(
    entries: &[ListEntry],
    child: &Column,
    nulls: Option<NullBuffer>,
    wanted: &DataType,
) -> QueryResult<ArrayRef> {
    let DataType::List(field) = wanted else { unreachable!("a list is one in Arrow") };
    let (items, offsets) = (to_array(child)?, offsets(entries)?);
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, items, nulls)?))
}

/// Arrow's offsets of lists or maps.
fn offsets(entries: &[ListEntry]) -> QueryResult<OffsetBuffer<i32>> {
    let mut offsets = Vec::with_capacity(entries.len() + 1);
    offsets.push(0);
    for entry in entries {
        // Lists are consecutive in their child, so an end is the next one's start.
        let end = i32::try_from(entry.offset + entry.length).map_err(|_| beyond())?;
        offsets.push(end);
    }
    Ok(OffsetBuffer::new(offsets.into()))
}

fn beyond() -> QueryError {
    let text = "a batch of rows holds more list elements than can be counted";
    QueryError::new(folio_types::ErrorCode::Unsupported, text)
}
