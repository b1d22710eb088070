//! Hash grouping: rows are numbered by their key, and each aggregate has one state per number.
//!
//! If the groups need more memory than an operator may hold, no new groups are made. Rows of
//! existing groups are still added; all others are written to a file, partitioned by the hash of
//! their key. Each partition is then grouped the same way, with all the memory, and partitioned
//! again if necessary. A pass always finishes the groups of its first batch, so it terminates.
//! States are never written, so every aggregate can spill (as in PostgreSQL since 13). The values
//! of a single group stay in memory whatever their size. So do values that aggregates take in an
//! order.

use std::sync::Arc;

use folio_compute::{Batch, Result};

use super::group_set::{Answers, GroupSet};
use crate::context::Context;
use crate::execute::pipeline::Pipeline;
use crate::execute::stage::Produced;
use crate::execute::{Operator, Running};
use crate::limits::Held;
use crate::plan::physical;

/// Groups and their aggregates.
pub(crate) struct Grouping {
    node: Arc<physical::Grouping>,
    input: Input,
    has_begun: bool,
    answers: Answers,
}

/// The source of rows.
pub(in crate::execute) enum Input {
    /// An operator.
    Rows(Running),
    /// A pipeline, which returns groups of partitions if it can.
    Parts(Box<Pipeline>),
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

    /// Adds rows, or groups of them. While groups may come, nothing is spilled, since they could
    /// not be merged with spilled rows. Once half of the memory is full, the input makes no more
    /// groups.
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
                    set.merge(part, context)?;
                }
            }
        }
        if let Input::Parts(input) = &mut self.input
            && !may_spill
            && sets.iter().any(|set| context.is_full(2 * set.size()))
        {
            input.end_groups();
        }
        Ok(())
    }

    /// Reads the whole input into all grouping sets.
    fn read_input(&mut self, context: &Context) -> Result<()> {
        let node = Arc::clone(&self.node);
        let mut sets = GroupSet::all(&node)?;
        let needs_order = node.aggregates.iter().any(|aggregate| !aggregate.order.is_empty());
        let (mut gathered, mut held) = (Vec::new(), Held::default());
        while let Some(produced) = self.next_input(context)? {
            context.check()?;
            match produced {
                Produced::Rows(batch) if needs_order => {
                    held.charge(context.limits(), held.size() + batch.size())?;
                    gathered.push(batch);
                }
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
