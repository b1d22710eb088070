//! Probes the hash table of a join. Any number of threads may probe at once.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use folio_compute::keys::{KeyTable, has_null};
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::hash_partition::keys_of;
use super::pairs::{Pairs, empty};
use crate::context::Context;
use crate::expression::evaluate::types;
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::JoinKind;

const END: u32 = u32::MAX;

/// The hash table of the right side.
pub(super) struct Table {
    keys: KeyTable,
    pub(super) rows: Batch,
    /// The first row of each key, and for each row the next one with its key.
    first: Vec<u32>,
    next: Vec<u32>,
    has_null: bool,
    _held: Held,
}

impl Table {
    /// Builds a table of these batches, which `held` counts.
    pub(super) fn new(
        node: &physical::HashJoin,
        batches: &[Batch],
        mut held: Held,
        context: &Context,
    ) -> Result<Self> {
        let rows = match batches.is_empty() {
            true => empty(&node.right_types),
            false => Batch::concat(batches)?,
        };
        let size = rows.size();
        held.charge(context.limits(), held.size() + size)?;
        let mut keys = KeyTable::new(&types(&node.right_keys))?;
        let columns = keys_of(&node.right_keys, &rows, context)?;
        let numbers = keys.intern(&columns, rows.row_count, &mut Vec::new())?;
        let mut first = vec![END; keys.len()];
        let mut next = vec![END; rows.row_count];
        let links = (first.len() + next.len()) * size_of::<u32>();
        held.charge(context.limits(), held.size() + keys.size() + links)?;
        let mut some_null = false;
        // Backwards, so that each chain ascends.
        for row in (0..rows.row_count).rev() {
            if !node.null_equal && has_null(&columns, row) {
                some_null = true;
                continue;
            }
            let number = numbers[row] as usize;
            next[row] = std::mem::replace(&mut first[number], row as u32);
        }
        held.charge(context.limits(), size + keys.size() + links)?;
        Ok(Self { keys, rows, first, next, has_null: some_null, _held: held })
    }
}

/// A batch of the left that is being probed.
pub(super) struct Probed {
    batch: Batch,
    /// The key number of every row.
    numbers: Vec<Option<u32>>,
    /// Rows that are done.
    done: usize,
}

impl Probed {
    /// Whether all rows are done.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.batch.row_count
    }
}

/// A hash table and its join.
#[derive(Clone)]
pub(super) struct Probe {
    node: Arc<physical::HashJoin>,
    pub(super) table: Arc<Table>,
}

impl Probe {
    pub(super) fn new(node: &Arc<physical::HashJoin>, table: Arc<Table>) -> Self {
        Self { node: Arc::clone(node), table }
    }

    /// A batch of the left with the numbers of its keys.
    ///
    /// # Errors
    /// Errors of the keys.
    pub(super) fn begin(&self, batch: Batch, context: &Context) -> Result<Probed> {
        let (node, table) = (&self.node, &self.table);
        let columns = keys_of(&node.left_keys, &batch, context)?;
        let mut numbers = table.keys.find(&columns, batch.row_count)?;
        if !node.null_equal {
            for (row, number) in numbers.iter_mut().enumerate() {
                if number.is_some() && has_null(&columns, row) {
                    *number = None;
                }
            }
        }
        let batch = match node.kind {
            JoinKind::NullAnti => undecided(batch, &columns, table, &mut numbers)?,
            _ => batch,
        };
        Ok(Probed { batch, numbers, done: 0 })
    }

    /// The join's result for the next rows of a batch, about one batch. Marks the rows of the right
    /// that found a partner in `matched`, if it is not empty.
    ///
    /// # Errors
    /// Errors of the join's other conditions.
    pub(super) fn next(
        &self,
        probed: &mut Probed,
        matched: &mut [bool],
        context: &Context,
    ) -> Result<Batch> {
        let (node, table) = (&self.node, &self.table);
        let (left, pairs) = self.pairs(probed);
        let pairs = pairs.filtered(&left, &table.rows, &node.residual, context)?;
        if !matched.is_empty() {
            pairs.right.iter().for_each(|row| matched[*row as usize] = true);
        }
        pairs.finish(node.kind, &left, &table.rows, &node.right_types)
    }

    /// Pairs of the next rows. All pairs of a row stay together.
    fn pairs(&self, probed: &mut Probed) -> (Batch, Pairs) {
        let (table, start) = (&self.table, probed.done);
        let mut pairs = Pairs::default();
        while !probed.is_done() && pairs.left.len() < 4 * BATCH_SIZE {
            if let Some(number) = probed.numbers[probed.done] {
                let mut row = table.first[number as usize];
                while row != END {
                    pairs.left.push((probed.done - start) as u32);
                    pairs.right.push(row);
                    row = table.next[row as usize];
                }
            }
            probed.done += 1;
        }
        (probed.batch.slice(start, probed.done - start), pairs)
    }
}

/// NOT IN: if the right has a null, only equality is certain. A null on the left is certain only
/// if the right is empty.
fn undecided(
    batch: Batch,
    columns: &[ArrayRef],
    table: &Table,
    numbers: &mut Vec<Option<u32>>,
) -> Result<Batch> {
    if table.rows.row_count == 0 {
        return Ok(batch);
    }
    let mut rows = (0..batch.row_count as u32).collect::<Vec<_>>();
    rows.retain(|row| !table.has_null && !has_null(columns, *row as usize));
    *numbers = rows.iter().map(|row| numbers[*row as usize]).collect();
    batch.take(&UInt32Array::from(rows))
}
