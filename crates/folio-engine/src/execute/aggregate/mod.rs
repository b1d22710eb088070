//! Grouping and aggregates.
//!
//! | file | holds |
//! |---|---|
//! | this one | [`State`]: a running aggregate, with FILTER and DISTINCT |
//! | `accumulator` | the common trait, and the choice of the accumulator for a function |
//! | `fold` | counts, sums, means, bits: a number per group |
//! | `min_max`, `arg_min_max` | the least and the greatest, and values of their rows |
//! | `correlation` | statistics of pairs |
//! | `holistic` | aggregates of all values of a group: medians, modes, arrays, joined texts |
//! | `groups` | the groups of the rows of a batch |
//! | `group_set` | the groups of one grouping set: keys to numbers, states by number |
//! | `grouping` | the hash operator, which can spill |
//! | `stream_grouping` | the operator for input in the order of the keys |

mod accumulator;
mod arg_min_max;
mod correlation;
mod fold;
pub(crate) mod group_set;
pub(crate) mod grouping;
mod groups;
mod holistic;
mod min_max;
pub(crate) mod stream_grouping;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, UInt32Array};
use arrow_select::take::take;
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Result};
use folio_types::ColumnType;

use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate, types};
use crate::plan::aggregate::{Aggregate, AggregateFunction};
use accumulator::Accumulator;
pub(crate) use groups::Groups;
pub(crate) use holistic::weight;

/// A running aggregate.
pub(crate) struct State {
    aggregate: Aggregate,
    accumulator: Box<dyn Accumulator>,
    /// Distinct values so far, by group.
    seen: Option<Seen>,
}

/// Distinct values by group: values are numbered once, whatever their types, and pairs of a group
/// and a value are numbers again.
struct Seen {
    values: KeyTable,
    pairs: KeyTable,
    /// The rows that were new: their arguments and groups.
    rows: Vec<(Vec<ArrayRef>, Vec<u32>)>,
    /// Their memory, in bytes.
    rows_size: usize,
}

impl Seen {
    fn new(types: &[ColumnType]) -> Result<Self> {
        let (values, pairs) = (KeyTable::new(types)?, KeyTable::new(&[ColumnType::Int64])?);
        Ok(Self { values, pairs, rows: Vec::new(), rows_size: 0 })
    }

    /// The rows whose values are new in their groups: their arguments and groups.
    fn fresh(
        &mut self,
        arguments: &[ArrayRef],
        groups: &[u32],
    ) -> Result<(Vec<ArrayRef>, Vec<u32>)> {
        let numbers = self.values.intern(arguments, groups.len(), &mut Vec::new())?;
        let pair = |(group, number): (&u32, u32)| i64::from(*group) << 32 | i64::from(number);
        let pairs = Int64Array::from_iter_values(groups.iter().zip(numbers).map(pair));
        let mut fresh = Vec::new();
        self.pairs.intern(&[Arc::new(pairs)], groups.len(), &mut fresh)?;
        let groups: Vec<u32> = fresh.iter().map(|row| groups[*row as usize]).collect();
        let fresh = UInt32Array::from(fresh);
        let arguments = arguments.iter().map(|argument| take(argument, &fresh, None));
        let rows = (arguments.collect::<std::result::Result<Vec<_>, _>>()?, groups);
        if !rows.1.is_empty() {
            let arrays = rows.0.iter().map(|array| array.get_array_memory_size());
            self.rows_size += arrays.sum::<usize>() + rows.1.len() * size_of::<u32>();
            self.rows.push(rows.clone());
        }
        Ok(rows)
    }

    fn size(&self) -> usize {
        self.values.size() + self.pairs.size() + self.rows_size
    }
}

impl State {
    /// The state of an aggregate for one grouping set. `is_grouped` says whether the set groups by
    /// an expression.
    pub(crate) fn new(aggregate: &Aggregate, is_grouped: &dyn Fn(&Expr) -> bool) -> Result<Self> {
        let is_distinct = aggregate.distinct && !aggregate.arguments.is_empty();
        let seen = is_distinct.then(|| Seen::new(&types(&aggregate.arguments)));
        let accumulator = match aggregate.function {
            AggregateFunction::Grouping => {
                let missing = aggregate.arguments.iter().map(|argument| !is_grouped(argument));
                fold::fixed(missing.fold(0, |bits, is_out| bits << 1 | i32::from(is_out)))
            }
            _ => accumulator::new(aggregate),
        };
        Ok(Self { aggregate: aggregate.clone(), accumulator, seen: seen.transpose()? })
    }

    /// Adds the rows of a batch, with their groups.
    pub(crate) fn take(
        &mut self,
        batch: &Batch,
        groups: &Groups<'_>,
        group_count: usize,
        context: &Context,
    ) -> Result<()> {
        let Some(filter) = &self.aggregate.filter else {
            return self.take_all(batch, groups, group_count, context);
        };
        let mask = evaluate(filter, batch, context)?.to_array(batch.row_count)?;
        let mask = arrow_array::cast::as_boolean_array(&mask);
        let groups = groups.iter().zip(mask.iter()).filter(|(_, is_in)| *is_in == Some(true));
        let groups: Vec<u32> = groups.map(|(group, _)| *group).collect();
        self.take_all(&batch.filter(mask)?, &Groups::new(&groups), group_count, context)
    }

    fn take_all(
        &mut self,
        batch: &Batch,
        groups: &Groups<'_>,
        group_count: usize,
        context: &Context,
    ) -> Result<()> {
        let arguments = self
            .aggregate
            .arguments
            .iter()
            .map(|argument| evaluate(argument, batch, context)?.to_array(batch.row_count));
        let arguments: Vec<ArrayRef> = arguments.collect::<Result<_>>()?;
        self.take_arguments(&arguments, groups, group_count)
    }

    fn take_arguments(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        let Some(seen) = &mut self.seen else {
            return self.accumulator.take(arguments, groups, group_count);
        };
        let (arguments, groups) = seen.fresh(arguments, groups)?;
        self.accumulator.take(&arguments, &Groups::new(&groups), group_count)
    }

    /// Merges the state of a later part of the input. `groups` has the group of each of its groups.
    pub(crate) fn merge(&mut self, mut other: Self, groups: &[u32], count: usize) -> Result<()> {
        let Some(seen) = other.seen else {
            return self.accumulator.merge(&mut *other.accumulator, groups, count);
        };
        for (arguments, own) in seen.rows {
            let groups: Vec<u32> = own.iter().map(|group| groups[*group as usize]).collect();
            self.take_arguments(&arguments, &Groups::new(&groups), count)?;
        }
        Ok(())
    }

    /// Takes over the state of an aggregate that has the same.
    pub(crate) fn adopt(&mut self, other: &mut Self) {
        self.accumulator.adopt(&mut *other.accumulator);
    }

    /// The results of these groups. Each group is asked for once, in ascending order.
    pub(crate) fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.accumulator.finish(groups)
    }

    /// Approximate memory of the state, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.accumulator.size() + self.seen.as_ref().map_or(0, Seen::size)
    }
}
