//! The two stores as the query engine sees them: one namespace of relations.
//!
//! A [`View`] is what one statement reads: tables as of a snapshot or as changed by a transaction,
//! and the collections. If a table and a collection have the same name, the table wins.

mod changes;
mod columns;
mod documents;
mod indexes;
mod keys;
mod part;
mod pending;
mod spill;
mod tables;

use std::sync::{Arc, Mutex, OnceLock};

use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_engine::ScalarFunction;
use folio_engine::source::{
    Condition, FileReading, Found, Keys, Reads, Relation, RelationKind, RowStream, ScanRequest,
    Source, SpillFile, Statistics, look_up_each,
};
use folio_table::{Reader, RowRange, Snapshot, Transaction};
use folio_types::{ErrorCode, Value, ValueRef};

use crate::collection::Collection;
use crate::error::from_table;
use crate::format;
use crate::handle::Handle;
use crate::lock::lock;
pub(crate) use documents::ID;
pub(crate) use indexes::statements as index_statements;
pub(crate) use part::{PART, Part, PartRange};
pub(crate) use pending::{PendingDocuments, SharedDocuments};

/// A transaction that several scans may read at the same time.
pub(crate) type SharedTransaction = Arc<Mutex<Option<Transaction>>>;

/// How the tables of a view are read.
#[derive(Clone)]
pub(crate) enum Tables {
    /// There are no tables.
    None,
    /// As of a commit.
    Snapshot(Arc<Snapshot>),
    /// As changed by a transaction.
    Transaction(SharedTransaction),
}

/// What one statement reads and writes.
pub(crate) struct View {
    pub(crate) handle: Arc<Handle>,
    /// The tables that it was made to read.
    given: Option<Tables>,
    /// Otherwise those of the last commit, opened when they are first asked for: a statement about
    /// collections never is.
    opened: OnceLock<Tables>,
    /// The statement's changes to a collection, if it makes any.
    documents: Option<SharedDocuments>,
    /// A collection that the statement names, as it was found when the statement began.
    collection: OnceLock<Collection>,
}

/// The error after a transaction has ended.
fn ended() -> QueryError {
    QueryError::new(ErrorCode::Closed, "the transaction has ended; start another")
}

impl Clone for View {
    /// A view of the same tables, which are given to it: a lock that is set costs a small statement
    /// more than a value.
    fn clone(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            given: self.known_tables().cloned(),
            opened: OnceLock::new(),
            documents: self.documents.clone(),
            collection: self.collection.clone(),
        }
    }
}

impl View {
    /// Reads the tables of the last commit when they are first asked for.
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        let (opened, collection) = (OnceLock::new(), OnceLock::new());
        Self { handle, given: None, opened, documents: None, collection }
    }

    /// Reads these tables.
    pub(crate) fn with_tables(self, tables: Tables) -> Self {
        Self { given: Some(tables), ..self }
    }

    /// Gathers changes to a collection.
    pub(crate) fn with_documents(self, documents: SharedDocuments) -> Self {
        Self { documents: Some(documents), ..self }
    }

    /// The collection that a relation describes.
    pub(crate) fn collection_of(&self, relation: &Relation) -> QueryResult<Collection> {
        match self.own_collection(relation) {
            Some(collection) => Ok(collection.clone()),
            None => documents::collection_of(&self.handle, relation),
        }
    }

    /// The same, if the statement has found it already.
    fn own_collection(&self, relation: &Relation) -> Option<&Collection> {
        let is_collection = relation.kind == RelationKind::Collection;
        let is_it = |own: &&Collection| is_collection && own.name() == relation.schema.name;
        self.collection.get().filter(is_it)
    }

    fn tables(&self) -> QueryResult<&Tables> {
        if let Some(tables) = self.known_tables() {
            return Ok(tables);
        }
        let tables = match self.handle.store.tables()? {
            Some(store) => Tables::Snapshot(Arc::new(store.snapshot())),
            None => Tables::None,
        };
        Ok(self.opened.get_or_init(|| tables))
    }

    /// The tables that it was made to read, or has opened.
    #[inline]
    fn known_tables(&self) -> Option<&Tables> {
        self.given.as_ref().or_else(|| self.opened.get())
    }

    /// Reads the tables; `None` where there are none.
    fn read<T>(&self, read: impl FnOnce(Reader<'_>) -> QueryResult<T>) -> QueryResult<Option<T>> {
        match self.tables()? {
            Tables::None => Ok(None),
            Tables::Snapshot(snapshot) => read(snapshot.reader()).map(Some),
            Tables::Transaction(transaction) => {
                let transaction = lock(transaction);
                read(transaction.as_ref().ok_or_else(ended)?.reader()).map(Some)
            }
        }
    }

    /// The names of all tables and views.
    pub(crate) fn table_names(&self) -> QueryResult<Vec<String>> {
        Ok(self.read(tables::names)?.unwrap_or_default())
    }

    /// The names of all collections.
    pub(crate) fn collection_names(&self) -> QueryResult<Vec<String>> {
        documents::names(&self.handle)
    }

    /// The statements that create the indexes of a collection.
    pub(crate) fn index_statements(&self, collection: &Relation) -> QueryResult<String> {
        indexes::statements(&documents::collection_of(&self.handle, collection)?)
    }

    /// Ranges of the rows of a table, for other processes to read.
    pub(crate) fn row_ranges(
        &self,
        relation: &Relation,
        count: usize,
    ) -> QueryResult<Vec<(RowRange, u64)>> {
        let table = tables::table_of(relation)?;
        let ranges = self.read(|reader| reader.row_ranges(&table, count).map_err(from_table))?;
        Ok(ranges.unwrap_or_default())
    }

    /// The identity columns of a table that have numbered rows, with their next numbers.
    pub(crate) fn identities(&self, relation: &Relation) -> QueryResult<Vec<(usize, i64)>> {
        let table = tables::table_of(relation)?;
        let found = self.read(|reader| reader.identities(&table).map_err(from_table))?;
        Ok(found.unwrap_or_default())
    }

    /// The number of the commit that the tables are read as of; 0 without tables.
    pub(crate) fn transaction(&self) -> QueryResult<u64> {
        Ok(match self.tables()? {
            Tables::Snapshot(snapshot) => snapshot.transaction(),
            Tables::None | Tables::Transaction(_) => 0,
        })
    }

    /// The number of documents in a collection.
    pub(crate) fn count_documents(&self, name: &str) -> QueryResult<u64> {
        documents::count(&self.handle, name)
    }
}

impl Source for View {
    fn version(&self, reads: &Reads) -> u64 {
        // While a collection exists, no table can take its name. So a statement about collections
        // alone does not look whether another process has created tables.
        let tables = match reads.collections.is_empty() || reads.definitions {
            true => self.read(|reader| Ok(reader.catalog_version())).ok().flatten(),
            false => None,
        };
        let collections = self.handle.store.known.collections.version();
        // Three counters in one number; none of them ever decreases.
        let stored = tables.unwrap_or(0) << 24 ^ collections;
        stored ^ self.handle.registered.version() << 48
    }

    fn refresh(&self, collection: &str) -> QueryResult<()> {
        if let Some((found, _)) = documents::find(&self.handle, collection)? {
            let _ = self.collection.set(found);
        }
        Ok(())
    }

    fn relation(&self, name: &str) -> QueryResult<Option<Arc<Relation>>> {
        if let Some(found) = self.handle.registered.relation(name) {
            return Ok(Some(found));
        }
        let known = &self.handle.store.known.tables;
        if let Some(found) = self.read(|reader| known.relation(reader, name))?.flatten() {
            return Ok(Some(found));
        }
        Ok(documents::find(&self.handle, name)?.map(|(_, relation)| relation))
    }

    fn function(&self, name: &str) -> Option<Arc<ScalarFunction>> {
        self.handle.registered.function(name)
    }

    fn file(&self, path: &str, reading: FileReading<'_>) -> QueryResult<Arc<Relation>> {
        let store = &self.handle.store;
        let path = store.host.admit(path).map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::InvalidInput => ErrorCode::InvalidInput,
                kind => ErrorCode::of_io(kind),
            };
            QueryError::new(code, error.to_string())
        })?;
        format::relation(&store.host, &path, reading, &store.known.files)
            .inspect_err(|error| format::forget_damaged(&*store.host, &path, error))
    }

    fn names(&self) -> QueryResult<Vec<String>> {
        let mut names = self.handle.registered.names();
        names.extend(self.table_names()?);
        for name in self.collection_names()? {
            if !names.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn index_owner(&self, name: &str) -> QueryResult<Option<Arc<Relation>>> {
        indexes::owner(&self.handle, name)
    }

    fn referrers(&self, relation: &Relation) -> QueryResult<Arc<[Arc<Relation>]>> {
        let (known, name) = (&self.handle.store.known.tables, &relation.schema.name);
        Ok(self.read(|reader| known.referrers(reader, name))?.unwrap_or_default())
    }

    fn row_count(&self, relation: &Relation) -> QueryResult<Option<u64>> {
        match relation.kind {
            RelationKind::Table => {
                let table = tables::table_of(relation)?;
                self.read(|reader| reader.row_count(&table).map_err(from_table))
            }
            RelationKind::Collection => {
                Ok(Some(documents::collection_of(&self.handle, relation)?.count()?))
            }
            RelationKind::File | RelationKind::Registered => {
                Ok(format::file_of(relation)?.row_count())
            }
            RelationKind::View => Ok(None),
        }
    }

    fn exact_row_count(&self, relation: &Relation) -> QueryResult<Option<u64>> {
        if relation.kind != RelationKind::Collection {
            return self.row_count(relation);
        }
        let collection = documents::collection_of(&self.handle, relation)?;
        // Of files, only reading tells which are documents.
        Ok(if collection.reader()?.is_in_files() { None } else { Some(collection.count()?) })
    }

    fn line_of(&self, relation: &Relation, row: u64) -> QueryResult<Option<u64>> {
        match relation.kind {
            RelationKind::File => format::file_of(relation)?.line_of(row),
            _ => Ok(None),
        }
    }

    fn statistics(&self, relation: &Relation, column: usize) -> QueryResult<Option<Statistics>> {
        match relation.kind {
            RelationKind::Collection => documents::statistics(&self.handle, relation, column),
            RelationKind::Table => columns::tables::statistics(self, relation, column),
            _ => Ok(None),
        }
    }

    fn count(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        check: &dyn Fn() -> QueryResult<()>,
    ) -> QueryResult<Option<u64>> {
        match relation.kind {
            RelationKind::Table => tables::count(self, relation, request, check),
            RelationKind::Collection => indexes::count(&self.handle, relation, request, check),
            _ => Ok(None),
        }
    }

    fn range_count(&self, relation: &Relation, request: &ScanRequest) -> QueryResult<Option<u64>> {
        match relation.kind {
            RelationKind::Table => tables::range_count(self, relation, request),
            RelationKind::Collection => indexes::range_count(&self.handle, relation, request),
            _ => Ok(None),
        }
    }

    fn get(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> QueryResult<bool> {
        if relation.kind != RelationKind::Table {
            let collection = self.collection_of(relation)?;
            let pending = self.documents.as_ref();
            return documents::get(&collection, pending, relation, key, columns, row);
        }
        let table = tables::table_of(relation)?;
        let found = self.read(|reader| {
            let Some(found) = reader.get(&table, key).map_err(from_table)? else {
                return Ok(false);
            };
            for column in columns {
                row.push(found.get(*column).map_err(from_table)?);
            }
            Ok(true)
        })?;
        Ok(found.unwrap_or(false))
    }

    fn first(
        &self,
        relation: &Relation,
        reverse: bool,
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> QueryResult<bool> {
        let table = tables::table_of(relation)?;
        let found = self.read(|reader| {
            let found = reader.first(&table, reverse).map_err(from_table)?;
            let Some(found) = found else { return Ok(false) };
            for column in columns {
                row.push(found.get(*column).map_err(from_table)?);
            }
            Ok(true)
        })?;
        Ok(found.unwrap_or(false))
    }

    fn find_only(
        &self,
        relation: &Relation,
        index: usize,
        key: &[ValueRef<'_>],
        columns: &[usize],
    ) -> QueryResult<Option<Option<Vec<Value>>>> {
        match self.own_collection(relation) {
            Some(own) => indexes::find_only(own, relation, index, key, columns),
            None => {
                let collection = documents::collection_of(&self.handle, relation)?;
                indexes::find_only(&collection, relation, index, key, columns)
            }
        }
    }

    fn look_up(
        &self,
        relation: &Relation,
        keys: Keys<'_>,
        columns: &[usize],
    ) -> QueryResult<Found> {
        match (relation.kind, keys.index) {
            (RelationKind::Table, _) => tables::look_up(self, relation, keys, columns),
            (RelationKind::Collection, Some(index)) => {
                indexes::look_up(&self.handle, relation, index, keys, columns)
            }
            _ => look_up_each(self, relation, keys, columns),
        }
    }

    fn checks(&self, relation: &Relation, condition: &Condition) -> bool {
        match relation.kind {
            RelationKind::Collection => format::json::checks(relation, condition),
            RelationKind::File => {
                format::file_of(relation).is_ok_and(|file| file.checks(relation, condition))
            }
            RelationKind::Table => columns::tables::checks(relation, condition),
            _ => false,
        }
    }

    fn scan_parts(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        count: usize,
    ) -> QueryResult<Vec<Box<dyn RowStream>>> {
        match relation.kind {
            RelationKind::Table => {
                // Only one thread at a time can read a transaction.
                let is_alone = !matches!(self.tables()?, Tables::Snapshot(_));
                let count = if is_alone { 1 } else { count };
                tables::scan_parts(self, relation, request, count)
            }
            RelationKind::Collection => {
                documents::scan_parts(&self.handle, relation, request, (None, count))
            }
            RelationKind::File | RelationKind::Registered => {
                let (file, host) = (format::file_of(relation)?, &self.handle.store.host);
                let parts = Arc::clone(file).scan_parts(relation, request, count)?.into_iter();
                Ok(parts.map(|rows| format::watched(host, file.path(), rows)).collect())
            }
            RelationKind::View => {
                Err(QueryError::new(ErrorCode::InvalidInput, "a view is read through its query"))
            }
        }
    }

    fn reads_late(&self, relation: &Relation, request: &ScanRequest) -> bool {
        relation.kind != RelationKind::Table || !columns::tables::serves(self, relation, request)
    }

    fn describe_scan(&self, relation: &Relation, request: &ScanRequest) -> Option<String> {
        if relation.kind == RelationKind::Table {
            return columns::tables::describe(self, relation, request);
        }
        if relation.kind != RelationKind::Collection {
            return None;
        }
        let by_keys = request.index.is_some_and(|index| keys::serve(relation, index, request));
        if by_keys {
            return Some("the index alone".to_owned());
        }
        columns::documents::describe(&self.handle, relation, request)
    }

    fn spill_file(&self) -> QueryResult<Option<Box<dyn SpillFile>>> {
        spill::create(&self.handle).map(Some)
    }
}
