//! The input in order: all of it, or the first rows of the order alone.
//!
//! Without a limit all rows are kept, once, and copied into their order as they are
//! asked for. With a limit no more than a few times that many rows are kept: whenever more
//! have gathered, they are sorted and cut.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_ord::sort::{SortColumn, SortOptions, lexsort_to_indices};
use arrow_select::interleave::interleave;

use super::context::Context;
use super::limit::bounds;
use super::{Operator, Running};
use crate::batch::{BATCH_SIZE, Batch};
use crate::error::Result;
use crate::expression::compare::canonical;
use crate::expression::evaluate::evaluate;
use crate::plan::logical::SortKey;
use crate::plan::physical;

pub(super) struct Sort {
    node: Arc<physical::Sort>,
    input: Running,
    sorted: Option<Sorted>,
}

impl Sort {
    pub(super) fn new(node: &Arc<physical::Sort>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, sorted: None }
    }

    fn sort(&mut self, context: &Context) -> Result<Sorted> {
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
            return Ok(Sorted::new(batches, UInt32Array::from(Vec::<u32>::new())));
        }
        let limit = (wanted < count).then_some(wanted);
        let order = lexsort_to_indices(&keys_of_all(&batches, &node.keys, context)?, limit)?;
        let skipped = skip.min(order.len());
        Ok(Sorted::new(batches, order.slice(skipped, take.min(order.len() - skipped))))
    }
}

/// Rows as they came, and the order they go in: a row is copied when it is asked for,
/// so that sorting needs its keys twice and all else once.
struct Sorted {
    batches: Vec<Batch>,
    /// The position of each batch's first row.
    starts: Vec<u32>,
    order: UInt32Array,
    done: usize,
}

impl Sorted {
    fn new(batches: Vec<Batch>, order: UInt32Array) -> Self {
        let starts = batches.iter().scan(0, |next, batch| {
            let start = *next;
            *next += batch.row_count as u32;
            Some(start)
        });
        Self { starts: starts.collect(), batches, order, done: 0 }
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let count = BATCH_SIZE.min(self.order.len() - self.done);
        if count == 0 {
            self.batches.clear();
            return Ok(None);
        }
        let piece = self.order.slice(self.done, count);
        self.done += count;
        if let [only] = &self.batches[..] {
            return only.take(&piece).map(Some);
        }
        let place = |row: &u32| {
            let batch = self.starts.partition_point(|start| start <= row) - 1;
            (batch, (row - self.starts[batch]) as usize)
        };
        let places: Vec<(usize, usize)> = piece.values().iter().map(place).collect();
        let columns = (0..self.batches[0].columns.len()).map(|column| {
            let parts: Vec<&dyn Array> =
                self.batches.iter().map(|batch| &*batch.columns[column]).collect();
            Ok(interleave(&parts, &places)?)
        });
        Ok(Some(Batch::new(columns.collect::<Result<_>>()?, count)))
    }
}

/// The keys of an order over several batches, as of one.
fn keys_of_all(batches: &[Batch], keys: &[SortKey], context: &Context) -> Result<Vec<SortColumn>> {
    let own = |batch: &Batch| {
        let keys = keys
            .iter()
            .map(|key| evaluate(&key.expression, batch, context)?.to_array(batch.row_count));
        Ok(Batch::new(keys.collect::<Result<_>>()?, batch.row_count))
    };
    let parts: Vec<Batch> = batches.iter().map(own).collect::<Result<_>>()?;
    let whole = Batch::concat(&parts)?;
    Ok(sort_columns_of(&whole.columns, whole.row_count, keys))
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
    let values =
        keys.iter().map(|key| evaluate(&key.expression, batch, context)?.to_array(batch.row_count));
    Ok(sort_columns_of(&values.collect::<Result<Vec<_>>>()?, batch.row_count, keys))
}

fn sort_columns_of(values: &[ArrayRef], row_count: usize, keys: &[SortKey]) -> Vec<SortColumn> {
    let columns = values.iter().zip(keys).map(|(values, key)| SortColumn {
        values: canonical(values),
        options: Some(SortOptions { descending: key.descending, nulls_first: key.nulls_first }),
    });
    let positions = UInt32Array::from_iter_values(0..row_count as u32);
    let positions = SortColumn { values: Arc::new(positions), options: None };
    columns.chain([positions]).collect()
}

impl Operator for Sort {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(context)?);
        }
        context.check()?;
        self.sorted.as_mut().map_or(Ok(None), Sorted::next)
    }
}
