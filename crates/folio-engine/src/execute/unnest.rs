//! UNNEST beside each row: a whole batch at a time. The elements of its lists are adjacent in
//! memory, so one list column becomes a column of rows without a copy.

use std::sync::Arc;

use arrow_array::builder::UInt32Builder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray};
use folio_compute::{Batch, Result};

use super::pairs::Pairs;
use crate::context::Context;
use crate::expression::evaluate::evaluate_array;
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::physical::{self, Physical, TableFunctionCall};
use crate::plan::terms::TableFunction;

/// The call of UNNEST that a plan is; `None` for others.
pub(super) fn call_in(plan: &Physical) -> Option<(&TableFunctionCall, bool)> {
    let Physical::TableFunction(call) = plan else { return None };
    match call.function {
        TableFunction::Unnest { ordinality } => Some((call, ordinality)),
        _ => None,
    }
}

/// Whether a join beside UNNEST reads a column of its left only for the elements, of the left's
/// columns `outer`; these elements are the only column of its right.
pub(super) fn unnested_column(node: &physical::Apply) -> Option<&Column> {
    let (call, ordinality) = call_in(&node.right)?;
    let ([Expr::Outer(slot, _)], false) = (&call.arguments[..], ordinality) else { return None };
    match node.outer.get(*slot)? {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// The elements of the lists of all rows, and which row each belongs to. `outer` has the values
/// of the rows. `None` if an argument has no lists, such as `null`.
pub(super) fn elements(
    (call, ordinality): (&TableFunctionCall, bool),
    outer: &[ArrayRef],
    row_count: usize,
    context: &Context,
) -> Result<Option<(Batch, Pairs)>> {
    let rows = Batch::new(outer.to_vec(), row_count);
    let lists = call.arguments.iter().map(|argument| {
        let mut argument = argument.clone();
        argument.transform(&mut |part| {
            if let Expr::Outer(slot, ty) = part {
                let id = ColumnId(u32::try_from(*slot).unwrap_or(u32::MAX));
                *part = Expr::Column(Column { id, ty: ty.clone(), name: "outer".into() });
            }
        });
        evaluate_array(&argument, &rows, context)
    });
    let lists: Vec<ArrayRef> = lists.collect::<Result<_>>()?;
    let lists = lists.iter().map(|list| list.as_list_opt::<i32>()).collect::<Option<Vec<_>>>();
    let Some(lists) = lists else { return Ok(None) };
    let lengths: Vec<usize> = match &lists[..] {
        [list] if list.null_count() == 0 => list.offsets().lengths().collect(),
        lists => (0..row_count)
            .map(|row| lists.iter().map(|list| length(list, row)).max().unwrap_or(0))
            .collect(),
    };
    let columns = lists.iter().map(|list| side_by_side(list, &lengths));
    let mut columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
    if ordinality {
        let numbers = lengths.iter().flat_map(|length| 1..=*length as i64);
        columns.push(Arc::new(Int64Array::from_iter_values(numbers)));
    }
    let mut pairs = Pairs::default();
    for (row, length) in (0..).zip(&lengths) {
        pairs.left.extend(std::iter::repeat_n(row, *length));
    }
    let count = pairs.left.len();
    pairs.right.extend(0..count as u32);
    Ok(Some((Batch::new(columns, count), pairs)))
}

fn length(list: &ListArray, row: usize) -> usize {
    if list.is_null(row) { 0 } else { list.value_length(row) as usize }
}

/// The elements of one list column, each list followed by nulls up to the length of its row.
fn side_by_side(list: &ListArray, lengths: &[usize]) -> Result<ArrayRef> {
    let offsets = list.value_offsets();
    let (start, end) = (offsets[0] as usize, offsets[lengths.len()] as usize);
    // The slot of a null may hold elements.
    let own_lengths = list.offsets().lengths();
    let is_whole = lengths.iter().zip(own_lengths).all(|(wanted, own)| own == *wanted)
        && (list.null_count() == 0
            || lengths.iter().enumerate().all(|(row, wanted)| length(list, row) == *wanted));
    if is_whole {
        return Ok(list.values().slice(start, end - start));
    }
    let mut places = UInt32Builder::with_capacity(end - start);
    for (row, wanted) in lengths.iter().enumerate() {
        let (first, own) = (offsets[row] as u32, length(list, row));
        (first..first + own as u32).for_each(|place| places.append_value(place));
        places.append_nulls(wanted - own);
    }
    Ok(arrow_select::take::take(list.values(), &places.finish(), None)?)
}
