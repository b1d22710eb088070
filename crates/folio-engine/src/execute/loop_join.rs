//! Nested loop joins: every row of the left with every row of the right.
//!
//! Pairs are made block by block, so that memory holds one block.

use std::sync::Arc;

use arrow_array::UInt32Array;
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::pairs::{Pairs, empty, lonely};
use super::{Operator, Running, drain};
use crate::context::Context;
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::JoinKind;

pub(super) struct LoopJoin {
    node: Arc<physical::LoopJoin>,
    left: Running,
    right: Running,
    rows: Option<Batch>,
    /// Which rows of the right found a partner.
    matched: Vec<bool>,
    /// The current batch of the left, and how many of its rows are done.
    current: Option<(Batch, usize)>,
    is_done: bool,
    held: Held,
}

impl LoopJoin {
    pub(super) fn new(node: &Arc<physical::LoopJoin>, left: Running, right: Running) -> Self {
        let matched = Vec::new();
        Self {
            node: Arc::clone(node),
            left,
            right,
            rows: None,
            matched,
            current: None,
            is_done: false,
            held: Held::default(),
        }
    }

    fn read_right(&mut self, context: &Context) -> Result<Batch> {
        let batches = drain(&mut self.right, &mut self.held, context)?;
        let rows = match batches.is_empty() {
            true => empty(&self.node.right_types),
            false => Batch::concat(&batches)?,
        };
        self.held.charge(context.limits(), rows.size())?;
        if matches!(self.node.kind, JoinKind::Right | JoinKind::Full) {
            self.matched = vec![false; rows.row_count];
        }
        Ok(rows)
    }

    /// A few rows of the left, and their pairs.
    fn next_part(&mut self, right: &Batch, context: &Context) -> Result<Option<(Batch, Pairs)>> {
        if self.current.is_none() {
            let Some(batch) = self.left.next(context)? else { return Ok(None) };
            self.current = Some((batch, 0));
        }
        let Some((batch, done)) = &mut self.current else { return Ok(None) };
        let count = (4 * BATCH_SIZE / right.row_count.max(1)).clamp(1, batch.row_count.max(1));
        let count = count.min(batch.row_count - *done);
        let part = batch.slice(*done, count);
        *done += count;
        if *done >= batch.row_count {
            self.current = None;
        }
        let mut pairs = Pairs::default();
        for row in 0..count as u32 {
            pairs.left.extend(std::iter::repeat_n(row, right.row_count));
            pairs.right.extend(0..right.row_count as u32);
        }
        Ok(Some((part, pairs)))
    }
}

impl Operator for LoopJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let node = Arc::clone(&self.node);
        let right = match self.rows.take() {
            Some(rows) => rows,
            None => self.read_right(context)?,
        };
        let mut found = None;
        while found.is_none() && !self.is_done {
            context.check()?;
            let Some((left, pairs)) = self.next_part(&right, context)? else {
                self.is_done = true;
                found = lonely_right(&node, &right, &self.matched)?;
                break;
            };
            let pairs = pairs.filtered(&left, &right, &node.terms, context)?;
            if !self.matched.is_empty() {
                pairs.right.iter().for_each(|row| self.matched[*row as usize] = true);
            }
            let answer = pairs.finish(node.kind, &left, &right, &node.right_types)?;
            found = (answer.row_count > 0).then_some(answer);
        }
        self.rows = Some(right);
        Ok(found)
    }
}

/// The rows of the right without a partner.
fn lonely_right(
    node: &physical::LoopJoin,
    right: &Batch,
    matched: &[bool],
) -> Result<Option<Batch>> {
    let rows: Vec<u32> = (0..matched.len() as u32).filter(|row| !matched[*row as usize]).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let left = lonely(&node.left_types, rows.len());
    Ok(Some(left.beside(right.take(&UInt32Array::from(rows))?)))
}
