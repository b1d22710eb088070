//! Some rows skipped, so many taken; nothing more is asked of the input.

use std::sync::Arc;

use folio_types::Value;

use super::context::Context;
use super::{Operator, Running};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::expression::evaluate::constant;
use crate::plan::physical;

pub(super) struct Limit {
    node: Arc<physical::Limit>,
    input: Running,
    /// Rows still to skip and to take, once known.
    left: Option<(usize, usize)>,
}

impl Limit {
    pub(super) fn new(node: &Arc<physical::Limit>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, left: None }
    }
}

/// The rows to skip and to take.
///
/// # Errors
/// `invalid_input` for a negative number.
pub(super) fn bounds(
    limit: Option<&Expr>,
    offset: Option<&Expr>,
    context: &Context,
) -> Result<(usize, usize)> {
    let bound = |bound: Option<&Expr>, name: &str, otherwise: usize| -> Result<usize> {
        let Some(bound) = bound else { return Ok(otherwise) };
        match constant(bound, context)? {
            Value::Null => Ok(otherwise),
            Value::Integer(count) => usize::try_from(count).map_err(|_| {
                Error::invalid(format!("{name} must not be negative, {count} is"))
                    .at(bound.span())
                    .help("leave it out for all rows")
            }),
            _ => Err(Error::mismatch(format!("{name} takes an integer"))),
        }
    };
    Ok((bound(offset, "offset", 0)?, bound(limit, "limit", usize::MAX)?))
}

impl Operator for Limit {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let node = &self.node;
        let (mut skip, mut take) = match self.left {
            Some(left) => left,
            None => bounds(node.limit.as_ref(), node.offset.as_ref(), context)?,
        };
        let mut found = None;
        while found.is_none() && take > 0 {
            let Some(batch) = self.input.next(context)? else { break };
            let skipped = skip.min(batch.row_count);
            let taken = take.min(batch.row_count - skipped);
            skip -= skipped;
            take -= taken;
            found = (taken > 0).then(|| batch.slice(skipped, taken));
        }
        self.left = Some((skip, take));
        Ok(found)
    }
}
