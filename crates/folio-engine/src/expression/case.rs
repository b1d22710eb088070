//! CASE and COALESCE: each branch is evaluated only for the rows that reach it, so that
//! `case when x <> 0 then 1 / x end` never divides by zero. AND and OR use the same when a term
//! fails: `x = 0 or 1 / x > 2`.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use folio_compute::{Batch, Evaluated, Result, array};
use folio_types::ColumnType;

use super::Expr;
use super::evaluate::evaluate_array;
use crate::context::Context;

/// The result of the first branch whose condition is true.
///
/// # Errors
/// Errors of the branches, for the rows that reach them.
pub(crate) fn case(
    branches: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    ty: &ColumnType,
    batch: &Batch,
    context: &Context,
) -> Result<Evaluated> {
    let mut gathered = Gathered::new(batch.row_count);
    let mut rest = Rest::all(batch);
    for (condition, result) in branches {
        if rest.batch.row_count == 0 {
            break;
        }
        let mask = evaluate_array(condition, &rest.batch, context)?;
        let (hit, missed) = rest.split(mask.as_boolean())?;
        gathered.add(result, &hit, context)?;
        rest = missed;
    }
    if let Some(otherwise) = otherwise {
        gathered.add(otherwise, &rest, context)?;
    }
    gathered.finish(ty)
}

/// The first value that is not null.
///
/// # Errors
/// Errors of the expressions, for the rows that reach them.
pub(crate) fn coalesce(
    terms: &[Expr],
    ty: &ColumnType,
    batch: &Batch,
    context: &Context,
) -> Result<Evaluated> {
    let mut gathered = Gathered::new(batch.row_count);
    let mut rest = Rest::all(batch);
    for term in terms {
        if rest.batch.row_count == 0 {
            break;
        }
        let values = evaluate_array(term, &rest.batch, context)?;
        let present = arrow_arith::boolean::is_not_null(&values)?;
        if rest.rows.is_none() && present.true_count() == batch.row_count {
            return Ok(Evaluated::Array(values));
        }
        let (hit, missed) = rest.split(&present)?;
        gathered.put(arrow_select::filter::filter(&values, &present)?, &hit);
        rest = missed;
    }
    gathered.finish(ty)
}

/// Evaluates `expression` for the rows where `is_known` is not true; the others are null.
/// `None` if there are no such rows.
///
/// # Errors
/// Errors of the expression for those rows.
pub(crate) fn unless(
    is_known: &BooleanArray,
    expression: &Expr,
    batch: &Batch,
    context: &Context,
) -> Result<Option<Evaluated>> {
    let (known, rest) = Rest::all(batch).split(is_known)?;
    if known.batch.row_count == 0 {
        return Ok(None);
    }
    let mut gathered = Gathered::new(batch.row_count);
    gathered.add(expression, &rest, context)?;
    gathered.finish(&expression.ty()).map(Some)
}

/// Rows that no branch has matched yet.
struct Rest {
    batch: Batch,
    /// Their positions in the whole batch; `None` for all rows.
    rows: Option<Vec<u32>>,
}

impl Rest {
    fn all(batch: &Batch) -> Self {
        Self { batch: batch.clone(), rows: None }
    }

    fn split(self, mask: &BooleanArray) -> Result<(Self, Self)> {
        let taken = match mask.nulls() {
            Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
            None => mask.clone(),
        };
        let left = arrow_arith::boolean::not(&taken)?;
        let rows = self.rows.unwrap_or_else(|| (0..self.batch.row_count as u32).collect());
        let part = |mask: &BooleanArray| -> Result<Self> {
            let rows = rows.iter().zip(mask.values().iter()).filter(|(_, is_in)| *is_in);
            Ok(Self {
                batch: self.batch.filter(mask)?,
                rows: Some(rows.map(|(row, _)| *row).collect()),
            })
        };
        Ok((part(&taken)?, part(&left)?))
    }
}

/// Results of branches, and which result each row takes.
struct Gathered {
    parts: Vec<ArrayRef>,
    /// For each row with a result: the part, and the position in it.
    places: Vec<Option<(usize, usize)>>,
}

impl Gathered {
    fn new(row_count: usize) -> Self {
        Self { parts: Vec::new(), places: vec![None; row_count] }
    }

    fn add(&mut self, result: &Expr, rest: &Rest, context: &Context) -> Result<()> {
        if rest.batch.row_count > 0 {
            let values = evaluate_array(result, &rest.batch, context)?;
            self.put(values, rest);
        }
        Ok(())
    }

    fn put(&mut self, values: ArrayRef, rest: &Rest) {
        let part = self.parts.len();
        match &rest.rows {
            Some(rows) => {
                for (position, row) in rows.iter().enumerate() {
                    self.places[*row as usize] = Some((part, position));
                }
            }
            None => {
                self.places
                    .iter_mut()
                    .enumerate()
                    .for_each(|(row, place)| *place = Some((part, row)));
            }
        }
        self.parts.push(values);
    }

    fn finish(self, ty: &ColumnType) -> Result<Evaluated> {
        if let ([only], true) = (&self.parts[..], self.places.iter().all(Option::is_some)) {
            return Ok(Evaluated::Array(ArrayRef::clone(only)));
        }
        let all = match self.parts.len() {
            0 => return Ok(Evaluated::Array(array::nulls(ty, self.places.len()))),
            1 => ArrayRef::clone(&self.parts[0]),
            _ => {
                let parts: Vec<&dyn Array> = self.parts.iter().map(|part| &**part).collect();
                arrow_select::concat::concat(&parts)?
            }
        };
        let starts: Vec<usize> = self
            .parts
            .iter()
            .scan(0, |next, part| {
                let start = *next;
                *next += part.len();
                Some(start)
            })
            .collect();
        let rows: UInt32Array = self
            .places
            .iter()
            .map(|place| place.map(|(part, position)| (starts[part] + position) as u32))
            .collect();
        Ok(Evaluated::Array(arrow_select::take::take(&all, &rows, None)?))
    }
}
