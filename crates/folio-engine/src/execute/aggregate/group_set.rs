//! The groups of one grouping set: their keys, one state per aggregate and group, and the spilled
//! rows of groups that did not fit in memory.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, UInt32Array};
use folio_compute::array::nulls;
use folio_compute::keys::KeyTable;
use folio_compute::{BATCH_SIZE, Batch, Result};

use super::{Groups, State};
use crate::context::Context;
use crate::execute::hash_partition::write_unknown;
use crate::execute::sort_keys::in_order;
use crate::execute::spill::Spill;
use crate::expression::Expr;
use crate::expression::evaluate::evaluate_arrays;
use crate::limits::Held;
use crate::plan::physical;

/// One grouping set.
pub(crate) struct GroupSet {
    set: Vec<usize>,
    /// The group keys of the set.
    by: Vec<Expr>,
    /// Positions in `by` of those that decide the group.
    deciding: Vec<usize>,
    /// The keys that decide.
    keys: KeyTable,
    /// Number of groups.
    count: usize,
    /// The values of the keys, unless `keys` can give them: one batch for every input batch with new
    /// keys.
    values: VecDeque<Batch>,
    values_size: usize,
    states: Vec<State>,
    /// For each aggregate, an earlier one that has the same state, which it takes over at the end.
    shared: Vec<Option<usize>>,
    /// How often the rows were already partitioned.
    level: u32,
    /// Spilled rows of groups that are not in memory.
    spill: Option<Spill>,
    /// Number of groups returned.
    done: usize,
    held: Held,
}

impl GroupSet {
    pub(crate) fn new(node: &physical::Grouping, set: &[usize], level: u32) -> Result<Self> {
        let by: Vec<Expr> = set.iter().map(|index| node.groups[*index].clone()).collect();
        let decides = |place: &usize| node.deciding.contains(&set[*place]);
        let deciding: Vec<usize> = (0..set.len()).filter(decides).collect();
        let key_types: Vec<_> = deciding.iter().map(|place| by[*place].ty()).collect();
        let states = node
            .aggregates
            .iter()
            .map(|aggregate| State::new(aggregate, &|argument| by.contains(argument)));
        let states = states.collect::<Result<_>>()?;
        let shared = node.aggregates.iter().enumerate().map(|(index, aggregate)| {
            node.aggregates[..index].iter().position(|other| other.shares_state(aggregate))
        });
        Ok(Self {
            set: set.to_vec(),
            keys: KeyTable::new(&key_types)?,
            count: 0,
            by,
            deciding,
            values: VecDeque::new(),
            values_size: 0,
            states,
            shared: shared.collect(),
            level,
            spill: None,
            done: 0,
            held: Held::default(),
        })
    }

    /// One set for each grouping set of a node.
    pub(crate) fn all(node: &physical::Grouping) -> Result<Vec<Self>> {
        let all: Vec<usize> = (0..node.groups.len()).collect();
        let sets = node.sets.clone().unwrap_or_else(|| vec![all]);
        sets.iter().map(|set| Self::new(node, set, 0)).collect()
    }

    /// Adds a batch to all aggregates without spilling.
    pub(crate) fn take_in_memory(&mut self, batch: &Batch, context: &Context) -> Result<()> {
        let keys = evaluate_arrays(&self.by, batch, context)?;
        let groups = self.number(keys, batch)?;
        self.take_all(batch, &groups, context)
    }

    /// Merges the groups of a later part of the input.
    ///
    /// # Errors
    /// Overflow.
    pub(crate) fn merge(&mut self, other: Self, context: &Context) -> Result<()> {
        if self.count == 0 {
            *self = other; // the first part is the beginning
            return self.charge(context);
        }
        let mut fresh = Vec::new();
        let groups = self.keys.merge(&other.keys, &mut fresh);
        self.count = self.keys.len();
        if !self.gives_keys() {
            self.keep_fresh(other.values, &fresh)?;
        }
        let states = self.states.iter_mut().zip(other.states).zip(&self.shared);
        for ((own, other), _) in states.filter(|(_, shared)| shared.is_none()) {
            own.merge(other, &groups, self.count)?;
        }
        self.charge(context)
    }

    /// Adds a batch to all aggregates, and spills rows of new groups if memory is full.
    pub(crate) fn take(
        &mut self,
        node: &physical::Grouping,
        batch: &Batch,
        context: &Context,
    ) -> Result<()> {
        if self.spill.is_some() {
            let keys = self.deciding(&evaluate_arrays(&self.by, batch, context)?);
            return self.take_known(&keys, batch, context);
        }
        self.take_in_memory(batch, context)?;
        if !self.set.is_empty() && context.is_full(self.size()) {
            self.spill = Spill::new(&node.types, context)?;
        }
        Ok(())
    }

    /// Adds the rows of existing groups, and spills all others.
    fn take_known(&mut self, keys: &[ArrayRef], batch: &Batch, context: &Context) -> Result<()> {
        let Some(spill) = &mut self.spill else { return Ok(()) };
        let (known, groups) = write_unknown(&self.keys, keys, batch, (self.level, spill), context)?;
        if !known.is_empty() {
            self.take_all(&batch.take(&UInt32Array::from(known))?, &groups, context)?;
        }
        Ok(())
    }

    /// Adds rows that come in runs of equal keys. `starts` marks the first row of each run. Every
    /// run is a group.
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
        let groups = Groups::new(groups);
        let states = self.states.iter_mut().zip(&self.shared);
        for (state, _) in states.filter(|(_, shared)| shared.is_none()) {
            state.take(batch, &groups, self.count, context)?;
        }
        self.charge(context)
    }

    fn charge(&mut self, context: &Context) -> Result<()> {
        self.held.charge(context.limits(), self.size())
    }

    /// Adds all rows at once, for each aggregate in its own order.
    pub(crate) fn take_ordered(
        &mut self,
        node: &physical::Grouping,
        batch: &Batch,
        context: &Context,
    ) -> Result<()> {
        for (index, aggregate) in node.aggregates.iter().enumerate() {
            let sorted = in_order(batch, &aggregate.order, None, context)?;
            let keys = evaluate_arrays(&self.by, &sorted, context)?;
            let groups = self.number(keys, &sorted)?;
            self.states[index].take(&sorted, &Groups::new(&groups), self.count, context)?;
        }
        self.charge(context)
    }

    /// The group of every row. New keys make new groups.
    pub(crate) fn number(&mut self, keys: Vec<ArrayRef>, batch: &Batch) -> Result<Vec<u32>> {
        let mut fresh = Vec::new();
        let groups = self.keys.intern(&self.deciding(&keys), batch.row_count, &mut fresh)?;
        self.count = self.keys.len();
        if !fresh.is_empty() && !self.gives_keys() {
            let values = Batch::new(keys, batch.row_count).take(&UInt32Array::from(fresh))?;
            self.keep_values(values.plain());
        }
        Ok(groups)
    }

    /// Those of a batch's keys that decide.
    fn deciding(&self, keys: &[ArrayRef]) -> Vec<ArrayRef> {
        self.deciding.iter().map(|place| ArrayRef::clone(&keys[*place])).collect()
    }

    /// Whether the table of keys gives their values, which are then not kept beside it.
    fn gives_keys(&self) -> bool {
        self.keys.has_values() && self.deciding.len() == self.by.len()
    }

    /// Keeps those keys of other groups that are new.
    fn keep_fresh(&mut self, others: VecDeque<Batch>, mut fresh: &[u32]) -> Result<()> {
        let mut start = 0;
        for values in others {
            let end = start + values.row_count as u32;
            let (own, rest) = fresh.split_at(fresh.partition_point(|group| *group < end));
            match own.len() {
                0 => {}
                count if count == values.row_count => self.keep_values(values),
                _ => {
                    let rows = own.iter().map(|group| group - start);
                    self.keep_values(values.take(&UInt32Array::from_iter_values(rows))?);
                }
            }
            (start, fresh) = (end, rest);
        }
        Ok(())
    }

    fn keep_values(&mut self, values: Batch) {
        self.values_size += values.size();
        self.values.push_back(values);
    }

    /// Number of groups.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether rows were spilled.
    pub(crate) fn has_spilled(&self) -> bool {
        self.spill.is_some()
    }

    pub(crate) fn size(&self) -> usize {
        let states: usize = self.states.iter().map(State::size).sum();
        self.keys.size() + self.values_size + states
    }

    /// The next groups; `None` after the last. Without keys there is always one group.
    fn next(&mut self, node: &physical::Grouping, context: &Context) -> Result<Option<Batch>> {
        let Some(keys) = self.next_keys()? else { return Ok(None) };
        if self.done == 0 {
            self.share_states();
        }
        let groups = self.done..self.done + keys.row_count;
        self.done = groups.end;
        self.answer(node, &keys, groups, context).map(Some)
    }

    /// Their keys.
    fn next_keys(&mut self) -> Result<Option<Batch>> {
        let numbers = self.done..self.keys.len().min(self.done + BATCH_SIZE);
        if self.gives_keys()
            && !numbers.is_empty()
            && let Some(values) = self.keys.values(numbers.clone())?
        {
            return Ok(Some(Batch::new(vec![values], numbers.len())));
        }
        let (mut parts, mut count) = (Vec::new(), 0);
        while count < BATCH_SIZE
            && let Some(values) = self.values.pop_front()
        {
            count += values.row_count;
            parts.push(values);
        }
        Ok(match parts.is_empty() {
            true if self.set.is_empty() && self.done == 0 => Some(Batch::new(Vec::new(), 1)),
            true => None,
            false => Some(Batch::concat(&parts)?),
        })
    }

    fn share_states(&mut self) {
        for (index, shared) in self.shared.iter().enumerate() {
            if let Some(other) = shared {
                let (before, own) = self.states.split_at_mut(index);
                own[0].adopt(&mut before[*other]);
            }
        }
    }

    fn answer(
        &mut self,
        node: &physical::Grouping,
        keys: &Batch,
        groups: Range<usize>,
        context: &Context,
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
        let answer = Batch::new(columns, groups.len());
        self.held.charge(context.limits(), self.size() + answer.size())?;
        Ok(answer)
    }

    /// The spilled rows.
    fn into_spilled(self, context: &Context) -> Result<Option<Spilled>> {
        let Some(mut rows) = self.spill else { return Ok(None) };
        rows.finish(context)?;
        Ok(Some(Spilled { set: self.set, level: self.level + 1, rows, next: 0 }))
    }
}

/// The spilled rows of one grouping set, in partitions.
struct Spilled {
    set: Vec<usize>,
    /// How often its rows were partitioned.
    level: u32,
    rows: Spill,
    /// The next partition.
    next: usize,
}

/// Complete grouping sets and their spilled rows, returned one after the other.
#[derive(Default)]
pub(crate) struct Answers {
    /// Sets in memory. The first one is being returned.
    ready: VecDeque<GroupSet>,
    /// Spilled rows, the most deeply partitioned last.
    spilled: Vec<Spilled>,
}

impl Answers {
    /// Adds a set, to be returned after those before it.
    pub(crate) fn push(&mut self, set: GroupSet) {
        self.ready.push_back(set);
    }

    /// The next groups; `None` after the last.
    ///
    /// # Errors
    /// Errors of the aggregates and the file.
    pub(crate) fn next(
        &mut self,
        node: &physical::Grouping,
        context: &Context,
    ) -> Result<Option<Batch>> {
        loop {
            context.check()?;
            if let Some(set) = self.ready.front_mut() {
                if let Some(batch) = set.next(node, context)? {
                    return Ok(Some(batch));
                }
                let done = self.ready.pop_front();
                let spilled = done.map(|set| set.into_spilled(context)).transpose()?;
                self.spilled.extend(spilled.flatten());
            } else if !self.read_part(node, context)? {
                return Ok(None);
            }
        }
    }

    /// Groups the next spilled partition; `false` if there is none.
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
