//! The groups of one grouping set: their keys, one state per aggregate and group, and what
//! was written of groups that memory had no room for.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, UInt32Array};

use super::State;
use crate::array::nulls;
use crate::batch::{BATCH_SIZE, Batch};
use crate::context::Context;
use crate::error::Result;
use crate::execute::hash_partition::{keys_of, write_unknown};
use crate::execute::spill::Spill;
use crate::expression::Expr;
use crate::expression::evaluate::types;
use crate::expression::keys::KeyTable;
use crate::plan::physical;

/// One grouping set.
pub(crate) struct GroupSet {
    set: Vec<usize>,
    /// What the set groups by.
    by: Vec<Expr>,
    keys: KeyTable,
    /// How many groups there are.
    count: usize,
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
    pub(crate) fn new(node: &physical::Grouping, set: &[usize], level: u32) -> Result<Self> {
        let by: Vec<Expr> = set.iter().map(|index| node.groups[*index].clone()).collect();
        let states = node
            .aggregates
            .iter()
            .map(|aggregate| State::new(aggregate, &|argument| by.contains(argument)));
        let states = states.collect::<Result<_>>()?;
        Ok(Self {
            set: set.to_vec(),
            keys: KeyTable::new(&types(&by))?,
            count: 0,
            by,
            values: VecDeque::new(),
            values_size: 0,
            states,
            level,
            spill: None,
            done: 0,
        })
    }

    /// A set for each grouping set of a node.
    pub(crate) fn all(node: &physical::Grouping) -> Result<Vec<Self>> {
        let all: Vec<usize> = (0..node.groups.len()).collect();
        let sets = node.sets.clone().unwrap_or_else(|| vec![all]);
        sets.iter().map(|set| Self::new(node, set, 0)).collect()
    }

    /// Takes a batch for all aggregates, whatever memory that needs.
    pub(crate) fn take_in_memory(&mut self, batch: &Batch, context: &Context) -> Result<()> {
        let keys = keys_of(&self.by, batch, context)?;
        let groups = self.number(keys, batch)?;
        self.take_all(batch, &groups, context)
    }

    /// Takes the groups of rows that come behind all that were taken.
    ///
    /// # Errors
    /// Overflow.
    pub(crate) fn merge(&mut self, other: Self) -> Result<()> {
        let mut groups = Vec::with_capacity(other.count);
        for values in other.values {
            let keys = values.columns.clone();
            groups.extend(self.number(keys, &values)?);
        }
        for (own, other) in self.states.iter_mut().zip(other.states) {
            own.merge(other, &groups, self.count)?;
        }
        Ok(())
    }

    /// Takes a batch for all aggregates, and writes rows of groups there is no room for.
    pub(crate) fn take(
        &mut self,
        node: &physical::Grouping,
        batch: &Batch,
        context: &Context,
    ) -> Result<()> {
        if self.spill.is_some() {
            let keys = keys_of(&self.by, batch, context)?;
            return self.take_known(&keys, batch, context);
        }
        self.take_in_memory(batch, context)?;
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
            self.take_all(&batch.take(&UInt32Array::from(known))?, &groups, context)?;
        }
        Ok(())
    }

    /// Takes rows that come in runs of equal keys, where `starts` says that one begins: each
    /// is a group.
    pub(crate) fn take_runs(
        &mut self,
        keys: Vec<ArrayRef>,
        starts: &BooleanArray,
        batch: &Batch,
        context: &Context,
    ) -> Result<()> {
        let mut groups = Vec::with_capacity(batch.row_count);
        for is_start in starts.values() {
            self.count += usize::from(is_start);
            groups.push((self.count - 1) as u32);
        }
        self.keep_values(Batch::new(keys, batch.row_count).filter(starts)?);
        self.take_all(batch, &groups, context)
    }

    fn take_all(&mut self, batch: &Batch, groups: &[u32], context: &Context) -> Result<()> {
        for state in &mut self.states {
            state.take(batch, groups, self.count, context)?;
        }
        Ok(())
    }

    /// Takes all rows there are, for each aggregate in its order.
    pub(crate) fn take_ordered(
        &mut self,
        node: &physical::Grouping,
        batch: &Batch,
        context: &Context,
    ) -> Result<()> {
        for (index, aggregate) in node.aggregates.iter().enumerate() {
            let sorted = crate::execute::sort::in_order(batch, &aggregate.order, None, context)?;
            let keys = keys_of(&self.by, &sorted, context)?;
            let groups = self.number(keys, &sorted)?;
            self.states[index].take(&sorted, &groups, self.count, context)?;
        }
        Ok(())
    }

    /// The group of every row; keys that are new begin groups.
    pub(crate) fn number(&mut self, keys: Vec<ArrayRef>, batch: &Batch) -> Result<Vec<u32>> {
        let mut fresh = Vec::new();
        let groups = self.keys.intern(&keys, batch.row_count, &mut fresh)?;
        self.count = self.keys.len();
        if !fresh.is_empty() {
            self.keep_values(Batch::new(keys, batch.row_count).take(&UInt32Array::from(fresh))?);
        }
        Ok(groups)
    }

    fn keep_values(&mut self, values: Batch) {
        self.values_size += values.size();
        self.values.push_back(values);
    }

    /// How many groups there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether rows of groups that were not taken up have been written.
    pub(crate) fn has_spilled(&self) -> bool {
        self.spill.is_some()
    }

    pub(crate) fn size(&self) -> usize {
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

/// What one grouping set left on a file, part by part.
struct Spilled {
    set: Vec<usize>,
    /// How often its rows have been divided.
    level: u32,
    rows: Spill,
    /// The part that comes next.
    next: usize,
}

/// Grouping sets whose rows have all come, and what they left on files: answered one after
/// the other.
#[derive(Default)]
pub(crate) struct Answers {
    /// The first under way.
    ready: VecDeque<GroupSet>,
    /// Rows that were written, those of the deepest division last.
    spilled: Vec<Spilled>,
}

impl Answers {
    /// Has a set answered after those before it.
    pub(crate) fn push(&mut self, set: GroupSet) {
        self.ready.push_back(set);
    }

    /// The next groups; `None` where all have been answered.
    ///
    /// # Errors
    /// What the aggregates say, and the file.
    pub(crate) fn next(
        &mut self,
        node: &physical::Grouping,
        context: &Context,
    ) -> Result<Option<Batch>> {
        loop {
            context.check()?;
            if let Some(set) = self.ready.front_mut() {
                if let Some(batch) = set.next(node)? {
                    return Ok(Some(batch));
                }
                let done = self.ready.pop_front();
                self.spilled.extend(done.map(GroupSet::into_spilled).transpose()?.flatten());
            } else if !self.read_part(node, context)? {
                return Ok(None);
            }
        }
    }

    /// Groups the next part of what was written; `false` when there is none.
    fn read_part(&mut self, node: &physical::Grouping, context: &Context) -> Result<bool> {
        let Some(spilled) = self.spilled.last_mut() else { return Ok(false) };
        if spilled.next == spilled.rows.run_count() {
            self.spilled.pop();
            return Ok(true);
        }
        let mut set = GroupSet::new(node, &spilled.set, spilled.level)?;
        while let Some(batch) = spilled.rows.next(spilled.next)? {
            context.check()?;
            set.take(node, &batch, context)?;
        }
        spilled.next += 1;
        self.ready.push_back(set);
        Ok(true)
    }
}
