//! Streaming DISTINCT: equal keys are consecutive, so only the key of the previous row is stored.

use std::sync::Arc;

use folio_compute::{Batch, KeyRuns, Result};

use super::{Operator, Running};
use crate::context::Context;
use crate::expression::evaluate::evaluate_arrays;
use crate::plan::physical;

pub(super) struct StreamDistinct {
    node: Arc<physical::Distinct>,
    input: Running,
    runs: KeyRuns,
}

impl StreamDistinct {
    pub(super) fn new(node: &Arc<physical::Distinct>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, runs: KeyRuns::default() }
    }
}

impl Operator for StreamDistinct {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            let keys = evaluate_arrays(&self.node.keys, &batch, context)?;
            let first = batch.filter(&self.runs.starts(&keys, batch.row_count)?)?;
            if first.row_count > 0 {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }
}
