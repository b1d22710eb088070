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

use super::group_set::{Answers, GroupSet};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::Result;
use crate::execute::pipeline::Pipeline;
use crate::execute::stage::Produced;
use crate::execute::{Operator, Running};
use crate::plan::physical;

/// Groups and their aggregates.
pub(crate) struct Grouping {
    node: Arc<physical::Grouping>,
    input: Input,
    has_begun: bool,
    answers: Answers,
}

/// Where rows come from.
pub(in crate::execute) enum Input {
    /// An operator.
    Rows(Running),
    /// A pipeline, which hands groups of parts on where it can.
    Parts(Pipeline),
}

impl Grouping {
    pub(in crate::execute) fn new(node: &Arc<physical::Grouping>, input: Input) -> Self {
        Self { node: Arc::clone(node), input, has_begun: false, answers: Answers::default() }
    }

    fn next_input(&mut self, context: &Context) -> Result<Option<Produced>> {
        match &mut self.input {
            Input::Rows(input) => Ok(input.next(context)?.map(Produced::Rows)),
            Input::Parts(pipeline) => pipeline.next_produced(context),
        }
    }

    /// Takes rows, or groups of them. As long as groups may come, all are held in memory: those
    /// that were written could not be found again. Once half of it is full, no more groups are made.
    fn take(&mut self, sets: &mut [GroupSet], produced: Produced, context: &Context) -> Result<()> {
        let may_spill = !matches!(&self.input, Input::Parts(input) if input.may_bring_groups());
        match produced {
            Produced::Rows(batch) => {
                for set in &mut *sets {
                    match may_spill {
                        true => set.take(&self.node, &batch, context)?,
                        false => set.take_in_memory(&batch, context)?,
                    }
                }
            }
            Produced::Groups(parts) => {
                for (set, part) in sets.iter_mut().zip(parts) {
                    set.merge(part)?;
                }
            }
        }
        if let Input::Parts(input) = &mut self.input
            && !may_spill
            && sets.iter().any(|set| set.size() > context.work_memory() / 2)
        {
            input.end_groups();
        }
        Ok(())
    }

    /// Reads the input into all grouping sets.
    fn read_input(&mut self, context: &Context) -> Result<()> {
        let node = Arc::clone(&self.node);
        let mut sets = GroupSet::all(&node)?;
        let needs_order = node.aggregates.iter().any(|aggregate| !aggregate.order.is_empty());
        let mut gathered = Vec::new();
        while let Some(produced) = self.next_input(context)? {
            context.check()?;
            match produced {
                Produced::Rows(batch) if needs_order => gathered.push(batch),
                produced => self.take(&mut sets, produced, context)?,
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
