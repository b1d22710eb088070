//! The rows for which all terms are true.

use std::sync::Arc;

use folio_compute::{Batch, Result};

use super::{Operator, Running};
use crate::context::Context;
use crate::expression::evaluate;
use crate::plan::physical;

pub(super) struct Filter {
    node: Arc<physical::Filter>,
    input: Running,
}

impl Filter {
    pub(super) fn new(node: &Arc<physical::Filter>, input: Running) -> Self {
        Self { node: Arc::clone(node), input }
    }
}

impl Operator for Filter {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        while let Some(batch) = self.input.next(context)? {
            context.check()?;
            let passed = evaluate::filter(&self.node.terms, batch, context)?;
            if passed.row_count > 0 {
                return Ok(Some(passed));
            }
        }
        Ok(None)
    }
}
