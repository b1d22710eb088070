//! Stages that the threads of a scan run on its rows: projections, filters, joins whose right side
//! is in memory, UNNEST beside rows, and grouping within a run of parts.
//!
//! A stage handles each batch independently, so any thread may take any batch.

use std::sync::Arc;

use folio_compute::{Batch, Result};

use super::aggregate::group_set::GroupSet;
use super::apply::applied;
use super::probe::Probe;
use super::timed::aside;
use super::values::projected;
use crate::context::Context;
use crate::expression::evaluate;
use crate::plan::physical;
use crate::times::Node;

/// A stage.
#[derive(Clone)]
pub(super) enum Stage {
    Project(Arc<physical::Project>),
    Filter(Arc<physical::Filter>),
    Join(Probe),
    Unnest(Arc<physical::Apply>),
}

/// Runs the stages on a batch in order, and passes the results to `to`.
///
/// # Errors
/// Errors of the stages' expressions and of `to`.
pub(super) fn run(
    stages: &[Stage],
    batch: Batch,
    context: &Context,
    to: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<()> {
    if batch.row_count == 0 {
        return Ok(());
    }
    let Some((stage, rest)) = stages.split_first() else { return to(batch) };
    let count = |batch: &Batch| batch.row_count;
    match stage {
        Stage::Project(node) => {
            let project = || projected(node, &batch, context);
            run(rest, aside(Node::of(node), context, count, project)?, context, to)
        }
        Stage::Filter(node) => {
            let filter = || evaluate::filter(&node.terms, batch, context);
            run(rest, aside(Node::of(node), context, count, filter)?, context, to)
        }
        Stage::Unnest(node) => {
            let unnest = || applied(node, &batch, context);
            run(rest, aside(Node::of(node), context, count, unnest)?, context, to)
        }
        Stage::Join(probe) => {
            let mut probed = aside(probe.node(), context, |_| 0, || probe.begin(batch, context))?;
            while !probed.is_done() {
                let next = || probe.next(&mut probed, &mut [], context);
                run(rest, aside(probe.node(), context, count, next)?, context, to)?;
            }
            Ok(())
        }
    }
}

/// Grouping is worth it from this many rows per group, in the first batch of a run of parts.
const ROWS_PER_GROUP: usize = 16;

/// When the groups of a run of parts exceed this many bytes, they are returned and new ones begin.
const MAX_SIZE: usize = 32 << 20;

/// The result of a part.
pub(super) enum Produced {
    Rows(Batch),
    /// Groups of consecutive rows, one set for each grouping set.
    Groups(Vec<GroupSet>),
}

/// Groups the rows of a run of parts, unless nearly every row is its own group.
pub(super) struct PartGroups {
    node: Arc<physical::Grouping>,
    sets: Vec<GroupSet>,
    /// Whether groups are made; otherwise rows are passed on.
    is_worth: bool,
    has_begun: bool,
}

impl PartGroups {
    /// For a new run. `is_worth` says whether groups may be made at all.
    pub(super) fn new(node: &Arc<physical::Grouping>, is_worth: bool) -> Self {
        Self { node: Arc::clone(node), sets: Vec::new(), is_worth, has_begun: false }
    }

    /// Adds rows. Returns groups or rows to pass on now.
    ///
    /// # Errors
    /// Errors of keys and aggregates.
    pub(super) fn take(&mut self, batch: Batch, context: &Context) -> Result<Option<Produced>> {
        if !self.is_worth {
            return Ok(Some(Produced::Rows(batch.plain())));
        }
        let node = Node::of(&self.node);
        aside(node, context, |_| 0, || self.group(batch, context))
    }

    fn group(&mut self, batch: Batch, context: &Context) -> Result<Option<Produced>> {
        if self.sets.is_empty() {
            self.sets = GroupSet::all(&self.node)?;
        }
        for set in &mut self.sets {
            set.take_in_memory(&batch, context)?;
        }
        let count: usize = self.sets.iter().map(GroupSet::count).sum();
        if !std::mem::replace(&mut self.has_begun, true) && count * ROWS_PER_GROUP > batch.row_count
        {
            self.is_worth = false;
            self.sets.clear();
            return Ok(Some(Produced::Rows(batch.plain())));
        }
        let size: usize = self.sets.iter().map(GroupSet::size).sum();
        Ok(if size > MAX_SIZE { self.finish() } else { None })
    }

    /// Whether rows of the next part may be added.
    pub(super) fn may_go_on(&self) -> bool {
        self.is_worth
    }

    /// The remaining groups.
    pub(super) fn finish(&mut self) -> Option<Produced> {
        let sets = std::mem::take(&mut self.sets);
        (!sets.is_empty()).then_some(Produced::Groups(sets))
    }
}
