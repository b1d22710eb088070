//! Aggregates that look at all values of a group in the end: arrays, texts, medians.

use std::ops::Range;

use arrow_array::ArrayRef;
use folio_types::{ColumnType, Value};

use super::accumulator::Accumulator;
use super::aggregate::{Aggregate, AggregateFunction};
use crate::error::Result;
use crate::expression::value::{to_array, value_at};
use crate::expression::{cast, json};

/// The values of each group.
pub(super) struct Gather {
    /// For each group, its rows of argument values.
    values: Vec<Vec<Vec<Value>>>,
    function: AggregateFunction,
    types: Vec<ColumnType>,
    result: ColumnType,
    /// Memory of the values, in bytes.
    size: usize,
}

impl Gather {
    pub(super) fn new(function: AggregateFunction, aggregate: &Aggregate) -> Self {
        let types = aggregate.arguments.iter().map(|argument| argument.ty()).collect();
        Self { values: Vec::new(), function, types, result: aggregate.ty.clone(), size: 0 }
    }

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

    fn size(&self) -> usize {
        self.size + self.values.capacity() * size_of::<Vec<Vec<Value>>>()
    }
}

/// Memory of a value, in bytes.
fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::Text(text) => text.capacity(),
        Value::List(values) => values.iter().map(weight).sum(),
        _ => 0,
    };
    size_of::<Value>() + inside
}
