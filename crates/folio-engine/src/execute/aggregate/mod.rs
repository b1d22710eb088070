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
//! | `group_set` | the groups of one grouping set: keys to numbers, states by number |
//! | `grouping` | the hash operator, which can spill |
//! | `stream_grouping` | the operator for input in the order of the keys |

mod accumulator;
mod arg_min_max;
mod correlation;
mod fold;
pub(crate) mod group_set;
pub(crate) mod grouping;
mod holistic;
mod min_max;
pub(crate) mod stream_grouping;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Result};
use folio_types::ColumnType;

use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate, types};
use crate::plan::aggregate::{Aggregate, AggregateFunction};
use accumulator::Accumulator;
pub(crate) use holistic::weight;

/// A running aggregate.
pub(crate) struct State {
    aggregate: Aggregate,
    accumulator: Box<dyn Accumulator>,
    /// Distinct values so far, by group.
    seen: Option<KeyTable>,
}

impl State {
    /// The state of an aggregate for one grouping set. `is_grouped` says whether the set groups by
    /// an expression.
    pub(crate) fn new(aggregate: &Aggregate, is_grouped: &dyn Fn(&Expr) -> bool) -> Result<Self> {
        let is_distinct = aggregate.distinct && !aggregate.arguments.is_empty();
        let seen = is_distinct.then(|| {
            let mut keys = vec![ColumnType::Int64];
            keys.extend(types(&aggregate.arguments));
            KeyTable::new(&keys)
        });
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
        groups: &[u32],
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
        self.take_all(&batch.filter(mask)?, &groups, group_count, context)
    }

    fn take_all(
        &mut self,
        batch: &Batch,
        groups: &[u32],
        group_count: usize,
        context: &Context,
    ) -> Result<()> {
        let arguments = self
            .aggregate
            .arguments
            .iter()
            .map(|argument| evaluate(argument, batch, context)?.to_array(batch.row_count));
        let mut arguments: Vec<ArrayRef> = arguments.collect::<Result<_>>()?;
        if let Some(seen) = &mut self.seen {
            let numbers = arrow_array::Int64Array::from_iter_values(
                groups.iter().map(|group| i64::from(*group)),
            );
            let mut keys: Vec<ArrayRef> = vec![Arc::new(numbers)];
            keys.extend(arguments.iter().cloned());
            let mut fresh = Vec::new();
            seen.intern(&keys, batch.row_count, &mut fresh)?;
            let groups: Vec<u32> = fresh.iter().map(|row| groups[*row as usize]).collect();
            let rows = UInt32Array::from(fresh);
            for argument in &mut arguments {
                *argument = arrow_select::take::take(argument, &rows, None)?;
            }
            return self.accumulator.take(&arguments, &groups, group_count);
        }
        self.accumulator.take(&arguments, groups, group_count)
    }

    /// Merges the state of a later part of the input. `groups` has the group of each of its groups.
    pub(crate) fn merge(&mut self, mut other: Self, groups: &[u32], count: usize) -> Result<()> {
        self.accumulator.merge(&mut *other.accumulator, groups, count)
    }

    /// The results of these groups. Each group is asked for once, in ascending order.
    pub(crate) fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.accumulator.finish(groups)
    }

    /// Approximate memory of the state, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.accumulator.size() + self.seen.as_ref().map_or(0, KeyTable::size)
    }
}
