//! The states of aggregates: one per group, in vectors by the group's number.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::{ArrowError, SortOptions};
use folio_types::{ColumnType, Value};

use super::aggregate::{Aggregate, AggregateFunction};
use crate::error::Result;
use crate::expression::coerce::scale_of;
use crate::expression::value::{nulls, to_array, value_at};
use crate::expression::{cast, json};

/// The states of one aggregate.
pub(super) trait Accumulator: Send {
    /// Takes rows; `groups` says which group each is of, all below `group_count`.
    ///
    /// # Errors
    /// Overflow.
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()>;

    /// The answer of each group.
    ///
    /// # Errors
    /// Overflow.
    fn finish(&mut self, group_count: usize) -> Result<ArrayRef>;
}

/// The states an aggregate needs.
pub(super) fn new(aggregate: &Aggregate) -> Box<dyn Accumulator> {
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
        Kind::Min => {
            Box::new(Extreme { best: None, places: Vec::new(), is_max: false, ty: result })
        }
        Kind::Max => Box::new(Extreme { best: None, places: Vec::new(), is_max: true, ty: result }),
        Kind::Variance { sample } => {
            Box::new(Spread { states: Vec::new(), sample, is_root: false })
        }
        Kind::StdDev { sample } => Box::new(Spread { states: Vec::new(), sample, is_root: true }),
        function => Box::new(Gather {
            values: Vec::new(),
            function,
            types: aggregate.arguments.iter().map(|argument| argument.ty()).collect(),
            result,
        }),
    }
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

    fn finish(&mut self, group_count: usize) -> Result<ArrayRef> {
        self.counts.resize(group_count, 0);
        Ok(Arc::new(Int64Array::from(std::mem::take(&mut self.counts))))
    }
}

/// Sums and means of integers and decimals, without rounding until the end.
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
        for (row, group) in groups.iter().enumerate() {
            if array.is_valid(row) {
                let (sum, count) = &mut self.sums[*group as usize];
                let overflow = || ArrowError::ArithmeticOverflow(String::new());
                *sum = sum.checked_add(array.value(row).into()).ok_or_else(overflow)?;
                *count += 1;
            }
        }
        Ok(())
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

    fn finish(&mut self, group_count: usize) -> Result<ArrayRef> {
        self.sums.resize(group_count, (0, 0));
        let values: Result<Vec<Value>> =
            self.sums.iter().map(|(sum, count)| self.answer(*sum, *count)).collect();
        to_array(values?.iter(), &self.result)
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
    fn finish(&mut self, group_count: usize) -> Result<ArrayRef> {
        self.sums.resize(group_count, (0.0, 0.0, 0));
        let values: Vec<Value> = self
            .sums
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
}

/// The least or the greatest. The best values so far are rows of one array.
struct Extreme {
    best: Option<ArrayRef>,
    /// Where in it each group's best is.
    places: Vec<Option<u32>>,
    is_max: bool,
    ty: ColumnType,
}

impl Accumulator for Extreme {
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()> {
        self.places.resize(group_count, None);
        let all = match self.best.take() {
            Some(best) => arrow_select::concat::concat(&[&best, &arguments[0]])?,
            None => ArrayRef::clone(&arguments[0]),
        };
        let start = all.len() - arguments[0].len();
        let options = SortOptions { descending: self.is_max, nulls_first: false };
        let order = arrow_ord::ord::make_comparator(&all, &all, options)?;
        for (row, group) in groups.iter().enumerate() {
            let row = start + row;
            let place = &mut self.places[*group as usize];
            if all.is_valid(row) && place.is_none_or(|best| order(row, best as usize).is_lt()) {
                *place = Some(row as u32);
            }
        }
        // Keep the best rows alone.
        let rows = arrow_array::UInt32Array::from(self.places.clone());
        self.best = Some(arrow_select::take::take(&all, &rows, None)?);
        for (place, row) in self.places.iter_mut().zip(0..) {
            *place = place.map(|_| row);
        }
        Ok(())
    }

    fn finish(&mut self, group_count: usize) -> Result<ArrayRef> {
        self.places.resize(group_count, None);
        let Some(best) = &self.best else { return Ok(nulls(&self.ty, group_count)) };
        let rows = arrow_array::UInt32Array::from(self.places.clone());
        Ok(arrow_select::take::take(best, &rows, None)?)
    }
}

/// Variance by Welford's recurrence: count, mean, sum of squared distances.
struct Spread {
    states: Vec<(f64, f64, f64)>,
    sample: bool,
    is_root: bool,
}

impl Accumulator for Spread {
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

    fn finish(&mut self, group_count: usize) -> Result<ArrayRef> {
        self.states.resize(group_count, (0.0, 0.0, 0.0));
        let values: Vec<Value> = self
            .states
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
}

/// All else gathers the values and looks at them in the end.
struct Gather {
    /// For each group, its rows of argument values.
    values: Vec<Vec<Vec<Value>>>,
    function: AggregateFunction,
    types: Vec<ColumnType>,
    result: ColumnType,
}

impl Gather {
    fn answer(&self, rows: &[Vec<Value>]) -> Result<Value> {
        use AggregateFunction as Kind;
        let first = || rows.iter().map(|row| &row[0]);
        let present = || first().filter(|value| !matches!(value, Value::Null));
        let truths = || present().map(|value| matches!(value, Value::Boolean(true)));
        let integers = || {
            present().filter_map(|value| match value {
                Value::Integer(value) => Some(*value),
                _ => None,
            })
        };
        let is_empty = present().next().is_none();
        Ok(match self.function {
            Kind::ArrayAgg if rows.is_empty() => Value::Null,
            Kind::ArrayAgg => Value::List(first().cloned().collect()),
            Kind::JsonAgg if rows.is_empty() => Value::Null,
            Kind::JsonAgg => {
                let items: Vec<String> =
                    first().map(|value| json::to_json(value, &self.types[0])).collect();
                Value::Text(format!("[{}]", items.join(",")))
            }
            Kind::JsonObjectAgg if rows.is_empty() => Value::Null,
            Kind::JsonObjectAgg => Value::Text(json_object(rows, &self.types)),
            _ if is_empty => match self.function {
                Kind::DistinctCount => Value::Integer(0),
                _ => Value::Null,
            },
            Kind::BoolAnd => Value::Boolean(truths().all(|truth| truth)),
            Kind::BoolOr => Value::Boolean(truths().any(|truth| truth)),
            Kind::BitAnd => Value::Integer(integers().fold(-1, |all, value| all & value)),
            Kind::BitOr => Value::Integer(integers().fold(0, |all, value| all | value)),
            Kind::First => present().next().cloned().unwrap_or_default(),
            Kind::StringAgg => Value::Text(joined(rows)),
            Kind::Median => median(present()),
            Kind::Product => Value::Float(floats(present()).product()),
            _ => {
                let mut shown: Vec<String> = present().map(|value| format!("{value:?}")).collect();
                shown.sort_unstable();
                shown.dedup();
                Value::Integer(shown.len() as i64)
            }
        })
    }
}

fn json_object(rows: &[Vec<Value>], types: &[ColumnType]) -> String {
    let mut out = String::from("{");
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        json::write_string(&cast::format(&row[0], &types[0]), &mut out);
        out.push(':');
        out.push_str(&json::to_json(&row[1], &types[1]));
    }
    out.push('}');
    out
}

fn joined(rows: &[Vec<Value>]) -> String {
    let mut out = String::new();
    let mut is_first = true;
    for row in rows {
        let Value::Text(text) = &row[0] else { continue };
        if let (false, Some(Value::Text(between))) = (is_first, row.get(1)) {
            out.push_str(between);
        }
        out.push_str(text);
        is_first = false;
    }
    out
}

fn floats<'v>(values: impl Iterator<Item = &'v Value>) -> impl Iterator<Item = f64> {
    values.filter_map(|value| match value {
        Value::Float(value) => Some(*value),
        _ => None,
    })
}

fn median<'v>(values: impl Iterator<Item = &'v Value>) -> Value {
    let mut sorted: Vec<f64> = floats(values).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => Value::Null,
        count if count % 2 == 1 => Value::Float(sorted[middle]),
        _ => Value::Float((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

impl Accumulator for Gather {
    fn take(&mut self, arguments: &[ArrayRef], groups: &[u32], group_count: usize) -> Result<()> {
        self.values.resize(group_count, Vec::new());
        for (row, group) in groups.iter().enumerate() {
            let values = arguments.iter().zip(&self.types);
            let values = values.map(|(array, ty)| value_at(array, row, ty)).collect();
            self.values[*group as usize].push(values);
        }
        Ok(())
    }

    fn finish(&mut self, group_count: usize) -> Result<ArrayRef> {
        self.values.resize(group_count, Vec::new());
        let values: Result<Vec<Value>> = self.values.iter().map(|rows| self.answer(rows)).collect();
        to_array(values?.iter(), &self.result)
    }
}
