//! Recursive queries: the base, then the step over the rows of the previous round, until a round
//! has no rows.

use std::sync::{Arc, PoisonError};

use arrow_array::UInt32Array;

use super::{Operator, Running, build};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::Result;
use crate::expression::keys::KeyTable;
use crate::plan::physical;

pub(super) struct Recursive {
    node: Arc<physical::Recursive>,
    /// The base, or the current step.
    running: Option<Running>,
    /// Rows of the current round.
    round: Vec<Batch>,
    seen: Option<KeyTable>,
}

impl Recursive {
    pub(super) fn new(node: &Arc<physical::Recursive>, base: Running) -> Self {
        Self { node: Arc::clone(node), running: Some(base), round: Vec::new(), seen: None }
    }

    /// The rows that did not occur before.
    fn fresh(&mut self, batch: Batch) -> Result<Batch> {
        if !self.node.distinct {
            return Ok(batch);
        }
        let seen = match &mut self.seen {
            Some(seen) => seen,
            none => none.insert(KeyTable::new(&self.node.types)?),
        };
        let mut rows = Vec::new();
        seen.intern(&batch.columns, batch.row_count, &mut rows)?;
        batch.take(&UInt32Array::from(rows))
    }
}

impl Operator for Recursive {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        while let Some(running) = &mut self.running {
            context.check()?;
            if let Some(batch) = running.next(context)? {
                let batch = self.fresh(batch)?;
                if batch.row_count > 0 {
                    self.round.push(batch.clone());
                    return Ok(Some(batch));
                }
                continue;
            }
            let round = std::mem::take(&mut self.round);
            if round.is_empty() {
                self.running = None;
                break;
            }
            let mut tables =
                context.shared.work_tables.lock().unwrap_or_else(PoisonError::into_inner);
            tables.insert(self.node.number, round);
            drop(tables);
            self.running = Some(build(&self.node.step, context)?);
        }
        Ok(None)
    }
}

/// The rows of the previous round.
pub(super) struct WorkTable {
    number: usize,
    /// The remaining batches, once begun.
    rest: Option<std::vec::IntoIter<Batch>>,
}

impl WorkTable {
    pub(super) fn new(number: usize) -> Self {
        Self { number, rest: None }
    }
}

impl Operator for WorkTable {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let rest = self.rest.get_or_insert_with(|| {
            let tables = context.shared.work_tables.lock().unwrap_or_else(PoisonError::into_inner);
            tables.get(&self.number).cloned().unwrap_or_default().into_iter()
        });
        Ok(rest.next())
    }
}
