//! Indexes on fields of collections, as the engine reads, creates and drops them.

use std::sync::Arc;

use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_document::{
    FoundDocuments, FoundKeys, IndexDefinition, IndexField, KeyField, KeyRange, Only,
};
use folio_engine::source::{
    Comparison, Condition, FieldIndex, FieldPath, Found, IndexMethod, Keys, Progress, Relation,
    ScanRequest, Test,
};
use folio_types::{Bound, ColumnType, ErrorCode, Value, ValueRef, borrowed};

use super::documents::{self, changed, collection_of, names, values_of_line};
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
    let range = range_of(relation, index, request);
    find_in(collection, relation, index, range, (request.reverse, request.limit))
}

/// Their keys.
pub(super) fn find_keys(
    collection: &Collection,
    relation: &Relation,
    index: usize,
    request: &ScanRequest,
) -> QueryResult<FoundKeys> {
    let (range, name) = (range_of(relation, index, request), &relation.indexes[index].name);
    let found = collection.find_keys(name, range, request.reverse, request.limit);
    found.map_err(|error| not_found(error, relation))
}

fn range_of(relation: &Relation, index: usize, request: &ScanRequest) -> KeyRange {
    let (from, to) = (request.from.map(|own| borrowed(own)), request.to.map(|own| borrowed(own)));
    range(relation, index, from.map(|values| &values[..]), to.map(|values| &values[..]))
}

/// The documents of a range of keys.
fn find_in(
    collection: &Collection,
    relation: &Relation,
    index: usize,
    range: KeyRange,
    (reverse, limit): (bool, Option<u64>),
) -> QueryResult<FoundDocuments> {
    let found = collection.find(&relation.indexes[index].name, range, reverse, limit);
    found.map_err(|error| not_found(error, relation))
}

/// An index that is not there was dropped.
fn not_found(error: crate::Error, relation: &Relation) -> QueryError {
    match error.code() {
        ErrorCode::NotFound => changed(&relation.schema.name),
        _ => error.into(),
    }
}

/// The documents with these values.
fn find_equal(
    collection: &Collection,
    relation: &Relation,
    index: usize,
    key: &[ValueRef<'_>],
    limit: Option<u64>,
) -> QueryResult<FoundDocuments> {
    let range = range(relation, index, Bound::Included(key), Bound::Included(key));
    find_in(collection, relation, index, range, (false, limit))
}

/// The document with these values, if there is one; `None` if there are several, or if only a scan
/// can tell.
pub(super) fn find_only(
    collection: &Collection,
    relation: &Relation,
    index: usize,
    key: &[ValueRef<'_>],
    columns: &[usize],
) -> QueryResult<Option<Option<Vec<Value>>>> {
    let key = KeyRange::key_of(fields(relation, index), key);
    let mut line = Vec::new();
    let found = collection.find_only(&relation.indexes[index].name, &key, &mut line);
    match found.map_err(|error| not_found(error, relation))? {
        Only::None => Ok(Some(None)),
        Only::Unclear => Ok(None),
        Only::One => {
            let line = String::from_utf8(line).map_err(|_| changed(&relation.schema.name))?;
            values_of_line(relation, line, columns).map(|row| Some(Some(row)))
        }
    }
}

/// The types of the fields of an index, and whether they descend.
fn fields(relation: &Relation, index: usize) -> impl Iterator<Item = KeyField<'_>> {
    let descending = relation.indexes[index].columns.iter().map(|(_, descending)| *descending);
    relation.key_types(Some(index)).zip(descending)
}

fn range(
    relation: &Relation,
    index: usize,
    from: Bound<&[ValueRef<'_>]>,
    to: Bound<&[ValueRef<'_>]>,
) -> KeyRange {
    let fields: Vec<KeyField<'_>> = fields(relation, index).collect();
    KeyRange::between(&fields, from, to)
}

/// The number of documents of a request, if its conditions are just the range of an index: no document
/// is read.
pub(super) fn count(
    handle: &Arc<Handle>,
    relation: &Relation,
    request: &ScanRequest,
    check: &dyn Fn() -> QueryResult<()>,
) -> QueryResult<Option<u64>> {
    let Some(index) = request.index.filter(|index| is_range(relation, *index, request)) else {
        return Ok(None);
    };
    let mut found = find(&collection_of(handle, relation)?, relation, index, request)?;
    let mut total = 0;
    while let Some(count) = found.next_count().map_err(crate::Error::from)? {
        total += count;
        check()?;
    }
    Ok(Some(total))
}

/// About how many documents the range of a request has.
pub(super) fn range_count(
    handle: &Arc<Handle>,
    relation: &Relation,
    request: &ScanRequest,
) -> QueryResult<Option<u64>> {
    let Some(index) = request.index else { return Ok(None) };
    let (range, name) = (range_of(relation, index, request), &relation.indexes[index].name);
    let count = collection_of(handle, relation)?.key_count(name, &range);
    count.map_err(|error| not_found(error, relation))
}

/// Whether all rows in the range of keys pass the conditions of a request.
pub(super) fn is_range(relation: &Relation, index: usize, request: &ScanRequest) -> bool {
    let info = &relation.indexes[index];
    let ends = |bound: &Bound<Vec<Value>>, number: usize, value: &Value| match bound {
        Bound::Included(values) => (values.get(number) == Some(value), values.len() == number + 1),
        Bound::Excluded(values) if values.len() == number + 1 => (false, values[number] == *value),
        Bound::Excluded(values) => (values.get(number) == Some(value), false),
        Bound::Unbounded => (false, false),
    };
    let is_met = |condition: &Condition| {
        let Test::Compare(comparison, value) = &condition.test else { return false };
        let is_it = |(column, _): &(usize, bool)| *column == condition.column;
        let Some(number) = info.columns.iter().position(is_it) else { return false };
        let is_included = |bound: &Bound<Vec<Value>>| matches!(bound, Bound::Included(_));
        let (from, to) = (ends(&request.from, number, value), ends(&request.to, number, value));
        match comparison {
            Comparison::Equal => from.0 && to.0,
            Comparison::Greater => from.1 && !is_included(&request.from),
            Comparison::GreaterOrEqual => from.0 && from.1 && is_included(&request.from),
            Comparison::Less => to.1 && !is_included(&request.to),
            Comparison::LessOrEqual => to.0 && to.1 && is_included(&request.to),
            _ => false,
        }
    };
    let is_plain = |(column, _): &(usize, bool)| {
        let known = [ColumnType::Text, ColumnType::Int64, ColumnType::Float64, ColumnType::Boolean];
        known.contains(relation.column_type(*column))
    };
    info.elements.is_none()
        && !request.conditions.is_empty()
        && info.columns.iter().all(is_plain)
        && request.conditions.iter().all(is_met)
}

/// The same, also for rows written after the statement was bound: between two values of a type are
/// only values that compare with it.
pub(super) fn is_closed_range(relation: &Relation, index: usize, request: &ScanRequest) -> bool {
    let size = |bound: &Bound<Vec<Value>>| match bound {
        Bound::Included(values) | Bound::Excluded(values) => values.len(),
        Bound::Unbounded => 0,
    };
    let has_null = |bound: &Bound<Vec<Value>>| match bound {
        Bound::Included(values) | Bound::Excluded(values) => values.contains(&Value::Null),
        Bound::Unbounded => false,
    };
    size(&request.from) == size(&request.to)
        && !has_null(&request.from)
        && !has_null(&request.to)
        && is_range(relation, index, request)
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
        let mut found = find_equal(&collection, relation, index, &borrowed(key), None)?;
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
        let Some((found, relation)) = documents::find(handle, &collection)? else { continue };
        if found.index_definitions()?.iter().any(|definition| definition.name == name) {
            return Ok(Some(relation));
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
    progress: Progress<'_>,
) -> QueryResult<()> {
    let collection = collection_of(handle, relation)?;
    let field = |field: &FieldPath| IndexField {
        path: field.path.clone(),
        elements: field.elements,
        descending: field.descending,
    };
    let fields: Vec<IndexField> = index.fields.iter().map(field).collect();
    let default = || match index.method {
        IndexMethod::Fields => IndexDefinition::default_name(collection.name(), &fields),
        IndexMethod::Columns => IndexDefinition::default_columns_name(collection.name()),
    };
    let name = index.name.clone().unwrap_or_else(default);
    let known = collection.index_definitions()?;
    if if_not_exists && known.iter().any(|known| known.name.eq_ignore_ascii_case(&name)) {
        return Ok(());
    }
    let (method, conditions) = (index.method, index.conditions.clone());
    let definition = IndexDefinition { name, method, fields, unique: index.unique, conditions };
    let mut ended = Ok(());
    let created = collection.define_index(&definition, &mut |done, total| {
        ended = progress(done, total);
        ended.is_ok()
    });
    ended?;
    Ok(created?)
}

/// The statements that create the indexes of a collection.
pub(crate) fn statements(collection: &Collection) -> QueryResult<String> {
    let shown = |definition: &IndexDefinition| {
        let field = |field: &IndexField| FieldPath {
            path: field.path.clone(),
            elements: field.elements,
            descending: field.descending,
        };
        let index = FieldIndex {
            name: Some(definition.name.clone()),
            method: definition.method,
            fields: definition.fields.iter().map(field).collect(),
            unique: definition.unique,
            conditions: definition.conditions.clone(),
        };
        folio_sql::show_field_index(collection.name(), &index)
    };
    let settings = match collection.has_open_paths()? {
        true => folio_sql::show_open_paths(collection.name()),
        false => String::new(),
    };
    let indexes = collection.index_definitions()?;
    Ok(std::iter::once(settings).chain(indexes.iter().map(shown)).collect())
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
