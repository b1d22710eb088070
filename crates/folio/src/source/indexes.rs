//! Indexes on fields of collections, as the engine reads, creates and drops them.

use std::sync::Arc;

use folio_document::{FoundDocuments, IndexDefinition, IndexField, KeyRange};
use folio_engine::source::{Bound, FieldIndex, Found, Keys, Relation, ScanRequest};
use folio_engine::{Error as QueryError, Result as QueryResult};
use folio_types::{ColumnType, ErrorCode, Value, ValueRef, borrowed};

use super::documents::{changed, collection_of, names, relation, values_in};
use crate::collection::Collection;
use crate::format::json::LineColumns;
use crate::handle::Handle;

/// The documents of a request that names an index, in its order.
pub(super) fn find(
    collection: &Collection,
    relation: &Relation,
    index: usize,
    request: &ScanRequest,
) -> QueryResult<FoundDocuments> {
    let range = range(relation, index, &request.from, &request.to);
    let name = &relation.indexes[index].name;
    let found = collection.find(name, range, request.reverse, request.limit);
    found.map_err(|error| match error.code() {
        ErrorCode::NotFound => changed(&relation.schema.name), // dropped
        _ => error.into(),
    })
}

/// The document with these values, if there is one; `None` if there are several.
pub(super) fn find_only(
    handle: &Arc<Handle>,
    relation: &Relation,
    index: usize,
    key: Vec<Value>,
    columns: &[usize],
) -> QueryResult<Option<Option<Vec<Value>>>> {
    let collection = collection_of(handle, relation)?;
    let bound = Bound::Included(key);
    let limit = Some(2);
    let request = ScanRequest { from: bound.clone(), to: bound, limit, ..ScanRequest::default() };
    let mut found = find(&collection, relation, index, &request)?;
    let Some(line) = found.next_line().map_err(crate::Error::from)? else { return Ok(Some(None)) };
    let line = std::str::from_utf8(line).map_err(|_| changed(&relation.schema.name))?;
    let row = values_in(relation, line, columns)?;
    let is_only = found.next_line().map_err(crate::Error::from)?.is_none();
    Ok(is_only.then_some(Some(row)))
}

fn range(relation: &Relation, index: usize, from: &Bound, to: &Bound) -> KeyRange {
    let columns = &relation.indexes[index].columns;
    let field = |descending: &bool| IndexField { path: Vec::new(), descending: *descending };
    let fields: Vec<IndexField> = columns.iter().map(|(_, descending)| field(descending)).collect();
    let types: Vec<&ColumnType> =
        columns.iter().map(|(column, _)| relation.column_type(*column)).collect();
    let (from, to) = (from.map(|own| borrowed(own)), to.map(|own| borrowed(own)));
    let (from, to) = (from.map(|values| &values[..]), to.map(|values| &values[..]));
    KeyRange::between(&fields, &types, from, to)
}

/// The documents of many keys.
pub(super) fn look_up(
    handle: &Arc<Handle>,
    relation: &Relation,
    index: usize,
    keys: Keys<'_>,
    columns: &[usize],
) -> QueryResult<Found> {
    let collection = collection_of(handle, relation)?;
    let keys_are_distinct = collection.types()?.keys_are_distinct();
    let mut rows = LineColumns::new(relation, columns, &[], keys_are_distinct);
    let mut positions = Vec::new();
    for (position, key) in (0u32..).zip(keys.values.chunks(keys.width.max(1))) {
        if key.iter().any(|value| matches!(value.as_ref(), ValueRef::Null)) {
            continue; // null equals nothing
        }
        let bound = Bound::Included(key.to_vec());
        let request = ScanRequest { from: bound.clone(), to: bound, ..ScanRequest::default() };
        let mut found = find(&collection, relation, index, &request)?;
        while let Some(line) = found.next_line().map_err(crate::Error::from)? {
            rows.push(line).map_err(|_| changed(&relation.schema.name))?;
            positions.push(position);
        }
    }
    Ok(Found { rows: rows.finish(), positions })
}

/// The collection that has an index.
pub(super) fn owner(handle: &Arc<Handle>, name: &str) -> QueryResult<Option<Arc<Relation>>> {
    for collection in names(handle)? {
        let Some(found) = relation(handle, &collection)? else { continue };
        let definitions = collection_of(handle, &found)?.index_definitions()?;
        if definitions.iter().any(|definition| definition.name == name) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Creates an index.
pub(super) fn create(
    handle: &Arc<Handle>,
    relation: &Relation,
    index: &FieldIndex,
    if_not_exists: bool,
) -> QueryResult<()> {
    let collection = collection_of(handle, relation)?;
    let field = |(path, descending): &(Vec<String>, bool)| IndexField {
        path: path.clone(),
        descending: *descending,
    };
    let fields: Vec<IndexField> = index.fields.iter().map(field).collect();
    let default = || IndexDefinition::default_name(collection.name(), &fields);
    let name = index.name.clone().unwrap_or_else(default);
    let known = collection.index_definitions()?;
    if if_not_exists && known.iter().any(|known| known.name.eq_ignore_ascii_case(&name)) {
        return Ok(());
    }
    let definition = IndexDefinition { name, fields, unique: index.unique };
    Ok(collection.define_index(&definition, &mut |_, _| true)?)
}

/// The statements that create the indexes of a collection.
pub(crate) fn statements(collection: &Collection) -> QueryResult<String> {
    let shown = |definition: IndexDefinition| {
        let fields = definition.fields.into_iter().map(|field| (field.path, field.descending));
        let (name, unique) = (Some(definition.name), definition.unique);
        let index = FieldIndex { name, fields: fields.collect(), unique };
        folio_sql::show_field_index(collection.name(), &index)
    };
    Ok(collection.index_definitions()?.into_iter().map(shown).collect())
}

/// Drops an index.
pub(super) fn drop(handle: &Arc<Handle>, relation: &Relation, name: &str) -> QueryResult<()> {
    let dropped = collection_of(handle, relation)?.drop_index(name);
    dropped.map_err(|error| match error.code() {
        ErrorCode::NotFound => {
            QueryError::new(ErrorCode::NotFound, format!("there is no index {name:?}"))
        }
        _ => error.into(),
    })
}
