//! Pairs by equal keys: the right side is read into a table by key, the left is
//! looked up in it batch by batch.
//!
//! Null equals nothing, unless the join says it does. Rows of the right that found
//! no partner come last, where the kind of join wants them.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};

use super::context::Context;
use super::keys::{KeyTable, has_null};
use super::pairs::{Pairs, empty, lonely};
use super::{Operator, Running, drain};
use crate::batch::{BATCH_SIZE, Batch};
use crate::error::Result;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate, types};
use crate::plan::logical::JoinKind;
use crate::plan::physical;

pub(super) struct HashJoin {
    node: Arc<physical::HashJoin>,
    left: Running,
    right: Running,
    table: Option<Table>,
    /// The left batch under way, its keys' numbers, and rows of it done.
    current: Option<(Batch, Vec<Option<u32>>, usize)>,
    is_done: bool,
}

/// The right side.
struct Table {
    keys: KeyTable,
    rows: Batch,
    /// The first row of each key, and for each row the next of its key.
    first: Vec<u32>,
    next: Vec<u32>,
    has_null: bool,
    /// Rows that found a partner, where that matters.
    matched: Vec<bool>,
}

const END: u32 = u32::MAX;

impl HashJoin {
    pub(super) fn new(node: &Arc<physical::HashJoin>, left: Running, right: Running) -> Self {
        Self { node: Arc::clone(node), left, right, table: None, current: None, is_done: false }
    }

    /// Reads the right side.
    fn read_right(&mut self, context: &Context) -> Result<Table> {
        let node = &self.node;
        let batches = drain(&mut self.right, context)?;
        let rows = match batches.is_empty() {
            true => empty(&node.right_types),
            false => Batch::concat(&batches)?,
        };
        let mut keys = KeyTable::new(&types(&node.right_keys))?;
        let columns = keys_of(&node.right_keys, &rows, context)?;
        let numbers = keys.intern(&columns, rows.row_count, &mut Vec::new())?;
        let mut first = vec![END; keys.len()];
        let mut next = vec![END; rows.row_count];
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
        let wants_lonely = matches!(node.kind, JoinKind::Right | JoinKind::Full);
        let matched = vec![false; if wants_lonely { rows.row_count } else { 0 }];
        Ok(Table { keys, rows, first, next, has_null: some_null, matched })
    }

    /// The next batch of the left with the numbers of its keys.
    fn next_left(&mut self, context: &Context) -> Result<bool> {
        let Some(batch) = self.left.next(context)? else { return Ok(false) };
        let (node, Some(table)) = (&self.node, &self.table) else { return Ok(false) };
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
        self.current = Some((batch, numbers, 0));
        Ok(true)
    }

    /// Pairs of the current batch, as many as one batch should have; all of a row's
    /// pairs stay together.
    fn next_pairs(&mut self) -> (Batch, Pairs) {
        let (Some((batch, numbers, done)), Some(table)) = (&mut self.current, &self.table) else {
            return (Batch::new(Vec::new(), 0), Pairs::default());
        };
        let start = *done;
        let mut pairs = Pairs::default();
        while *done < batch.row_count && pairs.left.len() < 4 * BATCH_SIZE {
            if let Some(number) = numbers[*done] {
                let mut row = table.first[number as usize];
                while row != END {
                    pairs.left.push((*done - start) as u32);
                    pairs.right.push(row);
                    row = table.next[row as usize];
                }
            }
            *done += 1;
        }
        let part = batch.slice(start, *done - start);
        if *done == batch.row_count {
            self.current = None;
        }
        (part, pairs)
    }

    /// The rows of the right that found no partner.
    fn lonely_right(&self) -> Result<Option<Batch>> {
        let Some(table) = &self.table else { return Ok(None) };
        let rows: Vec<u32> =
            (0..table.matched.len() as u32).filter(|row| !table.matched[*row as usize]).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let left = lonely(&self.node.left_types, rows.len());
        Ok(Some(left.beside(table.rows.take(&UInt32Array::from(rows))?)))
    }
}

/// NOT IN: with a null on the right nothing is certain but equality; a null on the
/// left is certain only where the right is empty.
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

fn keys_of(keys: &[Expr], batch: &Batch, context: &Context) -> Result<Vec<ArrayRef>> {
    let arrays = keys.iter().map(|key| evaluate(key, batch, context)?.to_array(batch.row_count));
    arrays.collect()
}

impl Operator for HashJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if self.table.is_none() {
            self.table = Some(self.read_right(context)?);
        }
        let node = Arc::clone(&self.node);
        while !self.is_done {
            context.check()?;
            if self.current.is_none() && !self.next_left(context)? {
                self.is_done = true;
                return self.lonely_right();
            }
            let (left, pairs) = self.next_pairs();
            let Some(table) = &mut self.table else { break };
            let pairs = pairs.filtered(&left, &table.rows, &node.residual, context)?;
            if !table.matched.is_empty() {
                pairs.right.iter().for_each(|row| table.matched[*row as usize] = true);
            }
            let answer = pairs.finish(node.kind, &left, &table.rows, &node.right_types)?;
            if answer.row_count > 0 {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}
