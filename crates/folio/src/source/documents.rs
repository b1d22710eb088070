//! Collections as relations: `_id` is the key, the members of the documents are columns, `_doc` is
//! the whole document.
//!
//! The columns are those of [`Collection::types`] that SQL can name. Nested values are JSON text
//! where documents are written, and have types where they are read.

use std::sync::Arc;

use folio_compute::cast::json::{write_json, write_string};
use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_document::{DocumentRange, FoundDocuments};
use folio_engine::source::{
    Condition, Ends, Relation, RelationKind, RowStream, ScanRequest, Statistics,
};
use folio_types::{Column, ErrorCode, Value, ValueRef};

use super::{PendingDocuments, SharedDocuments, indexes, keys};
use crate::collection::Collection;
use crate::documents::Documents;
use crate::format::json::{DOCUMENT, LineBatches, schema_of, values_of};
use crate::handle::Handle;
use crate::json::members;
use crate::lock::lock;
use crate::{CollectionOptions, Scan};

/// The member that is the key.
pub(crate) const ID: &str = "_id";

/// The names of all collections.
pub(super) fn names(handle: &Arc<Handle>) -> QueryResult<Vec<String>> {
    let store = &handle.store;
    let mut names = crate::location::collection_names(&*store.files, &store.root)?;
    names.extend(store.open_names());
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The number of documents in a collection.
pub(super) fn count(handle: &Arc<Handle>, name: &str) -> QueryResult<u64> {
    Ok(open(handle, name)?.count()?)
}

fn open(handle: &Arc<Handle>, name: &str) -> QueryResult<Collection> {
    let options = CollectionOptions::default();
    let shared = handle.store.collection(name, handle.access, &options)?;
    Ok(Collection::new(shared, Arc::clone(handle)))
}

/// The collection of a name, as a relation too; case-insensitive where that is unambiguous.
pub(super) fn find(
    handle: &Arc<Handle>,
    name: &str,
) -> QueryResult<Option<(Collection, Arc<Relation>)>> {
    let collection = match handle.store.open_collection(name, handle.access) {
        Some(shared) => Collection::new(shared, Arc::clone(handle)),
        None => {
            let store = &handle.store;
            let mut listed = crate::location::names_like(&*store.files, &store.root, name)?;
            listed.extend(store.open_names());
            let exact = listed.iter().find(|other| *other == name);
            let same = |other: &&String| other.eq_ignore_ascii_case(name);
            match exact.or_else(|| listed.iter().find(same)) {
                Some(found) => open(handle, found)?,
                None => return Ok(None),
            }
        }
    };
    let name = collection.name();
    let (types, version) = collection.types_of_version()?;
    let known = &handle.store.known.collections;
    let definitions = collection.index_definitions()?;
    let has_open_paths = collection.has_open_paths()?;
    let columns = || schema_of(&types, name, Some(ID), Some(DOCUMENT), &[]);
    let is_writer = handle.is_writable();
    let relation = known.relation(name, is_writer, version, definitions, has_open_paths, columns);
    Ok(Some((collection, relation)))
}

/// What the types of a collection say about a column. Null and missing are the same.
pub(super) fn statistics(
    handle: &Arc<Handle>,
    relation: &Relation,
    column: usize,
) -> QueryResult<Option<Statistics>> {
    let types = collection_of(handle, relation)?.types()?;
    let own;
    let path = match relation.paths.get(column) {
        Some(path) => &path.path[..],
        None => {
            own = [relation.schema.columns[column].name.clone()];
            &own[..]
        }
    };
    let Some(node) = types.at(path) else { return Ok(None) };
    let present = node.counts().total() - node.counts().null;
    let numbers = node.number_bounds().map(|(least, greatest)| Ends::Numbers(least, greatest));
    let texts = || node.text_bounds().map(|(least, most)| Ends::Texts(least.into(), most.into()));
    Ok(Some(Statistics {
        present: present as f64 / types.document_count().max(1) as f64,
        distinct: node.distinct_count().map(|count| count.max(1) as f64),
        ends: numbers.or_else(texts),
    }))
}

/// The error of a statement that meets a value which did not exist when it was bound.
#[cold]
pub(super) fn changed(name: &str) -> QueryError {
    let text = format!("collection {name:?} was changed while the statement read it");
    QueryError::new(ErrorCode::Conflict, text).help("run the statement again")
}

/// The collection that a relation describes.
pub(super) fn collection_of(handle: &Arc<Handle>, relation: &Relation) -> QueryResult<Collection> {
    if relation.kind != RelationKind::Collection {
        return Err(QueryError::new(
            ErrorCode::InvalidInput,
            format!("{:?} is not a collection", relation.schema.name),
        ));
    }
    open(handle, &relation.schema.name)
}

/// One document by its id, with the changes of the statement.
pub(super) fn get(
    collection: &Collection,
    pending: Option<&SharedDocuments>,
    relation: &Relation,
    key: &[ValueRef<'_>],
    columns: &[usize],
    row: &mut Vec<Value>,
) -> QueryResult<bool> {
    let [ValueRef::Text(id)] = key else { return Ok(false) };
    if folio_types::check_document_id(id).is_err() {
        return Ok(false);
    }
    if let Some(pending) = pending {
        let line = lock(pending).get(collection, id)?;
        let Some(line) = line else { return Ok(false) };
        row.extend(values_in(relation, &line, columns)?);
        return Ok(true);
    }
    let Some(document) = collection.get(id)? else { return Ok(false) };
    row.extend(values_in(relation, document.raw(), columns)?);
    Ok(true)
}

/// The values of some columns of a document.
pub(super) fn values_in(
    relation: &Relation,
    line: &str,
    columns: &[usize],
) -> QueryResult<Vec<Value>> {
    values_of(line, relation, columns)?.ok_or_else(|| changed(&relation.schema.name))
}

/// The same, of a line that nobody else needs.
pub(super) fn values_of_line(
    relation: &Relation,
    line: String,
    columns: &[usize],
) -> QueryResult<Vec<Value>> {
    match columns {
        [column]
            if relation.document_column() == Some(*column)
                && line.trim_ascii().len() == line.len() =>
        {
            Ok(vec![Value::Text(line)])
        }
        columns => values_in(relation, &line, columns),
    }
}

/// Streams documents in the order of the index, if the request names one, otherwise in file order and
/// in about `count` parts; of those in a range, if one is given. Lines that fail a condition which
/// `Source::checks` promises are left out here; the engine tests the others.
pub(super) fn scan_parts(
    handle: &Arc<Handle>,
    relation: &Relation,
    request: &ScanRequest,
    (range, count): (Option<&DocumentRange>, usize),
) -> QueryResult<Vec<Box<dyn RowStream>>> {
    let collection = collection_of(handle, relation)?;
    {
        let keys_are_distinct = collection.types()?.keys_are_distinct();
        let lines = |found| {
            let conditions = &request.conditions[..];
            DocumentRows::new(relation, request, conditions, Lines::All(found), keys_are_distinct)
        };
        let found = super::columns::documents::scan_parts(
            &collection,
            relation,
            request,
            (range, count),
            &lines,
        )?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    if let Some(index) = request.index
        && keys::serve(relation, index, request)
    {
        return Ok(vec![keys::scan(&collection, relation, index, request)?]);
    }
    let parts = match (request.index, range, count) {
        (Some(index), _, _) => {
            vec![Lines::Found(indexes::find(&collection, relation, index, request)?)]
        }
        (None, Some(range), _) => vec![Lines::All(collection.scan_range(range)?)],
        (None, None, 1) => vec![Lines::All(collection.scan(Scan::new())?)],
        (None, None, count) => {
            collection.scan_parts(&Scan::new(), count)?.into_iter().map(Lines::All).collect()
        }
    };
    let conditions = match request.index {
        Some(index) if indexes::is_closed_range(relation, index, request) => &[][..],
        _ => &request.conditions[..],
    };
    // The types cover at least the documents of the scan.
    let keys_are_distinct = collection.types()?.keys_are_distinct();
    let rows = |documents: Lines| {
        let rows = DocumentRows::new(relation, request, conditions, documents, keys_are_distinct);
        Box::new(rows) as Box<dyn RowStream>
    };
    Ok(parts.into_iter().map(rows).collect())
}

/// Where the lines of a scan come from.
enum Lines {
    All(Documents),
    Found(FoundDocuments),
}

impl Lines {
    fn next(&mut self) -> crate::Result<Option<&[u8]>> {
        match self {
            Self::All(documents) => documents.next_line(),
            Self::Found(documents) => Ok(documents.next_line()?),
        }
    }
}

pub(super) struct DocumentRows {
    name: String,
    documents: Lines,
    batches: LineBatches,
    left: u64,
}

impl DocumentRows {
    fn new(
        relation: &Relation,
        request: &ScanRequest,
        conditions: &[Condition],
        documents: Lines,
        keys_are_distinct: bool,
    ) -> Self {
        let batches = LineBatches::new(relation, request, conditions, keys_are_distinct);
        let left = request.limit.unwrap_or(u64::MAX);
        Self { name: relation.schema.name.clone(), documents, batches, left }
    }
}

impl RowStream for DocumentRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        while !self.batches.is_full() && self.left > 0 {
            let Some(line) = self.documents.next()? else { break };
            self.batches.push(line).map_err(|_| changed(&self.name))?;
            self.left -= 1;
        }
        Ok(self.batches.finish())
    }

    fn skip(&mut self, count: u64) -> QueryResult<u64> {
        let count = count.min(self.left);
        let mut skipped = 0;
        while skipped < count && self.documents.next()?.is_some() {
            skipped += 1;
        }
        self.left -= skipped;
        Ok(skipped)
    }
}

/// The document of a row: the whole document column if given, otherwise the members that are not
/// null.
fn document_of(relation: &Relation, row: &[ValueRef<'_>]) -> QueryResult<(String, String)> {
    let mut id = None;
    let mut whole = None;
    let mut out = String::from("{");
    for (column, value) in relation.schema.columns.iter().zip(row) {
        match (&*column.name, value) {
            (ID, ValueRef::Text(text)) => id = Some((*text).to_owned()),
            (DOCUMENT, ValueRef::Text(text)) => whole = Some((*text).to_owned()),
            (_, ValueRef::Null) => {}
            (name, value) => {
                if out.len() > 1 {
                    out.push(',');
                }
                write_string(name, &mut out);
                out.push(':');
                write_json(&value.to_value(), &column.column_type, &mut out);
            }
        }
    }
    out.push('}');
    let id = id.ok_or_else(|| {
        QueryError::new(ErrorCode::InvalidInput, "a document needs its id")
            .help("give column _id a value")
    })?;
    let has_members = out.len() > 2;
    Ok((id, if has_members { out } else { whole.unwrap_or(out) }))
}

/// Inserts a new document.
pub(super) fn insert(
    handle: &Arc<Handle>,
    pending: &mut PendingDocuments,
    relation: &Relation,
    row: &[ValueRef<'_>],
) -> QueryResult<()> {
    let collection = collection_of(handle, relation)?;
    let (id, document) = document_of(relation, row)?;
    if pending.exists(&collection, &id)? {
        let name = &relation.schema.name;
        return Err(QueryError::new(
            ErrorCode::Conflict,
            format!("collection {name:?} already has a document {id:?}"),
        )
        .help("choose another id, or UPDATE it"));
    }
    Ok(pending.put(&collection, &id, document)?)
}

/// Replaces a document under the same id. Unchanged parts keep their text: digits, order, and
/// members that are not columns.
pub(super) fn update(
    handle: &Arc<Handle>,
    pending: &mut PendingDocuments,
    relation: &Relation,
    key: &[ValueRef<'_>],
    row: &[ValueRef<'_>],
) -> QueryResult<bool> {
    let [ValueRef::Text(id)] = key else { return Ok(false) };
    let collection = collection_of(handle, relation)?;
    let Some(old) = pending.get(&collection, id)? else { return Ok(false) };
    let all: Vec<usize> = (0..relation.schema.columns.len()).collect();
    let before = values_in(relation, &old, &all)?;
    let changed: Vec<(&Column, &ValueRef<'_>)> = relation
        .schema
        .columns
        .iter()
        .zip(row)
        .zip(&before)
        .filter(|((_, new), old)| **new != old.as_ref())
        .map(|(pair, _)| pair)
        .collect();
    if changed.iter().any(|(column, _)| column.name == ID) {
        return Err(QueryError::new(ErrorCode::Unsupported, "the id of a document cannot change")
            .help("insert it under the new id and delete the old one"));
    }
    let whole = changed.iter().find_map(|(column, value)| match value {
        ValueRef::Text(text) if column.name == DOCUMENT => Some((*text).to_owned()),
        _ => None,
    });
    let document = match whole {
        Some(whole) => whole,
        None => with_changes(&old, &changed)?,
    };
    pending.put(&collection, id, document)?;
    Ok(true)
}

/// A document with new values for some members; null removes a member.
fn with_changes(line: &str, changed: &[(&Column, &ValueRef<'_>)]) -> QueryResult<String> {
    let old = members(line).map_err(|error| {
        QueryError::new(ErrorCode::Corrupted, format!("a document is not JSON: {error}"))
    })?;
    let mut out = String::from("{");
    let mut push = |name: &str, json: &str| {
        if out.len() > 1 {
            out.push(',');
        }
        write_string(name, &mut out);
        out.push(':');
        out.push_str(json);
    };
    let json = |column: &Column, value: &ValueRef<'_>| {
        let mut text = String::new();
        write_json(&value.to_value(), &column.column_type, &mut text);
        text
    };
    for (name, value) in &old {
        match changed.iter().find(|(column, _)| column.name == **name) {
            None => push(name, value),
            Some((_, ValueRef::Null)) => {}
            Some((column, value)) => push(name, &json(column, value)),
        }
    }
    for (column, value) in changed {
        let is_new = !old.iter().any(|(name, _)| **name == column.name);
        if is_new && !value.is_null() && column.name != DOCUMENT {
            push(&column.name, &json(column, value));
        }
    }
    out.push('}');
    Ok(out)
}

/// Deletes a document.
pub(super) fn delete(
    handle: &Arc<Handle>,
    pending: &mut PendingDocuments,
    relation: &Relation,
    key: &[ValueRef<'_>],
) -> QueryResult<bool> {
    let [ValueRef::Text(id)] = key else { return Ok(false) };
    Ok(pending.delete(&collection_of(handle, relation)?, id)?)
}
