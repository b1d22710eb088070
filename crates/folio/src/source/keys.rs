//! Rows read from the keys of an index: a statement that asks only for fields of the index reads no
//! document.

use std::collections::HashSet;

use folio_compute::array::{to_array, value_at};
use folio_compute::{BATCH_SIZE, Batch, Result as QueryResult};
use folio_document::{FoundKeys, KeyField, KeyRange};
use folio_engine::source::{Relation, RowStream, ScanRequest};
use folio_types::{ColumnType, Value};

use super::documents::changed;
use super::indexes::{find_keys, is_range};
use crate::collection::Collection;
use crate::format::json::LineColumns;

/// Whether the keys of an index have all that a request asks for.
pub(super) fn serve(relation: &Relation, index: usize, request: &ScanRequest) -> bool {
    let info = &relation.indexes[index];
    let fields: HashSet<usize> = info.columns.iter().map(|(column, _)| *column).collect();
    let is_scalar = |column: &usize| {
        let known = [ColumnType::Text, ColumnType::Int64, ColumnType::Float64, ColumnType::Boolean];
        known.contains(relation.column_type(*column))
    };
    info.elements.is_none()
        && fields.iter().all(is_scalar)
        && request.columns.iter().all(|column| fields.contains(column))
        && (request.conditions.is_empty() || is_range(relation, index, request))
}

/// Streams the rows of a request that the keys of its index serve.
pub(super) fn scan(
    collection: &Collection,
    relation: &Relation,
    index: usize,
    request: &ScanRequest,
) -> QueryResult<Box<dyn RowStream>> {
    let fields = &relation.indexes[index].columns;
    let place = |column: &usize| fields.iter().position(|(own, _)| own == column);
    let types = |columns: &mut dyn Iterator<Item = usize>| -> Vec<ColumnType> {
        columns.map(|column| relation.column_type(column).clone()).collect()
    };
    let keys_are_distinct = collection.types()?.keys_are_distinct();
    let wanted = request.wanted.map_or(BATCH_SIZE, |wanted| wanted as usize);
    Ok(Box::new(KeyRows {
        name: relation.schema.name.clone(),
        found: find_keys(collection, relation, index, request)?,
        fields: types(&mut fields.iter().map(|(column, _)| *column))
            .into_iter()
            .zip(fields.iter().map(|(_, descending)| *descending))
            .collect(),
        places: request.columns.iter().filter_map(place).collect(),
        types: types(&mut request.columns.iter().copied()),
        line: LineColumns::new(relation, &request.columns, &request.conditions, keys_are_distinct),
        batch_size: wanted.clamp(1, BATCH_SIZE),
    }))
}

struct KeyRows {
    /// That of the collection.
    name: String,
    found: FoundKeys,
    /// The fields of the index.
    fields: Vec<(ColumnType, bool)>,
    /// The field of each column.
    places: Vec<usize>,
    types: Vec<ColumnType>,
    /// Reads a document whose key does not tell its values, and compares them.
    line: LineColumns,
    batch_size: usize,
}

impl RowStream for KeyRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let fields: Vec<KeyField<'_>> =
            self.fields.iter().map(|(ty, descending)| (ty, *descending)).collect();
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); self.types.len()];
        let mut count = 0;
        while count < self.batch_size {
            let Some(key) = self.found.next_key().map_err(crate::Error::from)? else { break };
            match KeyRange::values_of(&fields, key) {
                Some(values) => {
                    count += 1;
                    for (column, place) in columns.iter_mut().zip(&self.places) {
                        column.push(values[*place].clone());
                    }
                }
                None => {
                    let line = self.found.line().map_err(crate::Error::from)?;
                    self.line.push(line).map_err(|_| changed(&self.name))?;
                    // In a range with one end, values of other kinds fail its condition.
                    if self.line.row_count() == 0 {
                        continue;
                    }
                    count += 1;
                    let row = self.line.finish();
                    for ((column, array), ty) in
                        columns.iter_mut().zip(&row.columns).zip(&self.types)
                    {
                        column.push(value_at(array, 0, ty));
                    }
                }
            }
        }
        if count == 0 {
            return Ok(None);
        }
        self.batch_size = (self.batch_size * 2).min(BATCH_SIZE);
        let arrays =
            columns.iter().zip(&self.types).map(|(values, ty)| to_array(values.iter(), ty));
        Ok(Some(Batch::new(arrays.collect::<QueryResult<_>>()?, count)))
    }
}
