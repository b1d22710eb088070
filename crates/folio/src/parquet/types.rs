//! The types of Parquet columns, as Arrow reads them, and their arrays as ours.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_cast::cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field};
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
        _ => cast_with_options(array, &wanted, &CastOptions { safe: false, ..Default::default() }),
    }
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
