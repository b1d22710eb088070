//! What values compare by. JSON compares by value, so its texts become their order keys
//! ([`order_key`]), in lists, structs and maps too; all else stays. Whatever compares values of a
//! type that may hold JSON compares these instead: as columns, with their type, or one by one.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, MapArray, StructArray};
use arrow_schema::{Field, FieldRef};
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
    match ty {
        ColumnType::List(inner) => {
            let (field, offsets, items, nulls) = column.as_list::<i32>().clone().into_parts();
            let items = of_column(&items, inner);
            Arc::new(ListArray::new(retyped(&field, &items), offsets, items, nulls))
        }
        ColumnType::Map(value) => {
            let (field, offsets, entries, nulls, is_sorted) = column.as_map().clone().into_parts();
            let members =
                [("key".to_owned(), ColumnType::Text), ("value".to_owned(), (**value).clone())];
            let entries = of_members(entries, &members);
            let field = retyped(&field, &entries);
            Arc::new(MapArray::new(field, offsets, entries, nulls, is_sorted))
        }
        ColumnType::Struct(members) => Arc::new(of_members(column.as_struct().clone(), members)),
        _ => {
            let texts = column.as_string::<i32>().iter();
            Arc::new(texts.map(|text| text.map(order_key)).collect::<BinaryArray>())
        }
    }
}

fn of_members(structs: StructArray, members: &[(String, ColumnType)]) -> StructArray {
    let (fields, columns, nulls) = structs.into_parts();
    let columns = columns.iter().zip(members).map(|(column, (_, ty))| of_column(column, ty));
    let columns: Vec<ArrayRef> = columns.collect();
    let fields = fields.iter().zip(&columns).map(|(field, column)| retyped(field, column));
    StructArray::new(fields.collect(), columns, nulls)
}

/// A field with the type of other values.
fn retyped(field: &Field, values: &dyn Array) -> FieldRef {
    Arc::new(field.clone().with_data_type(values.data_type().clone()))
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

#[cfg(test)]
mod tests {
    use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};

    use super::*;
    use crate::array::value_at;

    /// Columns of other programs name their fields as they like.
    #[test]
    fn columns_and_values_have_the_same_keys() {
        let item = Field::new("element", ColumnType::Json.to_arrow(), false);
        let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item);
        lists.append_value([Some("1.0"), Some(r#"{"b":1,"a":[10]}"#)]);
        lists.append_null();
        let names = MapFieldNames {
            entry: "pairs".to_owned(),
            key: "name".to_owned(),
            value: "content".to_owned(),
        };
        let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
        maps.keys().append_value("k");
        maps.values().append_value("1e0");
        maps.append(true).unwrap();
        maps.append(false).unwrap();
        let json = || Box::new(ColumnType::Json);
        let columns: [(ArrayRef, ColumnType); 2] = [
            (Arc::new(lists.finish()), ColumnType::List(json())),
            (Arc::new(maps.finish()), ColumnType::Map(json())),
        ];
        for (column, ty) in columns {
            let keys = of_column(&column, &ty);
            for row in 0..column.len() {
                let value = value_at(&column, row, &ty);
                let expected = of_value(&value, &ty).into_owned();
                assert_eq!(value_at(&keys, row, &type_of(&ty)), expected, "{value:?}");
            }
        }
    }
}
