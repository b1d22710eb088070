//! Groups of rows that come in the order of what they are grouped by, or of some of it: when
//! that changes, the groups so far have all their rows and are answered.
//!
//! A few thousand groups are closed at a time, at a row that begins a run, so that each set of
//! states sees whole groups: the aggregates are those of [`super::grouping`], and so is every
//! bit of what they answer. Where the order tells all groups apart, rows are numbered by where
//! their key changes, without a table of keys; where it tells some, there is a table for the
//! groups of the runs that are open, and it can spill as there.
//!
//! Values that aggregates take in an order of their own are gathered by set, not for all groups.

use std::sync::Arc;

use super::group_set::{Answers, GroupSet};
use crate::batch::{BATCH_SIZE, Batch};
use crate::context::Context;
use crate::error::Result;
use crate::execute::hash_partition::keys_of;
use crate::execute::runs::Runs;
use crate::execute::{Operator, Running};
use crate::expression::Expr;
use crate::plan::physical;

/// Rows that are gathered, at least, before they are taken in an order.
const GATHERED_ROWS: usize = 16 * BATCH_SIZE;

/// Groups and their aggregates, run by run.
pub(crate) struct StreamGrouping {
    node: Arc<physical::Grouping>,
    input: Running,
    /// What comes in runs.
    by: Vec<Expr>,
    runs: Runs,
    /// The groups that rows are counted in.
    open: Option<GroupSet>,
    /// Their rows, where aggregates take them in an order.
    gathered: Vec<Batch>,
    answers: Answers,
    is_ended: bool,
}

impl StreamGrouping {
    pub(crate) fn new(node: &Arc<physical::Grouping>, input: Running) -> Self {
        let by = node.run.iter().map(|at| node.groups[*at].clone()).collect();
        Self {
            node: Arc::clone(node),
            input,
            by,
            runs: Runs::default(),
            open: None,
            gathered: Vec::new(),
            answers: Answers::default(),
            is_ended: false,
        }
    }

    /// Takes a batch, and closes the groups before it where there are enough.
    fn read(&mut self, batch: &Batch, context: &Context) -> Result<()> {
        let keys = keys_of(&self.by, batch, context)?;
        let starts = self.runs.starts(&keys, batch.row_count)?;
        let keys = Batch::new(keys, batch.row_count);
        let cut = match self.is_full(context) {
            true => starts.values().set_indices().next(),
            false => None,
        };
        if let Some(cut) = cut {
            self.take(&batch.slice(0, cut), keys.slice(0, cut), &starts.slice(0, cut), context)?;
            self.close(context)?;
        }
        let start = cut.unwrap_or(0);
        let rest = batch.row_count - start;
        let (keys, starts) = (keys.slice(start, rest), starts.slice(start, rest));
        self.take(&batch.slice(start, rest), keys, &starts, context)
    }

    fn take(
        &mut self,
        batch: &Batch,
        keys: Batch,
        starts: &arrow_array::BooleanArray,
        context: &Context,
    ) -> Result<()> {
        if batch.row_count == 0 {
            return Ok(());
        }
        if self.needs_order() {
            self.gathered.push(batch.clone());
            return Ok(());
        }
        let node = Arc::clone(&self.node);
        let is_whole = node.run.len() == node.groups.len();
        let open = self.open()?;
        match is_whole {
            true => open.take_runs(keys.columns, starts, batch, context),
            false => open.take(&node, batch, context),
        }
    }

    fn open(&mut self) -> Result<&mut GroupSet> {
        let node = &self.node;
        let all: Vec<usize> = (0..node.groups.len()).collect();
        match &mut self.open {
            Some(open) => Ok(open),
            none => Ok(none.insert(GroupSet::new(node, &all, 0)?)),
        }
    }

    /// Whether there are groups enough to be answered together, or as many as there is room for.
    fn is_full(&self, context: &Context) -> bool {
        let is_full = |open: &GroupSet| {
            let has_room = open.size() <= context.work_memory() / 2;
            open.count() >= BATCH_SIZE || open.has_spilled() || !has_room
        };
        let rows: usize = self.gathered.iter().map(|batch| batch.row_count).sum();
        self.open.as_ref().is_some_and(is_full) || rows >= GATHERED_ROWS
    }

    /// Lets the open groups be answered.
    fn close(&mut self, context: &Context) -> Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        if !gathered.is_empty() {
            let (node, batch) = (Arc::clone(&self.node), Batch::concat(&gathered)?);
            let open = self.open()?;
            // Groups are numbered in the order they came, whatever order aggregates take.
            open.number(keys_of(&node.groups, &batch, context)?, &batch)?;
            open.take_ordered(&node, &batch, context)?;
        }
        if let Some(done) = self.open.take() {
            self.answers.push(done);
        }
        Ok(())
    }

    fn needs_order(&self) -> bool {
        self.node.aggregates.iter().any(|aggregate| !aggregate.order.is_empty())
    }
}

impl Operator for StreamGrouping {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.answers.next(&self.node, context)? {
                return Ok(Some(batch));
            }
            if self.is_ended {
                return Ok(None);
            }
            match self.input.next(context)? {
                Some(batch) => self.read(&batch, context)?,
                None => {
                    self.is_ended = true;
                    self.close(context)?;
                }
            }
        }
    }
}
