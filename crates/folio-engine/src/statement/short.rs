//! Short queries: one row without operators. It is the row of a key, the only row of a key of an
//! index, the first row of a table, or a row count. Making operators and arrays costs many times
//! what reading such a row costs.

use std::sync::Arc;

use folio_compute::Result;
use folio_types::{ColumnType, Value};

use crate::context::{Context, OnDemand, Parameters, find_parameter};
use crate::execute::scan::{find_only, look_up, row_count};
use crate::expression::Expr;
use crate::plan::physical::{self, Physical};
use crate::plan::terms::{Nulls, Path};
use crate::source::{RelationKind, Source};

/// A query that answers one row without operators.
pub(crate) enum Short {
    /// The row of a key, with the order of the result's columns if it differs.
    Lookup(Arc<physical::Lookup>, Option<Vec<usize>>),
    /// The document with the values of a unique index, and the columns of the result. There may be
    /// several after an edit by hand.
    Only(Arc<physical::Scan>, Vec<usize>),
    /// The first or last row of a relation, likewise.
    First(Arc<physical::Scan>, Option<Vec<usize>>),
    /// The number of rows.
    RowCount(Arc<physical::Scan>),
}

impl Short {
    pub(crate) fn of(plan: &Physical) -> Option<Self> {
        match plan {
            Physical::Lookup(lookup) if lookup.filters.is_empty() => {
                Some(Self::Lookup(Arc::clone(lookup), None))
            }
            Physical::Scan(scan) if is_first(scan) => Some(Self::First(Arc::clone(scan), None)),
            Physical::Scan(scan) if is_only(scan) => {
                Some(Self::Only(Arc::clone(scan), scan.columns.clone()))
            }
            Physical::Limit(limit) if limit.offset.is_none() && limit.ties.is_empty() => {
                let one = limit.limit.as_ref().and_then(Expr::as_literal);
                let short = Self::of(&limit.input)?;
                let is_first = matches!(short, Self::First(..));
                (is_first && one == Some(&Value::Integer(1))).then_some(short)
            }
            Physical::RowCount(scan) => Some(Self::RowCount(Arc::clone(scan))),
            Physical::Project(project) => {
                let position = |expression: &Expr| match expression {
                    Expr::Column(column) => Some(column.id.0 as usize),
                    _ => None,
                };
                let order: Option<Vec<usize>> = project.expressions.iter().map(position).collect();
                match (Self::of(&project.input)?, order?) {
                    (Self::Lookup(lookup, None), order) => {
                        let is_plain = order.iter().copied().eq(0..lookup.columns.len());
                        Some(Self::Lookup(lookup, (!is_plain).then_some(order)))
                    }
                    (Self::First(scan, None), order) => {
                        let is_plain = order.iter().copied().eq(0..scan.columns.len());
                        Some(Self::First(scan, (!is_plain).then_some(order)))
                    }
                    (Self::Only(scan, columns), order) => {
                        let columns = order.iter().map(|position| columns[*position]).collect();
                        Some(Self::Only(scan, columns))
                    }
                    (short @ Self::RowCount(_), order) if order == [0] => Some(short),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the text may have other literals: all that depends on them is a parameter, and no
    /// error refers to a place in the text.
    pub(crate) fn is_template(&self) -> bool {
        match self {
            Self::Lookup(..) | Self::Only(..) => true,
            Self::First(..) => false,
            Self::RowCount(scan) => scan.compares_alone(),
        }
    }

    /// The row, if there is one; `None` if there are several.
    ///
    /// # Errors
    /// Errors of the source.
    pub(super) fn run(&self, given: &Given<'_>) -> Result<Option<Option<Vec<Value>>>> {
        let source = given.source;
        let row = match self {
            Self::Only(scan, columns) => return find_only(scan, columns, source, given),
            Self::RowCount(scan) => Some(vec![Value::Integer(row_count(scan, source, given)?)]),
            Self::Lookup(lookup, order) => {
                let mut row = Vec::with_capacity(lookup.columns.len());
                look_up(lookup, source, given, &mut row)?.then(|| in_order(row, order))
            }
            Self::First(scan, order) => {
                let mut row = Vec::with_capacity(scan.columns.len());
                let found = source.first(&scan.relation, scan.reverse, &scan.columns, &mut row)?;
                found.then(|| in_order(row, order))
            }
        };
        Ok(Some(row))
    }
}

/// What a query is run with. A context is made only for operators.
pub(super) struct Given<'r> {
    source: &'r dyn Source,
    parameters: &'r [Value],
    context: OnDemand<'r>,
}

impl<'r> Given<'r> {
    pub(super) fn new(
        source: &'r dyn Source,
        parameters: &'r [Value],
        make: &'r dyn Fn() -> Context,
    ) -> Self {
        Self { source, parameters, context: OnDemand::later(make) }
    }

    /// For a part of a larger statement.
    pub(super) fn within(context: &'r Context) -> Result<Self> {
        let (source, parameters) = (&**context.source()?, context.parameters());
        Ok(Self { source, parameters, context: OnDemand::Ready(context) })
    }
}

impl Parameters for Given<'_> {
    fn parameter(&self, index: usize) -> Result<&Value> {
        find_parameter(self.parameters, index)
    }

    fn context(&self) -> &Context {
        self.context.get()
    }
}

/// Whether a scan asks a collection for given values of a unique index, and for nothing else. Of
/// these types, values are equal where their keys are.
fn is_only(scan: &physical::Scan) -> bool {
    let Path::Range { index: Some(index), equal, from: None, to: None, nulls: Nulls::Any } =
        &scan.path
    else {
        return false;
    };
    let index = &scan.relation.indexes[*index];
    let is_exact = |(column, _): &(usize, bool)| {
        let column_type = scan.relation.column_type(*column);
        matches!(column_type, ColumnType::Text | ColumnType::Int64 | ColumnType::Boolean)
    };
    scan.relation.kind == RelationKind::Collection
        && index.unique
        && index.columns.iter().all(is_exact)
        // Each value is that of a filter, so these are all.
        && (equal.len(), scan.filters.len()) == (index.columns.len(), index.columns.len())
        && !scan.with_row_number
        && scan.limit.is_none()
}

/// Whether a scan reads only the first row.
fn is_first(scan: &physical::Scan) -> bool {
    scan.limit == Some(1)
        && scan.filters.is_empty()
        && !scan.with_row_number
        && matches!(scan.path, Path::Full)
        && scan.relation.kind == RelationKind::Table
}

fn in_order(row: Vec<Value>, order: &Option<Vec<usize>>) -> Vec<Value> {
    match order {
        None => row,
        Some(order) => order.iter().map(|position| row[*position].clone()).collect(),
    }
}
