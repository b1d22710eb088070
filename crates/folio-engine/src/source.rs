//! The traits through which the engine reads and writes: the only way it does.
//!
//! A [`Source`] is one consistent view of named relations: a snapshot, or a
//! transaction with its own changes. [`Changes`] is what a transaction offers on
//! top. Neither says what a relation is kept in; nothing above asks.

mod condition;
pub mod entity;
mod file;
mod program;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
pub use folio_types::Comparison;
use folio_types::{ColumnType, TableSchema, Value, ValueRef, borrowed};

use crate::array::to_array;
use crate::batch::Batch;
use crate::constraint::Constraints;
use crate::error::{Error, Result};
pub use condition::Condition;
pub use file::{CsvOptions, FileReading};
pub use program::{ScalarBody, ScalarFunction};

/// What a relation is kept as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// A typed table.
    Table,
    /// A collection of documents, its columns inferred.
    Collection,
    /// A file.
    File,
    /// Rows that the program has handed over.
    Registered,
    /// A query under a name; its text is the schema's properties.
    View,
}

/// An index of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexInfo {
    /// Its name.
    pub name: String,
    /// Positions of its columns, and whether greater values come first.
    pub columns: Vec<(usize, bool)>,
    /// Whether no two rows may be equal in all of its columns.
    pub unique: bool,
}

/// A named set of rows, as a source knows it.
pub struct Relation {
    /// What it is kept as.
    pub kind: RelationKind,
    /// Name, columns and key.
    pub schema: TableSchema,
    /// Defaults, checks, references and the like.
    pub constraints: Constraints,
    /// The indexes a scan can follow.
    pub indexes: Vec<IndexInfo>,
    /// What the source finds it by. Nobody else looks into it.
    pub handle: Arc<dyn Any + Send + Sync>,
}

/// The column of a collection that is the whole document.
pub const DOCUMENT: &str = "_doc";

impl Relation {
    /// The column that is the whole document of a collection. It repeats the others, so `*`
    /// and other forms that mean all columns leave it out; its name selects it.
    #[must_use]
    pub fn document_column(&self) -> Option<usize> {
        let is_collection = self.kind == RelationKind::Collection;
        self.schema.columns.iter().position(|column| is_collection && column.name == DOCUMENT)
    }

    /// Whether a column is one that `*` means.
    #[must_use]
    pub fn is_listed(&self, index: usize) -> bool {
        self.document_column() != Some(index)
    }

    /// The position of a column; letters match in either case.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.schema.column_index(name)
    }

    /// The type of the column at a position.
    #[must_use]
    pub fn column_type(&self, index: usize) -> &ColumnType {
        &self.schema.columns[index].column_type
    }

    /// Positions of the columns of an index, or of the primary key.
    #[must_use]
    pub fn key_columns(&self, index: Option<usize>) -> Vec<usize> {
        match index {
            Some(index) => self.indexes[index].columns.iter().map(|(column, _)| *column).collect(),
            None => self.schema.primary_key.clone(),
        }
    }
}

impl fmt::Debug for Relation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} {:?}", self.kind, self.schema.name)
    }
}

/// One end of a range of keys.
pub type Bound = folio_types::Bound<Vec<Value>>;

/// What of a relation is wanted.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// The columns, in the order wanted.
    pub columns: Vec<usize>,
    /// The index to follow; the primary key otherwise.
    pub index: Option<usize>,
    /// Where keys begin.
    pub from: Bound,
    /// Where they end.
    pub to: Bound,
    /// Whether the greatest key comes first.
    pub reverse: bool,
    /// Rows that fulfil these are wanted alone. A source leaves out what it can tell
    /// cheaply; the others are sorted out here.
    pub conditions: Vec<Condition>,
    /// No more rows than this will be asked for.
    pub limit: Option<u64>,
    /// About how many rows make the statement happy: how large a batch should be.
    pub wanted: Option<u64>,
    /// Whether the hidden row number comes as one more column, of type bigint.
    pub with_row_number: bool,
}

/// Rows under way.
pub trait RowStream: Send {
    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// What the store says.
    fn next(&mut self) -> Result<Option<Batch>>;

    /// Columns of the relation for some rows of the batch that came last: those at
    /// these positions, which ascend. Asked of tables only.
    ///
    /// # Errors
    /// `unsupported` where rows are not looked at twice; what the store says.
    fn more(&mut self, columns: &[usize], rows: &[u32]) -> Result<Vec<ArrayRef>> {
        let _ = (columns, rows);
        Err(Error::unsupported("these rows are read once"))
    }
}

/// Many keys, to be looked up together.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'k> {
    /// The index; the primary key otherwise.
    pub index: Option<usize>,
    /// How many columns of it each key has: its first ones.
    pub width: usize,
    /// The values of the keys, one key behind the other. None is null.
    pub values: &'k [Value],
}

/// Rows found for many keys.
#[derive(Debug, Clone)]
pub struct Found {
    /// The rows, in the order of the keys that led to them.
    pub rows: Batch,
    /// For each row, the position of its key. They ascend.
    pub positions: Vec<u32>,
}

/// The rows of many whole primary keys, got one by one.
///
/// # Errors
/// What the store says.
pub fn look_up_each<S: Source + ?Sized>(
    source: &S,
    relation: &Relation,
    keys: Keys<'_>,
    columns: &[usize],
) -> Result<Found> {
    let (mut found, mut positions) = (Vec::new(), Vec::new());
    for (position, key) in (0u32..).zip(keys.values.chunks(keys.width.max(1))) {
        if source.get(relation, &borrowed(key), columns, &mut found)? {
            positions.push(position);
        }
    }
    let (width, count) = (columns.len(), positions.len());
    let values = columns.iter().enumerate().map(|(index, column)| {
        let values = (0..count).map(|row| &found[row * width + index]);
        to_array(values, relation.column_type(*column))
    });
    Ok(Found { rows: Batch::new(values.collect::<Result<_>>()?, count), positions })
}

/// A file for what memory cannot hold: written and read by one statement, gone with it.
pub trait SpillFile: Send {
    /// Writes bytes at an offset, all of them.
    ///
    /// # Errors
    /// `io`: a full disk, say.
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Reads bytes at an offset, as many as there is room for.
    ///
    /// # Errors
    /// `io`, also where the file ends before.
    fn read(&mut self, bytes: &mut [u8], offset: u64) -> Result<()>;
}

/// One consistent view of named relations.
pub trait Source: Send + Sync {
    /// Changes whenever a definition does: plans made under another version are void.
    fn version(&self) -> u64;

    /// The relation of a name; letters match in either case.
    ///
    /// # Errors
    /// What the store says.
    fn relation(&self, name: &str) -> Result<Option<Arc<Relation>>>;

    /// The relation a file holds, told by its path.
    ///
    /// # Errors
    /// `unsupported` where the source opens no such files.
    fn file(&self, path: &str, reading: FileReading<'_>) -> Result<Arc<Relation>>;

    /// All names there are.
    ///
    /// # Errors
    /// What the store says.
    fn names(&self) -> Result<Vec<String>>;

    /// The function of the program with a name; letters match in either case.
    fn function(&self, name: &str) -> Option<Arc<ScalarFunction>> {
        let _ = name;
        None
    }

    /// The tables whose rows point at rows of this one.
    ///
    /// # Errors
    /// What the store says.
    fn referrers(&self, relation: &Relation) -> Result<Arc<[Arc<Relation>]>>;

    /// Appends columns of the first row in the order of the key, or of the last;
    /// `false` where there is none. Asked of tables only.
    ///
    /// # Errors
    /// What the store says.
    fn first(
        &self,
        relation: &Relation,
        reverse: bool,
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> Result<bool> {
        let _ = (relation, reverse, columns, row);
        Err(Error::unsupported("these rows are scanned"))
    }

    /// How many rows, where that is known without reading them.
    ///
    /// # Errors
    /// What the store says.
    fn row_count(&self, relation: &Relation) -> Result<Option<u64>>;

    /// How many rows a scan would answer that fulfil all of the request's conditions,
    /// where that can be told without making rows. Asks `check` now and then whether to
    /// go on.
    ///
    /// # Errors
    /// What the store says, and what `check` does.
    fn count(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Option<u64>> {
        let _ = (relation, request, check);
        Ok(None)
    }

    /// Appends the primary keys of the rows that a scan would answer, where that takes a look
    /// at few rows and all of the request's conditions can be told; otherwise `false`, and
    /// nothing is appended. Asked of tables whose primary key is one column.
    ///
    /// # Errors
    /// What the store says.
    fn few_keys(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        keys: &mut Vec<Value>,
    ) -> Result<bool> {
        let _ = (relation, request, keys);
        Ok(false)
    }

    /// The row with a primary key: the values of `columns` are pushed to `row`.
    /// `false` when there is none.
    ///
    /// # Errors
    /// What the store says.
    fn get(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> Result<bool>;

    /// The rows of many keys. A key that is not of the whole primary key finds rows of
    /// tables alone, as many as begin with it.
    ///
    /// # Errors
    /// What the store says.
    fn look_up(&self, relation: &Relation, keys: Keys<'_>, columns: &[usize]) -> Result<Found> {
        look_up_each(self, relation, keys, columns)
    }

    /// Rows in the order of a key.
    ///
    /// # Errors
    /// What the store says.
    fn scan(&self, relation: &Relation, request: &ScanRequest) -> Result<Box<dyn RowStream>>;

    /// The same in about `count` parts, which threads may read at the same time; one
    /// behind the other they are the scan. One part where the source cannot cut it.
    ///
    /// # Errors
    /// What the store says.
    fn scan_parts(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        count: usize,
    ) -> Result<Vec<Box<dyn RowStream>>> {
        let _ = count;
        Ok(vec![self.scan(relation, request)?])
    }

    /// An empty file for what memory cannot hold; `None` where there are none, and
    /// statements hold everything.
    ///
    /// # Errors
    /// What the system says.
    fn spill_file(&self) -> Result<Option<Box<dyn SpillFile>>> {
        Ok(None)
    }
}

/// What a transaction can do to what a [`Source`] shows.
pub trait Changes: Source {
    /// Inserts a row given in the order of the columns.
    ///
    /// # Errors
    /// `conflict` when a unique key is taken; what the store says.
    fn insert(&self, relation: &Relation, row: &[ValueRef<'_>]) -> Result<()>;

    /// Inserts rows, one behind the other, each given in the order of the columns.
    ///
    /// # Errors
    /// The position of the row that was refused, and why, as [`Changes::insert`]. Those
    /// before it may be there: the transaction must return to where it was.
    fn insert_many(
        &self,
        relation: &Relation,
        rows: &[ValueRef<'_>],
    ) -> Result<(), (usize, Error)> {
        insert_each(self, relation, rows)
    }

    /// Replaces the row with a key. The key of a relation without one is its row number.
    ///
    /// # Errors
    /// As [`Changes::insert`].
    fn update(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        row: &[ValueRef<'_>],
    ) -> Result<bool>;

    /// The row of a table with a key, as [`Source::get`]: it is about to be changed.
    ///
    /// # Errors
    /// What the store says.
    fn get_to_change(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> Result<bool>;

    /// Gives some columns of the row of a table with a key other values; none of them
    /// is of the key. `false` when there is no such row.
    ///
    /// # Errors
    /// As [`Changes::insert`].
    fn update_columns(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<bool>;

    /// Deletes the row with a key.
    ///
    /// # Errors
    /// What the store says.
    fn delete(&self, relation: &Relation, key: &[ValueRef<'_>]) -> Result<bool>;

    /// Deletes all rows of a table, in the time it takes to let go of its pages.
    ///
    /// # Errors
    /// What the store says.
    fn clear(&self, table: &Relation) -> Result<()>;

    /// The next number of a column that numbers rows by itself: never one twice.
    ///
    /// # Errors
    /// `unsupported` for relations that number nothing; what the store says.
    fn next_identity(&self, relation: &Relation, column: usize) -> Result<i64>;

    /// Sets the number that a column takes next.
    ///
    /// # Errors
    /// As [`Changes::next_identity`].
    fn set_identity(&self, relation: &Relation, column: usize, next: i64) -> Result<()>;

    /// Makes a table, or a view, of this schema.
    ///
    /// # Errors
    /// `conflict` when the name is taken; `invalid_input`.
    fn create(&self, schema: &TableSchema) -> Result<()>;

    /// Drops a table or view with its indexes, or a collection.
    ///
    /// # Errors
    /// What the store says.
    fn drop(&self, name: &str) -> Result<()>;

    /// Gives a table another name, other column names or other properties, or a collection
    /// another name.
    ///
    /// # Errors
    /// What the store says.
    fn alter(&self, name: &str, schema: &TableSchema) -> Result<()>;

    /// Makes an index and enters the rows there are.
    ///
    /// # Errors
    /// `conflict` when the name is taken or rows are equal in a unique index.
    fn create_index(&self, table: &str, index: &IndexInfo) -> Result<()>;

    /// Drops an index.
    ///
    /// # Errors
    /// `not_found`.
    fn drop_index(&self, name: &str) -> Result<()>;
}

/// [`Changes::insert_many`] row by row.
///
/// # Errors
/// As it.
pub fn insert_each<C: Changes + ?Sized>(
    changes: &C,
    relation: &Relation,
    rows: &[ValueRef<'_>],
) -> Result<(), (usize, Error)> {
    let width = relation.schema.columns.len().max(1);
    let mut rows = rows.chunks(width).enumerate();
    rows.try_for_each(|(at, row)| changes.insert(relation, row).map_err(|error| (at, error)))
}
