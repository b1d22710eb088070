//! LIMIT and OFFSET, also WITH TIES: skips rows, returns rows, then rows equal to the last one.
//! Then stops reading the input.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use folio_compute::compare::compare;
use folio_compute::{Batch, Error, Evaluated, Result};
use folio_types::Value;

use super::{Operator, Running};
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{constant, evaluate_arrays};
use crate::plan::physical::{self, Physical};
use crate::source::Comparison;

pub(super) struct Limit {
    node: Arc<physical::Limit>,
    input: Running,
    /// Rows still to skip and to return, once known.
    left: Option<(usize, usize)>,
    /// The sort keys of the last row, while more rows may tie with it.
    last: Option<Vec<ArrayRef>>,
}

impl Limit {
    pub(super) fn new(node: &Arc<physical::Limit>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, left: None, last: None }
    }

    /// The initial numbers of rows to skip and to return.
    fn start(&self, context: &Context) -> Result<(usize, usize)> {
        let node = &self.node;
        if let (false, Some(limit)) = (node.ties.is_empty(), &node.limit)
            && constant(limit, context)? == Value::Null
        {
            return Err(Error::invalid("the number of rows must not be null WITH TIES")
                .at(limit.span())
                .help("leave FETCH out for all rows"));
        }
        bounds(node.limit.as_ref(), node.offset.as_ref(), context)
    }

    /// How many rows of a batch from a position on tie with the last row.
    fn tied(&mut self, batch: &Batch, from: usize, context: &Context) -> Result<usize> {
        if self.node.ties.is_empty() {
            return Ok(0);
        }
        let keys = evaluate_arrays(&self.node.ties, batch, context)?;
        let last = match self.last.take() {
            Some(last) => last,
            None => keys.iter().map(|key| key.slice(from - 1, 1)).collect(),
        };
        let after = batch.row_count - from;
        let mut tied = after;
        for (key, last) in keys.iter().zip(&last) {
            let rows = Evaluated::Array(key.slice(from, after));
            let last = Evaluated::Scalar(ArrayRef::clone(last));
            let equal = compare(Comparison::NotDistinct, &rows, &last)?;
            let equal = equal.inner().as_boolean();
            tied = equal.iter().take(tied).take_while(|equal| *equal == Some(true)).count();
        }
        self.last = (tied == after).then_some(last);
        Ok(tied)
    }
}

/// The plan to run: of two plans, the one for as many rows as the parameters ask for.
///
/// # Errors
/// As [`bounds`].
pub(crate) fn chosen<'p>(plan: &'p Physical, context: &Context) -> Result<&'p Physical> {
    let Physical::ByCount(plans) = plan else { return Ok(plan) };
    let (skip, take) = bounds(plans.limit.as_ref(), plans.offset.as_ref(), context)?;
    Ok(if skip.saturating_add(take) <= plans.most { &plans.few } else { &plans.many })
}

/// The numbers of rows to skip and to return.
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
                Error::invalid(format!("{name} must not be negative, but {count} is"))
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
        let (mut skip, mut take) = match self.left {
            Some(left) => left,
            None => {
                let (skip, take) = self.start(context)?;
                let passed = if take > 0 { self.input.skip(skip as u64, context)? } else { 0 };
                (skip - passed as usize, take)
            }
        };
        let mut found = None;
        while found.is_none() && (take > 0 || self.last.is_some()) {
            let Some(batch) = self.input.next(context)? else { break };
            let skipped = skip.min(batch.row_count);
            let mut taken = take.min(batch.row_count - skipped);
            let was_last = take == taken;
            skip -= skipped;
            take -= taken;
            if was_last {
                taken += self.tied(&batch, skipped + taken, context)?;
            }
            found = (taken > 0).then(|| batch.slice(skipped, taken));
        }
        self.left = Some((skip, take));
        Ok(found)
    }
}
