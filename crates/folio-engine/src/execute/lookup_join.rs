//! Joins by looking up keys of the left in a relation's primary key or index, a few hundred rows
//! at a time.

use std::sync::Arc;

use folio_compute::array::value_at;
use folio_compute::{Batch, Result};
use folio_types::Value;

use super::pairs::Pairs;
use super::reading::{Fit, fit};
use super::{Operator, Running};
use crate::context::Context;
use crate::expression::evaluate::evaluate_array;
use crate::plan::physical;
use crate::source::Keys;

/// Rows of the left that are looked up together. Each may find many rows.
const KEYS_MAX: usize = 512;

pub(super) struct LookupJoin {
    node: Arc<physical::LookupJoin>,
    left: Running,
    /// The current batch of the left, and how many of its rows are done.
    current: Option<(Batch, usize)>,
}

impl LookupJoin {
    pub(super) fn new(node: &Arc<physical::LookupJoin>, left: Running) -> Self {
        Self { node: Arc::clone(node), left, current: None }
    }

    /// The next rows of the left.
    fn next_left(&mut self, context: &Context) -> Result<Option<Batch>> {
        if self.current.is_none() {
            self.current = self.left.next(context)?.map(|batch| (batch, 0));
        }
        let Some((batch, done)) = &mut self.current else { return Ok(None) };
        let count = KEYS_MAX.min(batch.row_count - *done);
        let part = batch.slice(*done, count);
        *done += count;
        if *done == batch.row_count {
            self.current = None;
        }
        Ok(Some(part))
    }

    /// The pairs of some rows of the left, and the rows of the right that they refer to.
    fn look_up(&self, left: &Batch, context: &Context) -> Result<(Batch, Pairs)> {
        let node = &self.node;
        let key = node.relation.key_columns(node.index);
        let arrays = node.key.iter().zip(&key).map(|(value, column)| {
            let array = evaluate_array(value, left, context)?;
            Ok((array, value.ty(), node.relation.column_type(*column)))
        });
        let arrays: Vec<_> = arrays.collect::<Result<_>>()?;
        let (mut values, mut rows) =
            (Vec::with_capacity(arrays.len() * left.row_count), Vec::new());
        for row in 0..left.row_count {
            let parts = arrays.iter().map(|(array, from, to)| {
                match fit(value_at(array, row, from), from, to) {
                    Fit::Value(value) => Some(value),
                    // Null equals nothing, and neither does a value outside of the column's type.
                    _ => None,
                }
            });
            let Some(parts) = parts.collect::<Option<Vec<Value>>>() else { continue };
            values.extend(parts);
            rows.push(row as u32);
        }
        let keys = Keys { index: node.index, width: arrays.len(), values: &values };
        let found = context.source()?.look_up(&node.relation, keys, &node.columns)?;
        let left = found.positions.iter().map(|position| rows[*position as usize]).collect();
        let right = (0..found.rows.row_count as u32).collect();
        Ok((found.rows, Pairs { left, right }))
    }
}

impl Operator for LookupJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let node = Arc::clone(&self.node);
        while let Some(left) = self.next_left(context)? {
            context.check()?;
            let (right, pairs) = self.look_up(&left, context)?;
            let pairs = pairs.filtered(&left, &right, &node.residual, context)?;
            let answer = pairs.finish(node.kind, &left, &right, &node.right_types)?;
            if answer.row_count > 0 {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}
