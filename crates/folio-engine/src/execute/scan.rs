//! Reads relations: scans, lookups by key, counts.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use folio_compute::array::to_array;
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Error, Result};
use folio_types::{Value, ValueRef};

use super::Operator;
use super::reading::{Fit, Reading, fit, request, with_key};
use crate::context::{Context, Parameters};
use crate::expression::Expr;
use crate::expression::evaluate::{self, constant};
use crate::plan::physical;
use crate::plan::terms::{COLUMNS_ADVANTAGE, Path, ROWS_PER_FETCH};
use crate::source::{Keys, Relation, RelationKind, RowStream, Source};

/// The rows of a relation from which on it matters how they are found.
const MANY_ROWS: u64 = 1024;

/// As [`ROWS_PER_FETCH`], of documents, whose lines have to be read either way.
const DOCUMENTS_PER_FETCH: f64 = 8.0;

/// A scan, or another in its place that takes less time. What ranges have is known only now, with
/// the parameters.
pub(crate) fn cheapest<'n>(
    node: &'n Arc<physical::Scan>,
    context: &Context,
) -> Result<&'n Arc<physical::Scan>> {
    let Some(instead) = &node.instead else { return Ok(node) };
    let row_count = context.source()?.row_count(&node.relation)?.unwrap_or(0);
    if row_count < MANY_ROWS {
        return Ok(node);
    }
    let costs = [cost(node, row_count, context)?, cost(instead, row_count, context)?];
    let [Some(own), Some(other)] = costs else { return Ok(node) };
    Ok(if own > other { instead } else { node })
}

/// About how many rows of a scan in the order of keys take as long; `None` if that is unknown.
fn cost(node: &physical::Scan, row_count: u64, context: &Context) -> Result<Option<f64>> {
    let relation = &node.relation;
    let Path::Range { index, .. } = &node.path else { return Ok(Some(row_count as f64)) };
    let Some(request) = request(node, context)? else { return Ok(Some(0.0)) };
    let found = context.source()?.range_count(relation, &request)?;
    let per_row = match (index, relation.kind) {
        (None, _) => 1.0,
        (Some(_), RelationKind::Table) => ROWS_PER_FETCH,
        (Some(_), _) => DOCUMENTS_PER_FETCH,
    };
    let advantage = match index.is_some() && !relation.columns_indexes.is_empty() {
        true => COLUMNS_ADVANTAGE,
        false => 1.0,
    };
    Ok(found.map(|found| found as f64 * per_row * advantage))
}

/// Rows of a relation that pass the filters.
pub(super) struct Scan {
    reading: Arc<Reading>,
    /// `None` if no row can match.
    rows: Option<Box<dyn RowStream>>,
    left: u64,
}

impl Scan {
    pub(super) fn begin(node: &Arc<physical::Scan>, context: &Context) -> Result<Self> {
        let (reading, rows) = match &node.path {
            Path::Keys { index, keys } => {
                (Reading::whole(node), Some(by_keys(node, *index, keys, context)?))
            }
            _ => {
                let (reading, request) = Reading::begin(node, context)?;
                let source = context.source()?;
                let rows = request.map(|request| source.scan(&node.relation, &request));
                (reading, rows.transpose()?)
            }
        };
        let left = node.limit.unwrap_or(u64::MAX);
        Ok(Self { reading: Arc::new(reading), rows, left })
    }

    /// A part of a scan.
    pub(super) fn of_part(reading: Arc<Reading>, rows: Box<dyn RowStream>) -> Self {
        Self { reading, rows: Some(rows), left: u64::MAX }
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
            let batch = self.reading.placed(batch);
            let mut passed = evaluate::filter(self.reading.filters(), batch, context)?;
            if passed.row_count as u64 > self.left {
                passed = passed.slice(0, usize::try_from(self.left).unwrap_or(usize::MAX));
            }
            self.left -= passed.row_count as u64;
            if passed.row_count > 0 {
                return self.reading.complete(&mut **rows, passed).map(Some);
            }
        }
        Ok(None)
    }
}

impl Operator for Scan {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        self.passed(|| context.check(), context)
    }

    fn skip(&mut self, count: u64, context: &Context) -> Result<u64> {
        match &mut self.rows {
            Some(rows) if self.reading.is_unfiltered() => {
                let passed = skip(&mut **rows, count.min(self.left), context)?;
                self.left -= passed;
                Ok(passed)
            }
            _ => Ok(0),
        }
    }
}

/// How many rows are skipped before the limits are checked.
const SKIPPED_AT_ONCE: u64 = 1 << 16;

/// Skips rows of a scan that has begun, as far as its source can.
pub(super) fn skip(rows: &mut dyn RowStream, count: u64, context: &Context) -> Result<u64> {
    let mut skipped = 0;
    while skipped < count {
        context.check()?;
        let wanted = SKIPPED_AT_ONCE.min(count - skipped);
        let passed = rows.skip(wanted)?;
        skipped += passed;
        if passed < wanted {
            break;
        }
    }
    Ok(skipped)
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
        if !look_up(node, &**context.source()?, context, &mut row)? {
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
    source: &dyn Source,
    given: &impl Parameters,
    row: &mut Vec<Value>,
) -> Result<bool> {
    let relation = &node.relation;
    let get = |key: &[ValueRef<'_>]| source.get(relation, key, &node.columns, row);
    with_key(&node.key, relation, None, given, get)?.unwrap_or(Ok(false))
}

/// The row with the values of an index that a scan asks for, if there is one; `None` if there are
/// several.
pub(crate) fn find_only(
    node: &physical::Scan,
    columns: &[usize],
    source: &dyn Source,
    given: &impl Parameters,
) -> Result<Option<Option<Vec<Value>>>> {
    let Path::Range { index: Some(index), equal, .. } = &node.path else { return Ok(None) };
    let relation = &node.relation;
    let find = |key: &[ValueRef<'_>]| source.find_only(relation, *index, key, columns);
    with_key(equal, relation, Some(*index), given, find)?.unwrap_or(Ok(Some(None)))
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
pub(crate) fn row_count(
    node: &Arc<physical::Scan>,
    source: &dyn Source,
    given: &impl Parameters,
) -> Result<i64> {
    let counted = match counted(node, source, given)? {
        Some(count) => count,
        None => {
            let context = given.context();
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
fn counted(
    node: &physical::Scan,
    source: &dyn Source,
    given: &impl Parameters,
) -> Result<Option<u64>> {
    let relation = &node.relation;
    if node.limit.is_some() || matches!(node.path, Path::Keys { .. }) {
        return Ok(None);
    }
    if node.filters.is_empty() && matches!(node.path, Path::Full) {
        return source.exact_row_count(relation);
    }
    let Some(mut request) = request(node, given)? else { return Ok(Some(0)) };
    if request.conditions.len() < node.filters.len() {
        return Ok(None);
    }
    request.columns.clear();
    request.in_any_order = true;
    source.count(relation, &request, &|| given.context().check())
}

impl Operator for RowCount {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(None);
        }
        let node = cheapest(&self.node, context)?;
        let count = row_count(node, &**context.source()?, context)?;
        let column: ArrayRef = Arc::new(Int64Array::from(vec![count]));
        Ok(Some(Batch::new(vec![column], 1)))
    }
}
