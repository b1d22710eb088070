//! Grouping and aggregates.
//!
//! | file | holds |
//! |---|---|
//! | this one | [`State`]: a running aggregate, with FILTER and DISTINCT |
//! | `accumulator` | the common trait, and the choice of the accumulator for a function |
//! | `fold` | counts, sums, means, bits: a number per group |
//! | `min_max`, `arg_min_max` | the least and the greatest, and values of their rows |
//! | `distinct` | the distinct values of each group |
//! | `correlation` | statistics of pairs |
//! | `holistic` | aggregates of all values of a group: medians, modes, arrays, joined texts |
//! | `groups` | the groups of the rows of a batch |
//! | `group_set` | the groups of one grouping set: keys to numbers, states by number |
//! | `grouping` | the hash operator, which can spill |
//! | `stream_grouping` | the operator for input in the order of the keys |

mod accumulator;
mod arg_min_max;
mod correlation;
mod distinct;
mod fold;
pub(crate) mod group_set;
pub(crate) mod grouping;
mod groups;
mod holistic;
mod min_max;
pub(crate) mod stream_grouping;

use std::ops::Range;

use arrow_arith::boolean::is_not_null;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::filter::filter;
use folio_compute::{Batch, Result};

use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate_array, evaluate_arrays, types};
use crate::plan::aggregate::{Aggregate, AggregateFunction};
use accumulator::Accumulator;
use distinct::Distinct;
pub(crate) use groups::Groups;
pub(crate) use holistic::weight;

/// A running aggregate.
pub(crate) struct State {
    aggregate: Aggregate,
    accumulator: Box<dyn Accumulator>,
    /// For DISTINCT, what the groups have.
    distinct: Option<Distinct>,
}

impl State {
    /// The state of an aggregate for one grouping set. `is_grouped` says whether the set groups by
    /// an expression.
    pub(crate) fn new(aggregate: &Aggregate, is_grouped: &dyn Fn(&Expr) -> bool) -> Result<Self> {
        let is_distinct = aggregate.distinct && !aggregate.arguments.is_empty();
        let is_count = aggregate.function == AggregateFunction::Count;
        let distinct = is_distinct.then(|| Distinct::new(&types(&aggregate.arguments), is_count));
        let accumulator = match aggregate.function {
            AggregateFunction::Grouping => {
                let missing = aggregate.arguments.iter().map(|argument| !is_grouped(argument));
                fold::fixed(missing.fold(0, |bits, is_out| bits << 1 | i32::from(is_out)))
            }
            _ => accumulator::new(aggregate),
        };
        Ok(Self { aggregate: aggregate.clone(), accumulator, distinct: distinct.transpose()? })
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
        let mask = evaluate_array(filter, batch, context)?;
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
        let arguments = evaluate_arrays(&self.aggregate.arguments, batch, context)?;
        self.take_arguments(&arguments, groups, group_count)
    }

    fn take_arguments(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        let Some(distinct) = &mut self.distinct else {
            return self.accumulator.take(arguments, groups, group_count);
        };
        let is_count = self.aggregate.function == AggregateFunction::Count;
        if is_count && arguments[0].logical_null_count() > 0 {
            let (arguments, groups) = without_nulls(arguments, groups)?;
            return self.take_arguments(&arguments, &Groups::new(&groups), group_count);
        }
        let (fresh, row_count) = (distinct.take(arguments, groups)?, groups.len());
        let groups: Vec<u32> = fresh.iter().map(|row| groups[*row as usize]).collect();
        let values = match is_count {
            true => Vec::new(), // none is null
            false => {
                Batch::new(arguments.to_vec(), row_count).take(&UInt32Array::from(fresh))?.columns
            }
        };
        self.accumulator.take(&values, &Groups::new(&groups), group_count)
    }

    /// Merges the state of a later part of the input. `groups` has the group of each of its groups.
    pub(crate) fn merge(&mut self, mut other: Self, groups: &[u32], count: usize) -> Result<()> {
        let (Some(distinct), Some(other)) = (&mut self.distinct, other.distinct) else {
            return self.accumulator.merge(&mut *other.accumulator, groups, count);
        };
        let fresh = distinct.merge(other, groups)?;
        self.accumulator.take(&fresh.values()?, &Groups::new(&fresh.groups()), count)
    }

    /// Merges some states of later rows: of each pair, the group there into the one here.
    pub(crate) fn merge_some(
        &mut self,
        other: &mut Self,
        pairs: &[(u32, u32)],
        count: usize,
    ) -> Result<()> {
        self.accumulator.merge_some(&mut *other.accumulator, pairs, count)
    }

    /// Takes over the state of an aggregate that has the same.
    pub(crate) fn adopt(&mut self, other: &mut Self) {
        self.accumulator.adopt(&mut *other.accumulator);
    }

    /// Whether there may be more rows after results ([`Accumulator::goes_on`]).
    pub(crate) fn goes_on(&self) -> bool {
        self.accumulator.goes_on()
    }

    /// The results of these groups. Unless it goes on, each group is asked for once, in ascending
    /// order.
    pub(crate) fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.accumulator.finish(groups)
    }

    /// Approximate memory of the state, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.accumulator.size() + self.distinct.as_ref().map_or(0, Distinct::size)
    }
}

/// The rows whose first argument is not null, which are those that are counted.
fn without_nulls(arguments: &[ArrayRef], groups: &[u32]) -> Result<(Vec<ArrayRef>, Vec<u32>)> {
    let is_valid = is_not_null(&arguments[0])?;
    let groups = groups.iter().zip(is_valid.values()).filter(|(_, is_valid)| *is_valid);
    let arguments = arguments.iter().map(|argument| Ok(filter(argument, &is_valid)?));
    Ok((arguments.collect::<Result<_>>()?, groups.map(|(group, _)| *group).collect()))
}
