//! Probes the hash table of a join. Any number of threads may probe at once.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use folio_compute::keys::{KeySet, KeyTable, has_null, is_integer_key};
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::pairs::{Pairs, empty};
use super::partners::Asked;
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate_array, evaluate_arrays, types};
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::JoinKind;
use crate::times::Node;

/// The hash table of the right side.
pub(super) struct Table {
    keys: KeyTable,
    pub(super) rows: Batch,
    /// The rows of each key; `None` if the number of each key is that of its only row.
    key_rows: Option<KeyRows>,
    has_null: bool,
    _held: Held,
}

/// The rows of each key, one key after the other: those of key `n` are
/// `rows[ends[n - 1]..ends[n]]`, in ascending order.
struct KeyRows {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl Table {
    /// Builds a table of these batches, which `held` counts.
    pub(super) fn new(
        node: &physical::KeyJoin,
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
        let columns = evaluate_arrays(&node.right_keys, &rows, context)?;
        let numbers = keys.intern(&columns, rows.row_count, &mut Vec::new())?;
        let has_null = !node.null_equal && columns.iter().any(|column| column.null_count() > 0);
        let is_unique = keys.len() == rows.row_count && !has_null;
        let links = if is_unique { 0 } else { keys.len() + rows.row_count } * size_of::<u32>();
        held.charge(context.limits(), held.size() + keys.size() + links)?;
        let key_rows = (!is_unique).then(|| {
            let is_left_out = |row| has_null && self::has_null(&columns, row);
            KeyRows::new(&numbers, keys.len(), is_left_out)
        });
        held.charge(context.limits(), size + keys.size() + links)?;
        Ok(Self { keys, rows, key_rows, has_null, _held: held })
    }
}

impl KeyRows {
    /// Sorts rows by the numbers of their keys, without those that `is_left_out` names.
    fn new(numbers: &[u32], key_count: usize, is_left_out: impl Fn(usize) -> bool) -> Self {
        let of_keys = || numbers.iter().enumerate().filter(|(row, _)| !is_left_out(*row));
        let mut ends = vec![0; key_count];
        of_keys().for_each(|(_, number)| ends[*number as usize] += 1);
        // Where the rows of each key begin; where they end, once all are there.
        let mut count = 0;
        for end in &mut ends {
            count += std::mem::replace(end, count);
        }
        let mut rows = vec![0; count as usize];
        for (row, number) in of_keys() {
            let end = &mut ends[*number as usize];
            rows[*end as usize] = row as u32;
            *end += 1;
        }
        Self { ends, rows }
    }

    fn of(&self, number: u32) -> &[u32] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.rows[start as usize..self.ends[number] as usize]
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
    node: Arc<physical::KeyJoin>,
    pub(super) table: Arc<Table>,
}

impl Probe {
    pub(super) fn new(node: &Arc<physical::KeyJoin>, table: Arc<Table>) -> Self {
        Self { node: Arc::clone(node), table }
    }

    /// The join.
    pub(super) fn node(&self) -> Node {
        Node::of(&self.node)
    }

    /// The values of one of the right's keys, if they are integers close together.
    ///
    /// # Errors
    /// Errors of the key.
    fn key_set(&self, key: &Expr, context: &Context) -> Result<Option<KeySet>> {
        if !is_integer_key(&key.ty()) {
            return Ok(None);
        }
        let rows = &self.table.rows;
        let key = evaluate_array(key, rows, context)?;
        Ok(KeySet::new(&key))
    }

    /// The keys that rows of the left need to be in the result, for each column that is a key.
    ///
    /// # Errors
    /// Errors of the keys.
    pub(super) fn asked(&self, context: &Context) -> Result<Vec<Asked>> {
        let node = &self.node;
        let mut asked = Vec::new();
        if !matches!(node.kind, JoinKind::Inner | JoinKind::Semi) || node.null_equal {
            return Ok(asked);
        }
        for (left, right) in node.left_keys.iter().zip(&node.right_keys) {
            if let Expr::Column(column) = left
                && left.ty() == right.ty()
                && let Some(keys) = self.key_set(right, context)?
            {
                asked.push(Asked::keys(column.id.0 as usize, keys));
            }
        }
        Ok(asked)
    }

    /// A batch of the left with the numbers of its keys.
    ///
    /// # Errors
    /// Errors of the keys.
    pub(super) fn begin(&self, batch: Batch, context: &Context) -> Result<Probed> {
        let (node, table) = (&self.node, &self.table);
        let columns = evaluate_arrays(&node.left_keys, &batch, context)?;
        let mut numbers = table.keys.find(&columns, batch.row_count)?;
        if !node.null_equal && columns.iter().any(|column| column.null_count() > 0) {
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
        if node.residual.is_empty() && matched.is_empty() && decides_by_keys(node.kind) {
            return self.decided(probed);
        }
        let (left, pairs) = self.pairs(probed);
        let pairs = pairs.filtered(&left, &table.rows, &node.residual, context)?;
        if !matched.is_empty() {
            pairs.right.iter().for_each(|row| matched[*row as usize] = true);
        }
        pairs.finish(node.kind, &left, &table.rows, &node.right_types)
    }

    /// The result of a semi or anti join whose keys decide: the rest of the batch.
    fn decided(&self, probed: &mut Probed) -> Result<Batch> {
        let start = std::mem::replace(&mut probed.done, probed.batch.row_count);
        let wanted = self.node.kind == JoinKind::Semi;
        let numbers = &probed.numbers[start..];
        let has_partner = |number: u32| match &self.table.key_rows {
            Some(key_rows) => !key_rows.of(number).is_empty(),
            None => true,
        };
        let is_kept = |row: usize| numbers[row].is_some_and(has_partner) == wanted;
        let mask = BooleanBuffer::collect_bool(numbers.len(), is_kept);
        probed.batch.slice(start, numbers.len()).filter(&BooleanArray::new(mask, None))
    }

    /// Pairs of the next rows. All pairs of a row stay together.
    fn pairs(&self, probed: &mut Probed) -> (Batch, Pairs) {
        let start = probed.done;
        let mut pairs = Pairs::default();
        match &self.table.key_rows {
            None => {
                let rows = (0u32..).zip(&probed.numbers[start..]);
                let (left, right) =
                    rows.filter_map(|(row, number)| Some((row, (*number)?))).unzip();
                pairs = Pairs { left, right };
                probed.done = probed.batch.row_count;
            }
            Some(key_rows) => {
                while !probed.is_done() && pairs.left.len() < 4 * BATCH_SIZE {
                    if let Some(number) = probed.numbers[probed.done] {
                        let rows = key_rows.of(number);
                        let left = (probed.done - start) as u32;
                        pairs.left.resize(pairs.left.len() + rows.len(), left);
                        pairs.right.extend_from_slice(rows);
                    }
                    probed.done += 1;
                }
            }
        }
        (probed.batch.slice(start, probed.done - start), pairs)
    }
}

/// Whether nothing but the existence of a partner counts.
fn decides_by_keys(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::NullAnti)
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
