//! What the threads of a scan do with its rows before they hand them on: columns out of
//! columns, conditions, joins whose right side is in memory, and groups of single parts.
//!
//! A stage looks at one batch and at nothing that came before it, so any thread may take any
//! batch.

use std::sync::Arc;

use super::aggregate::group_set::GroupSet;
use super::probe::Probe;
use super::values::projected;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::Result;
use crate::expression::evaluate;
use crate::plan::physical;

/// One step.
#[derive(Clone)]
pub(super) enum Stage {
    Project(Arc<physical::Project>),
    Filter(Arc<physical::Filter>),
    Join(Probe),
}

/// Hands `to` what the stages make of a batch, in order.
///
/// # Errors
/// What the stages' expressions and `to` say.
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
    match stage {
        Stage::Project(node) => run(rest, projected(node, &batch, context)?, context, to),
        Stage::Filter(node) => {
            run(rest, evaluate::filter(&node.terms, batch, context)?, context, to)
        }
        Stage::Join(probe) => {
            let mut probed = probe.begin(batch, context)?;
            while !probed.is_done() {
                run(rest, probe.next(&mut probed, &mut [], context)?, context, to)?;
            }
            Ok(())
        }
    }
}

/// Groups with at least so many rows each, in the first batch of a part, are worth making there.
const ROWS_PER_GROUP: usize = 16;

/// Bytes of a part's groups after which they are handed on, and the next begun.
const MAX_SIZE: usize = 4 << 20;

/// What a part comes to.
pub(super) enum Produced {
    Rows(Batch),
    /// Groups of rows that came one behind the other, a set for each grouping set.
    Groups(Vec<GroupSet>),
}

/// Groups the rows of one part, unless nearly every row is a group.
pub(super) struct PartGroups {
    node: Arc<physical::Grouping>,
    sets: Vec<GroupSet>,
    /// Whether groups are made; rows are handed on else.
    is_worth: bool,
    has_begun: bool,
}

impl PartGroups {
    /// For a part that begins; `is_worth` says whether groups may be made at all.
    pub(super) fn new(node: &Arc<physical::Grouping>, is_worth: bool) -> Self {
        Self { node: Arc::clone(node), sets: Vec::new(), is_worth, has_begun: false }
    }

    /// Takes rows; what is to be handed on for them now.
    ///
    /// # Errors
    /// What keys and aggregates say.
    pub(super) fn take(&mut self, batch: Batch, context: &Context) -> Result<Option<Produced>> {
        if !self.is_worth {
            return Ok(Some(Produced::Rows(batch)));
        }
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
            return Ok(Some(Produced::Rows(batch)));
        }
        let size: usize = self.sets.iter().map(GroupSet::size).sum();
        Ok(if size > MAX_SIZE { self.finish() } else { None })
    }

    /// The groups there are.
    pub(super) fn finish(&mut self) -> Option<Produced> {
        let sets = std::mem::take(&mut self.sets);
        (!sets.is_empty()).then_some(Produced::Groups(sets))
    }
}
