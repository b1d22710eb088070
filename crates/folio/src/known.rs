//! A cache of relations for the query engine. Relations of tables are valid while the catalog is
//! unchanged, those of collections while their types are, those of files while the file is.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use foldhash::fast::RandomState;
use folio_compute::Result as QueryResult;
use folio_document::{IndexDefinition, IndexField, IndexMethod, Version};
use folio_engine::Constraints;
use folio_engine::source::{IndexInfo, Paths, Relation, RelationKind};
use folio_table::Reader;
use folio_types::{Column, ColumnType, ErrorCode, TableSchema};

use crate::error::from_table;
use crate::lock::lock;

/// The cached relations of a store.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) tables: KnownTables,
    pub(crate) collections: KnownCollections,
    pub(crate) files: KnownFiles,
}

/// The maximum number of files with known columns.
const FILES_MAX: usize = 8;

/// What identifies the content of a file and how it is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileKey {
    /// The path as the statement names it.
    pub(crate) path: String,
    /// Of the absolute path, the size, the time of the last change, and the first bytes.
    pub(crate) fingerprint: u64,
    /// Device and inode, and when anything of it changed last: a program may set the other time.
    pub(crate) file: (u64, u64, i128),
    /// The options of reading.
    pub(crate) reading: String,
}

/// The relations of the large files that statements named last. Finding the columns of a file reads
/// all of it.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles(Mutex<VecDeque<(FileKey, Arc<Relation>)>>);

impl KnownFiles {
    pub(crate) fn relation(&self, key: &FileKey) -> Option<Arc<Relation>> {
        let mut known = lock(&self.0);
        let found = known.iter().position(|(own, _)| own == key)?;
        let found = known.remove(found)?;
        let relation = Arc::clone(&found.1);
        known.push_back(found);
        Some(relation)
    }

    /// Keeps a relation, in place of that of an earlier content or of the file named longest ago.
    pub(crate) fn insert(&self, key: FileKey, relation: &Arc<Relation>) {
        let mut known = lock(&self.0);
        known.retain(|(own, _)| own.path != key.path || own.reading != key.reading);
        if known.len() == FILES_MAX {
            known.pop_front();
        }
        known.push_back((key, Arc::clone(relation)));
    }
}

/// Relations by name in lower case; `None` for names that are neither table nor view.
type Names = HashMap<String, Option<Arc<Relation>>>;

type Relations = Arc<[Arc<Relation>]>;

/// Relations of one version of the catalog.
#[derive(Debug, Default)]
pub(crate) struct KnownTables {
    known: Mutex<(u64, Names)>,
    /// The tables with references, and the catalog version they were found in.
    pointing: Mutex<Option<(u64, Relations)>>,
}

impl KnownTables {
    /// The relation of a name, if it is a table or a view.
    pub(crate) fn relation(
        &self,
        reader: Reader<'_>,
        name: &str,
    ) -> QueryResult<Option<Arc<Relation>>> {
        let version = reader.catalog_version();
        let key = name.to_lowercase();
        {
            let mut known = lock(&self.known);
            if known.0 != version {
                *known = (version, HashMap::new());
            }
            if let Some(found) = known.1.get(&key) {
                return Ok(found.clone());
            }
        }
        let found = read_relation(reader, name)?;
        let mut known = lock(&self.known);
        if known.0 == version {
            known.1.insert(key, found.clone());
        }
        Ok(found)
    }

    /// The tables that reference the named table.
    pub(crate) fn referrers(&self, reader: Reader<'_>, name: &str) -> QueryResult<Relations> {
        let all = self.pointing(reader)?;
        if all.is_empty() {
            return Ok(all);
        }
        let points = |relation: &&Arc<Relation>| {
            let mut references = relation.constraints.references.iter();
            references.any(|reference| reference.table.eq_ignore_ascii_case(name))
        };
        Ok(all.iter().filter(points).cloned().collect())
    }

    fn pointing(&self, reader: Reader<'_>) -> QueryResult<Relations> {
        let version = reader.catalog_version();
        if let Some((known, all)) = &*lock(&self.pointing)
            && *known == version
        {
            return Ok(Arc::clone(all));
        }
        let mut all = Vec::new();
        for table in reader.tables().map_err(from_table)? {
            let found = self.relation(reader, &table.schema().name)?;
            all.extend(found.filter(|found| !found.constraints.references.is_empty()));
        }
        let all: Relations = all.into();
        *lock(&self.pointing) = Some((version, Arc::clone(&all)));
        Ok(all)
    }
}

fn read_relation(reader: Reader<'_>, name: &str) -> QueryResult<Option<Arc<Relation>>> {
    if let Some(view) = reader.view(name).map_err(from_table)? {
        return Ok(Some(Arc::new(view_relation(&view.name, &view.text))));
    }
    let table = match reader.table(name) {
        Ok(table) => table,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(from_table(error)),
    };
    let schema = table.schema().clone();
    let constraints = Constraints::from_properties(&schema.properties).unwrap_or_default();
    let indexes = table
        .indexes()
        .iter()
        .map(|index| IndexInfo::new(index.name.clone(), index.columns.clone(), index.unique));
    let indexes = indexes.collect();
    let copies = table.columns_indexes().iter();
    let copies = copies.map(|own| IndexInfo::of_columns(own.name.clone(), own.columns.clone()));
    let columns_indexes = copies.collect();
    let handle = table as Arc<_>;
    let relation = Relation::new(RelationKind::Table, schema, handle);
    Ok(Some(Arc::new(Relation { constraints, indexes, columns_indexes, ..relation })))
}

/// A view has its query and the names of its columns.
fn view_relation(name: &str, text: &str) -> Relation {
    let constraints = Constraints::from_properties(text).unwrap_or_default();
    let columns = constraints.view_columns.iter();
    let columns = columns.map(|name| Column::optional(name.clone(), ColumnType::Text)).collect();
    let schema = TableSchema::new(name, columns, Vec::new());
    Relation { constraints, ..Relation::new(RelationKind::View, schema, Arc::new(())) }
}

/// Relations of collections, cached while their types are unchanged.
#[derive(Debug, Default)]
pub(crate) struct KnownCollections {
    /// By name, those of read-only handles apart: they see another version.
    known: Mutex<[HashMap<String, KnownCollection, RandomState>; 2]>,
    version: AtomicU64,
}

#[derive(Debug)]
struct KnownCollection {
    relation: Arc<Relation>,
    /// The version of the collection that it describes.
    version: Version,
    /// The indexes of the collection.
    definitions: Arc<[IndexDefinition]>,
}

impl KnownCollections {
    /// Changes with every schema.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Removes a dropped or renamed collection: statements about it are bound again.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.known).iter_mut().for_each(|known| drop(known.remove(name)));
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// The relation of a collection of this version. Calls for its columns if they are not cached.
    pub(crate) fn relation(
        &self,
        name: &str,
        is_writer: bool,
        version: Version,
        definitions: Arc<[IndexDefinition]>,
        has_open_paths: bool,
        columns: impl FnOnce() -> (TableSchema, Paths),
    ) -> Arc<Relation> {
        let is_defined = |found: &KnownCollection| {
            (Arc::ptr_eq(&found.definitions, &definitions) || found.definitions == definitions)
                && found.relation.constraints.has_open_paths == has_open_paths
        };
        let all = &mut lock(&self.known)[usize::from(is_writer)];
        if let Some(found) = all.get(name)
            && found.version == version
            && is_defined(found)
        {
            return Arc::clone(&found.relation);
        }
        let (schema, paths) = columns();
        if let Some(found) = all.get_mut(name)
            && (&found.relation.schema, &found.relation.paths) == (&schema, &paths)
            && is_defined(found)
        {
            found.version = version;
            return Arc::clone(&found.relation);
        }
        self.version.fetch_add(1, Ordering::AcqRel);
        // The name finds it: a handle here would keep the database open forever.
        let relation = Relation::new(RelationKind::Collection, schema, Arc::new(()));
        let constraints = Constraints { has_open_paths, ..Constraints::default() };
        let relation = Relation { paths, constraints, ..relation };
        let indexes = indexes_of(&definitions, &relation);
        let relation = Arc::new(Relation { indexes, ..relation });
        let known = KnownCollection { relation: Arc::clone(&relation), version, definitions };
        all.insert(name.to_owned(), known);
        relation
    }
}

/// The indexes on fields that are columns or paths.
fn indexes_of(definitions: &[IndexDefinition], relation: &Relation) -> Vec<IndexInfo> {
    let position_of = |path: &[String]| match path {
        [name] => {
            let columns = &relation.schema.columns;
            let position = columns.iter().position(|column| column.name == *name)?;
            (relation.document_column() != Some(position)).then_some(relation.read_at(position))
        }
        path => {
            relation.paths.iter().find(|(_, own)| own.path == path).map(|(position, _)| position)
        }
    };
    let column_of = |field: &IndexField| {
        let position = position_of(&field.path)?;
        let column_type = match (relation.column_type(position), field.elements) {
            (ColumnType::List(element), true) => &**element,
            (_, true) => return None,
            (column_type, false) => column_type,
        };
        let is_known = column_type.is_ordered() || *column_type == ColumnType::Json;
        is_known.then_some((position, field.descending))
    };
    let index = |definition: &IndexDefinition| {
        let columns: Option<Vec<(usize, bool)>> = definition.fields.iter().map(column_of).collect();
        let conditions = definition.conditions.iter();
        let conditions: Option<Vec<_>> = conditions
            .map(|condition| Some((position_of(&condition.path)?, condition.test.clone())))
            .collect();
        Some(IndexInfo {
            elements: definition.fields.iter().position(|field| field.elements),
            conditions: conditions?,
            ..IndexInfo::new(definition.name.clone(), columns?, definition.unique)
        })
    };
    let is_of_fields = |own: &&IndexDefinition| own.method == IndexMethod::Fields;
    definitions.iter().filter(is_of_fields).filter_map(index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: usize, file: (u64, u64, i128)) -> FileKey {
        FileKey { path: format!("{path}"), fingerprint: 7, file, reading: String::new() }
    }

    #[test]
    fn a_file_is_known_by_its_inode_and_change_and_the_last_few_are() {
        let known = KnownFiles::default();
        let relation = || Arc::new(view_relation("v", "select 1"));
        let (first, file) = (relation(), (1, 2, 3));
        known.insert(key(0, file), &first);
        assert!(known.relation(&key(0, file)).is_some_and(|found| Arc::ptr_eq(&found, &first)));
        for other in [(9, 2, 3), (1, 9, 3), (1, 2, 9)] {
            assert!(known.relation(&key(0, other)).is_none(), "{other:?}");
        }
        // Another content of a file takes the place of the earlier one.
        known.insert(key(0, (1, 9, 3)), &relation());
        assert!(known.relation(&key(0, file)).is_none());
        assert_eq!(lock(&known.0).len(), 1);
        (1..FILES_MAX).for_each(|path| known.insert(key(path, file), &relation()));
        assert!(known.relation(&key(0, (1, 9, 3))).is_some(), "as many as there may be");
        // It was named last, so another one makes room.
        known.insert(key(FILES_MAX, file), &relation());
        assert!(known.relation(&key(0, (1, 9, 3))).is_some());
        assert!(known.relation(&key(1, file)).is_none());
        assert_eq!(lock(&known.0).len(), FILES_MAX);
    }
}
