//! Table functions: unnest, generate_series, the parts of JSON.

use std::sync::Arc;

use folio_types::{Value, temporal};

use super::{Operator, Pieces};
use crate::array::to_array;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::expression::evaluate::constant;
use crate::plan::{physical, terms};

/// Maximum number of rows of a series.
const SERIES_MAX: usize = 100_000_000;

pub(super) struct TableFunction {
    node: Arc<physical::TableFunctionCall>,
    rows: Option<Pieces>,
}

impl TableFunction {
    pub(super) fn new(node: &Arc<physical::TableFunctionCall>) -> Self {
        Self { node: Arc::clone(node), rows: None }
    }

    fn run(&self, context: &Context) -> Result<Batch> {
        let arguments = self.node.arguments.iter().map(|argument| constant(argument, context));
        let arguments: Vec<Value> = arguments.collect::<Result<_>>()?;
        let (mut columns, ordinality) = match self.node.function {
            terms::TableFunction::Unnest { ordinality } => (unnest(arguments), ordinality),
            terms::TableFunction::GenerateSeries { ordinality } => {
                (vec![series(&arguments, context)?], ordinality)
            }
            terms::TableFunction::JsonElements { ordinality } => {
                (vec![json_elements(&arguments)?], ordinality)
            }
            terms::TableFunction::JsonEach { ordinality } => (json_each(&arguments)?, ordinality),
        };
        let count = columns.iter().map(Vec::len).max().unwrap_or(0);
        if ordinality {
            columns.push((1..=count as i64).map(Value::Integer).collect());
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
        if self.rows.is_none() {
            self.rows = Some(Pieces::of(self.run(context)?));
        }
        Ok(self.rows.as_mut().and_then(Pieces::next))
    }
}

fn unnest(arguments: Vec<Value>) -> Vec<Vec<Value>> {
    let items = arguments.into_iter().map(|argument| match argument {
        Value::List(items) => items,
        _ => Vec::new(),
    });
    items.collect()
}

/// A series of numbers or instants, both ends included.
fn series(arguments: &[Value], context: &Context) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    match arguments {
        [Value::Integer(from), Value::Integer(to), rest @ ..] => {
            let step = match rest {
                [] => 1,
                [Value::Integer(step)] => *step,
                _ => return Ok(rows),
            };
            let mut next = Some(*from);
            if step == 0 {
                return Err(Error::invalid("the step of generate_series must not be 0"));
            }
            while let Some(value) =
                next.filter(|next| (step > 0 && next <= to) || (step < 0 && next >= to))
            {
                push(&mut rows, Value::Integer(value), context)?;
                next = value.checked_add(step);
            }
        }
        [Value::Timestamp(from), Value::Timestamp(to), Value::Interval(step)] => {
            let mut next = *from;
            let is_up = temporal::add(next, *step).is_some_and(|after| after > next);
            if temporal::add(next, *step) == Some(next) {
                return Err(Error::invalid("the step of generate_series must not be 0"));
            }
            while (is_up && next <= *to) || (!is_up && next >= *to) {
                push(&mut rows, Value::Timestamp(next), context)?;
                let Some(after) = temporal::add(next, *step) else { break };
                next = after;
            }
        }
        _ => {}
    }
    Ok(rows)
}

fn push(rows: &mut Vec<Value>, value: Value, context: &Context) -> Result<()> {
    if rows.len().is_multiple_of(65_536) {
        context.check()?;
    }
    if rows.len() >= SERIES_MAX {
        return Err(Error::invalid("generate_series makes more than 100 million rows"));
    }
    rows.push(value);
    Ok(())
}

fn json_elements(arguments: &[Value]) -> Result<Vec<Value>> {
    let [Value::Text(text)] = arguments else { return Ok(Vec::new()) };
    let items: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(text).map_err(|_| Error::invalid("the JSON value is not an array"))?;
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
