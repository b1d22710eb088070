//! Evaluates subqueries in expressions.
//!
//! A subquery that reads nothing of the outer query runs once per statement. A correlated one
//! runs once for each combination of outer values that occurs; its results are cached during
//! the statement. The optimizer turns what it can into joins, which do not come here.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, Datum};
use folio_compute::compare::compare;
use folio_compute::{Batch, Error, Evaluated, Result, array};
use folio_types::Value;

use super::evaluate::evaluate as evaluate_expression;
use super::{ColumnId, Expr, Subquery, SubqueryKind};
use crate::context::Context;
use crate::source::Comparison;

/// The plan of a subquery. Expressions only need its rows.
pub trait Query: Any + fmt::Debug + Send + Sync {
    /// A copy.
    fn copied(&self) -> Box<dyn Query>;
    /// Replaces columns by expressions.
    fn replace_columns(&mut self, replace: &dyn Fn(ColumnId) -> Option<Expr>);
    /// All rows as one batch, or up to `limit` rows.
    ///
    /// # Errors
    /// Errors of the query.
    fn rows(&self, context: &Context, limit: usize) -> Result<Batch>;
}

impl Clone for Box<dyn Query> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// Results of subqueries, by subquery number and outer values.
#[derive(Default)]
struct Answers {
    known: Mutex<HashMap<(usize, String), Arc<Batch>>>,
}

/// Maximum number of cached results.
const ANSWERS_MAX: usize = 100_000;

impl Answers {
    fn get(&self, key: &(usize, String)) -> Option<Arc<Batch>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn put(&self, key: (usize, String), rows: Arc<Batch>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < ANSWERS_MAX {
            known.insert(key, rows);
        }
    }
}

/// The value of a subquery for every row.
///
/// # Errors
/// Errors of the query; `invalid_input` if a scalar subquery has more than one row.
pub(crate) fn evaluate(subquery: &Subquery, batch: &Batch, context: &Context) -> Result<Evaluated> {
    let outer: Vec<Evaluated> = subquery
        .outer
        .iter()
        .map(|outer| evaluate_expression(outer, batch, context))
        .collect::<Result<_>>()?;
    let operand =
        subquery.operand.as_ref().map(|operand| evaluate_expression(operand, batch, context));
    let operand = operand.transpose()?;
    let is_once = outer.iter().chain(&operand).all(Evaluated::is_scalar);
    let count = if is_once { 1 } else { batch.row_count };
    let answers = context.kept::<Answers>(0);
    let mut values = Vec::with_capacity(count);
    for row in 0..count {
        let at = |evaluated: &Evaluated| {
            evaluated.get().0.slice(if evaluated.is_scalar() { 0 } else { row }, 1)
        };
        let rows = answer(subquery, outer.iter().map(at).collect(), &answers, context)?;
        values.push(match (subquery.kind, &operand) {
            (SubqueryKind::Any(op), Some(operand)) => quantified(op, &at(operand), &rows, true)?,
            (SubqueryKind::All(op), Some(operand)) => quantified(op, &at(operand), &rows, false)?,
            (kind, _) => plain(kind, subquery, &rows)?,
        });
    }
    let array = array::to_array(values.iter(), &subquery.ty)?;
    Ok(if is_once { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// The result of the subquery for these outer values.
fn answer(
    subquery: &Subquery,
    outer: Vec<ArrayRef>,
    answers: &Answers,
    context: &Context,
) -> Result<Arc<Batch>> {
    let key: Vec<Value> = outer
        .iter()
        .zip(&subquery.outer)
        .map(|(array, expression)| array::value_at(array, 0, &expression.ty()))
        .collect();
    let key = (subquery.number, format!("{key:?}"));
    if let Some(known) = answers.get(&key) {
        return Ok(known);
    }
    let inner = context.with_outer(outer);
    let limit = match subquery.kind {
        SubqueryKind::Exists => 1,
        SubqueryKind::Scalar => 2,
        _ => usize::MAX,
    };
    let rows = Arc::new(subquery.body.rows(&inner, limit)?);
    answers.put(key, Arc::clone(&rows));
    Ok(rows)
}

fn plain(kind: SubqueryKind, subquery: &Subquery, rows: &Batch) -> Result<Value> {
    let output = |row: usize| array::value_at(&rows.columns[0], row, &subquery.output.ty);
    match (kind, rows.row_count) {
        (SubqueryKind::Exists, count) => Ok(Value::Boolean(count > 0)),
        (SubqueryKind::Array, count) => Ok(Value::List((0..count).map(output).collect())),
        (_, 0) => Ok(Value::Null),
        (_, 1) => Ok(output(0)),
        _ => Err(Error::invalid("a subquery used as a value has more than one row")
            .help("add limit 1, or an aggregate")),
    }
}

/// ANY or ALL in three-valued logic.
fn quantified(op: Comparison, operand: &ArrayRef, rows: &Batch, is_any: bool) -> Result<Value> {
    if rows.row_count == 0 {
        return Ok(Value::Boolean(!is_any));
    }
    let left = Evaluated::Scalar(ArrayRef::clone(operand));
    let right = Evaluated::Array(ArrayRef::clone(&rows.columns[0]));
    let verdicts = compare(op, &left, &right)?;
    let verdicts = arrow_array::cast::as_boolean_array(verdicts.get().0).clone();
    let decided = verdicts.iter().any(|verdict| verdict == Some(is_any));
    Ok(match (decided, verdicts.null_count() > 0) {
        (true, _) => Value::Boolean(is_any),
        (false, true) => Value::Null,
        (false, false) => Value::Boolean(!is_any),
    })
}
