//! The states of aggregates: vectors with one state per group, indexed by group number.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray};
use arrow_schema::ArrowError;
use folio_compute::array::to_array;
use folio_compute::type_rules::scale_of;
use folio_compute::{Result, cast};
use folio_types::{ColumnType, Value};

use super::arg_min_max::ArgMinMax;
use super::correlation::Correlation;
use super::holistic::Holistic;
use super::{fold, min_max};
use crate::plan::aggregate::{Aggregate, AggregateFunction};

/// The states of one aggregate.
pub(crate) trait Accumulator: Send + Any {
    /// Adds rows. `groups` has the group of each row, always below `group_count`.
    ///
    /// # Errors
    /// Overflow.
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()>;

    /// Merges the states of a later part of the input. `groups` maps its groups to those here.
    /// Only for mergeable aggregates.
    ///
    /// # Errors
    /// Overflow.
    fn merge(
        &mut self,
        other: &mut dyn Accumulator,
        groups: &[u32],
        group_count: usize,
    ) -> Result<()> {
        // The default suits min and the like: the result of a part counts as one value.
        let answers = other.finish(0..groups.len())?;
        self.take(&[answers], groups, group_count)
    }

    /// The results of these groups. Each group is asked for once, in ascending order.
    ///
    /// # Errors
    /// Overflow.
    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef>;

    /// Approximate memory of the states, in bytes.
    fn size(&self) -> usize;
}

/// The states for an aggregate.
pub(crate) fn new(aggregate: &Aggregate) -> Box<dyn Accumulator> {
    use AggregateFunction as Kind;
    let argument = aggregate.arguments.first().map_or(ColumnType::Int64, |argument| argument.ty());
    let result = aggregate.ty.clone();
    match aggregate.function {
        Kind::CountAll => Box::new(Count { counts: Vec::new(), all: true }),
        Kind::Count => Box::new(Count { counts: Vec::new(), all: false }),
        Kind::Sum | Kind::Avg if matches!(argument, ColumnType::Float32 | ColumnType::Float64) => {
            let is_mean = aggregate.function == Kind::Avg;
            Box::new(FloatSum { sums: Vec::new(), argument, result, is_mean })
        }
        Kind::Sum | Kind::Avg => {
            let is_mean = aggregate.function == Kind::Avg;
            Box::new(ExactSum { sums: Vec::new(), argument, result, is_mean })
        }
        Kind::Min => min_max::new(&result, false),
        Kind::Max => min_max::new(&result, true),
        Kind::Variance { sample } => {
            Box::new(Variance { states: Vec::new(), sample, is_root: false })
        }
        Kind::StdDev { sample } => Box::new(Variance { states: Vec::new(), sample, is_root: true }),
        Kind::BoolAnd | Kind::BoolOr => fold::truths(aggregate.function == Kind::BoolAnd),
        Kind::BitAnd | Kind::BitOr => fold::bits(&argument, aggregate.function == Kind::BitAnd),
        Kind::Product => fold::product(),
        Kind::First => fold::first(&result),
        Kind::Grouping => fold::fixed(0),
        Kind::ArgMin => Box::new(ArgMinMax::new(&result, false)),
        Kind::ArgMax => Box::new(ArgMinMax::new(&result, true)),
        Kind::Pairs(statistic) => Box::new(Correlation::new(statistic)),
        function => Box::new(Holistic::new(function, aggregate)),
    }
}

/// Downcasts to the own type.
fn same<A: Accumulator>(other: &mut dyn Accumulator) -> &mut A {
    (other as &mut dyn Any).downcast_mut().expect("states of the same aggregate")
}

struct Count {
    counts: Vec<i64>,
    all: bool,
}

impl Accumulator for Count {
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()> {
        self.counts.resize(group_count, 0);
        match arguments.first().and_then(|argument| argument.logical_nulls()) {
            Some(nulls) if !self.all => {
                for (group, is_valid) in groups.iter().zip(nulls.iter()) {
                    self.counts[*group as usize] += i64::from(is_valid);
                }
            }
            _ if group_count == 1 => self.counts[0] += groups.len() as i64,
            _ => groups.iter().for_each(|group| self.counts[*group as usize] += 1),
        }
        Ok(())
    }

    fn merge(
        &mut self,
        other: &mut dyn Accumulator,
        groups: &[u32],
        group_count: usize,
    ) -> Result<()> {
        self.counts.resize(group_count, 0);
        for (count, group) in same::<Self>(other).counts.iter().zip(groups) {
            self.counts[*group as usize] += count;
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.counts.resize(self.counts.len().max(groups.end), 0);
        Ok(Arc::new(Int64Array::from(self.counts[groups].to_vec())))
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}

/// Sums of up to so many groups are kept several times, so that rows of one group do not wait for each
/// other.
const LANED: usize = 16;
const LANES: usize = 4;

/// Adds values to the sums and counts of their groups; `None`, with nothing added, if there are many
/// groups, or if a sum would overflow in this order.
fn add_in_lanes(
    sums: &mut [(i128, i64)],
    values: impl Iterator<Item = i128>,
    groups: &[u32],
) -> Option<()> {
    if sums.len() > LANED {
        return None;
    }
    let mut lanes = [[(0, 0); LANED]; LANES];
    for (row, (value, group)) in values.zip(groups).enumerate() {
        let (sum, count): &mut (i128, i64) = &mut lanes[row % LANES][*group as usize % LANED];
        *sum = sum.checked_add(value)?;
        *count += 1;
    }
    let mut all = [(0, 0); LANED];
    for (at, own) in sums.iter().enumerate() {
        all[at] = lanes.iter().try_fold(*own, |(sum, count), lane| {
            Some((sum.checked_add(lane[at].0)?, count + lane[at].1))
        })?;
    }
    sums.copy_from_slice(&all[..sums.len()]);
    Some(())
}

/// Adds each value to the sum and count of its group; `None` if a sum overflows.
fn add_each<'g>(
    sums: &mut [(i128, i64)],
    mut rows: impl Iterator<Item = (i128, &'g u32)>,
) -> Option<()> {
    rows.try_for_each(|(value, group)| {
        let (sum, count) = &mut sums[*group as usize];
        *sum = sum.checked_add(value)?;
        *count += 1;
        Some(())
    })
}

/// Sums and means of integers and decimals, rounded only at the end.
struct ExactSum {
    sums: Vec<(i128, i64)>,
    argument: ColumnType,
    result: ColumnType,
    is_mean: bool,
}

impl ExactSum {
    fn add<T: ArrowPrimitiveType>(&mut self, array: &ArrayRef, groups: &[u32]) -> Result<()>
    where
        T::Native: Into<i128>,
    {
        let array = array.as_primitive::<T>();
        let overflow = || ArrowError::ArithmeticOverflow(String::new());
        let values = array.values().iter().map(|value| -> i128 { (*value).into() });
        match (array.nulls(), &mut self.sums[..]) {
            (None, [(sum, count)]) => {
                *sum = values.clone().try_fold(*sum, i128::checked_add).ok_or_else(overflow)?;
                *count += values.len() as i64;
            }
            (None, sums) => {
                if add_in_lanes(sums, values.clone(), groups).is_some() {
                    return Ok(());
                }
                add_each(sums, values.zip(groups)).ok_or_else(overflow)?;
            }
            (Some(nulls), sums) => {
                let rows = values.zip(groups).zip(nulls).filter(|(_, is_valid)| *is_valid);
                add_each(sums, rows.map(|(row, _)| row)).ok_or_else(overflow)?;
            }
        }
        Ok(())
    }

    /// Sums as decimals.
    fn decimals(&self, groups: Range<usize>, precision: u8) -> Result<ArrayRef> {
        let limit = 10i128.pow(u32::from(precision));
        let sums = &self.sums[groups];
        if sums.iter().any(|(sum, _)| *sum <= -limit || *sum >= limit) {
            return Err(ArrowError::ArithmeticOverflow(String::new()).into());
        }
        let sums = sums.iter().map(|(sum, count)| (*count > 0).then_some(*sum));
        let array: PrimitiveArray<Decimal128Type> = sums.collect();
        Ok(Arc::new(array.with_data_type(self.result.to_arrow())))
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "a mean in double precision is what is asked for"
    )]
    fn answer(&self, sum: i128, count: i64) -> Result<Value> {
        if count == 0 {
            return Ok(Value::Null);
        }
        let scale = scale_of(&self.argument);
        if self.is_mean {
            return Ok(match &self.result {
                ColumnType::Decimal { scale: wider, .. } => {
                    let digits = cast::rescale(sum, scale, *wider)
                        .ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()))?;
                    let (whole, rest) = (digits / i128::from(count), digits % i128::from(count));
                    let up = rest.unsigned_abs() * 2 >= u128::from(count.unsigned_abs());
                    Value::Decimal(whole + i128::from(up) * digits.signum())
                }
                _ => Value::Float(sum as f64 / count as f64),
            });
        }
        let value = match &self.result {
            ColumnType::Decimal { .. } => Value::Decimal(sum),
            _ => i64::try_from(sum).map_or(Value::Decimal(sum), Value::Integer),
        };
        if self.result.accepts(value.as_ref()) {
            Ok(value)
        } else {
            Err(ArrowError::ArithmeticOverflow(String::new()).into())
        }
    }
}

impl Accumulator for ExactSum {
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()> {
        self.sums.resize(group_count, (0, 0));
        match &self.argument {
            ColumnType::Int16 => self.add::<Int16Type>(&arguments[0], groups),
            ColumnType::Int32 => self.add::<Int32Type>(&arguments[0], groups),
            ColumnType::Decimal { .. } => self.add::<Decimal128Type>(&arguments[0], groups),
            _ => self.add::<Int64Type>(&arguments[0], groups),
        }
    }

    fn merge(
        &mut self,
        other: &mut dyn Accumulator,
        groups: &[u32],
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, (0, 0));
        for ((sum, count), group) in same::<Self>(other).sums.iter().zip(groups) {
            let (own, own_count) = &mut self.sums[*group as usize];
            let overflow = || ArrowError::ArithmeticOverflow(String::new());
            *own = own.checked_add(*sum).ok_or_else(overflow)?;
            *own_count += count;
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.sums.resize(self.sums.len().max(groups.end), (0, 0));
        if let (false, ColumnType::Decimal { precision, .. }) = (self.is_mean, &self.result) {
            return self.decimals(groups, *precision);
        }
        let values: Result<Vec<Value>> =
            self.sums[groups].iter().map(|(sum, count)| self.answer(*sum, *count)).collect();
        to_array(values?.iter(), &self.result)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<(i128, i64)>()
    }
}

/// Sums and means of floats, with Neumaier's compensation.
struct FloatSum {
    sums: Vec<(f64, f64, i64)>,
    argument: ColumnType,
    result: ColumnType,
    is_mean: bool,
}

impl Accumulator for FloatSum {
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()> {
        self.sums.resize(group_count, (0.0, 0.0, 0));
        let array = cast::cast_array(&arguments[0], &self.argument, &ColumnType::Float64, false)?;
        let array = array.as_primitive::<Float64Type>();
        for (row, group) in groups.iter().enumerate() {
            if array.is_valid(row) {
                let (sum, lost, count) = &mut self.sums[*group as usize];
                let value = array.value(row);
                let total = *sum + value;
                *lost += if sum.abs() >= value.abs() {
                    (*sum - total) + value
                } else {
                    (value - total) + *sum
                };
                *sum = total;
                *count += 1;
            }
        }
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "a count is small")]
    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.sums.resize(self.sums.len().max(groups.end), (0.0, 0.0, 0));
        let values: Vec<Value> = self.sums[groups]
            .iter()
            .map(|(sum, lost, count)| {
                let total = if lost.is_finite() { sum + lost } else { *sum };
                match (*count, self.is_mean) {
                    (0, _) => Value::Null,
                    (count, true) => Value::Float(total / count as f64),
                    (_, false) => Value::Float(total),
                }
            })
            .collect();
        to_array(values.iter(), &self.result)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<(f64, f64, i64)>()
    }
}

/// Variance by Welford's recurrence: count, mean, sum of squared distances.
struct Variance {
    states: Vec<(f64, f64, f64)>,
    sample: bool,
    is_root: bool,
}

impl Accumulator for Variance {
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()> {
        self.states.resize(group_count, (0.0, 0.0, 0.0));
        let array = arguments[0].as_primitive::<Float64Type>();
        for (row, group) in groups.iter().enumerate() {
            if array.is_valid(row) {
                let (count, mean, squares) = &mut self.states[*group as usize];
                *count += 1.0;
                let distance = array.value(row) - *mean;
                *mean += distance / *count;
                *squares += distance * (array.value(row) - *mean);
            }
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.states.resize(self.states.len().max(groups.end), (0.0, 0.0, 0.0));
        let values: Vec<Value> = self.states[groups]
            .iter()
            .map(|(count, _, squares)| {
                let divisor = if self.sample { count - 1.0 } else { *count };
                if divisor <= 0.0 {
                    return Value::Null;
                }
                let variance = squares / divisor;
                Value::Float(if self.is_root { variance.sqrt() } else { variance })
            })
            .collect();
        to_array(values.iter(), &ColumnType::Float64)
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<(f64, f64, f64)>()
    }
}
