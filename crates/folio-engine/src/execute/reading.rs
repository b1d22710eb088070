//! What a scan asks of its source, and what is left for the engine to do.
//!
//! Conditions on single columns go to the source. Where it promises to check one, the engine does
//! not apply that filter again, and a column that only such filters read is never produced: it is
//! null in the batches. Texts that only other filters read become null once those have passed.
//!
//! A pattern filter usually passes few rows of a table. Columns that no filter reads are then
//! fetched late, only for those rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, NullArray, UInt32Array};
use folio_compute::array::nulls;
use folio_compute::{Batch, Result, cast};
use folio_types::{ColumnType, Comparison, Value, ValueRef, borrowed};

use crate::context::{Context, Parameters};
use crate::expression::evaluate::{constant, constant_ref};
use crate::expression::{ColumnId, Expr};
use crate::plan::physical;
use crate::plan::terms::{Nulls, Path};
use crate::source::{Bound, Condition, Relation, RelationKind, RowStream, ScanRequest, Test};

/// How the source and the engine share the work of a scan.
pub(super) struct Reading {
    node: Arc<physical::Scan>,
    /// The filters that the source does not check.
    filters: Vec<Expr>,
    /// The columns that are read, by their place in the node.
    read: Vec<Read>,
}

/// When a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// With its row.
    Early,
    /// For rows that pass the filters.
    Late,
    /// Never: only the source looks at it.
    Never,
}

/// The filters of a scan that its source does not promise to check.
///
/// # Errors
/// Errors of constants in the filters.
pub(super) fn unchecked(node: &physical::Scan, context: &Context) -> Result<Vec<Expr>> {
    let source = context.source()?;
    let mut filters = Vec::new();
    for filter in &node.filters {
        let condition = condition(filter, node, context)?;
        let checks = |condition| source.checks(&node.relation, &condition);
        if !condition.is_some_and(checks) {
            filters.push(filter.clone());
        }
    }
    Ok(filters)
}

impl Reading {
    /// All columns, and all filters applied by the engine.
    pub(super) fn whole(node: &Arc<physical::Scan>) -> Self {
        let read = vec![Read::Early; node.columns.len()];
        Self { node: Arc::clone(node), filters: node.filters.clone(), read }
    }

    /// With the request to the source; `None` if no row can match.
    pub(super) fn begin(
        node: &Arc<physical::Scan>,
        context: &Context,
    ) -> Result<(Self, Option<ScanRequest>)> {
        let mut reading = Self::whole(node);
        let Some(mut request) = request(node, context)? else { return Ok((reading, None)) };
        if node.filters.is_empty() {
            return Ok((reading, Some(request)));
        }
        let source = context.source()?;
        let filters = unchecked(node, context)?;
        let is_filtered = places_in(&filters, node.columns.len());
        for at in node.only_filtered.iter().filter(|at| !is_filtered[**at]) {
            reading.read[*at] = Read::Never;
        }
        reading.filters = filters;
        if source.reads_late(&node.relation, &request) {
            reading.choose_late();
        }
        let columns = node.columns.iter().zip(&reading.read);
        let early = columns.filter(|(_, read)| **read == Read::Early);
        request.columns = early.map(|(column, _)| *column).collect();
        Ok((reading, Some(request)))
    }

    /// The filters that rows of the source still have to pass.
    pub(super) fn filters(&self) -> &[Expr] {
        &self.filters
    }

    /// Whether all rows of the scan are wanted.
    pub(super) fn is_unfiltered(&self) -> bool {
        self.node.filters.is_empty()
    }

    /// Chooses the columns that no filter reads to be late, if that is worth it.
    fn choose_late(&mut self) {
        let node = &self.node;
        let is_fit = node.relation.kind == RelationKind::Table
            && matches!(node.path, Path::Full | Path::Range { index: None, .. })
            && self.filters.iter().any(|filter| matches!(filter, Expr::Match { .. }))
            && !node.with_row_number;
        let is_filtered = places_in(&self.filters, self.read.len());
        if is_fit && is_filtered.contains(&true) {
            for (read, _) in self.read.iter_mut().zip(is_filtered).filter(|(_, is)| !is) {
                *read = Read::Late;
            }
        }
    }

    fn has_late(&self) -> bool {
        self.read.contains(&Read::Late)
    }

    /// A batch of the source with a column for each of the node. If some are late, the last column
    /// has the positions of the rows.
    pub(super) fn placed(&self, batch: Batch) -> Batch {
        if self.read.iter().all(|read| *read == Read::Early) {
            return batch;
        }
        let count = batch.row_count;
        let mut given = batch.columns.into_iter();
        let column = |(column, read): (&usize, &Read)| match read {
            Read::Early => given.next(),
            Read::Late => Some(Arc::new(NullArray::new(count)) as ArrayRef),
            Read::Never => Some(nulls(self.node.relation.column_type(*column), count)),
        };
        let mut columns: Vec<_> =
            self.node.columns.iter().zip(&self.read).filter_map(column).collect();
        columns.extend(given);
        if self.has_late() {
            columns.push(Arc::new(UInt32Array::from_iter_values(0..count as u32)));
        }
        Batch::new(columns, count)
    }

    /// A batch of [`Self::placed`] that has passed the filters, with its late columns, and without
    /// the texts that only filters read, which joins would copy.
    pub(super) fn complete(&self, rows: &mut dyn RowStream, mut batch: Batch) -> Result<Batch> {
        for at in &self.node.only_filtered {
            let ty = self.node.relation.column_type(self.node.columns[*at]);
            if matches!(ty, ColumnType::Text | ColumnType::Json | ColumnType::Binary) {
                batch.columns[*at] = nulls(ty, batch.row_count);
            }
        }
        if !self.has_late() {
            return Ok(batch);
        }
        let Some(positions) = batch.columns.pop() else { return Ok(batch) };
        let late = self.read.iter().enumerate().filter(|(_, read)| **read == Read::Late);
        let places: Vec<usize> = late.map(|(at, _)| at).collect();
        let wanted: Vec<usize> = places.iter().map(|at| self.node.columns[*at]).collect();
        let fetched = rows.more(&wanted, positions.as_primitive::<UInt32Type>().values())?;
        for (at, column) in places.iter().zip(fetched) {
            batch.columns[*at] = column;
        }
        Ok(batch)
    }
}

/// Which of `count` columns some filter reads.
fn places_in(filters: &[Expr], count: usize) -> Vec<bool> {
    let mut read = vec![false; count];
    for ColumnId(at) in filters.iter().flat_map(Expr::columns) {
        if let Some(read) = read.get_mut(at as usize) {
            *read = true;
        }
    }
    read
}

/// The request to the source; `None` if a bound is null or out of range, so that no row can
/// match.
pub(crate) fn request(
    node: &physical::Scan,
    given: &impl Parameters,
) -> Result<Option<ScanRequest>> {
    let mut request = ScanRequest {
        columns: node.columns.clone(),
        reverse: node.reverse,
        in_any_order: !node.is_in_order,
        conditions: conditions(node, given)?,
        limit: if node.filters.is_empty() { node.limit } else { None },
        wanted: node.limit,
        with_row_number: node.with_row_number,
        ..ScanRequest::default()
    };
    let Path::Range { index, equal, from, to, nulls } = &node.path else {
        return Ok(Some(request));
    };
    request.index = *index;
    let types: Vec<_> = node.relation.key_types(*index).collect();
    let Some(prefix) = key_values(equal, types.iter().copied(), given)? else {
        return Ok(None);
    };
    let next = types.get(prefix.len()).copied();
    let bound = |end: &Option<(Expr, bool)>, slot: &mut Bound, is_from: bool| -> Result<bool> {
        let Some((end, is_in)) = end else {
            if !prefix.is_empty() {
                *slot = Bound::Included(prefix.clone());
            }
            return Ok(true);
        };
        let value = constant(end, given)?;
        let value = match fit(value, &end.ty(), next.unwrap_or(&ColumnType::Int64)) {
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
    match nulls {
        Nulls::Any => {}
        Nulls::None => leave_out_nulls(node, &prefix, &mut request),
        Nulls::Only => {
            let null = || Bound::Included(prefix.iter().cloned().chain([Value::Null]).collect());
            (request.from, request.to) = (null(), null());
        }
    }
    Ok(is_possible.then_some(request))
}

/// Ends a range before, or begins it after, the rows with null in the column that follows `prefix`.
fn leave_out_nulls(node: &physical::Scan, prefix: &[Value], request: &mut ScanRequest) {
    let column = match request.index {
        Some(index) => node.relation.indexes[index].columns.get(prefix.len()).copied(),
        None => None, // a primary key has no nulls
    };
    let Some((_, descends)) = column.filter(|(own, _)| node.relation.is_nullable(*own)) else {
        return;
    };
    let end = if descends { &mut request.from } else { &mut request.to };
    let is_given = match end {
        Bound::Included(values) | Bound::Excluded(values) => values.len() > prefix.len(),
        Bound::Unbounded => false,
    };
    if !is_given {
        let null = prefix.iter().cloned().chain([Value::Null]);
        *end = Bound::Excluded(null.collect());
    }
}

/// The filters that the source can check before it decodes rows.
fn conditions(node: &physical::Scan, given: &impl Parameters) -> Result<Vec<Condition>> {
    let conditions = node.filters.iter().map(|filter| condition(filter, node, given));
    conditions.filter_map(Result::transpose).collect()
}

/// A filter as a condition: it compares a column with a constant or a list of them, or is a column
/// of booleans.
fn condition(
    filter: &Expr,
    node: &physical::Scan,
    given: &impl Parameters,
) -> Result<Option<Condition>> {
    let (truth, wanted) = match filter {
        Expr::Not(inner) => (&**inner, false),
        filter => (filter, true),
    };
    if let Expr::Column(_) = truth
        && let Some(column) = node.own_column(truth)
    {
        let test = Test::Compare(Comparison::Equal, Value::Boolean(wanted));
        return Ok(Some(Condition { column, test }));
    }
    if let Some((column, comparison, value)) = node.compared(filter)
        && value.is_given()
        && let wanted = node.relation.column_type(column)
        && let Fit::Value(value) = fit(constant(value, given)?, &value.ty(), wanted)
    {
        return Ok(Some(Condition { column, test: Test::Compare(comparison, value) }));
    }
    let listed = among(filter, node, given)?;
    Ok(listed.map(|(column, values)| Condition { column, test: Test::OneOf(values) }))
}

/// The column and the values of a list in a filter.
fn among(
    filter: &Expr,
    node: &physical::Scan,
    given: &impl Parameters,
) -> Result<Option<(usize, Vec<Value>)>> {
    let (input, listed): (_, Vec<(Value, ColumnType)>) = match filter {
        Expr::InSet { input, set } => {
            (input, set.values.iter().map(|value| (value.clone(), set.ty.clone())).collect())
        }
        Expr::InList { input, list } if list.iter().all(Expr::is_given) => {
            let value = |value: &Expr| Ok((constant(value, given)?, value.ty()));
            (input, list.iter().map(value).collect::<Result<_>>()?)
        }
        _ => return Ok(None),
    };
    let Some(column) = node.own_column(input) else { return Ok(None) };
    let wanted = node.relation.column_type(column);
    // Null and values outside of the column's type equal nothing.
    let fitting = listed.into_iter().filter_map(|(value, ty)| match fit(value, &ty, wanted) {
        Fit::Value(value) => Some(value),
        _ => None,
    });
    Ok(Some((column, fitting.collect())))
}

/// The values of a key, for its types; `None` if no row can match.
fn key_values<'t>(
    expressions: &[Expr],
    types: impl Iterator<Item = &'t ColumnType>,
    given: &impl Parameters,
) -> Result<Option<Vec<Value>>> {
    let mut values = Vec::with_capacity(expressions.len());
    for (expression, ty) in expressions.iter().zip(types) {
        match fit(constant(expression, given)?, &expression.ty(), ty) {
            Fit::Value(value) => values.push(value),
            _ => return Ok(None),
        }
    }
    // Relations without a key use the hidden row number.
    if values.is_empty() && !expressions.is_empty() {
        values.push(constant(&expressions[0], given)?);
    }
    Ok(Some(values))
}

/// Calls `then` with the values of a key; `None` if no row can match. A key of one value, which
/// most lookups have, is not copied.
pub(crate) fn with_key<T>(
    expressions: &[Expr],
    relation: &Relation,
    index: Option<usize>,
    given: &impl Parameters,
    then: impl FnOnce(&[ValueRef<'_>]) -> T,
) -> Result<Option<T>> {
    if let ([expression], Some(ty)) = (expressions, relation.key_types(index).next()) {
        let value = constant_ref(expression, given)?;
        if expression.has_type(ty) && *value != Value::Null {
            return Ok(Some(then(&[(*value).as_ref()])));
        }
        return Ok(match fit(value.into_owned(), &expression.ty(), ty) {
            Fit::Value(value) => Some(then(&[value.as_ref()])),
            _ => None,
        });
    }
    let key = key_values(expressions, relation.key_types(index), given)?;
    Ok(key.map(|key| then(&borrowed(&key))))
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
