//! What values compare by. JSON compares by value, so its texts become their order keys
//! ([`order_key`]), in lists, structs and maps too; all else stays. Whatever compares values of a
//! type that may hold JSON compares these instead: as columns, with their type, or one by one.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, MapArray, StructArray};
use arrow_schema::DataType;
use folio_json::order_key;
use folio_types::{ColumnType, Value};

use crate::array::plain;

/// Whether values of a type are JSON or have JSON in them.
#[must_use]
pub fn holds_json(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Json => true,
        ColumnType::List(inner) | ColumnType::Map(inner) => holds_json(inner),
        ColumnType::Struct(fields) => fields.iter().any(|(_, field)| holds_json(field)),
        _ => false,
    }
}

/// The type of what values of a type compare by.
#[must_use]
pub fn type_of(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::Json => ColumnType::Binary,
        ColumnType::List(inner) => ColumnType::List(Box::new(type_of(inner))),
        ColumnType::Map(inner) => ColumnType::Map(Box::new(type_of(inner))),
        ColumnType::Struct(fields) => ColumnType::Struct(
            fields.iter().map(|(name, field)| (name.clone(), type_of(field))).collect(),
        ),
        other => other.clone(),
    }
}

/// What the values of a column compare by.
#[must_use]
pub fn of_column(column: &ArrayRef, ty: &ColumnType) -> ArrayRef {
    if !holds_json(ty) {
        return ArrayRef::clone(column);
    }
    let column = plain(column);
    match (ty, type_of(ty).to_arrow()) {
        (ColumnType::List(inner), DataType::List(field)) => {
            let (_, offsets, items, nulls) = column.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::new(field, offsets, of_column(&items, inner), nulls))
        }
        (ColumnType::Map(value), DataType::Map(field, is_sorted)) => {
            let (_, offsets, entries, nulls, _) = column.as_map().clone().into_parts();
            let entries = of_members(&entries, &ColumnType::entry(value));
            Arc::new(MapArray::new(field, offsets, entries, nulls, is_sorted))
        }
        (ColumnType::Struct(_), _) => Arc::new(of_members(column.as_struct(), ty)),
        _ => {
            let texts = column.as_string::<i32>().iter();
            Arc::new(texts.map(|text| text.map(order_key)).collect::<BinaryArray>())
        }
    }
}

fn of_members(structs: &StructArray, ty: &ColumnType) -> StructArray {
    let (ColumnType::Struct(members), DataType::Struct(_)) = (ty, structs.data_type()) else {
        return structs.clone();
    };
    let columns = structs.columns().iter().zip(members);
    let columns: Vec<ArrayRef> = columns.map(|(column, (_, ty))| of_column(column, ty)).collect();
    let fields = structs.fields().iter().zip(&columns);
    let fields = fields.map(|(field, column)| {
        let field = field.as_ref().clone();
        field.with_data_type(column.data_type().clone())
    });
    StructArray::new(fields.collect(), columns, structs.nulls().cloned())
}

/// What a value compares by.
#[must_use]
pub fn of_value<'v>(value: &'v Value, ty: &ColumnType) -> Cow<'v, Value> {
    if !holds_json(ty) {
        return Cow::Borrowed(value);
    }
    let all = |values: &[Value], ty: &ColumnType| {
        values.iter().map(|value| of_value(value, ty).into_owned()).collect()
    };
    Cow::Owned(match (value, ty) {
        (Value::Text(json), ColumnType::Json) => Value::Bytes(order_key(json)),
        (Value::List(items), ColumnType::List(inner)) => Value::List(all(items, inner)),
        (Value::List(entries), ColumnType::Map(inner)) => {
            Value::List(all(entries, &ColumnType::entry(inner)))
        }
        (Value::Struct(values), ColumnType::Struct(fields)) => {
            let values = values.iter().zip(fields);
            Value::Struct(values.map(|(value, (_, ty))| of_value(value, ty).into_owned()).collect())
        }
        (other, _) => other.clone(),
    })
}
