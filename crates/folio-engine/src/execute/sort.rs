//! Sorts: all rows, or the first rows of the order.
//!
//! Without a limit, all rows go through a merge sort ([`super::merge`]), which can spill. With a
//! limit, only a small multiple of that many rows is held: when there are more, they are sorted
//! and truncated, and so is each batch with many more.

use std::sync::Arc;

use arrow_schema::SortOptions;
use folio_compute::compare::canonical;
use folio_compute::order::OrderColumn;
use folio_compute::{BATCH_SIZE, Batch, Result, order};

use super::limit::bounds;
use super::merge::{Merge, Runs};
use super::{Operator, Pieces, Running};
use crate::context::Context;
use crate::expression::evaluate::evaluate;
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::SortKey;

/// Maximum limit for which only the first rows are held.
const FIRST_ROWS_MAX: usize = 1 << 18;

/// Where at most one row in so many of a batch can be among the first, the others are not copied.
const FEW_OF_BATCH: usize = 4;

pub(super) struct Sort {
    node: Arc<physical::Sort>,
    input: Running,
    sorted: Option<Sorted>,
    /// Memory of the first rows.
    held: Held,
}

/// The rows in order.
enum Sorted {
    /// The first rows of the order.
    First(Pieces),
    /// All rows, and how many are still wanted.
    All(Box<Merge>, usize),
}

impl Sort {
    pub(super) fn new(node: &Arc<physical::Sort>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, sorted: None, held: Held::default() }
    }

    fn sort(&mut self, context: &Context) -> Result<Sorted> {
        let (skip, take) = bounds(self.node.limit.as_ref(), self.node.offset.as_ref(), context)?;
        let wanted = skip.saturating_add(take);
        if wanted <= FIRST_ROWS_MAX {
            return self.first_rows(skip, wanted, context);
        }
        let mut runs = Runs::new(&self.node)?;
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            if batch.row_count > 0 {
                runs.push(batch, context)?;
            }
        }
        let mut merge = runs.merge(context)?;
        let mut left = skip;
        while left > 0
            && let Some(skipped) = merge.next(left, context)?
        {
            context.check()?;
            left -= skipped.row_count;
        }
        Ok(Sorted::All(Box::new(merge), take))
    }

    /// The first rows of the order. When there are more, they are sorted and truncated.
    fn first_rows(&mut self, skip: usize, wanted: usize, context: &Context) -> Result<Sorted> {
        let node = Arc::clone(&self.node);
        let kept_max = wanted.saturating_mul(2).max(4 * BATCH_SIZE);
        let (mut batches, mut count) = (Vec::new(), 0);
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            if batch.row_count == 0 {
                continue;
            }
            let batch = match wanted < batch.row_count / FEW_OF_BATCH {
                true => in_order(&batch, &node.keys, Some(wanted), context)?,
                false => batch,
            };
            count += batch.row_count;
            self.held.charge(context.limits(), self.held.size() + batch.size())?;
            batches.push(batch);
            if count > kept_max {
                let cut = in_order(&Batch::concat(&batches)?, &node.keys, Some(wanted), context)?;
                count = cut.row_count;
                self.held.charge(context.limits(), cut.size())?;
                batches = vec![cut];
            }
        }
        if batches.is_empty() {
            return Ok(Sorted::First(Pieces::default()));
        }
        let limit = (wanted < count).then_some(wanted);
        let sorted = in_order(&Batch::concat(&batches)?, &node.keys, limit, context)?;
        let skipped = skip.min(sorted.row_count);
        let kept = sorted.slice(skipped, sorted.row_count.min(wanted) - skipped);
        Ok(Sorted::First(Pieces::of(kept)))
    }
}

/// The rows of a batch in order, or the first of them.
///
/// # Errors
/// Errors of the keys.
pub(super) fn in_order(
    batch: &Batch,
    keys: &[SortKey],
    limit: Option<usize>,
    context: &Context,
) -> Result<Batch> {
    let columns = sort_columns(batch, keys, context)?;
    batch.take(&order::in_order(&columns, batch.row_count, limit)?)
}

/// The sort columns of a batch.
pub(super) fn sort_columns(
    batch: &Batch,
    keys: &[SortKey],
    context: &Context,
) -> Result<Vec<OrderColumn>> {
    let column = |key: &SortKey| -> Result<OrderColumn> {
        let values = evaluate(&key.expression, batch, context)?.to_array(batch.row_count)?;
        let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
        Ok(OrderColumn { values: canonical(&values), options })
    };
    keys.iter().map(column).collect()
}

impl Operator for Sort {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(context)?);
        }
        context.check()?;
        match &mut self.sorted {
            None => Ok(None),
            Some(Sorted::First(pieces)) => Ok(pieces.next()),
            Some(Sorted::All(merge, wanted)) => {
                let batch = merge.next(*wanted, context)?;
                *wanted -= batch.as_ref().map_or(0, |batch| batch.row_count);
                Ok(batch)
            }
        }
    }
}
