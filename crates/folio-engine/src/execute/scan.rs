//! Reads relations: scans, lookups by key, counts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, Int64Array, NullArray, UInt32Array};
use folio_types::{ColumnType, Value, borrowed};

use super::Operator;
use crate::array::to_array;
use crate::batch::Batch;
use crate::context::{Context, Parameters};
use crate::error::{Error, Result};
use crate::expression::evaluate::{self, constant};
use crate::expression::keys::KeyTable;
use crate::expression::{ColumnId, Expr, cast};
use crate::plan::physical;
use crate::plan::terms::Path;
use crate::source::{
    Bound, Condition, Keys, Relation, RelationKind, RowStream, ScanRequest, Source, Test,
};

/// Rows of a relation that pass the filters.
///
/// A pattern filter usually passes few rows of a table. Columns that no filter reads are then
/// fetched only for those rows.
pub(super) struct Scan {
    node: Arc<physical::Scan>,
    /// The columns of the node to fetch late, by position.
    late: Vec<usize>,
    /// `None` if no row can match.
    rows: Option<Box<dyn RowStream>>,
    left: u64,
}

impl Scan {
    pub(super) fn begin(node: &Arc<physical::Scan>, context: &Context) -> Result<Self> {
        let late = late_columns(node);
        let rows = match &node.path {
            Path::Keys { index, keys } => Some(by_keys(node, *index, keys, context)?),
            _ => match request(node, &late, context)? {
                Some(request) => Some(context.source()?.scan(&node.relation, &request)?),
                None => None,
            },
        };
        Ok(Self { node: Arc::clone(node), late, rows, left: node.limit.unwrap_or(u64::MAX) })
    }

    /// A part of a scan, with the same late columns as the whole.
    pub(super) fn of_part(
        node: Arc<physical::Scan>,
        late: Vec<usize>,
        rows: Box<dyn RowStream>,
    ) -> Self {
        Self { node, late, rows: Some(rows), left: u64::MAX }
    }

    /// The next rows that pass. Calls `go_on` for every batch read.
    pub(super) fn passed(
        &mut self,
        go_on: impl Fn() -> Result<()>,
        context: &Context,
    ) -> Result<Option<Batch>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        while self.left > 0
            && let Some(batch) = rows.next()?
        {
            go_on()?;
            let batch = match &self.late[..] {
                [] => batch,
                late => with_places(batch, late, self.node.columns.len()),
            };
            let mut passed = evaluate::filter(&self.node.filters, batch, context)?;
            if passed.row_count as u64 > self.left {
                passed = passed.slice(0, usize::try_from(self.left).unwrap_or(usize::MAX));
            }
            self.left -= passed.row_count as u64;
            if passed.row_count > 0 && !self.late.is_empty() {
                passed = fetch_late(&mut **rows, passed, &self.late, &self.node)?;
            }
            if passed.row_count > 0 {
                return Ok(Some(passed));
            }
        }
        Ok(None)
    }
}

/// The columns worth fetching late: those that no filter reads, if one filter is a pattern.
pub(super) fn late_columns(node: &physical::Scan) -> Vec<usize> {
    let is_fit = node.relation.kind == RelationKind::Table
        && matches!(node.path, Path::Full | Path::Range { index: None, .. })
        && node.filters.iter().any(|filter| matches!(filter, Expr::Match { .. }));
    if !is_fit || node.with_row_number {
        return Vec::new();
    }
    let read: Vec<usize> = node.filters.iter().flat_map(Expr::columns).map(place_of).collect();
    let late: Vec<usize> = (0..node.columns.len()).filter(|at| !read.contains(at)).collect();
    if late.len() == node.columns.len() { Vec::new() } else { late }
}

fn place_of(column: ColumnId) -> usize {
    column.0 as usize
}

/// A batch with all columns of the node, empty ones for late columns, and the positions of the
/// rows as the last column.
fn with_places(batch: Batch, late: &[usize], width: usize) -> Batch {
    let count = batch.row_count;
    let mut early = batch.columns.into_iter();
    let nothing: ArrayRef = Arc::new(NullArray::new(count));
    let place = |at: usize| if late.contains(&at) { None } else { early.next() };
    let mut columns: Vec<ArrayRef> = (0..width)
        .map(place)
        .map(|column| column.unwrap_or_else(|| ArrayRef::clone(&nothing)))
        .collect();
    columns.push(Arc::new(UInt32Array::from_iter_values(0..count as u32)));
    Batch::new(columns, count)
}

/// Puts the late columns in their places.
fn fetch_late(
    rows: &mut dyn RowStream,
    mut batch: Batch,
    late: &[usize],
    node: &physical::Scan,
) -> Result<Batch> {
    let Some(positions) = batch.columns.pop() else { return Ok(batch) };
    let wanted: Vec<usize> = late.iter().map(|at| node.columns[*at]).collect();
    let fetched = rows.more(&wanted, positions.as_primitive::<UInt32Type>().values())?;
    for (at, column) in late.iter().zip(fetched) {
        batch.columns[*at] = column;
    }
    Ok(batch)
}

impl Operator for Scan {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        self.passed(|| context.check(), context)
    }
}

/// The rows with these keys, looked up in ascending order of keys.
fn by_keys(
    node: &physical::Scan,
    index: Option<usize>,
    keys: &[Expr],
    context: &Context,
) -> Result<Box<dyn RowStream>> {
    let relation = &node.relation;
    let wanted = relation.column_type(relation.key_columns(index)[0]);
    let mut values = Vec::with_capacity(keys.len());
    for key in keys {
        // Null equals nothing, and neither does a value outside of the column's type.
        if let Fit::Value(value) = fit(constant(key, context)?, &key.ty(), wanted) {
            values.push(value);
        }
    }
    // A key that is listed twice finds its rows once.
    let mut first_rows = Vec::new();
    let mut distinct = KeyTable::new(std::slice::from_ref(wanted))?;
    distinct.intern(&[to_array(values.iter(), wanted)?], values.len(), &mut first_rows)?;
    let values = first_rows.iter().map(|row| std::mem::take(&mut values[*row as usize])).collect();
    Ok(Box::new(KeyRows {
        source: Arc::clone(context.source()?),
        relation: Arc::clone(relation),
        columns: node.columns.clone(),
        index,
        values,
        next: 0,
    }))
}

/// Number of keys that are looked up together.
const KEYS_AT_ONCE: usize = 1024;

/// The rows of a list of keys.
struct KeyRows {
    source: Arc<dyn Source>,
    relation: Arc<Relation>,
    columns: Vec<usize>,
    index: Option<usize>,
    values: Vec<Value>,
    /// The first key that is not looked up yet.
    next: usize,
}

impl RowStream for KeyRows {
    fn next(&mut self) -> Result<Option<Batch>> {
        while self.next < self.values.len() {
            let end = self.values.len().min(self.next + KEYS_AT_ONCE);
            let values = &self.values[self.next..end];
            self.next = end;
            let keys = Keys { index: self.index, width: 1, values };
            let found = self.source.look_up(&self.relation, keys, &self.columns)?;
            if found.rows.row_count > 0 {
                return Ok(Some(found.rows));
            }
        }
        Ok(None)
    }
}

/// The request to the source; `None` if a bound is null or out of range, so that no row can
/// match.
pub(super) fn request(
    node: &physical::Scan,
    late: &[usize],
    context: &Context,
) -> Result<Option<ScanRequest>> {
    let columns = node.columns.iter().enumerate();
    let mut request = ScanRequest {
        columns: columns.filter(|(at, _)| !late.contains(at)).map(|(_, column)| *column).collect(),
        reverse: node.reverse,
        conditions: conditions(node, context)?,
        limit: if node.filters.is_empty() { node.limit } else { None },
        wanted: node.limit,
        with_row_number: node.with_row_number,
        ..ScanRequest::default()
    };
    let Path::Range { index, equal, from, to } = &node.path else { return Ok(Some(request)) };
    request.index = *index;
    let key = node.relation.key_columns(*index);
    let Some(prefix) = key_values(equal, &node.relation, &key, context)? else { return Ok(None) };
    let next = key.get(prefix.len()).copied();
    let bound = |end: &Option<(Expr, bool)>, slot: &mut Bound, is_from: bool| -> Result<bool> {
        let Some((end, is_in)) = end else {
            if !prefix.is_empty() {
                *slot = Bound::Included(prefix.clone());
            }
            return Ok(true);
        };
        let value = constant(end, context)?;
        let wanted =
            next.map_or(ColumnType::Int64, |column| node.relation.column_type(column).clone());
        let value = match fit(value, &end.ty(), &wanted) {
            Fit::Value(value) => value,
            Fit::Null => return Ok(false),
            // Out of the column's range: all rows match this bound, or none.
            Fit::Above => return Ok(!is_from),
            Fit::Below => return Ok(is_from),
        };
        let mut values = prefix.clone();
        values.push(value);
        *slot = if *is_in { Bound::Included(values) } else { Bound::Excluded(values) };
        Ok(true)
    };
    let is_possible = bound(from, &mut request.from, true)? && bound(to, &mut request.to, false)?;
    Ok(is_possible.then_some(request))
}

/// The filters that compare a column with a constant, which the source can check before it
/// decodes rows.
fn conditions(node: &physical::Scan, context: &Context) -> Result<Vec<Condition>> {
    let mut conditions = Vec::new();
    for filter in &node.filters {
        if let Some((column, comparison, value)) = node.compared(filter)
            && value.is_given()
            && let wanted = node.relation.column_type(column)
            && let Fit::Value(value) = fit(constant(value, context)?, &value.ty(), wanted)
        {
            conditions.push(Condition { column, test: Test::Compare(comparison, value) });
        }
        if let Some((column, values)) = among(filter, node, context)? {
            conditions.push(Condition { column, test: Test::OneOf(values) });
        }
    }
    Ok(conditions)
}

/// The column and the values of a list in a filter.
fn among(
    filter: &Expr,
    node: &physical::Scan,
    context: &Context,
) -> Result<Option<(usize, Vec<Value>)>> {
    let (input, given): (_, Vec<(Value, ColumnType)>) = match filter {
        Expr::InSet { input, set } => {
            (input, set.values.iter().map(|value| (value.clone(), set.ty.clone())).collect())
        }
        Expr::InList { input, list } if list.iter().all(Expr::is_given) => {
            let value = |value: &Expr| Ok((constant(value, context)?, value.ty()));
            (input, list.iter().map(value).collect::<Result<_>>()?)
        }
        _ => return Ok(None),
    };
    let Some(column) = node.own_column(input) else { return Ok(None) };
    let wanted = node.relation.column_type(column);
    // Null and values outside of the column's type equal nothing.
    let fitting = given.into_iter().filter_map(|(value, ty)| match fit(value, &ty, wanted) {
        Fit::Value(value) => Some(value),
        _ => None,
    });
    Ok(Some((column, fitting.collect())))
}

/// The values of a key; `None` if no row can match.
pub(crate) fn key_values(
    expressions: &[Expr],
    relation: &Relation,
    key: &[usize],
    given: &impl Parameters,
) -> Result<Option<Vec<Value>>> {
    let mut values = Vec::with_capacity(expressions.len());
    for (expression, column) in expressions.iter().zip(key) {
        match fit(constant(expression, given)?, &expression.ty(), relation.column_type(*column)) {
            Fit::Value(value) => values.push(value),
            _ => return Ok(None),
        }
    }
    // Relations without a key use the hidden row number.
    if key.is_empty() && !expressions.is_empty() {
        values.push(constant(&expressions[0], given)?);
    }
    Ok(Some(values))
}

/// A value converted to the type of a key column.
pub(super) enum Fit {
    Value(Value),
    Null,
    Above,
    Below,
}

/// Converts a value to the type of a key column. The planner guarantees that the cast, if
/// possible, loses nothing.
pub(super) fn fit(value: Value, from: &ColumnType, to: &ColumnType) -> Fit {
    if matches!(value, Value::Null) {
        return Fit::Null;
    }
    if from == to {
        return Fit::Value(value);
    }
    match (cast::cast_value(&value, from, to), &value) {
        (Ok(value), _) => Fit::Value(value),
        (Err(_), Value::Integer(value)) if *value < 0 => Fit::Below,
        (Err(_), _) => Fit::Above,
    }
}

/// The row with a primary key.
pub(super) struct Lookup {
    node: Arc<physical::Lookup>,
    is_done: bool,
}

impl Lookup {
    pub(super) fn new(node: &Arc<physical::Lookup>) -> Self {
        Self { node: Arc::clone(node), is_done: false }
    }
}

impl Operator for Lookup {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(None);
        }
        let node = &self.node;
        let mut row = Vec::with_capacity(node.columns.len());
        if !look_up(node, context, &mut row)? {
            return Ok(None);
        }
        let columns = row.iter().zip(&node.columns).map(|(value, column)| {
            to_array(std::iter::once(value), node.relation.column_type(*column))
        });
        let batch = Batch::new(columns.collect::<Result<_>>()?, 1);
        evaluate::filter(&node.filters, batch, context).map(Some)
    }
}

/// The row with a primary key, before its filters.
pub(crate) fn look_up(
    node: &physical::Lookup,
    context: &Context,
    row: &mut Vec<Value>,
) -> Result<bool> {
    let relation = &node.relation;
    let key = key_values(&node.key, relation, &relation.schema.primary_key, context)?;
    let Some(key) = key else { return Ok(false) };
    context.source()?.get(relation, &borrowed(&key), &node.columns, row)
}

/// The number of rows of a scan.
pub(super) struct RowCount {
    node: Arc<physical::Scan>,
    is_done: bool,
}

impl RowCount {
    pub(super) fn new(node: &Arc<physical::Scan>) -> Self {
        Self { node: Arc::clone(node), is_done: false }
    }
}

/// The number of rows of a scan: known to the source, counted by it, or by reading them.
pub(crate) fn row_count(node: &Arc<physical::Scan>, context: &Context) -> Result<i64> {
    let counted = match counted(node, context)? {
        Some(count) => count,
        None => {
            let mut rows = Scan::begin(node, context)?;
            let mut count = 0;
            while let Some(batch) = rows.next(context)? {
                count += batch.row_count as u64;
            }
            count
        }
    };
    i64::try_from(counted).map_err(|_| Error::invalid("there are too many rows to count"))
}

/// The number of rows of a scan, if the source can count them.
fn counted(node: &physical::Scan, context: &Context) -> Result<Option<u64>> {
    let (source, relation) = (context.source()?, &node.relation);
    if node.limit.is_some() || matches!(node.path, Path::Keys { .. }) {
        return Ok(None);
    }
    if node.filters.is_empty() && matches!(node.path, Path::Full) {
        return source.row_count(relation);
    }
    let Some(mut request) = request(node, &[], context)? else { return Ok(Some(0)) };
    if request.conditions.len() < node.filters.len() {
        return Ok(None);
    }
    request.columns.clear();
    source.count(relation, &request, &|| context.check())
}

/// The keys of a scan's rows, if the plan returns only them and few rows are read. Operators and
/// arrays would cost many times more than such rows.
pub(crate) fn few_keys(plan: &physical::Physical, context: &Context) -> Result<Option<Vec<Value>>> {
    let physical::Physical::Project(project) = plan else { return Ok(None) };
    let physical::Physical::Scan(node) = &project.input else { return Ok(None) };
    let ([Expr::Column(column)], [key]) =
        (&project.expressions[..], &node.relation.schema.primary_key[..])
    else {
        return Ok(None);
    };
    let is_key = node.columns.get(place_of(column.id)) == Some(key);
    if !is_key
        || node.relation.kind != RelationKind::Table
        || matches!(node.path, Path::Keys { .. })
    {
        return Ok(None);
    }
    let Some(mut request) = request(node, &[], context)? else { return Ok(Some(Vec::new())) };
    if request.conditions.len() < node.filters.len() {
        return Ok(None);
    }
    request.limit = node.limit;
    let mut keys = Vec::new();
    let are_all = context.source()?.few_keys(&node.relation, &request, &mut keys)?;
    Ok(are_all.then_some(keys))
}

impl Operator for RowCount {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(None);
        }
        let count = row_count(&self.node, context)?;
        let column: ArrayRef = Arc::new(Int64Array::from(vec![count]));
        Ok(Some(Batch::new(vec![column], 1)))
    }
}
