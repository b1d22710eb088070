//! One row per group: rows are numbered by their key, and each aggregate keeps one
//! state per number.
//!
//! Where groups need more memory than an operator may hold, no more are taken up: rows
//! of those that are there go on to be counted in, all others are written to a file,
//! divided by the hash of their key. Each part is then grouped the same way, with all
//! the memory, and divided again where it has to be; a pass always finishes the groups
//! of its first batch, so there is an end. States are never written, and so every
//! aggregate can spill (as PostgreSQL has done since 13). A single group's values are
//! held in memory whatever their size, and so are those that aggregates take in an order.

use std::sync::Arc;

use super::context::Context;
use super::group_set::{Answers, GroupSet};
use super::{Operator, Running};
use crate::batch::Batch;
use crate::error::Result;
use crate::plan::physical;

/// Groups and their aggregates.
pub(super) struct Grouping {
    node: Arc<physical::Grouping>,
    input: Running,
    has_begun: bool,
    answers: Answers,
}

impl Grouping {
    pub(super) fn new(node: &Arc<physical::Grouping>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, has_begun: false, answers: Answers::default() }
    }

    /// Reads the input into all grouping sets.
    fn read_input(&mut self, context: &Context) -> Result<()> {
        let node = Arc::clone(&self.node);
        let all: Vec<usize> = (0..node.groups.len()).collect();
        let sets = node.sets.clone().unwrap_or_else(|| vec![all]);
        let sets = sets.iter().map(|set| GroupSet::new(&node, set, 0));
        let mut sets: Vec<GroupSet> = sets.collect::<Result<_>>()?;
        let needs_order = node.aggregates.iter().any(|aggregate| !aggregate.order.is_empty());
        let mut gathered = Vec::new();
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            if needs_order {
                gathered.push(batch);
            } else {
                for set in &mut sets {
                    set.take(&node, &batch, context)?;
                }
            }
        }
        if !gathered.is_empty() {
            let batch = Batch::concat(&gathered)?;
            for set in &mut sets {
                set.take_ordered(&node, &batch, context)?;
            }
        }
        sets.into_iter().for_each(|set| self.answers.push(set));
        Ok(())
    }
}

impl Operator for Grouping {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if !self.has_begun {
            self.has_begun = true;
            self.read_input(context)?;
        }
        self.answers.next(&self.node, context)
    }
}
