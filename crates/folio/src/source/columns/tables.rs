//! Scans of tables that have a columns index: the row groups of its parts, the rows that changed
//! since, and the rows that are in no part.
//!
//! ```text
//! a part that is intact     its row groups, without those in which no row passes; rows that changed
//!                           are left out of their group, and looked up after it
//! a part with many changes, that is missing, or has not the wanted columns;
//! rows after the last part  rows of the pages
//! ```
//!
//! Where the order of keys matters, a row group in which rows changed is rows of the pages. Scans
//! for few rows, by an index, or of a range of keys read rows as ever.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::FilterBuilder;
use folio_compute::{BATCH_SIZE, Batch, Result as QueryResult};
use folio_engine::source::{
    Comparison, Condition, Ends, Relation, RowStream, ScanRequest, Statistics, Test, position,
};
use folio_json::{ArrayTest, PathTest};
use folio_table::{ColumnsIndex, Lookup, Reader, RowPart, RowRange, Table};
use folio_types::{Bound, ColumnType, Value};

use super::super::tables::{self, TableRows, table_of};
use super::super::{View, ended};
use super::{InTurn, PartCounts, distributed, opening};
use crate::error::from_table;
use crate::format::parquet::part::{
    PartGroup, PartRequest, PartRows, PartTest, column_at, column_path, column_type, column_values,
    key_positions,
};
use crate::row_parts::{CHANGED_SHARE, KeyColumns, OpenPart};

/// Fewer rows than this are read as rows.
const ROWS_MIN: u64 = 1 << 14;

/// Rows of a row group are about as much work as one row of the pages in so many.
const GROUP_ROW_WEIGHT: u64 = 4;

/// Rows of the pages that are worth a part of a scan of their own.
const SPAN_ROWS: u64 = 1 << 16;

/// A columns index that serves a request.
struct Usable {
    table: Arc<Table>,
    index: ColumnsIndex,
    /// Its parts: where their rows end, how many they have, and their files if those serve.
    parts: Vec<(Vec<u8>, u64, Option<Arc<OpenPart>>)>,
    wanted: Arc<PartRequest>,
}

/// What a scan reads, in order.
enum Unit {
    /// A row group. The rows with these keys changed.
    Group(PartGroup, Vec<Vec<u8>>),
    /// Rows of a row group in which no other row passes.
    Changed(Vec<Vec<u8>>),
    Span(RowRange, u64),
    Rows(Box<TableRows>, u64),
}

impl Unit {
    fn weight(&self) -> u64 {
        match self {
            Self::Group(group, changed) => {
                group.row_count / GROUP_ROW_WEIGHT + changed.len() as u64
            }
            Self::Changed(changed) => changed.len() as u64,
            Self::Span(_, rows) | Self::Rows(_, rows) => *rows,
        }
    }
}

/// The units of a scan, and what was found on the way.
#[derive(Default)]
struct Units {
    all: Vec<Unit>,
    counts: PartCounts,
    changed_count: usize,
    row_count: u64,
}

/// Whether a request is for many rows, in no order or that of their keys.
fn is_fit(table: &Table, request: &ScanRequest) -> bool {
    !table.columns_indexes().is_empty()
        && request.index.is_none()
        && !request.reverse
        && !request.with_row_number
        && request.limit.is_none()
        && request.wanted.is_none_or(|wanted| wanted >= ROWS_MIN)
        && matches!((&request.from, &request.to), (Bound::Unbounded, Bound::Unbounded))
}

/// The number of rows of a request, if columns serve it and it is fulfilled by what they check.
pub(in crate::source) fn count(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    check: &dyn Fn() -> QueryResult<()>,
) -> QueryResult<Option<u64>> {
    if !request.conditions.iter().all(|condition| checks(relation, condition)) {
        return Ok(None);
    }
    let Some(parts) = scan_parts(view, relation, request, 1)? else { return Ok(None) };
    let mut total = 0;
    for mut rows in parts {
        while let Some(batch) = rows.next()? {
            total += batch.row_count as u64;
            check()?;
        }
    }
    Ok(Some(total))
}

/// Whether a scan of a request reads columns.
pub(in crate::source) fn serves(view: &View, relation: &Relation, request: &ScanRequest) -> bool {
    matches!(usable(view, relation, request), Ok(Some(_)))
}

fn usable(view: &View, relation: &Relation, request: &ScanRequest) -> QueryResult<Option<Usable>> {
    let table = table_of(relation)?;
    if !is_fit(&table, request) {
        return Ok(None);
    }
    let key = key_positions(&table);
    let mut indexes: Vec<&ColumnsIndex> = table.columns_indexes().iter().collect();
    // One with few columns before one with all.
    indexes.sort_by_key(|own| if own.columns.is_empty() { usize::MAX } else { own.columns.len() });
    for index in indexes {
        let has = |column: &usize| copies(index, &key, *column);
        let tested = request.conditions.iter().map(|condition| &condition.column);
        if !request.columns.iter().chain(tested).all(has) {
            continue;
        }
        let columns = request.columns.iter();
        let columns = columns.map(|column| (column_path(*column), column_type(&table, *column)));
        let tests = request.conditions.iter();
        let tests = tests.filter_map(|own| test_of(&table, own));
        let among = request.among.iter().filter(|own| has(&own.column)).map(|own| {
            let ty = column_type(&table, own.column);
            PartTest::among(column_path(own.column), ty, own.values.clone())
        });
        let tests = PartTest::merged(tests.chain(among));
        let as_stored = request.as_stored.iter().map(|column| column_path(*column)).collect();
        let wanted = PartRequest { columns: columns.collect(), tests, as_stored };
        let files = view.handle.store.part_folder().of(&index.name);
        let parts = view.read(|reader| {
            if reader.row_count(&table).map_err(from_table)? < ROWS_MIN {
                return Ok(Vec::new());
            }
            reader.row_parts(&table, index).map_err(from_table)
        })?;
        let parts = parts.unwrap_or_default().into_iter().map(|part| {
            // A second look tells whether damage was found in what is wanted.
            let serves = |open: &Arc<OpenPart>| wanted.is_served_by(&open.file);
            let open = files.open(&part).map(|open| Some(open).filter(serves));
            let open = open.and_then(|open| files.open(&part).map(|_| open));
            if let Err(fault) = &open {
                files.report(&part, fault, || is_current(view, &table, index, &part));
            }
            (part.last_key, part.row_count, open.ok().flatten())
        });
        let parts: Vec<_> = parts.collect();
        if parts.iter().any(|(.., open)| open.is_some()) {
            let (index, wanted) = (index.clone(), Arc::new(wanted));
            return Ok(Some(Usable { table, index, parts, wanted }));
        }
    }
    Ok(None)
}

/// Whether the newest commit still has a part, whose files are then needed.
fn is_current(view: &View, table: &Arc<Table>, index: &ColumnsIndex, part: &RowPart) -> bool {
    let Ok(Some(store)) = view.handle.store.tables() else { return false };
    let parts = store.snapshot().reader().row_parts(table, index);
    parts.is_ok_and(|parts| parts.contains(part))
}

/// Whether the parts of an index have a column; they always have those of the key.
fn copies(index: &ColumnsIndex, key: &[usize], column: usize) -> bool {
    index.columns.is_empty() || key.contains(&column) || index.columns.contains(&column)
}

/// What the parts of a columns index say about a column, if there is one.
pub(in crate::source) fn statistics(
    view: &View,
    relation: &Relation,
    column: usize,
) -> QueryResult<Option<Statistics>> {
    if relation.columns_indexes.is_empty() {
        return Ok(None);
    }
    let table = table_of(relation)?;
    let ty = column_type(&table, column);
    let key = key_positions(&table);
    let mut indexes = table.columns_indexes().iter();
    let Some(index) = indexes.find(|index| copies(index, &key, column)) else { return Ok(None) };
    let files = view.handle.store.part_folder().of(&index.name);
    let parts = view.read(|reader| reader.row_parts(&table, index).map_err(from_table))?;
    let (mut rows, mut nulls, mut distinct) = (0.0, 0.0, Some(0.0));
    let mut ends: Option<(f64, f64)> = None;
    for part in parts.unwrap_or_default() {
        let Ok(open) = files.open(&part) else { continue };
        let Some(values) = column_values(&open.file, &column_path(column), &ty) else { continue };
        rows += values.row_count;
        nulls += values.null_count;
        distinct = distinct.zip(values.distinct).map(|(one, two): (f64, f64)| one.max(two));
        for (least, greatest) in &values.ends {
            let Some((least, greatest)) = at(least, &ty).zip(at(greatest, &ty)) else { break };
            let (low, high) = ends.unwrap_or((least, greatest));
            ends = Some((low.min(least), high.max(greatest)));
        }
    }
    let present = if rows > 0.0 { 1.0 - nulls / rows } else { 1.0 };
    let distinct = distinct.filter(|_| rows > 0.0).map(|count| count.max(1.0));
    let ends = ends.map(|(least, greatest)| Ends::Numbers(least, greatest));
    Ok(Some(Statistics { present, distinct, ends }))
}

/// The position of a bound, which is the stored integer of a decimal.
fn at(bound: &Value, ty: &ColumnType) -> Option<f64> {
    match (bound, ty) {
        (Value::Integer(digits), ColumnType::Decimal { .. }) => {
            position(&Value::Decimal(i128::from(*digits)), ty)
        }
        _ => position(bound, ty),
    }
}

/// Whether every scan leaves out the rows that fail a condition: those of columns, of rows that
/// changed, and of the pages.
pub(in crate::source) fn checks(relation: &Relation, condition: &Condition) -> bool {
    let is_compared = matches!(condition.test, Test::Compare(..));
    !relation.columns_indexes.is_empty()
        && is_compared
        && table_of(relation).is_ok_and(|table| test_of(&table, condition).is_some())
}

/// A condition as a test of values in columns, if it has the same outcome for all of them.
fn test_of(table: &Table, condition: &Condition) -> Option<PartTest> {
    let ty = column_type(table, condition.column);
    let test = match &condition.test {
        // These are true for null, or may be.
        Test::Compare(Comparison::Distinct | Comparison::NotDistinct, _) => return None,
        Test::Compare(comparison, value) => PathTest::Compare(*comparison, value.clone()),
        Test::OneOf(values) => PathTest::OneOf(values.clone()),
    };
    let test = ArrayTest::of_column(&ty, &test)?;
    Some(PartTest::new(column_path(condition.column), ty, test))
}

impl Usable {
    fn units(&self, reader: Reader<'_>, in_any_order: bool) -> QueryResult<Units> {
        let mut units = Units::default();
        let mut from = None;
        for (last_key, row_count, open) in &self.parts {
            let to = RowRange::end_after(last_key);
            let span = RowRange { from: std::mem::replace(&mut from, to.clone()), to };
            let Some(open) = open else {
                self.push_span(reader, span, &mut units)?;
                continue;
            };
            let limit = usize::try_from(row_count / CHANGED_SHARE + 1).unwrap_or(usize::MAX);
            let changed = reader.changed_keys(&self.table, &self.index, &span, limit);
            let changed = changed.map_err(from_table)?;
            if changed.len() >= limit {
                self.push_span(reader, span, &mut units)?;
                continue;
            }
            self.push_groups(reader, (open, &span), changed, in_any_order, &mut units)?;
        }
        self.push_span(reader, RowRange { from, to: None }, &mut units)?;
        Ok(units)
    }

    /// Adds the row groups of a part, and the rows that changed in them.
    fn push_groups(
        &self,
        reader: Reader<'_>,
        (open, span): (&OpenPart, &RowRange),
        changed: Vec<Vec<u8>>,
        in_any_order: bool,
        units: &mut Units,
    ) -> QueryResult<()> {
        let found = self.wanted.groups(&open.file, &Arc::from([]));
        units.counts.add(found.groups.len(), found.skipped_count);
        units.changed_count += changed.len();
        let mut groups = found.groups.into_iter().peekable();
        let mut changed = changed.into_iter().peekable();
        let mut from = span.from.clone();
        for (number, last_key) in open.group_keys.iter().enumerate() {
            // Rows after the last one of the part belong to its last group.
            let is_last = number + 1 == open.group_keys.len();
            let to = if is_last { span.to.clone() } else { RowRange::end_after(last_key) };
            let mut own = Vec::new();
            while let Some(key) = changed.next_if(|key| is_last || key <= last_key) {
                own.push(key);
            }
            let group = groups.next_if(|group| group.number() == number);
            let rows = RowRange { from: std::mem::replace(&mut from, to.clone()), to };
            match group {
                _ if !own.is_empty() && !in_any_order => self.push_span(reader, rows, units)?,
                Some(group) => units.all.push(Unit::Group(group, own)),
                None if own.is_empty() => {}
                None => units.all.push(Unit::Changed(own)),
            }
        }
        Ok(())
    }

    fn push_span(&self, reader: Reader<'_>, span: RowRange, units: &mut Units) -> QueryResult<()> {
        let rows = reader.estimate_range(&self.table, &span).map_err(from_table)?;
        units.row_count += rows;
        units.all.push(Unit::Span(span, rows));
        Ok(())
    }
}

/// A scan of a request in about `count` parts, with a columns index; `None` if there is none that
/// serves.
pub(in crate::source) fn scan_parts(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    count: usize,
) -> QueryResult<Option<Vec<Box<dyn RowStream>>>> {
    let Some(usable) = usable(view, relation, request)? else { return Ok(None) };
    let units =
        view.read(|reader| usable.units(reader, request.in_any_order))?.ok_or_else(ended)?;
    let mut all = Vec::new();
    for unit in units.all {
        match unit {
            Unit::Span(span, rows) => {
                let pieces = (rows / SPAN_ROWS).clamp(1, count as u64);
                let within = (relation, Some(&span));
                let scans = tables::begin_parts(view, within, request, pieces as usize)?;
                all.extend(scans.into_iter().map(|scan| Unit::Rows(Box::new(scan), rows / pieces)));
            }
            unit => all.push(unit),
        }
    }
    if request.in_any_order {
        all = usable.wanted.put_first(all, |unit| match unit {
            Unit::Group(group, _) => Some(group),
            Unit::Changed(_) | Unit::Span(..) | Unit::Rows(..) => None,
        });
    }
    let mut looked_up = request.columns.clone();
    let tests = usable.wanted.tests.iter();
    looked_up.extend(tests.filter_map(|test| column_at(&test.path)));
    let shared = Arc::new(Shared {
        view: view.clone(),
        key: KeyColumns::new(&usable.table),
        table: usable.table,
        wanted: usable.wanted,
        looked_up,
    });
    let changed = |keys: &Arc<[Vec<u8>]>| {
        let rows = ChangedRows { shared: Arc::clone(&shared), keys: Arc::clone(keys), done: 0 };
        opening(|| Ok(rows))
    };
    let stream = |units: Vec<Unit>| {
        let mut openings = Vec::new();
        for unit in units {
            match unit {
                Unit::Group(group, keys) => {
                    let (shared, keys) = (Arc::clone(&shared), Arc::from(keys));
                    let after = changed(&keys);
                    openings.push(opening(move || shared.group(group, &keys)));
                    openings.push(after);
                }
                Unit::Changed(keys) => openings.push(changed(&Arc::from(keys))),
                Unit::Rows(rows, _) => openings.push(opening(|| Ok(*rows))),
                Unit::Span(..) => unreachable!("spans have become rows"),
            }
        }
        Box::new(InTurn::new(openings, None)) as Box<dyn RowStream>
    };
    Ok(Some(distributed(all, count, Unit::weight).into_iter().map(stream).collect()))
}

/// What a scan of a request reads, for EXPLAIN; `None` for a table without a columns index.
pub(in crate::source) fn describe(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
) -> Option<String> {
    let table = table_of(relation).ok()?;
    if table.columns_indexes().is_empty() {
        return None;
    }
    let Some(usable) = usable(view, relation, request).ok()? else {
        return Some("rows".to_owned());
    };
    let units = view.read(|reader| usable.units(reader, request.in_any_order)).ok()??;
    let Units { counts, changed_count, row_count, .. } = units;
    let mut text = counts.describe(&usable.index.name);
    if changed_count > 0 {
        text.push_str(&format!(", {changed_count} changed rows"));
    }
    if row_count > 0 {
        text.push_str(&format!(", about {row_count} rows of the table"));
    }
    Some(text)
}

/// What the parts of a scan share.
struct Shared {
    view: View,
    table: Arc<Table>,
    wanted: Arc<PartRequest>,
    key: KeyColumns,
    /// The columns to look up for rows that changed: those of the result, then one for each test.
    looked_up: Vec<usize>,
}

impl Shared {
    /// A row group without its rows with these keys.
    fn group(&self, group: PartGroup, changed: &[Vec<u8>]) -> QueryResult<PartRows> {
        if changed.is_empty() {
            return PartRows::new(&self.wanted, group, BATCH_SIZE);
        }
        let dead = self.key.rows_of(&group, changed)?;
        PartRows::new(&self.wanted, group.without(&dead), BATCH_SIZE)
    }

    /// The rows with these keys, as they are now.
    fn changed(&self, keys: &[Vec<u8>]) -> QueryResult<Batch> {
        let found: Option<Lookup> = self.view.read(|reader| {
            reader.lookup_encoded(&self.table, keys, &self.looked_up).map_err(from_table)
        })?;
        let rows = found.ok_or_else(ended)?.rows;
        let (columns, tested) = rows.columns().split_at(self.wanted.columns.len());
        let mut passed = BooleanBuffer::new_set(rows.num_rows());
        for (column, own) in tested.iter().zip(&self.wanted.tests) {
            let passes = own.passes(column).ok_or_else(ended)?;
            passed = &passed & &passes;
        }
        let filter = FilterBuilder::new(&BooleanArray::new(passed, None)).build();
        let columns = columns.iter().map(|column| filter.filter(column));
        Ok(Batch::new(columns.collect::<Result<_, _>>()?, filter.count()))
    }
}

/// The rows with some keys, as they are now.
struct ChangedRows {
    shared: Arc<Shared>,
    keys: Arc<[Vec<u8>]>,
    /// How many keys were looked up.
    done: usize,
}

impl RowStream for ChangedRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let left = &self.keys[self.done..];
        let some = &left[..left.len().min(BATCH_SIZE)];
        self.done += some.len();
        if some.is_empty() { Ok(None) } else { self.shared.changed(some).map(Some) }
    }
}
