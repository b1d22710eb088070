//! Adds a column: whether a key of each row is among those of another plan, which runs once. A
//! null key is not.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use folio_compute::keys::{KeyTable, has_null};
use folio_compute::{Batch, Result};

use super::{Operator, Running, build};
use crate::context::Context;
use crate::expression::evaluate::evaluate_array;
use crate::limits::Held;
use crate::plan::follow::PhysicalSemiJoin;

pub(super) struct SemiJoin {
    node: Arc<PhysicalSemiJoin>,
    input: Running,
    keys: Option<KeyTable>,
    held: Held,
}

impl SemiJoin {
    pub(super) fn new(node: &Arc<PhysicalSemiJoin>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, keys: None, held: Held::default() }
    }

    fn read_keys(&mut self, context: &Context) -> Result<KeyTable> {
        let mut keys = KeyTable::new(&[self.node.key.ty()])?;
        let mut running = build(&self.node.keys, context)?;
        while let Some(batch) = running.next(context)? {
            context.check()?;
            keys.intern(&batch.columns[..1], batch.row_count, &mut Vec::new())?;
            self.held.charge(context.limits(), keys.size())?;
        }
        Ok(keys)
    }
}

impl Operator for SemiJoin {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let keys = match self.keys.take() {
            Some(keys) => keys,
            None => self.read_keys(context)?,
        };
        let keys = self.keys.insert(keys);
        let Some(mut batch) = self.input.next(context)? else { return Ok(None) };
        let key = evaluate_array(&self.node.key, &batch, context)?;
        let key = [key];
        let found = keys.find(&key, batch.row_count)?;
        let marks: BooleanArray = found
            .iter()
            .enumerate()
            .map(|(row, number)| Some(number.is_some() && !has_null(&key, row)))
            .collect();
        batch.columns.push(Arc::new(marks) as ArrayRef);
        Ok(Some(batch))
    }
}
