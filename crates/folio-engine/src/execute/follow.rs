//! Follows links level by level.
//!
//! The distinct keys of a batch become the working table of the branch. The branch's rows are
//! nested by key into structs or lists, and every input row takes the value of its key.

use std::sync::Arc;

use arrow_array::builder::UInt32Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, StructArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};
use folio_compute::keys::{Numbered, number_keys};
use folio_compute::{Batch, Error, Result, take};

use super::pairs::empty;
use super::{Operator, Running, build, drain};
use crate::context::Context;
use crate::expression::evaluate::evaluate_array;
use crate::limits::Held;
use crate::plan::follow::{Nest, PhysicalBranch, PhysicalFollow};

pub(super) struct Follow {
    node: Arc<PhysicalFollow>,
    input: Running,
}

impl Follow {
    pub(super) fn new(node: &Arc<PhysicalFollow>, input: Running) -> Self {
        Self { node: Arc::clone(node), input }
    }
}

impl Operator for Follow {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let Some(mut batch) = self.input.next(context)? else { return Ok(None) };
        for branch in &self.node.branches {
            context.check()?;
            let column = follow(branch, &batch, context)?;
            batch.columns.push(column);
        }
        Ok(Some(batch))
    }
}

/// The value of a branch for every row.
fn follow(branch: &PhysicalBranch, parents: &Batch, context: &Context) -> Result<ArrayRef> {
    let count = parents.row_count;
    let key = evaluate_array(&branch.key, parents, context)?;
    let Numbered { numbers, first_rows, .. } = number_keys(&branch.key.ty(), &key, count)?;
    let first_rows = UInt32Array::from(first_rows);
    let distinct = take(&key, &first_rows)?;
    let key_count = distinct.len();
    let ordinals: ArrayRef = Arc::new(Int64Array::from_iter_values(0..key_count as i64));
    let seeds = Batch::new(vec![ordinals, distinct], key_count);
    context.set_work_table(branch.number, vec![seeds], Held::default());
    let mut held = Held::default();
    let batches = drain(&mut build(&branch.body, context)?, &mut held, context)?;
    let rows = match batches.is_empty() {
        true => empty(&branch.types),
        false => Batch::concat(&batches)?,
    };
    let nested = nest(branch, &rows, key_count)?;
    take(&nested, &UInt32Array::from(numbers))
}

/// Nests the rows of all keys into one value per key.
fn nest(branch: &PhysicalBranch, rows: &Batch, key_count: usize) -> Result<ArrayRef> {
    let ordinals = rows.columns[0].as_primitive::<Int64Type>();
    debug_assert!(ordinals.values().is_sorted(), "the rows of a key stand together");
    let mut lengths = vec![0usize; key_count];
    for ordinal in ordinals.values() {
        lengths[usize::try_from(*ordinal).unwrap_or(usize::MAX)] += 1;
    }
    let ty = branch.output.ty.to_arrow();
    let item = match (&ty, branch.nest) {
        (DataType::List(field), _) => field.data_type().clone(),
        (own, _) => own.clone(),
    };
    let items = match (branch.nest, item) {
        (Nest::Values, _) => ArrayRef::clone(&rows.columns[1]),
        (_, DataType::Struct(fields)) => structs(&fields, rows)?,
        _ => return Err(Error::invalid("a link is answered with objects")),
    };
    if branch.nest != Nest::One {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(lengths);
        return Ok(Arc::new(ListArray::try_new(field, offsets, items, None)?));
    }
    let (mut positions, mut at) = (UInt32Builder::with_capacity(key_count), 0);
    for length in lengths {
        match length {
            0 => positions.append_null(),
            _ => positions.append_value(at),
        }
        at += length as u32;
    }
    let positions = positions.finish();
    if items.is_empty() {
        return Ok(arrow_array::new_null_array(&ty, key_count));
    }
    take(&items, &positions)
}

fn structs(fields: &Fields, rows: &Batch) -> Result<ArrayRef> {
    let columns = rows.columns[1..].to_vec();
    if columns.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(rows.row_count, None)));
    }
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}
