//! A limit that starts again for every parent.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use folio_compute::{Batch, Result};

use super::limit::bounds;
use super::{Operator, Running};
use crate::context::Context;
use crate::plan::follow::PhysicalLimitPerParent;

pub(super) struct LimitPerParent {
    node: Arc<PhysicalLimitPerParent>,
    input: Running,
    /// Rows to skip and to return per parent, once known.
    bounds: Option<(usize, usize)>,
    /// The current parent and its rows so far.
    parent: Option<i64>,
    seen: usize,
}

impl LimitPerParent {
    pub(super) fn new(node: &Arc<PhysicalLimitPerParent>, input: Running) -> Self {
        Self { node: Arc::clone(node), input, bounds: None, parent: None, seen: 0 }
    }
}

impl Operator for LimitPerParent {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let (skip, take) = match self.bounds {
            Some(bounds) => bounds,
            None => bounds(Some(&self.node.limit), self.node.offset.as_ref(), context)?,
        };
        self.bounds = Some((skip, take));
        while let Some(batch) = self.input.next(context)? {
            let parents = batch.columns[self.node.parent].as_primitive::<Int64Type>();
            let mask: Vec<bool> = parents
                .values()
                .iter()
                .map(|parent| {
                    if self.parent != Some(*parent) {
                        (self.parent, self.seen) = (Some(*parent), 0);
                    }
                    self.seen += 1;
                    self.seen > skip && self.seen - skip <= take
                })
                .collect();
            let kept = batch.filter(&BooleanArray::from(mask))?;
            if kept.row_count > 0 {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }
}
