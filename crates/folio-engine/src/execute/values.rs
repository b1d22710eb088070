//! Rows given in the statement, the one row of a query without FROM, and projections.

use std::sync::Arc;

use folio_compute::array::to_array;
use folio_compute::{BATCH_SIZE, Batch, Result};
use folio_types::Value;

use super::{Operator, Running};
use crate::context::Context;
use crate::expression::evaluate::{constant, evaluate_arrays};
use crate::plan::physical;

/// One row without columns.
#[derive(Default)]
pub(super) struct OneRow {
    is_done: bool,
}

impl Operator for OneRow {
    fn next(&mut self, _: &Context) -> Result<Option<Batch>> {
        Ok((!std::mem::replace(&mut self.is_done, true)).then(|| Batch::new(Vec::new(), 1)))
    }
}

/// Rows given in the statement.
pub(super) struct Values {
    node: Arc<physical::Values>,
    done: usize,
}

impl Values {
    pub(super) fn new(node: &Arc<physical::Values>) -> Self {
        Self { node: Arc::clone(node), done: 0 }
    }
}

impl Operator for Values {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let rows = &self.node.rows[self.done..];
        let rows = &rows[..rows.len().min(BATCH_SIZE)];
        if rows.is_empty() {
            return Ok(None);
        }
        self.done += rows.len();
        let mut columns = Vec::with_capacity(self.node.types.len());
        for (index, ty) in self.node.types.iter().enumerate() {
            let values: Result<Vec<Value>> =
                rows.iter().map(|row| constant(&row[index], context)).collect();
            columns.push(to_array(values?.iter(), ty)?);
        }
        Ok(Some(Batch::new(columns, rows.len())))
    }
}

/// A projection.
pub(super) struct Project {
    node: Arc<physical::Project>,
    input: Running,
}

impl Project {
    pub(super) fn new(node: &Arc<physical::Project>, input: Running) -> Self {
        Self { node: Arc::clone(node), input }
    }
}

impl Operator for Project {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let batch = loop {
            match self.input.next(context)? {
                // Without rows, even a failing constant expression is not evaluated.
                Some(batch) if batch.row_count == 0 => context.check()?,
                Some(batch) => break batch,
                None => return Ok(None),
            }
        };
        projected(&self.node, &batch, context).map(Some)
    }

    fn skip(&mut self, count: u64, context: &Context) -> Result<u64> {
        self.input.skip(count, context)
    }
}

/// The projected columns of a batch.
///
/// # Errors
/// Errors of the expressions.
pub(crate) fn projected(
    node: &physical::Project,
    batch: &Batch,
    context: &Context,
) -> Result<Batch> {
    Ok(Batch::new(evaluate_arrays(&node.expressions, batch, context)?, batch.row_count))
}
