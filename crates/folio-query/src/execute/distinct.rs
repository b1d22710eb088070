//! The first row of each key, in the order they come.

use std::sync::Arc;

use arrow_array::UInt32Array;

use super::context::Context;
use super::keys::KeyTable;
use super::{Operator, Running};
use crate::batch::Batch;
use crate::error::Result;
use crate::expression::evaluate::{evaluate, types};
use crate::plan::physical;

pub(super) struct Distinct {
    node: Arc<physical::Distinct>,
    input: Running,
    seen: Option<KeyTable>,
}

impl Distinct {
    pub(super) fn new(node: &Arc<physical::Distinct>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, seen: None }
    }
}

impl Operator for Distinct {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let seen = match &mut self.seen {
            Some(seen) => seen,
            none => none.insert(KeyTable::new(&types(&self.node.keys))?),
        };
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            let keys = self
                .node
                .keys
                .iter()
                .map(|key| evaluate(key, &batch, context)?.to_array(batch.row_count));
            let keys: Vec<_> = keys.collect::<Result<_>>()?;
            let mut fresh = Vec::new();
            seen.intern(&keys, batch.row_count, &mut fresh)?;
            if fresh.len() == batch.row_count && !fresh.is_empty() {
                return Ok(Some(batch));
            }
            if !fresh.is_empty() {
                return batch.take(&UInt32Array::from(fresh)).map(Some);
            }
        }
        Ok(None)
    }
}
