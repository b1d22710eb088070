//! Sorts: all rows, or the first rows of the order.
//!
//! Without a limit, all rows go through a merge sort ([`super::merge`]), which can spill. With a
//! limit, only a small multiple of that many rows is held: when there are more, they are sorted
//! and truncated, and so is each batch with many more. What the last of them has in the first key
//! tells the scan below which other rows need not be read ([`SortBound`]).

use std::sync::Arc;

use folio_compute::array::value_at;
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::limit::bounds;
use super::merge::{Merge, Runs};
use super::partners::{Asked, build_asked, may_drop_rows};
use super::sort_keys::{in_order, sort_columns};
use super::{Operator, Pieces, Running};
use crate::context::Context;
use crate::expression::Expr;
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::SortKey;
use crate::source::{AmongValues, SortBound};

/// Maximum limit for which only the first rows are held.
const FIRST_ROWS_MAX: usize = 1 << 18;

/// Where at most one row in so many of a batch can be among the first, the others are not copied.
const FEW_OF_BATCH: usize = 4;

/// Few first rows are kept apart whenever there are so many in all: the bound for the scan follows
/// soon, and sorting them costs nothing beside reading them.
const FEW_ROWS: usize = 64;

pub(super) struct Sort {
    node: Arc<physical::Sort>,
    input: Running,
    /// What the input is told, if the first key is a column of it.
    bound: Option<Arc<SortBound>>,
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
    /// The sort and what it reads.
    ///
    /// # Errors
    /// Errors of the source when a scan begins.
    pub(super) fn begin(node: &Arc<physical::Sort>, context: &Context) -> Result<Self> {
        let (skip, take) = bounds(node.limit.as_ref(), node.offset.as_ref(), context)?;
        let wants_first = skip.saturating_add(take) <= FIRST_ROWS_MAX;
        let first = node.keys.first().filter(|_| wants_first && may_drop_rows(&node.input));
        let (mut bound, mut asked) = (None, Vec::new());
        if let Some(SortKey { expression: Expr::Column(column), descending, nulls_first }) = first {
            let own = Arc::new(SortBound::new(*descending, *nulls_first));
            let values = AmongValues::First(Arc::clone(&own));
            asked.push(Asked { at: column.id.0 as usize, values });
            bound = Some(own);
        }
        let input = build_asked(&node.input, asked, context)?;
        let (node, held) = (Arc::clone(node), Held::default());
        Ok(Self { node, input, bound, sorted: None, held })
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
        let few = if wanted < BATCH_SIZE / FEW_OF_BATCH { FEW_ROWS } else { 4 * BATCH_SIZE };
        let kept_max = wanted.saturating_mul(2).max(few);
        let (mut batches, mut count) = (Vec::new(), 0);
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            if batch.row_count == 0 {
                continue;
            }
            let is_cut = wanted < batch.row_count / FEW_OF_BATCH;
            let batch = match is_cut {
                true => in_order(&batch, &node.keys, Some(wanted), context)?,
                false => batch,
            };
            if is_cut && count == 0 {
                self.tell(&batch, context)?;
            }
            count += batch.row_count;
            self.held.charge(context.limits(), self.held.size() + batch.size())?;
            batches.push(batch);
            if count > kept_max {
                let cut = in_order(&Batch::concat(&batches)?, &node.keys, Some(wanted), context)?;
                self.tell(&cut, context)?;
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

    /// Tells the input that rows beyond the last of these are not among the first.
    fn tell(&self, first_rows: &Batch, context: &Context) -> Result<()> {
        let Some((bound, key)) = self.bound.as_ref().zip(self.node.keys.first()) else {
            return Ok(());
        };
        let Some(last) = first_rows.row_count.checked_sub(1) else { return Ok(()) };
        let last = first_rows.slice(last, 1);
        if let [column] = &sort_columns(&last, std::slice::from_ref(key), context)?[..] {
            bound.set(value_at(&column.values, 0, &key.expression.ty()));
        }
        Ok(())
    }
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
