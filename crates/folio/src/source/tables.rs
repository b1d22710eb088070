//! Tables and views of the page file as relations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use folio_query::source::{
    Bound, Comparison, Condition, Found, IndexInfo, Keys, Relation, RelationKind, RowStream,
    ScanRequest,
};
use folio_query::{BATCH_SIZE, Batch, Constraints, Error as QueryError, Result as QueryResult};
use folio_table::{ROW_NUMBER, Reader, Scan, ScanOptions, Table};
use folio_types::{Column, ColumnType, ErrorCode, TableSchema, Value, ValueRef, borrowed};

use super::{Tables, View, ended, from_table, lock};

/// Rows of a batch at least, also where fewer are wanted in the end: a filter may
/// drop most of them.
const BATCH_SIZE_MIN: usize = 64;

/// Relations by name in lower case; `None` for names that are neither table nor view.
type Names = HashMap<String, Option<Arc<Relation>>>;

type Relations = Arc<[Arc<Relation>]>;

/// Relations made of the catalog, kept while it stays the same.
#[derive(Debug, Default)]
pub(crate) struct KnownTables {
    known: Mutex<(u64, Names)>,
    /// The tables that point at any, with the version they were looked for in.
    pointing: Mutex<Option<(u64, Relations)>>,
}

impl KnownTables {
    /// The relation of a name, if it is a table or a view.
    pub(super) fn relation(
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
}

impl KnownTables {
    /// The tables that point at the table of a name.
    pub(super) fn referrers(&self, reader: Reader<'_>, name: &str) -> QueryResult<Relations> {
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
    let indexes = table.indexes().iter().map(|index| IndexInfo {
        name: index.name.clone(),
        columns: index.columns.clone(),
        unique: index.unique,
    });
    let indexes = indexes.collect();
    let handle = table as Arc<_>;
    Ok(Some(Arc::new(Relation { kind: RelationKind::Table, schema, constraints, indexes, handle })))
}

/// A view keeps its query and the names of its columns.
fn view_relation(name: &str, text: &str) -> Relation {
    let constraints = Constraints::from_properties(text).unwrap_or_default();
    let columns = constraints.view_columns.iter();
    let columns = columns.map(|name| Column::optional(name.clone(), ColumnType::Text)).collect();
    let schema = TableSchema::new(name, columns, Vec::new());
    let handle = Arc::new(());
    Relation { kind: RelationKind::View, schema, constraints, indexes: Vec::new(), handle }
}

/// The names of all tables and views.
pub(super) fn names(reader: Reader<'_>) -> QueryResult<Vec<String>> {
    let tables = reader.tables().map_err(from_table)?;
    let views = reader.views().map_err(from_table)?;
    let mut names: Vec<String> = tables.iter().map(|table| table.schema().name.clone()).collect();
    names.extend(views.iter().map(|view| view.name.clone()));
    Ok(names)
}

/// The table a relation was made of.
pub(super) fn table_of(relation: &Relation) -> QueryResult<Arc<Table>> {
    Arc::clone(&relation.handle).downcast::<Table>().map_err(|_| {
        QueryError::new(
            ErrorCode::InvalidInput,
            format!("{:?} is not a table", relation.schema.name),
        )
    })
}

/// Rows of a table in the order of its key or of an index, in at most so many parts.
pub(super) fn scan_parts(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    count: usize,
) -> QueryResult<Vec<Box<dyn RowStream>>> {
    let table = table_of(relation)?;
    let mut projection = request.columns.clone();
    if request.with_row_number {
        projection.push(ROW_NUMBER);
    }
    // Rows without columns are counted by one of the key.
    let is_counted = projection.is_empty();
    if is_counted {
        projection.push(table.schema().primary_key.first().copied().unwrap_or(0));
    }
    let (from, to) = (Ends::of(&request.from), Ends::of(&request.to));
    let rows = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let (limit, wanted) = (request.limit.map(rows), request.wanted.map(rows));
    let conditions: Vec<_> =
        request.conditions.iter().filter_map(|condition| told(condition, &table)).collect();
    let options = ScanOptions {
        projection: Some(&projection),
        index: request.index.map(|index| &table.indexes()[index]),
        from: from.bound(),
        to: to.bound(),
        batch_size: wanted.map_or(BATCH_SIZE, |wanted| wanted.clamp(BATCH_SIZE_MIN, BATCH_SIZE)),
        limit,
        reverse: request.reverse,
        conditions: &conditions,
    };
    let begin = |reader: Reader<'_>| match count {
        1 => reader.begin_scan(&table, &options).map(|scan| vec![scan]).map_err(from_table),
        _ => reader.begin_parts(&table, &options, count).map_err(from_table),
    };
    let scans = view.read(begin)?.ok_or_else(ended)?;
    let rows = |scan| -> Box<dyn RowStream> {
        Box::new(TableRows { tables: view.tables.clone(), scan, is_counted })
    };
    Ok(scans.into_iter().map(rows).collect())
}

/// How many rows a scan would answer; `None` where the store cannot tell a condition.
pub(super) fn count(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    check: &dyn Fn() -> QueryResult<()>,
) -> QueryResult<Option<u64>> {
    pass(view, relation, request, |reader, scan| {
        let mut total = 0;
        while let Some(count) = scan.next_count(&reader).map_err(from_table)? {
            total += count as u64;
            check()?;
        }
        Ok(total)
    })
}

/// Pages that are looked at for few keys, at most.
const FEW_PAGES: usize = 4;

/// Appends the keys of the rows that a scan would answer; `false` where that takes more than a
/// look at few pages.
pub(super) fn few_keys(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    keys: &mut Vec<Value>,
) -> QueryResult<bool> {
    let start = keys.len();
    let are_all = pass(view, relation, request, |reader, scan| {
        for _ in 0..FEW_PAGES {
            if scan.next_keys(&reader, keys).map_err(from_table)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    let are_all = are_all == Some(true);
    if !are_all {
        keys.truncate(start);
    }
    Ok(are_all)
}

/// Does something with a scan of no columns; `None` where the store cannot tell a condition.
fn pass<T>(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    act: impl FnOnce(Reader<'_>, &mut Scan) -> QueryResult<T>,
) -> QueryResult<Option<T>> {
    let table = table_of(relation)?;
    let conditions = request.conditions.iter().map(|condition| told(condition, &table));
    let Some(conditions) = conditions.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let (from, to) = (Ends::of(&request.from), Ends::of(&request.to));
    let options = ScanOptions {
        projection: Some(&[]),
        index: request.index.map(|index| &table.indexes()[index]),
        from: from.bound(),
        to: to.bound(),
        limit: request.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        reverse: request.reverse,
        conditions: &conditions,
        ..ScanOptions::default()
    };
    view.read(|reader| {
        let mut scan = reader.begin_scan(&table, &options).map_err(from_table)?;
        act(reader, &mut scan)
    })
}

/// The rows of many keys.
pub(super) fn look_up(
    view: &View,
    relation: &Relation,
    keys: Keys<'_>,
    columns: &[usize],
) -> QueryResult<Found> {
    let table = table_of(relation)?;
    let values = borrowed(keys.values);
    let wanted: Vec<&[ValueRef<'_>]> = values.chunks(keys.width.max(1)).collect();
    let index = keys.index.map(|index| &table.indexes()[index]);
    let found =
        view.read(|reader| reader.lookup(&table, index, &wanted, columns).map_err(from_table))?;
    let Some(found) = found else { return Err(ended()) };
    let rows = Batch::new(found.rows.columns().to_vec(), found.rows.num_rows());
    Ok(Found { rows, positions: found.positions })
}

/// A condition as the store knows it, if it does.
fn told<'c>(condition: &'c Condition, table: &Table) -> Option<folio_table::Condition<'c>> {
    use folio_table::Comparison as Told;
    let comparison = match condition.comparison {
        Comparison::Equal => Told::Equal,
        Comparison::NotEqual => Told::NotEqual,
        Comparison::Less => Told::Less,
        Comparison::LessOrEqual => Told::LessOrEqual,
        Comparison::Greater => Told::Greater,
        Comparison::GreaterOrEqual => Told::GreaterOrEqual,
        Comparison::Distinct | Comparison::NotDistinct => return None,
    };
    let column = condition.column;
    let is_known = table.schema().columns[column].column_type.is_ordered();
    let value = condition.value.as_ref();
    is_known.then_some(folio_table::Condition { column, comparison, value })
}

/// One end of a range with its values borrowed.
enum Ends<'b> {
    Unbounded,
    Included(Vec<ValueRef<'b>>),
    Excluded(Vec<ValueRef<'b>>),
}

impl<'b> Ends<'b> {
    fn of(bound: &'b Bound) -> Self {
        let values = |values: &'b Vec<Value>| borrowed(values);
        match bound {
            Bound::Unbounded => Self::Unbounded,
            Bound::Included(own) => Self::Included(values(own)),
            Bound::Excluded(own) => Self::Excluded(values(own)),
        }
    }

    fn bound(&self) -> folio_table::Bound<'_> {
        match self {
            Self::Unbounded => folio_table::Bound::Unbounded,
            Self::Included(values) => folio_table::Bound::Included(values),
            Self::Excluded(values) => folio_table::Bound::Excluded(values),
        }
    }
}

/// A scan under way, with what keeps its pages.
struct TableRows {
    tables: Tables,
    scan: Scan,
    /// Whether the rows are wanted without columns.
    is_counted: bool,
}

impl RowStream for TableRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let batch = match &self.tables {
            Tables::None => None,
            Tables::Snapshot(snapshot) => {
                self.scan.next_batch(&snapshot.reader()).map_err(from_table)?
            }
            Tables::Transaction(transaction) => {
                let transaction = lock(transaction);
                let reader = transaction.as_ref().ok_or_else(ended)?.reader();
                self.scan.next_batch(&reader).map_err(from_table)?
            }
        };
        Ok(batch.map(|batch| match self.is_counted {
            true => Batch::new(Vec::new(), batch.num_rows()),
            false => Batch::new(batch.columns().to_vec(), batch.num_rows()),
        }))
    }

    fn more(&mut self, columns: &[usize], rows: &[u32]) -> QueryResult<Vec<ArrayRef>> {
        let scan = &self.scan;
        let read = |reader: Reader<'_>| scan.columns(&reader, columns, rows).map_err(from_table);
        let batch = match &self.tables {
            Tables::None => return Ok(Vec::new()),
            Tables::Snapshot(snapshot) => read(snapshot.reader())?,
            Tables::Transaction(transaction) => {
                read(lock(transaction).as_ref().ok_or_else(ended)?.reader())?
            }
        };
        Ok(batch.columns().to_vec())
    }
}
