//! Table functions: unnest, generate_series, the parts of JSON.

use std::sync::Arc;

use folio_compute::array::to_array;
use folio_compute::{BATCH_SIZE, Batch, Error, Result};
use folio_types::{Interval, Value, temporal};

use super::aggregate::weight;
use super::{Operator, Pieces};
use crate::context::Context;
use crate::expression::evaluate::constant;
use crate::limits::Held;
use crate::plan::{physical, terms};

/// Maximum number of rows of a series.
const SERIES_MAX: usize = 100_000_000;

pub(super) struct TableFunction {
    node: Arc<physical::TableFunctionCall>,
    rows: Option<Rows>,
    held: Held,
}

/// The rows of a call.
enum Rows {
    /// All of them.
    Whole(Pieces),
    /// A series, and how many rows it has given.
    Series(Series, usize),
}

impl TableFunction {
    pub(super) fn new(node: &Arc<physical::TableFunctionCall>) -> Self {
        Self { node: Arc::clone(node), rows: None, held: Held::default() }
    }

    fn begin(&mut self, context: &Context) -> Result<Rows> {
        let arguments = self.node.arguments.iter().map(|argument| constant(argument, context));
        let arguments: Vec<Value> = arguments.collect::<Result<_>>()?;
        self.held.charge(context.limits(), arguments.iter().map(weight).sum())?;
        let columns = match self.node.function {
            terms::TableFunction::GenerateSeries { is_open, .. } => {
                return Ok(match Series::of(&arguments, is_open)? {
                    Some(series) => Rows::Series(series, 0),
                    None => Rows::Whole(Pieces::default()),
                });
            }
            terms::TableFunction::Unnest { .. } => unnest(arguments),
            terms::TableFunction::JsonElements { .. } => {
                vec![json_elements(&arguments, &mut self.held, context)?]
            }
            terms::TableFunction::JsonEach { .. } => json_each(&arguments)?,
        };
        let batch = self.batch(columns, 0)?;
        self.held.charge(context.limits(), batch.size())?;
        Ok(Rows::Whole(Pieces::of(batch)))
    }

    /// A batch of these columns, numbered from `done` on if the call numbers its rows.
    fn batch(&self, mut columns: Vec<Vec<Value>>, done: usize) -> Result<Batch> {
        use terms::TableFunction as Kind;
        let (Kind::Unnest { ordinality }
        | Kind::GenerateSeries { ordinality, .. }
        | Kind::JsonElements { ordinality }
        | Kind::JsonEach { ordinality }) = self.node.function;
        let count = columns.iter().map(Vec::len).max().unwrap_or(0);
        if ordinality {
            let numbers = done as i64 + 1..=(done + count) as i64;
            columns.push(numbers.map(Value::Integer).collect());
        }
        let arrays = columns.iter_mut().zip(&self.node.types).map(|(column, ty)| {
            column.resize(count, Value::Null);
            to_array(column.iter(), ty)
        });
        Ok(Batch::new(arrays.collect::<Result<_>>()?, count))
    }
}

impl Operator for TableFunction {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        context.check()?;
        if self.rows.is_none() {
            self.rows = Some(self.begin(context)?);
        }
        let (values, done) = match &mut self.rows {
            Some(Rows::Whole(pieces)) => return Ok(pieces.next()),
            Some(Rows::Series(series, done)) => {
                let values: Vec<Value> = series.take(BATCH_SIZE).collect();
                *done += values.len();
                (values, *done)
            }
            None => return Ok(None),
        };
        if done > SERIES_MAX {
            return Err(Error::invalid("a series makes more than 100 million rows"));
        }
        let before = done - values.len();
        (!values.is_empty()).then(|| self.batch(vec![values], before)).transpose()
    }
}

fn unnest(arguments: Vec<Value>) -> Vec<Vec<Value>> {
    let items = arguments.into_iter().map(|argument| match argument {
        Value::List(items) => items,
        _ => Vec::new(),
    });
    items.collect()
}

/// A series of numbers or instants, up or down to an end.
struct Series {
    /// The next number, or microsecond.
    next: Option<i64>,
    to: i64,
    step: Step,
    is_up: bool,
    /// Whether the end is left out.
    is_open: bool,
}

enum Step {
    Integer(i64),
    Interval(Interval),
}

impl Series {
    /// The series of these arguments; `None` if one of them is null.
    fn of(arguments: &[Value], is_open: bool) -> Result<Option<Self>> {
        let (from, to, step) = match arguments {
            [Value::Integer(from), Value::Integer(to)] => (from, to, Step::Integer(1)),
            [Value::Integer(from), Value::Integer(to), Value::Integer(step)] => {
                (from, to, Step::Integer(*step))
            }
            [Value::Timestamp(from), Value::Timestamp(to), Value::Interval(step)] => {
                (from, to, Step::Interval(*step))
            }
            _ => return Ok(None),
        };
        let is_up = match step {
            Step::Integer(step) => step > 0,
            Step::Interval(_) => step.after(*from).is_some_and(|second| second > *from),
        };
        if step.after(*from) == Some(*from) {
            return Err(Error::invalid("the step of a series must not be 0"));
        }
        Ok(Some(Self { next: Some(*from), to: *to, step, is_up, is_open }))
    }
}

impl Step {
    /// The value after another; `None` if there is none.
    fn after(&self, value: i64) -> Option<i64> {
        match self {
            Self::Integer(step) => value.checked_add(*step),
            Self::Interval(step) => temporal::add(value, *step),
        }
    }
}

impl Iterator for Series {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let value = self.next?;
        let is_before = if self.is_up { value < self.to } else { value > self.to };
        if !is_before && (self.is_open || value != self.to) {
            self.next = None;
            return None;
        }
        self.next = self.step.after(value);
        Some(match self.step {
            Step::Integer(_) => Value::Integer(value),
            Step::Interval(_) => Value::Timestamp(value),
        })
    }
}

fn json_elements(arguments: &[Value], held: &mut Held, context: &Context) -> Result<Vec<Value>> {
    let [Value::Text(text)] = arguments else { return Ok(Vec::new()) };
    let items: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(text).map_err(|_| Error::invalid("the JSON value is not an array"))?;
    let more = items.len() * 2 * size_of::<Value>() + text.len();
    held.charge(context.limits(), held.size() + more)?;
    Ok(items.into_iter().map(|item| Value::Text(item.get().to_owned())).collect())
}

fn json_each(arguments: &[Value]) -> Result<Vec<Vec<Value>>> {
    let [Value::Text(text)] = arguments else { return Ok(vec![Vec::new(), Vec::new()]) };
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
        .map_err(|_| Error::invalid("the JSON value is not an object"))?;
    let (names, values) = members
        .into_iter()
        .map(|(name, value)| (Value::Text(name), Value::Text(value.to_string())))
        .unzip();
    Ok(vec![names, values])
}
