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

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};

use super::aggregate::State;
use super::context::Context;
use super::divide::{keys_of, write_unknown};
use super::keys::KeyTable;
use super::spill::Spill;
use super::{Operator, Running};
use crate::batch::{BATCH_SIZE, Batch};
use crate::error::Result;
use crate::expression::Expr;
use crate::expression::evaluate::types;
use crate::expression::value::nulls;
use crate::plan::physical;

/// Groups and their aggregates.
pub(super) struct Grouping {
    node: Arc<physical::Grouping>,
    input: Running,
    has_begun: bool,
    /// Sets whose answers are still to come; the first under way.
    ready: VecDeque<GroupSet>,
    /// Rows that were written, those of the deepest division last.
    spilled: Vec<Spilled>,
}

/// What one grouping set left on a file, part by part.
struct Spilled {
    set: Vec<usize>,
    /// How often its rows have been divided.
    level: u32,
    rows: Spill,
    /// The part that comes next.
    next: usize,
}

impl Grouping {
    pub(super) fn new(node: &Arc<physical::Grouping>, input: Running) -> Self {
        let (ready, spilled) = (VecDeque::new(), Vec::new());
        Self { node: Arc::clone(node), input, has_begun: false, ready, spilled }
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
        self.ready = sets.into();
        Ok(())
    }

    /// Groups the next part of what was written; `false` when there is none.
    fn read_part(&mut self, context: &Context) -> Result<bool> {
        let Some(spilled) = self.spilled.last_mut() else { return Ok(false) };
        if spilled.next == spilled.rows.run_count() {
            self.spilled.pop();
            return Ok(true);
        }
        let mut set = GroupSet::new(&self.node, &spilled.set, spilled.level)?;
        while let Some(batch) = spilled.rows.next(spilled.next)? {
            context.check()?;
            set.take(&self.node, &batch, context)?;
        }
        spilled.next += 1;
        self.ready.push_back(set);
        Ok(true)
    }
}

impl Operator for Grouping {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if !self.has_begun {
            self.has_begun = true;
            self.read_input(context)?;
        }
        loop {
            context.check()?;
            if let Some(set) = self.ready.front_mut() {
                if let Some(batch) = set.next(&self.node)? {
                    return Ok(Some(batch));
                }
                let done = self.ready.pop_front();
                self.spilled.extend(done.map(GroupSet::into_spilled).transpose()?.flatten());
            } else if !self.read_part(context)? {
                return Ok(None);
            }
        }
    }
}

/// One grouping set.
struct GroupSet {
    set: Vec<usize>,
    /// What the set groups by.
    by: Vec<Expr>,
    keys: KeyTable,
    /// The keys' values, in batches: one for every batch that brought new ones.
    values: VecDeque<Batch>,
    values_size: usize,
    states: Vec<State>,
    /// How often the rows have been divided before they came here.
    level: u32,
    /// Rows of groups that are not taken up any more.
    spill: Option<Spill>,
    /// Groups answered so far.
    done: usize,
}

impl GroupSet {
    fn new(node: &physical::Grouping, set: &[usize], level: u32) -> Result<Self> {
        let by: Vec<Expr> = set.iter().map(|index| node.groups[*index].clone()).collect();
        let states = node
            .aggregates
            .iter()
            .map(|aggregate| State::new(aggregate, &|argument| by.contains(argument)));
        let states = states.collect::<Result<_>>()?;
        Ok(Self {
            set: set.to_vec(),
            keys: KeyTable::new(&types(&by))?,
            by,
            values: VecDeque::new(),
            values_size: 0,
            states,
            level,
            spill: None,
            done: 0,
        })
    }

    /// Takes a batch for all aggregates, and writes rows of groups there is no room for.
    fn take(&mut self, node: &physical::Grouping, batch: &Batch, context: &Context) -> Result<()> {
        let keys = keys_of(&self.by, batch, context)?;
        if self.spill.is_some() {
            return self.take_known(&keys, batch, context);
        }
        let groups = self.number(keys, batch)?;
        let count = self.keys.len();
        for state in &mut self.states {
            state.take(batch, &groups, count, context)?;
        }
        if !self.set.is_empty() && self.size() > context.work_memory() {
            self.spill = Spill::new(&node.types, context)?;
        }
        Ok(())
    }

    /// Takes the rows of groups that are there, and writes all others.
    fn take_known(&mut self, keys: &[ArrayRef], batch: &Batch, context: &Context) -> Result<()> {
        let Some(spill) = &mut self.spill else { return Ok(()) };
        let (known, groups) = write_unknown(&self.keys, keys, batch, self.level, spill)?;
        if !known.is_empty() {
            let (batch, count) = (batch.take(&UInt32Array::from(known))?, self.keys.len());
            for state in &mut self.states {
                state.take(&batch, &groups, count, context)?;
            }
        }
        Ok(())
    }

    /// Takes all rows there are, for each aggregate in its order.
    fn take_ordered(
        &mut self,
        node: &physical::Grouping,
        batch: &Batch,
        context: &Context,
    ) -> Result<()> {
        for (index, aggregate) in node.aggregates.iter().enumerate() {
            let sorted = super::sort::in_order(batch, &aggregate.order, None, context)?;
            let keys = keys_of(&self.by, &sorted, context)?;
            let groups = self.number(keys, &sorted)?;
            self.states[index].take(&sorted, &groups, self.keys.len(), context)?;
        }
        Ok(())
    }

    /// The group of every row; keys that are new begin groups.
    fn number(&mut self, keys: Vec<ArrayRef>, batch: &Batch) -> Result<Vec<u32>> {
        let mut fresh = Vec::new();
        let groups = self.keys.intern(&keys, batch.row_count, &mut fresh)?;
        if !fresh.is_empty() {
            let values = Batch::new(keys, batch.row_count).take(&UInt32Array::from(fresh))?;
            self.values_size += values.size();
            self.values.push_back(values);
        }
        Ok(groups)
    }

    fn size(&self) -> usize {
        let states: usize = self.states.iter().map(State::size).sum();
        self.keys.size() + self.values_size + states
    }

    /// The next groups; `None` after the last. Without keys there is one, even of no rows.
    fn next(&mut self, node: &physical::Grouping) -> Result<Option<Batch>> {
        let (mut parts, mut count) = (Vec::new(), 0);
        while count < BATCH_SIZE
            && let Some(values) = self.values.pop_front()
        {
            count += values.row_count;
            parts.push(values);
        }
        if self.set.is_empty() && self.done == 0 {
            count = 1;
        }
        if count == 0 {
            return Ok(None);
        }
        let groups = self.done..self.done + count;
        self.done = groups.end;
        let keys = match parts.is_empty() {
            true => Batch::new(Vec::new(), count),
            false => Batch::concat(&parts)?,
        };
        self.answer(node, &keys, groups).map(Some)
    }

    fn answer(
        &mut self,
        node: &physical::Grouping,
        keys: &Batch,
        groups: Range<usize>,
    ) -> Result<Batch> {
        let mut columns = Vec::with_capacity(node.groups.len() + self.states.len());
        for (index, group) in node.groups.iter().enumerate() {
            columns.push(match self.set.iter().position(|of_set| *of_set == index) {
                Some(position) => ArrayRef::clone(&keys.columns[position]),
                None => nulls(&group.ty(), groups.len()),
            });
        }
        for state in &mut self.states {
            columns.push(state.finish(groups.clone())?);
        }
        Ok(Batch::new(columns, groups.len()))
    }

    /// The rows of groups that were not taken up.
    fn into_spilled(self) -> Result<Option<Spilled>> {
        let Some(mut rows) = self.spill else { return Ok(None) };
        rows.finish()?;
        Ok(Some(Spilled { set: self.set, level: self.level + 1, rows, next: 0 }))
    }
}
