//! Recursive queries: the base, then the step over the rows of the previous round, until a round
//! has no rows.

use std::sync::Arc;

use arrow_array::UInt32Array;
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Result};

use super::{Operator, Running, build};
use crate::context::{self, Context};
use crate::limits::Held;
use crate::plan::physical;

pub(super) struct Recursive {
    node: Arc<physical::Recursive>,
    /// The base, or the current step.
    running: Option<Running>,
    /// Rows of the current round.
    round: Vec<Batch>,
    seen: Option<KeyTable>,
    /// Memory of the round, and of the rows seen.
    held: (Held, Held),
}

impl Recursive {
    pub(super) fn new(node: &Arc<physical::Recursive>, base: Running) -> Self {
        Self {
            node: Arc::clone(node),
            running: Some(base),
            round: Vec::new(),
            seen: None,
            held: Default::default(),
        }
    }

    /// The rows that did not occur before.
    fn fresh(&mut self, batch: Batch, context: &Context) -> Result<Batch> {
        if !self.node.distinct {
            return Ok(batch);
        }
        let seen = match &mut self.seen {
            Some(seen) => seen,
            none => none.insert(KeyTable::new(&self.node.types)?),
        };
        let mut rows = Vec::new();
        seen.intern(&batch.columns, batch.row_count, &mut rows)?;
        self.held.1.charge(context.limits(), seen.size())?;
        batch.take(&UInt32Array::from(rows))
    }
}

impl Operator for Recursive {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        while let Some(running) = &mut self.running {
            context.check()?;
            if let Some(batch) = running.next(context)? {
                let batch = self.fresh(batch, context)?;
                if batch.row_count > 0 {
                    let held = &mut self.held.0;
                    held.charge(context.limits(), held.size() + batch.size())?;
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
            let held = std::mem::take(&mut self.held.0);
            context.set_work_table(self.node.number, round, held);
            self.running = Some(build(&self.node.step, context)?);
        }
        Ok(None)
    }
}

/// The rows of the previous round.
pub(super) struct WorkTable {
    number: usize,
    /// The table, once begun, and how many of its batches are done.
    table: Option<context::WorkTable>,
    done: usize,
}

impl WorkTable {
    pub(super) fn new(number: usize) -> Self {
        Self { number, table: None, done: 0 }
    }
}

impl Operator for WorkTable {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let table = self.table.get_or_insert_with(|| context.work_table(self.number));
        let batch = table.rows.get(self.done).cloned();
        self.done += usize::from(batch.is_some());
        Ok(batch)
    }
}
