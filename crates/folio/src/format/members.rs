//! Nested values with other members: some are left out, and those that were unknown are null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray, new_null_array};
use arrow_schema::DataType;
use folio_compute::array::map_of;
use folio_types::ColumnType;

/// An array of a type as one of a wanted type, which differs in the members of structs alone.
pub(crate) fn adapted(array: &ArrayRef, own: &ColumnType, wanted: &ColumnType) -> ArrayRef {
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
