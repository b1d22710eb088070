//! Queries whose answer is one row that needs no operators: the row of a key, the first
//! of a table, how many there are. What operators and arrays cost to make is many times
//! what such a row costs to read.

use std::sync::Arc;

use folio_types::Value;

use crate::context::Context;
use crate::error::Result;
use crate::execute::scan::{look_up, row_count};
use crate::expression::Expr;
use crate::plan::physical::{self, Physical};
use crate::plan::terms::Path;
use crate::source::RelationKind;

/// A query whose answer is one row that needs no operators.
pub(crate) enum Short {
    /// The row of a key; columns of the answer by position in the look-up.
    Lookup(Arc<physical::Lookup>, Option<Vec<usize>>),
    /// The first row of a relation, or the last; the same.
    First(Arc<physical::Scan>, Option<Vec<usize>>),
    /// How many rows there are.
    RowCount(Arc<physical::Scan>),
}

impl Short {
    pub(crate) fn of(plan: &Physical) -> Option<Self> {
        match plan {
            Physical::Lookup(lookup) if lookup.filters.is_empty() => {
                Some(Self::Lookup(Arc::clone(lookup), None))
            }
            Physical::Scan(scan) if is_first(scan) => Some(Self::First(Arc::clone(scan), None)),
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
                    (short @ Self::RowCount(_), order) if order == [0] => Some(short),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the text it was bound with may have other literals: what depends on them
    /// is a parameter, and nothing fails at a place in the text.
    pub(crate) fn is_template(&self) -> bool {
        match self {
            Self::Lookup(..) => true,
            Self::First(..) => false,
            Self::RowCount(scan) => scan.compares_alone(),
        }
    }

    /// The row, if there is one.
    ///
    /// # Errors
    /// What the source says.
    pub(crate) fn run(&self, context: &Context) -> Result<Option<Vec<Value>>> {
        match self {
            Self::RowCount(scan) => Ok(Some(vec![Value::Integer(row_count(scan, context)?)])),
            Self::Lookup(lookup, order) => {
                let mut row = Vec::with_capacity(lookup.columns.len());
                if !look_up(lookup, context, &mut row)? {
                    return Ok(None);
                }
                Ok(Some(in_order(row, order)))
            }
            Self::First(scan, order) => {
                let mut row = Vec::with_capacity(scan.columns.len());
                let source = context.source()?;
                let found = source.first(&scan.relation, scan.reverse, &scan.columns, &mut row)?;
                Ok(found.then(|| in_order(row, order)))
            }
        }
    }
}

/// Whether a scan is for nothing but the first row there is.
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
