//! The input in order: all of it, or the first rows of the order alone.
//!
//! With a limit no more than a few times that many rows are kept: whenever more
//! have gathered, they are sorted and cut.

use std::sync::Arc;

use arrow_ord::sort::{SortColumn, SortOptions, lexsort_to_indices};

use super::context::Context;
use super::limit::bounds;
use super::{Operator, Pieces, Running};
use crate::batch::{BATCH_SIZE, Batch};
use crate::error::Result;
use crate::expression::compare::canonical;
use crate::expression::evaluate::evaluate;
use crate::plan::logical::SortKey;
use crate::plan::physical;

pub(super) struct Sort {
    node: Arc<physical::Sort>,
    input: Running,
    sorted: Option<Pieces>,
}

impl Sort {
    pub(super) fn new(node: &Arc<physical::Sort>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, sorted: None }
    }

    fn sort(&mut self, context: &Context) -> Result<Pieces> {
        let node = Arc::clone(&self.node);
        let (skip, take) = bounds(node.limit.as_ref(), node.offset.as_ref(), context)?;
        let wanted = skip.saturating_add(take);
        let kept_max = wanted.saturating_mul(2).max(4 * BATCH_SIZE);
        let (mut batches, mut count) = (Vec::new(), 0);
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            if batch.row_count == 0 {
                continue;
            }
            count += batch.row_count;
            batches.push(batch);
            if count > kept_max {
                let cut = in_order(&Batch::concat(&batches)?, &node.keys, Some(wanted), context)?;
                count = cut.row_count;
                batches = vec![cut];
            }
        }
        if batches.is_empty() {
            return Ok(Pieces::default());
        }
        let limit = (wanted < count).then_some(wanted);
        let sorted = in_order(&Batch::concat(&batches)?, &node.keys, limit, context)?;
        let skipped = skip.min(sorted.row_count);
        Ok(Pieces::of(sorted.slice(skipped, take.min(sorted.row_count - skipped))))
    }
}

/// The rows of a batch in order, or the first of them.
///
/// # Errors
/// What the keys say.
pub(super) fn in_order(
    batch: &Batch,
    keys: &[SortKey],
    limit: Option<usize>,
    context: &Context,
) -> Result<Batch> {
    let columns = sort_columns(batch, keys, context)?;
    batch.take(&lexsort_to_indices(&columns, limit)?)
}

/// The keys of an order over a batch. The row's position comes last, so that equal
/// rows keep the order they came in.
pub(super) fn sort_columns(
    batch: &Batch,
    keys: &[SortKey],
    context: &Context,
) -> Result<Vec<SortColumn>> {
    let mut columns = Vec::with_capacity(keys.len() + 1);
    for key in keys {
        let values = evaluate(&key.expression, batch, context)?.to_array(batch.row_count)?;
        columns.push(SortColumn {
            values: canonical(&values),
            options: Some(SortOptions { descending: key.descending, nulls_first: key.nulls_first }),
        });
    }
    let positions = arrow_array::UInt32Array::from_iter_values(0..batch.row_count as u32);
    columns.push(SortColumn { values: Arc::new(positions), options: None });
    Ok(columns)
}

impl Operator for Sort {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(context)?);
        }
        Ok(self.sorted.as_mut().and_then(Pieces::next))
    }
}
