//! The types of the columns of a part: as they are noted in it, and as a scan wants them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray, new_null_array};
use arrow_schema::DataType;
use folio_compute::array::map_of;
use folio_types::ColumnType;

/// Whether no struct in a type lacks members: Parquet has none of those.
pub(super) fn has_members(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Struct(members) => {
            !members.is_empty() && members.iter().all(|(_, ty)| has_members(ty))
        }
        ColumnType::List(item) | ColumnType::Map(item) => has_members(item),
        _ => true,
    }
}

pub(super) fn type_to_json(ty: &ColumnType) -> serde_json::Value {
    match ty {
        ColumnType::List(item) => serde_json::json!({"list": type_to_json(item)}),
        ColumnType::Map(value) => serde_json::json!({"map": type_to_json(value)}),
        ColumnType::Struct(members) => {
            let member =
                |(name, ty): &(String, ColumnType)| serde_json::json!([name, type_to_json(ty)]);
            serde_json::json!({"struct": members.iter().map(member).collect::<Vec<_>>()})
        }
        ColumnType::Decimal { precision, scale } => {
            serde_json::json!({"decimal": [precision, scale]})
        }
        ty => ty.to_string().into(),
    }
}

pub(super) fn type_of_json(json: &serde_json::Value) -> Option<ColumnType> {
    let plain = [
        ColumnType::Boolean,
        ColumnType::Int16,
        ColumnType::Int32,
        ColumnType::Int64,
        ColumnType::Float32,
        ColumnType::Float64,
        ColumnType::Text,
        ColumnType::Json,
        ColumnType::Binary,
        ColumnType::Uuid,
        ColumnType::Date,
        ColumnType::Time,
        ColumnType::Timestamp { utc: false },
        ColumnType::Timestamp { utc: true },
    ];
    if let Some(name) = json.as_str() {
        return plain.into_iter().find(|ty| ty.to_string() == name);
    }
    let (kind, inner) = json.as_object()?.iter().next()?;
    match &**kind {
        "decimal" => Some(ColumnType::Decimal {
            precision: inner.get(0)?.as_u64()?.try_into().ok()?,
            scale: inner.get(1)?.as_i64()?.try_into().ok()?,
        }),
        "list" => type_of_json(inner).map(|item| ColumnType::List(Box::new(item))),
        "map" => type_of_json(inner).map(|value| ColumnType::Map(Box::new(value))),
        "struct" => {
            let member = |member: &serde_json::Value| {
                Some((member.get(0)?.as_str()?.to_owned(), type_of_json(member.get(1)?)?))
            };
            let members = inner.as_array()?.iter().map(member);
            members.collect::<Option<_>>().map(ColumnType::Struct)
        }
        _ => None,
    }
}

/// Whether values of a part's type are those of a wanted one, with members left out or added.
pub(super) fn fits(own: &ColumnType, wanted: &ColumnType) -> bool {
    match (own, wanted) {
        (ColumnType::Struct(own), ColumnType::Struct(wanted)) => wanted.iter().all(|(name, ty)| {
            own.iter().find(|(own, _)| own == name).is_none_or(|(_, own)| fits(own, ty))
        }),
        (ColumnType::List(own), ColumnType::List(wanted))
        | (ColumnType::Map(own), ColumnType::Map(wanted)) => fits(own, wanted),
        (own, wanted) => own == wanted,
    }
}

/// An array of a part's type as one of a wanted type that it fits.
pub(super) fn adapted(array: &ArrayRef, own: &ColumnType, wanted: &ColumnType) -> ArrayRef {
    if own == wanted {
        return Arc::clone(array);
    }
    match (own, wanted, wanted.to_arrow()) {
        (ColumnType::Struct(own), ColumnType::Struct(wanted), DataType::Struct(fields)) => {
            let given = array.as_struct();
            let columns = wanted.iter().map(|(name, ty)| {
                let place = own.iter().find(|(own, _)| own == name);
                match place.and_then(|(_, own)| Some((given.column_by_name(name)?, own))) {
                    Some((column, own)) => adapted(column, own, ty),
                    None => new_null_array(&ty.to_arrow(), array.len()),
                }
            });
            let columns = columns.collect();
            let made = StructArray::try_new_with_length(
                fields,
                columns,
                given.nulls().cloned(),
                array.len(),
            );
            Arc::new(made.expect("each column has the type of its field"))
        }
        (ColumnType::List(own), ColumnType::List(wanted), DataType::List(field)) => {
            let (_, offsets, items, nulls) = array.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::new(field, offsets, adapted(&items, own, wanted), nulls))
        }
        (ColumnType::Map(own), ColumnType::Map(value), _) => {
            let map = array.as_map();
            let columns = vec![Arc::clone(map.keys()), adapted(map.values(), own, value)];
            map_of(wanted, map.offsets().clone(), columns, map.nulls().cloned())
                .expect("each column has the type of its field")
        }
        _ => Arc::clone(array),
    }
}
