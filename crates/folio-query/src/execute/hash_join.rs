//! Pairs by equal keys: the right side is read into a table by key, the left is
//! looked up in it batch by batch.
//!
//! Null equals nothing, unless the join says it does. Rows of the right that found
//! no partner come last, where the kind of join wants them.
//!
//! Where the right side needs more memory than an operator may hold, both sides are
//! divided by the hash of their keys over two files ([`super::divide`]), and the parts
//! joined one after the other, each divided again if it has to be (DeWitt and others'
//! Grace join, 1984). A part of one key, or of few, is held in memory after all, and so
//! is the right side of NOT IN, whose rows depend on all others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, UInt32Array};

use super::context::Context;
use super::divide::{Divider, Divisions, keys_of};
use super::keys::{KeyTable, has_null};
use super::pairs::{Pairs, empty, lonely};
use super::spill::Spill;
use super::{Operator, Running};
use crate::batch::{BATCH_SIZE, Batch};
use crate::error::Result;
use crate::expression::evaluate::types;
use crate::plan::logical::JoinKind;
use crate::plan::physical;

pub(super) struct HashJoin {
    node: Arc<physical::HashJoin>,
    left: Running,
    right: Running,
    table: Option<Arc<Table>>,
    /// Rows of the right that found a partner, where that matters.
    matched: Vec<bool>,
    /// Sides that were divided.
    divisions: Divisions<Sides>,
    /// The left batch under way, its keys' numbers, and rows of it done.
    current: Option<(Batch, Vec<Option<u32>>, usize)>,
    is_done: bool,
}

/// Both sides on files.
struct Sides {
    left: Spill,
    right: Spill,
}

/// Divisions of divisions, at most: what is together still has one key, or few.
const DIVISIONS_MAX: u32 = 6;

/// The right side.
pub(super) struct Table {
    keys: KeyTable,
    rows: Batch,
    /// The first row of each key, and for each row the next of its key.
    first: Vec<u32>,
    next: Vec<u32>,
    has_null: bool,
}

const END: u32 = u32::MAX;

/// Right sides that are the same in every run of a subquery, by their join.
#[derive(Default)]
pub(crate) struct KeptTables {
    known: Mutex<HashMap<usize, Kept>>,
}

/// The join is kept, too: its address is nobody else's as long as it stands here.
type Kept = (Arc<physical::HashJoin>, Arc<Table>);

impl KeptTables {
    fn get(&self, node: &Arc<physical::HashJoin>) -> Option<Arc<Table>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&Arc::as_ptr(node).addr()).map(|(_, table)| Arc::clone(table))
    }

    fn put(&self, node: &Arc<physical::HashJoin>, table: &Arc<Table>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(Arc::as_ptr(node).addr(), (Arc::clone(node), Arc::clone(table)));
    }
}

impl HashJoin {
    pub(super) fn new(node: &Arc<physical::HashJoin>, left: Running, right: Running) -> Self {
        let node = Arc::clone(node);
        let (divisions, is_done) = (Divisions::new(), false);
        let (table, matched, current) = (None, Vec::new(), None);
        Self { node, left, right, table, matched, divisions, current, is_done }
    }

    /// The right side: what an earlier run of the same subquery has read, if that is the
    /// same, or else read now. `None` where both sides had to be divided.
    fn table(&mut self, context: &Context) -> Result<Option<Arc<Table>>> {
        if !self.node.right_is_constant {
            return Ok(self.read_right(context)?.map(Arc::new));
        }
        if let Some(kept) = context.shared.tables.get(&self.node) {
            return Ok(Some(kept));
        }
        let read = self.read_right(context)?.map(Arc::new);
        if let Some(table) = &read
            && self.divisions.depth() == 0
        {
            context.shared.tables.put(&self.node, table);
        }
        Ok(read)
    }

    /// Reads the right side, or divides both; then there is no table yet.
    fn read_right(&mut self, context: &Context) -> Result<Option<Table>> {
        let (mut batches, mut size) = (Vec::new(), 0);
        while let Some(batch) = self.next_right(context)? {
            context.check()?;
            if batch.row_count == 0 {
                continue;
            }
            size += batch.size();
            batches.push(batch);
            // The rows are copied once more when they are put together.
            if 2 * size > context.work_memory()
                && self.may_divide()
                && let Some(right) = Spill::new(&self.node.right_types, context)?
                && let Some(left) = Spill::new(&self.node.left_types, context)?
            {
                self.divide(batches, left, right, context)?;
                return Ok(None);
            }
        }
        self.table_of(&batches, context).map(Some)
    }

    fn may_divide(&self) -> bool {
        let node = &self.node;
        let has_room = self.divisions.depth() < DIVISIONS_MAX;
        has_room
            && !node.is_in_order
            && node.kind != JoinKind::NullAnti
            && !node.right_keys.is_empty()
    }

    /// Writes what there is of both sides, part by part.
    fn divide(
        &mut self,
        batches: Vec<Batch>,
        mut left: Spill,
        mut right: Spill,
        context: &Context,
    ) -> Result<()> {
        let node = Arc::clone(&self.node);
        let level = self.divisions.depth();
        let divider = Divider::new(&node.right_keys, level)?;
        for batch in batches {
            divider.write(&mut right, &batch, context)?;
        }
        while let Some(batch) = self.next_right(context)? {
            context.check()?;
            divider.write(&mut right, &batch, context)?;
        }
        let divider = Divider::new(&node.left_keys, level)?;
        while let Some(batch) = self.next_of_left(context)? {
            context.check()?;
            divider.write(&mut left, &batch, context)?;
        }
        left.finish()?;
        right.finish()?;
        self.divisions.push(Sides { left, right });
        Ok(())
    }

    fn next_right(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.divisions.current() {
            Some((sides, part)) => sides.right.next(part),
            None => self.right.next(context),
        }
    }

    fn next_of_left(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.divisions.current() {
            Some((sides, part)) => sides.left.next(part),
            None => self.left.next(context),
        }
    }

    fn table_of(&self, batches: &[Batch], context: &Context) -> Result<Table> {
        let node = &self.node;
        let rows = match batches.is_empty() {
            true => empty(&node.right_types),
            false => Batch::concat(batches)?,
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
        Ok(Table { keys, rows, first, next, has_null: some_null })
    }

    /// The next batch of the left with the numbers of its keys.
    fn next_left(&mut self, context: &Context) -> Result<bool> {
        let Some(batch) = self.next_of_left(context)? else { return Ok(false) };
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
            (0..self.matched.len() as u32).filter(|row| !self.matched[*row as usize]).collect();
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

impl Operator for HashJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let node = Arc::clone(&self.node);
        while !self.is_done {
            context.check()?;
            if self.table.is_none() {
                self.table = self.table(context)?;
                let count = self.table.as_ref().map_or(0, |table| table.rows.row_count);
                let wants_lonely = matches!(node.kind, JoinKind::Right | JoinKind::Full);
                self.matched = vec![false; if wants_lonely { count } else { 0 }];
                continue;
            }
            if self.current.is_none() && !self.next_left(context)? {
                let lonely = self.lonely_right()?;
                self.table = None;
                self.is_done = !self.divisions.next_part();
                match lonely {
                    None => continue,
                    lonely => return Ok(lonely),
                }
            }
            let (left, pairs) = self.next_pairs();
            let Some(table) = &self.table else { break };
            let pairs = pairs.filtered(&left, &table.rows, &node.residual, context)?;
            if !self.matched.is_empty() {
                pairs.right.iter().for_each(|row| self.matched[*row as usize] = true);
            }
            let answer = pairs.finish(node.kind, &left, &table.rows, &node.right_types)?;
            if answer.row_count > 0 {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}
