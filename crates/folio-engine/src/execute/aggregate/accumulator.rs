//! The states of aggregates: vectors with one state per group, indexed by group number.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal64Type, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array, PrimitiveArray, UInt32Array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;
use folio_compute::array::to_array;
use folio_compute::type_rules::scale_of;
use folio_compute::{Result, cast};
use folio_types::{ColumnType, Value};

use super::arg_min_max::ArgMinMax;
use super::correlation::Correlation;
use super::groups::{FEW_GROUPS, Groups};
use super::holistic::Holistic;
use super::{fold, min_max};
use crate::plan::aggregate::{Aggregate, AggregateFunction};

/// The states of one aggregate.
pub(crate) trait Accumulator: Send + Any {
    /// Adds rows. `groups` has the group of each row, always below `group_count`.
    ///
    /// # Errors
    /// Overflow.
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()>;

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
        self.take(&[answers], &Groups::new(groups), group_count)
    }

    /// Merges some states of a later part: of each pair, the group there, which may come again, into
    /// the one here. Only for mergeable aggregates.
    ///
    /// # Errors
    /// Overflow.
    fn merge_some(
        &mut self,
        other: &mut dyn Accumulator,
        pairs: &[(u32, u32)],
        group_count: usize,
    ) -> Result<()> {
        let count = pairs.iter().map(|(from, _)| *from as usize + 1).max().unwrap_or(0);
        let from = UInt32Array::from_iter_values(pairs.iter().map(|(from, _)| *from));
        let answers = take(&other.finish(0..count)?, &from, None)?;
        let groups: Vec<u32> = pairs.iter().map(|(_, group)| *group).collect();
        self.take(&[answers], &Groups::new(&groups), group_count)
    }

    /// Takes over the states of an aggregate that has the same ([`Aggregate::shares_state`]).
    fn adopt(&mut self, _: &mut dyn Accumulator) {
        unreachable!("only exact sums share states")
    }

    /// The results of these groups, so far. Unless [`Accumulator::goes_on`], each group is asked for
    /// once, in ascending order.
    ///
    /// # Errors
    /// Overflow.
    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef>;

    /// Whether a group may have more rows after its result, and then another result.
    fn goes_on(&self) -> bool {
        true
    }

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
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.counts.resize(group_count, 0);
        match arguments.first().and_then(|argument| argument.logical_nulls()) {
            Some(nulls) if !self.all => {
                for (group, is_valid) in groups.iter().zip(nulls.iter()) {
                    self.counts[*group as usize] += i64::from(is_valid);
                }
            }
            _ if group_count == 1 => self.counts[0] += groups.len() as i64,
            _ if group_count <= FEW_GROUPS => {
                let sizes = groups.sizes_of_few();
                self.counts.iter_mut().zip(sizes).for_each(|(count, size)| *count += size);
            }
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

    fn merge_some(
        &mut self,
        other: &mut dyn Accumulator,
        pairs: &[(u32, u32)],
        group_count: usize,
    ) -> Result<()> {
        self.counts.resize(group_count, 0);
        let counts = &same::<Self>(other).counts;
        for (from, group) in pairs {
            self.counts[*group as usize] += counts[*from as usize];
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

/// The digits of integers and decimals.
trait Digits: Copy {
    /// All of them.
    fn wide(self) -> i128;

    /// The same, if they have 64 bits.
    fn narrow(self) -> i64;

    /// The bits that they need besides the sign; all 64 if those are not enough.
    fn bits(self) -> u64;
}

macro_rules! digits {
    ($($type:ty),*) => {$(
        impl Digits for $type {
            fn wide(self) -> i128 {
                self.into()
            }

            fn narrow(self) -> i64 {
                self.into()
            }

            fn bits(self) -> u64 {
                let own = self.narrow();
                (own ^ (own >> 63)) as u64
            }
        }
    )*};
}

digits!(i16, i32, i64);

impl Digits for i128 {
    fn wide(self) -> i128 {
        self
    }

    fn narrow(self) -> i64 {
        self as i64
    }

    fn bits(self) -> u64 {
        let own = (self ^ (self >> 127)) as u128;
        own as u64 | u64::from(own >> 64 != 0).wrapping_neg()
    }
}

/// Whether the sums of any of these values have 64 bits.
fn are_sums_narrow<D: Digits>(values: &[D]) -> bool {
    let bits = values.iter().fold(0, |all, own| all | own.bits());
    let needed = (u64::BITS - bits.leading_zeros()) + usize::BITS - values.len().leading_zeros();
    needed < i64::BITS - 1
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
    fn add<T: ArrowPrimitiveType<Native: Digits>>(
        &mut self,
        array: &ArrayRef,
        groups: &Groups<'_>,
    ) -> Option<()> {
        let array = array.as_primitive::<T>();
        let values = &array.values()[..];
        let wide = || values.iter().map(|value| value.wide()).zip(groups.iter());
        if let Some(nulls) = array.nulls() {
            let rows = wide().zip(nulls).filter(|(_, is_valid)| *is_valid);
            return add_each(&mut self.sums, rows.map(|(row, _)| row));
        }
        if self.sums.len() > FEW_GROUPS || !are_sums_narrow(values) {
            return add_each(&mut self.sums, wide());
        }
        let narrow = values.iter().map(|value| value.narrow());
        if let [(sum, count)] = &mut self.sums[..] {
            *sum = sum.checked_add(narrow.sum::<i64>().into())?;
            *count += values.len() as i64;
            return Some(());
        }
        let added = groups.sums_of_few(narrow).into_iter().zip(groups.sizes_of_few());
        for ((sum, count), (added, size)) in self.sums.iter_mut().zip(added) {
            *sum = sum.checked_add(added.into())?;
            *count += size;
        }
        Some(())
    }

    /// Adds other sums and counts to those of groups.
    fn add_sums<'s>(
        &mut self,
        mut sums: impl Iterator<Item = (&'s (i128, i64), &'s u32)>,
    ) -> Result<()> {
        let added = sums.try_for_each(|((sum, count), group)| {
            let (own, own_count) = &mut self.sums[*group as usize];
            *own = own.checked_add(*sum)?;
            *own_count += count;
            Some(())
        });
        added.ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()).into())
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
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, (0, 0));
        let argument = &arguments[0];
        let added = match argument.data_type() {
            DataType::Int16 => self.add::<Int16Type>(argument, groups),
            DataType::Int32 => self.add::<Int32Type>(argument, groups),
            DataType::Decimal64(..) => self.add::<Decimal64Type>(argument, groups),
            DataType::Decimal128(..) => self.add::<Decimal128Type>(argument, groups),
            _ => self.add::<Int64Type>(argument, groups),
        };
        added.ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()).into())
    }

    fn merge(
        &mut self,
        other: &mut dyn Accumulator,
        groups: &[u32],
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, (0, 0));
        self.add_sums(same::<Self>(other).sums.iter().zip(groups))
    }

    fn merge_some(
        &mut self,
        other: &mut dyn Accumulator,
        pairs: &[(u32, u32)],
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, (0, 0));
        let sums = &same::<Self>(other).sums;
        self.add_sums(pairs.iter().map(|(from, group)| (&sums[*from as usize], group)))
    }

    fn adopt(&mut self, other: &mut dyn Accumulator) {
        self.sums.clone_from(&same::<Self>(other).sums);
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
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.sums.resize(group_count, (0.0, 0.0, 0));
        let array = cast::cast_array(&arguments[0], &self.argument, &ColumnType::Float64, false)?;
        let array = array.as_primitive::<Float64Type>();
        for (row, group) in groups.iter().enumerate() {
            if array.is_valid(row) {
                let (sum, lost, count) = &mut self.sums[*group as usize];
                let value = array.value(row);
                let total = *sum + value;
                if total.is_infinite() && sum.is_finite() && value.is_finite() {
                    return Err(ArrowError::ArithmeticOverflow(String::new()).into());
                }
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
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
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
