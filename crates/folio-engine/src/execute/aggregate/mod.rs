//! Groups, and what is computed of them.
//!
//! | file | holds |
//! |---|---|
//! | this one | [`State`]: one aggregate while it runs, with FILTER and DISTINCT |
//! | `accumulator` | the trait that all have in common, and which one a function is |
//! | `fold` | counts, sums, means, bits: a number per group |
//! | `min_max`, `arg_min_max` | the least and the greatest, and values beside them |
//! | `correlation` | statistics of pairs |
//! | `holistic` | what needs all values of a group: medians, modes, arrays, texts joined |
//! | `group_set` | the groups of one grouping set: keys to numbers, states by number |
//! | `grouping` | the operator, by hash; parts that outgrow memory go to files |
//! | `stream_grouping` | the operator where equal keys stand together |

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
use folio_types::ColumnType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Result;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate, types};
use crate::expression::keys::KeyTable;
use crate::plan::aggregate::{Aggregate, AggregateFunction};
use accumulator::Accumulator;

/// One aggregate while it runs.
pub(crate) struct State {
    aggregate: Aggregate,
    accumulator: Box<dyn Accumulator>,
    /// Values that came already, by group.
    seen: Option<KeyTable>,
}

impl State {
    /// The state of an aggregate over the groups of a set; `is_grouped` tells whether an
    /// expression is among what the set groups by.
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

    /// Takes the rows of a batch, whose groups are given.
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

    /// Takes the states of rows that come behind all that were taken; `groups` says which
    /// group each of the other's is.
    pub(crate) fn merge(&mut self, mut other: Self, groups: &[u32], count: usize) -> Result<()> {
        self.accumulator.merge(&mut *other.accumulator, groups, count)
    }

    /// The answers of these groups; each is asked for once, in the order of numbers.
    pub(crate) fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.accumulator.finish(groups)
    }

    /// Memory the state has, in bytes, about.
    pub(crate) fn size(&self) -> usize {
        self.accumulator.size() + self.seen.as_ref().map_or(0, KeyTable::size)
    }
}
