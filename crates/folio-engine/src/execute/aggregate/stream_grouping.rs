//! Streaming groups: the input is sorted by the group keys, or by some of them. When those change,
//! the groups so far are complete and are returned.
//!
//! A few thousand groups are closed at a time, at the start of a run, so that each set of states
//! has whole groups. The aggregates are those of [`super::grouping`], with bit-identical results.
//! If the order determines the groups, rows are numbered by changes of the key, without a hash
//! table. If it determines only part of the key, a hash table holds the groups of the open runs,
//! and can spill.
//!
//! Values that aggregates take in an order are collected per set of groups, not for all groups.

use std::sync::Arc;

use folio_compute::{BATCH_SIZE, Batch, KeyRuns, Result};

use super::group_set::{Answers, GroupSet};
use crate::context::Context;
use crate::execute::{Operator, Running};
use crate::expression::Expr;
use crate::expression::evaluate::evaluate_arrays;
use crate::limits::Held;
use crate::plan::physical;

/// Minimum number of rows to collect before ordered aggregates take them.
const GATHERED_ROWS: usize = 16 * BATCH_SIZE;

/// A streaming grouping.
pub(crate) struct StreamGrouping {
    node: Arc<physical::Grouping>,
    input: Running,
    /// The keys that come in runs.
    by: Vec<Expr>,
    runs: KeyRuns,
    /// The groups that rows are added to.
    open: Option<GroupSet>,
    /// Collected rows, if aggregates take them in an order.
    gathered: Vec<Batch>,
    held: Held,
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
            runs: KeyRuns::default(),
            open: None,
            gathered: Vec::new(),
            held: Held::default(),
            answers: Answers::default(),
            is_ended: false,
        }
    }

    /// Adds a batch. Closes the groups before it if there are enough.
    fn read(&mut self, batch: &Batch, context: &Context) -> Result<()> {
        let keys = evaluate_arrays(&self.by, batch, context)?;
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
            self.held.charge(context.limits(), self.held.size() + batch.size())?;
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

    /// Whether there are enough open groups to return together, or memory is full.
    fn is_full(&self, context: &Context) -> bool {
        let is_full = |open: &GroupSet| {
            open.count() >= BATCH_SIZE || open.has_spilled() || context.is_full(2 * open.size())
        };
        let rows: usize = self.gathered.iter().map(|batch| batch.row_count).sum();
        self.open.as_ref().is_some_and(is_full) || rows >= GATHERED_ROWS
    }

    /// Closes the open groups, to be returned.
    fn close(&mut self, context: &Context) -> Result<()> {
        let gathered = std::mem::take(&mut self.gathered);
        if !gathered.is_empty() {
            let (node, batch) = (Arc::clone(&self.node), Batch::concat(&gathered)?);
            let open = self.open()?;
            // Numbers groups in the order of the input, whatever order aggregates need.
            open.number(evaluate_arrays(&node.groups, &batch, context)?, &batch)?;
            open.take_ordered(&node, &batch, context)?;
            self.held.charge(context.limits(), 0)?;
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
