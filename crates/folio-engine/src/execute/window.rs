//! Window functions: each row sees rows of its partition.
//!
//! The whole input is held in memory. For each function its rows are sorted by partition and
//! order; a frame is then a range of positions.

mod frame;
mod tree;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, UInt32Array};
use folio_compute::array::{to_array, value_at};
use folio_compute::keys::KeyTable;
use folio_compute::order::OrderColumn;
use folio_compute::{Batch, Error, Result, order};
use folio_types::{ColumnType, Value};

use super::aggregate::{Groups, State};
use super::sort_keys::sort_columns;
use super::{Operator, Pieces, Running, drain};
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{constant, evaluate_array, evaluate_arrays, types};
use crate::limits::Held;
use crate::plan::aggregate::Aggregate;
use crate::plan::physical;
use crate::plan::window::{WindowCall, WindowFunction};
use frame::Seen;

pub(super) struct Window {
    node: Arc<physical::Window>,
    input: Running,
    rows: Option<Pieces>,
    held: Held,
}

impl Window {
    pub(super) fn new(node: &Arc<physical::Window>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, rows: None, held: Held::default() }
    }

    fn run(&mut self, context: &Context) -> Result<Batch> {
        let batches = drain(&mut self.input, &mut self.held, context)?;
        let input = match batches.is_empty() {
            true => super::pairs::empty(&self.node.types),
            false => Batch::concat(&batches)?,
        };
        drop(batches);
        let mut rows = input.clone();
        for call in &self.node.calls {
            rows.columns.push(run_call(call, &input, context)?);
            self.held.charge(context.limits(), rows.size())?;
        }
        Ok(rows)
    }
}

impl Operator for Window {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if self.rows.is_none() {
            self.rows = Some(Pieces::of(self.run(context)?));
        }
        Ok(self.rows.as_mut().and_then(Pieces::next))
    }
}

/// Memory that a row takes while a call is computed: its peers, its place, its number.
const ROW_SIZE: usize = size_of::<(usize, usize)>() + 3 * size_of::<u32>();

/// Memory of the result for one frame, besides its values.
const ANSWER_SIZE: usize = 256;

/// The rows of a call, sorted by partition and order.
pub(super) struct Ordered {
    /// The sorted batch.
    pub(super) rows: Batch,
    /// For each sorted position, the position in the input.
    from: Vec<u32>,
    /// The starts of partitions, and the end of the last one.
    partitions: Vec<usize>,
    /// For each position, the range of its peers, which are equal in all sort keys.
    pub(super) peers: Vec<(usize, usize)>,
    held: Held,
}

impl Ordered {
    fn new(call: &WindowCall, batch: &Batch, context: &Context) -> Result<Self> {
        let keys = evaluate_arrays(&call.partition, batch, context)?;
        let mut table = KeyTable::new(&types(&call.partition))?;
        let numbers = table.intern(&keys, batch.row_count, &mut Vec::new())?;
        let mut held = context.limits().hold(table.size() + batch.row_count * ROW_SIZE)?;
        drop(table);
        let mut columns = sort_columns(batch, &call.order, context)?;
        let partition = OrderColumn {
            values: Arc::new(UInt32Array::from(numbers.clone())),
            options: arrow_schema::SortOptions::default(),
        };
        columns.insert(0, partition);
        let from = order::in_order(&columns, batch.row_count, None)?;
        let order_keys = columns[1..]
            .iter()
            .map(|column| Ok(arrow_select::take::take(&column.values, &from, None)?));
        let order_keys: Vec<ArrayRef> = order_keys.collect::<Result<_>>()?;
        let rows = batch.take(&from)?;
        held.charge(context.limits(), rows.size() + batch.row_count * ROW_SIZE)?;
        let from = from.values().to_vec();
        let number = |place: usize| numbers[from[place] as usize];
        let count = from.len();
        let starts = (0..count).filter(|place| *place == 0 || number(*place) != number(place - 1));
        let mut partitions: Vec<usize> = starts.collect();
        partitions.push(count);
        let peers = peers(&order_keys, &partitions, count)?;
        Ok(Self { rows, from, partitions, peers, held })
    }

    /// A result in the order of the input.
    fn restore(&self, answer: &ArrayRef) -> Result<ArrayRef> {
        let mut places = vec![0u32; self.from.len()];
        for (place, row) in self.from.iter().enumerate() {
            places[*row as usize] = place as u32;
        }
        Ok(arrow_select::take::take(answer, &UInt32Array::from(places), None)?)
    }
}

/// The range of peers of each row.
fn peers(keys: &[ArrayRef], partitions: &[usize], count: usize) -> Result<Vec<(usize, usize)>> {
    let orders = keys.iter().map(|key| {
        Ok(arrow_ord::ord::make_comparator(key, key, arrow_schema::SortOptions::default())?)
    });
    let orders: Vec<_> = orders.collect::<Result<_>>()?;
    let mut peers = vec![(0, 0); count];
    for bounds in partitions.windows(2) {
        let mut start = bounds[0];
        for place in bounds[0]..bounds[1] {
            let is_last = place + 1 == bounds[1]
                || orders.iter().any(|order| order(place, place + 1).is_ne());
            if is_last {
                (start..=place).for_each(|peer| peers[peer] = (start, place + 1));
                start = place + 1;
            }
        }
    }
    Ok(peers)
}

fn run_call(call: &WindowCall, batch: &Batch, context: &Context) -> Result<ArrayRef> {
    let mut ordered = Ordered::new(call, batch, context)?;
    if is_framed(call) {
        let more = batch.row_count * size_of::<Seen>();
        ordered.held.charge(context.limits(), ordered.held.size() + more)?;
    }
    let answer = match &call.function {
        WindowFunction::Aggregate(aggregate) => over_frames(call, aggregate, &ordered, context)?,
        WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
            frame_value(call, &ordered, context)?
        }
        WindowFunction::Lag | WindowFunction::Lead => shifted(call, &ordered, context)?,
        WindowFunction::PercentRank | WindowFunction::CumeDist => shares(call, &ordered),
        _ => numbers(call, &ordered, context)?,
    };
    ordered.restore(&answer)
}

/// Whether a call looks at the frame of each row.
fn is_framed(call: &WindowCall) -> bool {
    matches!(
        call.function,
        WindowFunction::Aggregate(_)
            | WindowFunction::FirstValue
            | WindowFunction::LastValue
            | WindowFunction::NthValue
    )
}

/// Row numbers and ranks.
fn numbers(call: &WindowCall, ordered: &Ordered, context: &Context) -> Result<ArrayRef> {
    let mut answer = Vec::with_capacity(ordered.from.len());
    let tiles = positive(call.arguments.first(), "ntile takes a positive number", context)?;
    for bounds in ordered.partitions.windows(2) {
        let (start, count) = (bounds[0], bounds[1] - bounds[0]);
        let mut dense = 0;
        for place in start..bounds[1] {
            let peers = ordered.peers[place];
            dense += usize::from(peers.0 == place);
            let position = place - start;
            let number = match call.function {
                WindowFunction::RowNumber => position + 1,
                WindowFunction::Rank => peers.0 - start + 1,
                WindowFunction::DenseRank => dense,
                _ => tile(position, count, tiles),
            };
            answer.push(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }
    Ok(Arc::new(Int64Array::from(answer)))
}

/// The value of an argument that must be positive; 1 without one.
fn positive(argument: Option<&Expr>, problem: &str, context: &Context) -> Result<usize> {
    match argument.map(|argument| constant(argument, context)).transpose()? {
        None => Ok(1),
        Some(Value::Integer(number)) if number > 0 => {
            Ok(usize::try_from(number).unwrap_or(usize::MAX))
        }
        Some(_) => Err(Error::invalid(problem)),
    }
}

/// The part of a row among `tiles` parts. If rows do not divide evenly, the first parts have one
/// more.
fn tile(position: usize, count: usize, tiles: usize) -> usize {
    let (size, larger) = (count / tiles, count % tiles);
    let border = larger * (size + 1);
    if position < border {
        position / (size + 1) + 1
    } else {
        (position - border) / size.max(1) + larger + 1
    }
}

#[allow(clippy::cast_precision_loss, reason = "shares of counts")]
fn shares(call: &WindowCall, ordered: &Ordered) -> ArrayRef {
    let mut answer = Vec::with_capacity(ordered.from.len());
    for bounds in ordered.partitions.windows(2) {
        let (start, count) = (bounds[0], bounds[1] - bounds[0]);
        for place in start..bounds[1] {
            let peers = ordered.peers[place];
            answer.push(match call.function {
                WindowFunction::CumeDist => (peers.1 - start) as f64 / count as f64,
                _ if count == 1 => 0.0,
                _ => (peers.0 - start) as f64 / (count - 1) as f64,
            });
        }
    }
    Arc::new(Float64Array::from(answer))
}

/// `lag` and `lead`.
fn shifted(call: &WindowCall, ordered: &Ordered, context: &Context) -> Result<ArrayRef> {
    let count = ordered.from.len();
    let argument = |index: usize| {
        call.arguments.get(index).map(|own| evaluate_array(own, &ordered.rows, context))
    };
    let Some(values) = argument(0).transpose()? else { return Err(no_argument(call)) };
    let (steps, defaults) = (argument(1).transpose()?, argument(2).transpose()?);
    let direction = if call.function == WindowFunction::Lag { -1 } else { 1 };
    let mut answer = Vec::with_capacity(count);
    for bounds in ordered.partitions.windows(2) {
        for place in bounds[0]..bounds[1] {
            let step = match &steps {
                Some(steps) => value_at(steps, place, &ColumnType::Int64),
                None => Value::Integer(1),
            };
            let Value::Integer(step) = step else {
                answer.push(Value::Null);
                continue;
            };
            let target = (place as i64).saturating_add(step.saturating_mul(direction));
            let is_in = (bounds[0] as i64..bounds[1] as i64).contains(&target);
            answer.push(match (is_in, &defaults) {
                (true, _) => value_at(&values, usize::try_from(target).unwrap_or(0), &call.ty),
                (false, Some(defaults)) => value_at(defaults, place, &call.ty),
                (false, None) => Value::Null,
            });
        }
    }
    to_array(answer.iter(), &call.ty)
}

fn no_argument(call: &WindowCall) -> Error {
    Error::invalid(format!("window function {} takes a value", call.name))
}

/// `first_value`, `last_value` and `nth_value`.
fn frame_value(call: &WindowCall, ordered: &Ordered, context: &Context) -> Result<ArrayRef> {
    let Some(argument) = call.arguments.first() else { return Err(no_argument(call)) };
    let values = evaluate_array(argument, &ordered.rows, context)?;
    let nth = positive(call.arguments.get(1), "nth_value counts from 1", context)?;
    let frames = frame::frames(call, ordered, &ordered.partitions, context)?;
    let rows = frames.into_iter().map(|seen| match call.function {
        WindowFunction::LastValue => seen.last(),
        _ => seen.nth(nth - 1),
    });
    let rows: UInt32Array = rows.map(|row| row.map(|row| row as u32)).collect();
    Ok(arrow_select::take::take(&values, &rows, None)?)
}

/// An aggregate over the frame of each row. Consecutive rows with the same frame share a result.
fn over_frames(
    call: &WindowCall,
    aggregate: &Aggregate,
    ordered: &Ordered,
    context: &Context,
) -> Result<ArrayRef> {
    let frames = frame::frames(call, ordered, &ordered.partitions, context)?;
    let mut distinct: Vec<Seen> = frames.clone();
    distinct.dedup();
    let merged = tree::is_worth(aggregate, &distinct, ordered.rows.row_count)
        .then(|| tree::over(aggregate, &ordered.rows, &distinct, context));
    let answers = match merged {
        Some(Ok(answers)) => answers,
        // An error may be that of a row or a sum that no frame has.
        None | Some(Err(_)) => one_by_one(aggregate, ordered, &distinct, context)?,
    };
    let mut at = 0;
    let rows = frames.iter().map(|frame| {
        at += usize::from(*frame != distinct[at]);
        at as u32
    });
    let rows = UInt32Array::from_iter_values(rows);
    Ok(arrow_select::take::take(&answers, &rows, None)?)
}

/// The result for each of these frames. One that has the rows of the last one and more after them goes
/// on with its state.
fn one_by_one(
    aggregate: &Aggregate,
    ordered: &Ordered,
    distinct: &[Seen],
    context: &Context,
) -> Result<ArrayRef> {
    let mut answers: Vec<ArrayRef> = Vec::with_capacity(distinct.len());
    let (mut held, mut size) = (Held::default(), size_of_val(distinct));
    let mut last: Option<(State, Seen)> = None;
    for seen in distinct {
        context.check()?;
        let last_state = last.take().filter(|(state, _)| state.goes_on());
        let grown = last_state.and_then(|(state, before)| Some((state, seen.beyond(&before)?)));
        let (mut state, new) = match grown {
            Some(grown) => grown,
            None => (State::new(aggregate, &|_| true)?, *seen),
        };
        // An aggregate of no rows has a result, too.
        let nothing = new.ranges().next().is_none().then_some((0, 0));
        for (start, end) in new.ranges().chain(nothing) {
            let part = ordered.rows.slice(start, end - start);
            state.take(&part, &Groups::new(&vec![0; part.row_count]), 1, context)?;
        }
        held.charge(context.limits(), size + state.size())?;
        let answer = state.finish(0..1)?;
        size += ANSWER_SIZE + answer.get_buffer_memory_size();
        answers.push(answer);
        last = Some((state, *seen));
    }
    if answers.is_empty() {
        return Ok(folio_compute::array::nulls(&aggregate.ty, 0));
    }
    let parts: Vec<&dyn Array> = answers.iter().map(|answer| &**answer).collect();
    Ok(arrow_select::concat::concat(&parts)?)
}
