//! What is computed of groups: one state per aggregate, of as many groups as there are.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use folio_types::ColumnType;

use super::accumulator::{self, Accumulator};
use super::context::Context;
use super::correlation::PairStatistic;
use super::fold;
use super::keys::KeyTable;
use crate::batch::Batch;
use crate::error::Result;
use crate::expression::evaluate::{evaluate, types};
use crate::expression::{Expr, type_name};
use crate::plan::logical::SortKey;

/// What is computed of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateFunction {
    /// Rows.
    CountAll,
    /// Values.
    Count,
    /// Their sum.
    Sum,
    /// Their mean.
    Avg,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Whether all are true.
    BoolAnd,
    /// Whether any is.
    BoolOr,
    /// The variance; of a sample, or of all there is.
    Variance {
        /// Whether the values are a sample.
        sample: bool,
    },
    /// Its root.
    StdDev {
        /// Whether the values are a sample.
        sample: bool,
    },
    /// The texts, joined.
    StringAgg,
    /// The values, nulls too, as an array.
    ArrayAgg,
    /// The same as a JSON array.
    JsonAgg,
    /// Names and values as a JSON object.
    JsonObjectAgg,
    /// The value in the middle, between two where there are two.
    Median,
    /// The value at a fraction of the order, between two in proportion.
    PercentileCont,
    /// The value at a fraction of the order, one of those there are.
    PercentileDisc,
    /// The value that is there most often.
    Mode,
    /// Which of its arguments the grouping set leaves out, a bit for each.
    Grouping,
    /// Any of them: the first.
    First,
    /// The bits all have.
    BitAnd,
    /// The bits any has.
    BitOr,
    /// Their product.
    Product,
    /// The value where another is least.
    ArgMin,
    /// The value where another is greatest.
    ArgMax,
    /// What two values have to do with each other.
    Pairs(PairStatistic),
}

/// An aggregate as it stands in a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Aggregate {
    /// What is computed.
    pub function: AggregateFunction,
    /// Its name in the statement.
    pub name: Arc<str>,
    /// What of.
    pub arguments: Vec<Expr>,
    /// Whether each value counts once.
    pub distinct: bool,
    /// Which rows count.
    pub filter: Option<Expr>,
    /// In which order values are taken.
    pub order: Vec<SortKey>,
    /// The type of the answer.
    pub ty: ColumnType,
}

impl Aggregate {
    /// Every expression of the aggregate.
    pub(crate) fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        let keys = self.order.iter_mut().map(|key| &mut key.expression);
        self.arguments.iter_mut().chain(&mut self.filter).chain(keys).collect()
    }

    /// Whether parts of a group's rows can be computed apart and put together, with the answer
    /// that all of them give. Sums of floats depend on where they are parted.
    pub(crate) fn is_mergeable(&self) -> bool {
        use AggregateFunction as Kind;
        let is_exact = match self.function {
            Kind::CountAll
            | Kind::Count
            | Kind::Min
            | Kind::Max
            | Kind::BoolAnd
            | Kind::BoolOr
            | Kind::BitAnd
            | Kind::BitOr
            | Kind::Grouping
            | Kind::First => true,
            Kind::Sum | Kind::Avg => self.arguments.first().is_some_and(|argument| {
                !matches!(argument.ty(), ColumnType::Float32 | ColumnType::Float64)
            }),
            _ => false,
        };
        is_exact && !self.distinct && self.order.is_empty()
    }

    /// Every expression of the aggregate, to look at.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.order.iter().map(|key| &key.expression);
        self.arguments.iter().chain(&self.filter).chain(keys)
    }

    /// Whether it counts rows and nothing else.
    pub(crate) fn is_plain_count(&self) -> bool {
        self.function == AggregateFunction::CountAll && self.filter.is_none()
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(Expr::to_string).collect();
        let arguments = if arguments.is_empty() { "*".to_owned() } else { arguments.join(", ") };
        let distinct = if self.distinct { "distinct " } else { "" };
        write!(out, "{}({distinct}{arguments})", self.name)?;
        match &self.filter {
            Some(filter) => write!(out, " filter (where {filter})"),
            None => Ok(()),
        }
    }
}

/// One aggregate while it runs.
pub(super) struct State {
    aggregate: Aggregate,
    accumulator: Box<dyn Accumulator>,
    /// Values that came already, by group.
    seen: Option<KeyTable>,
}

impl State {
    /// The state of an aggregate over the groups of a set; `is_grouped` tells whether an
    /// expression is among what the set groups by.
    pub(super) fn new(aggregate: &Aggregate, is_grouped: &dyn Fn(&Expr) -> bool) -> Result<Self> {
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
    pub(super) fn take(
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
    pub(super) fn merge(&mut self, mut other: Self, groups: &[u32], count: usize) -> Result<()> {
        self.accumulator.merge(&mut *other.accumulator, groups, count)
    }

    /// The answers of these groups; each is asked for once, in the order of numbers.
    pub(super) fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.accumulator.finish(groups)
    }

    /// Memory the state has, in bytes, about.
    pub(super) fn size(&self) -> usize {
        self.accumulator.size() + self.seen.as_ref().map_or(0, KeyTable::size)
    }
}

/// The name and types of an aggregate's arguments, for messages.
pub(crate) fn signature(name: &str, arguments: &[Expr]) -> String {
    let given: Vec<String> = arguments.iter().map(|argument| type_name(&argument.ty())).collect();
    format!("{name}({})", given.join(", "))
}
