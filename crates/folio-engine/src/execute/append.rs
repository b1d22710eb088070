//! UNION ALL: the rows of one input, then those of another.

use folio_compute::{Batch, Result};

use super::{Operator, Running};
use crate::context::Context;

pub(super) struct Append {
    left: Running,
    right: Running,
    left_is_done: bool,
}

impl Append {
    pub(super) fn new(left: Running, right: Running) -> Self {
        Self { left, right, left_is_done: false }
    }
}

impl Operator for Append {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        if !self.left_is_done {
            if let Some(batch) = self.left.next(context)? {
                return Ok(Some(batch));
            }
            self.left_is_done = true;
        }
        self.right.next(context)
    }
}
