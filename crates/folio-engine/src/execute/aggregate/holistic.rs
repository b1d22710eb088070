//! Aggregates that need all values of a group: arrays, joined texts, medians, and other
//! aggregates of an order.

use std::ops::Range;

use arrow_array::ArrayRef;
use folio_compute::array::{to_array, value_at};
use folio_compute::cast::json;
use folio_compute::{Error, Result, cast, order_keys};
use folio_types::{ColumnType, Value};

use super::accumulator::Accumulator;
use super::groups::Groups;
use crate::plan::aggregate::{Aggregate, AggregateFunction};

/// The values of each group.
pub(crate) struct Holistic {
    /// For each group, its rows of argument values.
    values: Vec<Vec<Vec<Value>>>,
    function: AggregateFunction,
    types: Vec<ColumnType>,
    result: ColumnType,
    /// Memory of the values, in bytes.
    size: usize,
}

impl Holistic {
    pub(crate) fn new(function: AggregateFunction, aggregate: &Aggregate) -> Self {
        let types = aggregate.arguments.iter().map(|argument| argument.ty()).collect();
        Self { values: Vec::new(), function, types, result: aggregate.ty.clone(), size: 0 }
    }

    fn answer(&self, rows: &[Vec<Value>]) -> Result<Value> {
        use AggregateFunction as Kind;
        let first = || rows.iter().map(|row| &row[0]);
        let present = || first().filter(|value| !matches!(value, Value::Null));
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
            Kind::JsonObjectAgg => Value::Text(json_object(rows, &self.types)?),
            _ if is_empty => Value::Null,
            Kind::Median => median(present()),
            Kind::PercentileCont => match fraction(rows)? {
                Some(fraction) => between(&floats(present()).collect::<Vec<f64>>(), fraction),
                None => Value::Null,
            },
            Kind::PercentileDisc => match fraction(rows)? {
                Some(fraction) => at(&present().collect::<Vec<&Value>>(), fraction),
                None => Value::Null,
            },
            Kind::Mode => most_frequent(&present().collect::<Vec<&Value>>(), &self.types[0]),
            _ => Value::Text(joined(rows)),
        })
    }
}

fn json_object(rows: &[Vec<Value>], types: &[ColumnType]) -> Result<String> {
    let mut out = String::from("{");
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if matches!(row[0], Value::Null) {
            return Err(Error::invalid("a name in json_object_agg is null"));
        }
        json::write_string(&cast::format(&row[0], &types[0]), &mut out);
        out.push(':');
        out.push_str(&json::to_json(&row[1], &types[1]));
    }
    out.push('}');
    Ok(out)
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

/// The fraction argument, the same in every row; `None` if it is null.
fn fraction(rows: &[Vec<Value>]) -> Result<Option<f64>> {
    match rows.first().and_then(|row| row.get(1)) {
        Some(Value::Float(fraction)) if (0.0..=1.0).contains(fraction) => Ok(Some(*fraction)),
        Some(Value::Float(fraction)) => Err(Error::invalid(format!(
            "the fraction {fraction} of a percentile is not between 0 and 1"
        ))),
        _ => Ok(None),
    }
}

/// The value at a fraction of the sorted values, interpolated between neighbours
/// (`percentile_cont` of SQL:2003).
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places are small and not negative"
)]
fn between(sorted: &[f64], fraction: f64) -> Value {
    let place = fraction * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Value::Float(below + (above - below) * place.fract())
}

/// The first sorted value at which the given fraction of all values is reached
/// (`percentile_disc` of SQL:2003).
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places are small and not negative"
)]
fn at(sorted: &[&Value], fraction: f64) -> Value {
    let count = (fraction * sorted.len() as f64).ceil() as usize;
    sorted[count.max(1) - 1].clone()
}

/// The most frequent value; of several, the first in the order.
fn most_frequent(sorted: &[&Value], ty: &ColumnType) -> Value {
    let keys: Vec<_> = sorted.iter().map(|value| order_keys::of_value(value, ty)).collect();
    let runs = keys.chunk_by(|left, right| left == right);
    let mut start = 0;
    let runs = runs.map(|run| {
        let first = start;
        start += run.len();
        (first, run.len())
    });
    let longest = runs.reduce(|best, run| if run.1 > best.1 { run } else { best });
    longest.map_or(Value::Null, |(first, _)| sorted[first].clone())
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

impl Accumulator for Holistic {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.values.resize(group_count, Vec::new());
        for (row, group) in groups.iter().enumerate() {
            let values = arguments.iter().zip(&self.types);
            let values: Vec<Value> = values.map(|(array, ty)| value_at(array, row, ty)).collect();
            self.size += size_of::<Vec<Value>>() + values.iter().map(weight).sum::<usize>();
            self.values[*group as usize].push(values);
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.values.resize(self.values.len().max(groups.end), Vec::new());
        let values = groups.map(|group| {
            let rows = std::mem::take(&mut self.values[group]);
            self.answer(&rows)
        });
        let values: Vec<Value> = values.collect::<Result<_>>()?;
        to_array(values.iter(), &self.result)
    }

    fn goes_on(&self) -> bool {
        false
    }

    fn size(&self) -> usize {
        self.size + self.values.capacity() * size_of::<Vec<Vec<Value>>>()
    }
}

/// Memory of a value, in bytes.
pub(crate) fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::Text(text) => text.capacity(),
        Value::Bytes(bytes) => bytes.capacity(),
        Value::List(values) | Value::Struct(values) => values.iter().map(weight).sum(),
        _ => 0,
    };
    size_of::<Value>() + inside
}
