//! The traits through which the engine reads and writes. It has no other access to data.
//!
//! A [`Source`] is a consistent view of named relations: a snapshot, or a transaction with its own
//! changes. [`Changes`] adds what a transaction can write. Neither says how a relation is stored,
//! and nothing above depends on it.

mod condition;
pub mod entity;
mod file;
mod paths;
mod program;
mod sort_bound;

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::array::to_array;
use folio_compute::keys::KeySet;
use folio_compute::type_rules::is_numeric;
use folio_compute::{Batch, Error, Result};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef, borrowed};
pub use folio_types::{Comparison, FieldCondition, FieldTest, IndexMethod, Literal};

use crate::constraint::Constraints;
pub use condition::{Condition, Test};
pub use file::{CsvOptions, FileReading};
pub use paths::{PathColumn, Paths, Twin};
pub use program::{ScalarBody, ScalarFunction};
pub use sort_bound::SortBound;

/// How a relation is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// A typed table.
    Table,
    /// A collection of documents, with inferred columns.
    Collection,
    /// A file.
    File,
    /// Rows registered by the program.
    Registered,
    /// A named query, whose text is in the schema's properties.
    View,
}

/// An index of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexInfo {
    /// Its name.
    pub name: String,
    /// What kind of index it is.
    pub method: IndexMethod,
    /// Positions of its columns, and whether each is descending.
    pub columns: Vec<(usize, bool)>,
    /// Whether its values are unique.
    pub unique: bool,
    /// The number, among its columns, of a list: each element of it has an entry.
    pub elements: Option<usize>,
    /// The conditions of the rows that have entries: column and test.
    pub conditions: Vec<(usize, FieldTest)>,
}

impl IndexInfo {
    /// The same index with its columns at other positions.
    fn at(&self, position: &dyn Fn(usize) -> usize) -> Self {
        let columns = self.columns.iter().map(|(at, descending)| (position(*at), *descending));
        let conditions = self.conditions.iter().map(|(at, test)| (position(*at), test.clone()));
        Self { columns: columns.collect(), conditions: conditions.collect(), ..self.clone() }
    }

    /// An index of all rows.
    #[must_use]
    pub fn new(name: String, columns: Vec<(usize, bool)>, unique: bool) -> Self {
        let method = IndexMethod::Fields;
        Self { name, method, columns, unique, elements: None, conditions: Vec::new() }
    }

    /// A copy of these columns; of all if there are none.
    #[must_use]
    pub fn of_columns(name: String, columns: Vec<usize>) -> Self {
        let columns = columns.into_iter().map(|column| (column, false)).collect();
        Self { method: IndexMethod::Columns, ..Self::new(name, columns, false) }
    }

    /// Whether every row has exactly one entry.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.elements.is_none() && self.conditions.is_empty()
    }
}

/// A field of an index on fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    /// The names of members from the document down.
    pub path: Vec<String>,
    /// Whether each element of the list at the path has an entry.
    pub elements: bool,
    /// Whether it is descending.
    pub descending: bool,
}

/// An index of a collection, as it is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldIndex {
    /// Its name; `None` for one after its fields.
    pub name: Option<String>,
    /// What kind of index it is.
    pub method: IndexMethod,
    /// Its fields; of columns, all if there are none.
    pub fields: Vec<FieldPath>,
    /// Whether its values are unique.
    pub unique: bool,
    /// The conditions of the documents that have entries.
    pub conditions: Vec<FieldCondition>,
}

/// A named set of rows.
#[derive(Clone)]
pub struct Relation {
    /// How it is stored.
    pub kind: RelationKind,
    /// Name, columns and key.
    pub schema: TableSchema,
    /// Defaults, checks, references and the like.
    pub constraints: Constraints,
    /// The indexes that a scan can follow.
    pub indexes: Vec<IndexInfo>,
    /// The columns indexes of a table, of which the source makes use by itself.
    pub columns_indexes: Vec<IndexInfo>,
    /// Columns beyond the schema, which scans and lookups read like others.
    pub paths: Paths,
    /// The source's own handle for it, opaque to others.
    pub handle: Arc<dyn Any + Send + Sync>,
}

/// The column of a collection that is the whole document.
pub const DOCUMENT: &str = "_doc";

impl Relation {
    /// A relation without constraints, indexes and paths.
    #[must_use]
    pub fn new(
        kind: RelationKind,
        schema: TableSchema,
        handle: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let (constraints, indexes) = (Constraints::default(), Vec::new());
        let columns_indexes = Vec::new();
        let paths = Paths::default();
        Self { kind, schema, constraints, indexes, columns_indexes, paths, handle }
    }

    /// The column of a collection that is the whole document. It repeats the others, so `*` and
    /// other forms for all columns leave it out; its name selects it.
    #[must_use]
    pub fn document_column(&self) -> Option<usize> {
        let is_collection = self.kind == RelationKind::Collection;
        self.schema.columns.iter().position(|column| is_collection && column.name == DOCUMENT)
    }

    /// Whether `*` includes a column: not one that repeats others.
    #[must_use]
    pub fn is_listed(&self, index: usize) -> bool {
        self.document_column() != Some(index) && !self.is_partial(self.read_at(index))
    }

    /// Whether the path at a position is a part of a column.
    #[must_use]
    pub fn is_partial(&self, index: usize) -> bool {
        self.paths.get(index).is_some_and(|path| path.is_partial)
    }

    /// The position of a column, ignoring letter case. The name of another member of the documents
    /// is none.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        match self.paths.twin(name) {
            Some(_) => None,
            None => self.schema.column_index(name),
        }
    }

    /// The type of the column or path at a position.
    #[must_use]
    pub fn column_type(&self, index: usize) -> &ColumnType {
        match self.paths.get(index) {
            Some(path) => &path.ty,
            None => &self.schema.columns[index].column_type,
        }
    }

    /// The name of the column or path at a position.
    #[must_use]
    pub fn column_name(&self, index: usize) -> &str {
        match self.paths.get(index) {
            Some(path) => &path.name,
            None => &self.schema.columns[index].name,
        }
    }

    /// Whether the column or path at a position may be null.
    #[must_use]
    pub fn is_nullable(&self, index: usize) -> bool {
        self.schema.columns.get(index).is_none_or(|column| column.nullable)
    }

    /// Where a column of the schema is read: its typed form, or itself.
    #[must_use]
    pub fn read_at(&self, index: usize) -> usize {
        self.paths.typed(index).unwrap_or(index)
    }

    /// This collection for a statement that writes what no document has had. The columns named
    /// `wider` have numbers: they are written as JSON, which takes every number, and read as before.
    /// The columns named `added` are null in all documents.
    #[must_use]
    pub fn widened(&self, wider: &[String], added: &[String]) -> Self {
        let mut schema = self.schema.clone();
        let mut types = Vec::new();
        for (at, column) in schema.columns.iter_mut().enumerate() {
            if let Some(path) = self.paths.typed(at).and_then(|typed| self.paths.get(typed)) {
                types.push((at, path.ty.clone()));
            } else if wider.contains(&column.name) {
                types.push((at, std::mem::replace(&mut column.column_type, ColumnType::Json)));
            }
        }
        let added = added.iter().map(|name| Column::optional(name.clone(), ColumnType::Json));
        schema.columns.extend(added);
        let paths = Paths::new(&schema, types);
        let mut relation = Self { schema, paths, indexes: Vec::new(), ..self.clone() };
        for index in &self.indexes {
            let read = index.at(&|position| relation.moved(self, position));
            // As a key it has the column that is written.
            let written = index.at(&|position| match self.paths.get(position) {
                None => position,
                Some(_) => relation.moved(self, position),
            });
            if written.columns != read.columns {
                relation.indexes.push(written);
            }
            relation.indexes.push(read);
        }
        relation
    }

    /// Where this relation reads what another one with fewer columns reads at a position.
    fn moved(&self, other: &Self, position: usize) -> usize {
        let Some(path) = other.paths.get(position) else { return self.read_at(position) };
        let mut own = self.paths.iter();
        let found = own.find(|(_, own)| own.path == path.path);
        found.map_or(position, |(position, _)| position)
    }

    /// Whether a column has numbers that are written as JSON: see [`Self::widened`].
    #[must_use]
    pub fn is_widened(&self, index: usize) -> bool {
        let typed = self.paths.typed(index).and_then(|typed| self.paths.get(typed));
        typed.is_some_and(|path| is_numeric(&path.ty))
    }

    /// The unique indexes that every row with values in its columns is in, and whose columns are those
    /// of the schema.
    pub fn unique_indexes(&self) -> impl Iterator<Item = &IndexInfo> {
        let width = self.schema.columns.len();
        self.indexes.iter().filter(move |index| {
            let is_own = |(column, _): &(usize, bool)| *column < width;
            index.unique && index.is_whole() && index.columns.iter().all(is_own)
        })
    }

    /// The columns of the primary key, and of each of these.
    pub fn unique_keys(&self) -> impl Iterator<Item = Vec<usize>> {
        let primary = Some(self.schema.primary_key.clone()).filter(|key| !key.is_empty());
        let columns = |index: &IndexInfo| index.columns.iter().map(|(column, _)| *column).collect();
        primary.into_iter().chain(self.unique_indexes().map(columns))
    }

    /// The types of the keys of an index, or of the primary key: those of its columns, and of the
    /// elements of a list.
    pub fn key_types(&self, index: Option<usize>) -> impl Iterator<Item = &ColumnType> {
        let elements = index.and_then(|index| self.indexes[index].elements);
        self.key_positions(index).enumerate().map(move |(number, column)| {
            match self.column_type(column) {
                ColumnType::List(element) if elements == Some(number) => &**element,
                own => own,
            }
        })
    }

    /// Positions of the columns of an index, or of the primary key.
    #[must_use]
    pub fn key_columns(&self, index: Option<usize>) -> Vec<usize> {
        self.key_positions(index).collect()
    }

    fn key_positions(&self, index: Option<usize>) -> impl Iterator<Item = usize> {
        let of_index = index.map_or(&[][..], |index| &self.indexes[index].columns[..]);
        let of_row = if index.is_none() { &self.schema.primary_key[..] } else { &[] };
        of_index.iter().map(|(column, _)| *column).chain(of_row.iter().copied())
    }
}

impl fmt::Debug for Relation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} {:?}", self.kind, self.schema.name)
    }
}

/// One end of a range of keys.
pub type Bound = folio_types::Bound<Vec<Value>>;

/// A request for rows of a relation.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// The columns to read, in this order.
    pub columns: Vec<usize>,
    /// The index to follow; `None` for the primary key.
    pub index: Option<usize>,
    /// Lower bound of the key.
    pub from: Bound,
    /// Upper bound of the key.
    pub to: Bound,
    /// Whether the order is descending.
    pub reverse: bool,
    /// Whether the order of rows does not matter.
    pub in_any_order: bool,
    /// Conditions on the rows. A source leaves out rows that fail if it can check them cheaply;
    /// the engine checks the others again, unless the source promises to ([`Source::checks`]).
    pub conditions: Vec<Condition>,
    /// Columns of which the statement uses only rows with certain values. A source leaves out others
    /// if it can tell them cheaply.
    pub among: Vec<Among>,
    /// Columns that may come as they are stored: texts, also those of lists, as Arrow dictionaries,
    /// decimals with 64 bits.
    pub as_stored: Vec<usize>,
    /// Maximum number of rows that will be read.
    pub limit: Option<u64>,
    /// About how many rows the statement needs, as a hint for the size of batches.
    pub wanted: Option<u64>,
    /// Whether the hidden row number is added as the last column, of type bigint.
    pub with_row_number: bool,
}

impl ScanRequest {
    /// All rows of a relation with the columns of its schema, and their numbers if it has no key.
    #[must_use]
    pub fn whole(relation: &Relation) -> Self {
        Self {
            columns: (0..relation.schema.columns.len()).collect(),
            with_row_number: relation.schema.primary_key.is_empty(),
            ..Self::default()
        }
    }
}

/// A column and which of its values matter, as far as that is known once the statement runs.
#[derive(Debug, Clone)]
pub struct Among {
    /// The column's position.
    pub column: usize,
    /// Which values.
    pub values: AmongValues,
}

/// The values of a column that matter to the operators above a scan.
#[derive(Debug, Clone)]
pub enum AmongValues {
    /// Those with partners in a join, known once its other side is read. The column's type is stored
    /// as integers.
    Keys(Arc<KeySet>),
    /// Those that may be among the first of a sort.
    First(Arc<SortBound>),
}

/// Estimates about the values of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The share of rows in which it is not null, 0 to 1.
    pub present: f64,
    /// About how many distinct values it has, at least 1; `None` if that is unknown.
    pub distinct: Option<f64>,
    /// The least and the greatest of them, if they are known.
    pub ends: Option<Ends>,
}

/// The least and the greatest value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Ends {
    /// As numbers ([`position`]).
    Numbers(f64, f64),
    /// Of a long text perhaps only the beginning.
    Texts(String, String),
}

impl Ends {
    /// The share of values before a value, as if they were spread evenly between the ends.
    #[must_use]
    pub fn share_before(&self, value: &Value, ty: &ColumnType) -> Option<f64> {
        let (from_least, to_greatest, share) = match (self, value) {
            (Self::Numbers(least, greatest), _) => {
                let at = position(value, ty)?;
                let share = (at - least) / (greatest - least);
                (at.total_cmp(least), at.total_cmp(greatest), share)
            }
            (Self::Texts(least, greatest), Value::Text(text)) => {
                let share = text_share(text.as_bytes(), least.as_bytes(), greatest.as_bytes());
                (text[..].cmp(least), text[..].cmp(greatest), share)
            }
            _ => return None,
        };
        Some(match (from_least, to_greatest) {
            (Ordering::Less, _) => 0.0,
            (_, Ordering::Greater) => 1.0,
            (Ordering::Equal, Ordering::Equal) => 0.5,
            _ if share.is_nan() => 0.5, // they differ further behind
            _ => share.clamp(0.0, 1.0),
        })
    }
}

/// Where a text is between two others, which it begins like: by the bytes after what both begin with,
/// read as digits. Their base is that of the bytes seen, with all digits or letters of a case if there
/// are some: otherwise nearly all texts of digits would be close together.
fn text_share(text: &[u8], least: &[u8], greatest: &[u8]) -> f64 {
    let common = least.iter().zip(greatest).take_while(|(a, b)| a == b).count();
    let rest = |text: &[u8]| text.get(common..).unwrap_or_default()[..].to_vec();
    let texts = [rest(text), rest(least), rest(greatest)];
    let seen = || texts.iter().flatten().copied();
    let (mut low, mut high) = (seen().min().unwrap_or(0), seen().max().unwrap_or(0));
    for (first, last) in [(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')] {
        if seen().any(|byte| (first..=last).contains(&byte)) {
            (low, high) = (low.min(first), high.max(last));
        }
    }
    let base = f64::from(high - low) + 1.0;
    let [at, least, greatest] = texts.map(|text| {
        let digits = text.iter().take(16).map(|byte| f64::from(byte - low));
        digits.fold((0.0, 1.0), |(sum, unit), digit| (sum + digit * unit, unit / base)).0
    });
    (at - least) / (greatest - least)
}

/// A number, date or time as a number, to tell how far apart two of them are.
#[must_use]
pub fn position(value: &Value, ty: &ColumnType) -> Option<f64> {
    Some(match (value, ty) {
        (Value::Integer(number), _) => *number as f64,
        (Value::Float(number), _) => *number,
        (Value::Decimal(digits), ColumnType::Decimal { scale, .. }) => {
            *digits as f64 / 10f64.powi(i32::from(*scale))
        }
        (Value::Date(days), _) => f64::from(*days),
        (Value::Time(micros) | Value::Timestamp(micros), _) => *micros as f64,
        _ => return None,
    })
}

/// A running scan.
pub trait RowStream: Send {
    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// Errors of the store.
    fn next(&mut self) -> Result<Option<Batch>>;

    /// Passes over `count` rows, or all if there are fewer, and returns how many: none if they have to
    /// be read. Called before the first rows, for a scan without conditions.
    ///
    /// # Errors
    /// Errors of the store.
    fn skip(&mut self, count: u64) -> Result<u64> {
        let _ = count;
        Ok(0)
    }

    /// Further columns for some rows of the last batch, at ascending positions. Called for tables
    /// only.
    ///
    /// # Errors
    /// `unsupported` if rows can be read only once; errors of the store.
    fn more(&mut self, columns: &[usize], rows: &[u32]) -> Result<Vec<ArrayRef>> {
        let _ = (columns, rows);
        Err(Error::unsupported("these rows are read once"))
    }
}

/// Many keys to look up together.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'k> {
    /// The index; `None` for the primary key.
    pub index: Option<usize>,
    /// The number of leading columns that each key has.
    pub width: usize,
    /// The values of the keys, concatenated. None is null.
    pub values: &'k [Value],
}

/// Rows found for many keys.
#[derive(Debug, Clone)]
pub struct Found {
    /// The rows, in the order of the keys that led to them.
    pub rows: Batch,
    /// For each row, the position of its key, ascending.
    pub positions: Vec<u32>,
}

/// Looks up many whole primary keys one by one.
///
/// # Errors
/// Errors of the store.
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

/// A temporary file for rows that do not fit in memory, deleted after its statement.
pub trait SpillFile: Send {
    /// Writes all bytes at an offset.
    ///
    /// # Errors
    /// `io`, for instance if the disk is full.
    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Fills `bytes` from an offset.
    ///
    /// # Errors
    /// `io`, also if the file ends early.
    fn read(&mut self, bytes: &mut [u8], offset: u64) -> Result<()>;
}

/// What a statement depends on.
#[derive(Debug, Clone, Default)]
pub struct Reads {
    /// Collections, by name. Their columns can change without a change of definitions.
    pub collections: Vec<String>,
    /// Whether it names anything else, such as a table or a view.
    pub definitions: bool,
    /// Whether it reads files.
    pub files: bool,
}

/// A consistent view of named relations.
pub trait Source: Send + Sync {
    /// Changes with every change of definitions that a statement depends on. Plans of another
    /// version are invalid.
    fn version(&self, reads: &Reads) -> u64;

    /// Brings what is known of a collection up to date; the version then shows a change.
    ///
    /// # Errors
    /// Errors of the store.
    fn refresh(&self, collection: &str) -> Result<()>;

    /// Looks up a relation by name, ignoring letter case.
    ///
    /// # Errors
    /// Errors of the store.
    fn relation(&self, name: &str) -> Result<Option<Arc<Relation>>>;

    /// The relation in a file, by its path.
    ///
    /// # Errors
    /// `unsupported` if the source cannot open such files.
    fn file(&self, path: &str, reading: FileReading<'_>) -> Result<Arc<Relation>>;

    /// The names of all relations.
    ///
    /// # Errors
    /// Errors of the store.
    fn names(&self) -> Result<Vec<String>>;

    /// Looks up a function of the program by name, ignoring letter case.
    fn function(&self, name: &str) -> Option<Arc<ScalarFunction>> {
        let _ = name;
        None
    }

    /// The collection that has an index on fields with this name.
    ///
    /// # Errors
    /// Errors of the store.
    fn index_owner(&self, name: &str) -> Result<Option<Arc<Relation>>> {
        let _ = name;
        Ok(None)
    }

    /// The tables with references to this one.
    ///
    /// # Errors
    /// Errors of the store.
    fn referrers(&self, relation: &Relation) -> Result<Arc<[Arc<Relation>]>>;

    /// Appends columns of the first or last row in key order; `false` if there is none. Called for
    /// tables only.
    ///
    /// # Errors
    /// Errors of the store.
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

    /// The number of rows, if it is known without reading them.
    ///
    /// # Errors
    /// Errors of the store.
    fn row_count(&self, relation: &Relation) -> Result<Option<u64>>;

    /// The same, if a scan yields exactly as many.
    ///
    /// # Errors
    /// Errors of the store.
    fn exact_row_count(&self, relation: &Relation) -> Result<Option<u64>> {
        self.row_count(relation)
    }

    /// What is known of the values of a column without reading them.
    ///
    /// # Errors
    /// Errors of the store.
    fn statistics(&self, relation: &Relation, column: usize) -> Result<Option<Statistics>> {
        let _ = (relation, column);
        Ok(None)
    }

    /// The line of a row of a file of text, by its position in a scan of all rows.
    ///
    /// # Errors
    /// Errors of the file.
    fn line_of(&self, relation: &Relation, row: u64) -> Result<Option<u64>> {
        let _ = (relation, row);
        Ok(None)
    }

    /// Whether scans of a relation leave out every row that fails a condition.
    fn checks(&self, relation: &Relation, condition: &Condition) -> bool {
        let _ = (relation, condition);
        false
    }

    /// Whether [`RowStream::more`] fetches columns of a scan of a table, which makes late reading
    /// worthwhile.
    fn reads_late(&self, relation: &Relation, request: &ScanRequest) -> bool {
        let _ = (relation, request);
        true
    }

    /// The number of rows of a scan that fulfil all conditions, if the source can count them
    /// without producing them. Calls `check` regularly and stops if it fails.
    ///
    /// # Errors
    /// Errors of the store and of `check`.
    fn count(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Option<u64>> {
        let _ = (relation, request, check);
        Ok(None)
    }

    /// About how many rows the range of keys has that a request names, of an index too, if a few
    /// pages tell.
    ///
    /// # Errors
    /// Errors of the store.
    fn range_count(&self, relation: &Relation, request: &ScanRequest) -> Result<Option<u64>> {
        let _ = (relation, request);
        Ok(None)
    }

    /// Appends columns of the row with a primary key to `row`; `false` if there is none.
    ///
    /// # Errors
    /// Errors of the store.
    fn get(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> Result<bool>;

    /// The row with these values of an index of a collection, if there is one: `Some(None)` without
    /// a row, `None` if there are several, or if only [`Source::scan`] can find it.
    ///
    /// # Errors
    /// Errors of the store.
    fn find_only(
        &self,
        relation: &Relation,
        index: usize,
        key: &[ValueRef<'_>],
        columns: &[usize],
    ) -> Result<Option<Option<Vec<Value>>>> {
        let _ = (relation, index, key, columns);
        Ok(None)
    }

    /// Looks up many keys. A key with fewer columns than the primary key is allowed for tables
    /// only, and finds all rows that begin with it.
    ///
    /// # Errors
    /// Errors of the store.
    fn look_up(&self, relation: &Relation, keys: Keys<'_>, columns: &[usize]) -> Result<Found> {
        look_up_each(self, relation, keys, columns)
    }

    /// Rows in the order of a key.
    ///
    /// # Errors
    /// Errors of the store.
    fn scan(&self, relation: &Relation, request: &ScanRequest) -> Result<Box<dyn RowStream>> {
        let mut parts = self.scan_parts(relation, request, 1)?;
        parts.pop().ok_or_else(|| Error::unsupported("these rows are not scanned"))
    }

    /// Which copy of the rows a scan reads, in a few words for EXPLAIN, if there are several.
    fn describe_scan(&self, relation: &Relation, request: &ScanRequest) -> Option<String> {
        let _ = (relation, request);
        None
    }

    /// A scan in about `count` parts, which threads may read at the same time. Concatenated they
    /// are the scan. One part if `count` is 1 or the source cannot split it.
    ///
    /// # Errors
    /// Errors of the store.
    fn scan_parts(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        count: usize,
    ) -> Result<Vec<Box<dyn RowStream>>>;

    /// A new temporary file; `None` if the source has none and statements hold all rows in memory.
    ///
    /// # Errors
    /// Errors of the system.
    fn spill_file(&self) -> Result<Option<Box<dyn SpillFile>>> {
        Ok(None)
    }
}

/// Called now and then by long work, on any thread, with what it has done and what there is to do, in
/// bytes. An error ends the work.
pub type Progress<'p> = &'p (dyn Fn(u64, u64) -> Result<()> + Sync);

/// What a transaction can change.
pub trait Changes: Source {
    /// Inserts a row with values in the order of the columns.
    ///
    /// # Errors
    /// `conflict` if a unique key is taken; errors of the store.
    fn insert(&self, relation: &Relation, row: &[ValueRef<'_>]) -> Result<()>;

    /// Inserts concatenated rows, each with values in the order of the columns.
    ///
    /// # Errors
    /// The position of the refused row, and the error as in [`Changes::insert`]. Rows before it may
    /// be inserted: the transaction must roll back to its savepoint.
    fn insert_many(
        &self,
        relation: &Relation,
        rows: &[ValueRef<'_>],
    ) -> Result<(), (usize, Error)> {
        insert_each(self, relation, rows)
    }

    /// Replaces the row with a key. For a relation without a key, the key is the row number.
    ///
    /// # Errors
    /// As [`Changes::insert`].
    fn update(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        row: &[ValueRef<'_>],
    ) -> Result<bool>;

    /// Like [`Source::get`], for a row of a table that is about to change.
    ///
    /// # Errors
    /// Errors of the store.
    fn get_to_change(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> Result<bool>;

    /// Updates some columns of the row with a key, none of which is part of the key. `false` if
    /// there is no such row.
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
    /// Errors of the store.
    fn delete(&self, relation: &Relation, key: &[ValueRef<'_>]) -> Result<bool>;

    /// Deletes all rows of a table. Takes only the time to free its pages.
    ///
    /// # Errors
    /// Errors of the store.
    fn clear(&self, table: &Relation) -> Result<()>;

    /// The next number of an identity column. No number is returned twice.
    ///
    /// # Errors
    /// `unsupported` if the relation has no identity columns; errors of the store.
    fn next_identity(&self, relation: &Relation, column: usize) -> Result<i64>;

    /// Sets the next number of an identity column.
    ///
    /// # Errors
    /// As [`Changes::next_identity`].
    fn set_identity(&self, relation: &Relation, column: usize, next: i64) -> Result<()>;

    /// Makes the next number of an identity column greater than one that was given.
    ///
    /// # Errors
    /// As [`Changes::next_identity`].
    fn pass_identity(&self, relation: &Relation, column: usize, given: i64) -> Result<()>;

    /// Creates a table or view.
    ///
    /// # Errors
    /// `conflict` if the name is taken; `invalid_input`.
    fn create(&self, schema: &TableSchema) -> Result<()>;

    /// Drops a table or view with its indexes, or a collection.
    ///
    /// # Errors
    /// Errors of the store.
    fn drop(&self, name: &str) -> Result<()>;

    /// Changes the name, column names or properties of a table, or the name of a collection.
    ///
    /// # Errors
    /// Errors of the store.
    fn alter(&self, name: &str, schema: &TableSchema) -> Result<()>;

    /// Creates an index over the existing rows.
    ///
    /// # Errors
    /// `conflict` if the name is taken, or rows are equal in a unique index; what `progress` answers.
    fn create_index(&self, table: &str, index: &IndexInfo, progress: Progress<'_>) -> Result<()>;

    /// Drops an index.
    ///
    /// # Errors
    /// `not_found`.
    fn drop_index(&self, name: &str) -> Result<()>;

    /// Creates an index on fields over the documents of a collection.
    ///
    /// # Errors
    /// `conflict` if the name is taken and `if_not_exists` is not set, or documents are equal in a
    /// unique index; what `progress` answers.
    fn create_field_index(
        &self,
        collection: &Relation,
        index: &FieldIndex,
        if_not_exists: bool,
        progress: Progress<'_>,
    ) -> Result<()> {
        let _ = (collection, index, if_not_exists, progress);
        Err(Error::unsupported("an index on fields is not supported here"))
    }

    /// Drops an index on fields.
    ///
    /// # Errors
    /// `not_found`.
    fn drop_field_index(&self, collection: &Relation, name: &str) -> Result<()> {
        let _ = (collection, name);
        Err(Error::unsupported("an index on fields is not supported here"))
    }
}

/// [`Changes::insert_many`], row by row.
///
/// # Errors
/// The same.
pub fn insert_each<C: Changes + ?Sized>(
    changes: &C,
    relation: &Relation,
    rows: &[ValueRef<'_>],
) -> Result<(), (usize, Error)> {
    let width = relation.schema.columns.len().max(1);
    let mut rows = rows.chunks(width).enumerate();
    rows.try_for_each(|(at, row)| changes.insert(relation, row).map_err(|error| (at, error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_values_spread_evenly() {
        let numbers = Ends::Numbers(10.0, 20.0);
        for (value, expected) in [(5, 0.0), (10, 0.0), (15, 0.5), (20, 1.0), (99, 1.0)] {
            let share = numbers.share_before(&Value::Integer(value), &ColumnType::Int64);
            assert_eq!(share, Some(expected), "{value}");
        }
        assert_eq!(numbers.share_before(&Value::from("x"), &ColumnType::Text), None);
        let days = Ends::Texts("2026-01-01".to_owned(), "2026-12-31".to_owned());
        let share = |text: &str| days.share_before(&Value::from(text), &ColumnType::Text);
        for (text, least, most) in [
            ("", 0.0, 0.0),
            ("2025-12-31", 0.0, 0.0),
            ("2026-01-01", 0.0, 0.0),
            ("2026-01-15", 0.0, 0.1),
            ("2026-07-01", 0.3, 0.6),
            ("2026-10", 0.7, 0.9),
            ("2026-12-30", 0.95, 1.0),
            ("2027", 1.0, 1.0),
        ] {
            let found = share(text).expect("they are texts");
            assert!((least..=most).contains(&found), "{text}: {found}");
        }
        // All values are the same.
        let same = Ends::Texts("a".to_owned(), "a".to_owned());
        let share = |text: &str| same.share_before(&Value::from(text), &ColumnType::Text);
        assert_eq!([share(""), share("a"), share("b")], [Some(0.0), Some(0.5), Some(1.0)]);
    }
}
