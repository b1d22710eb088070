//! Shared queries: computed once per run and read in several places.
//!
//! The first reader to reach a batch computes it, and it is stored for the others. Batches beyond
//! the memory limit of an operator go to a file.

use std::sync::{Arc, Mutex, PoisonError};

use folio_compute::{Batch, Result};

use super::spill::Spill;
use super::{Operator, Running, build};
use crate::context::Context;
use crate::limits::Held;
use crate::plan::physical;

/// The batches computed so far.
#[derive(Default)]
struct Gathered {
    /// `None` before the first batch and after the last.
    running: Option<Running>,
    is_done: bool,
    batches: Vec<Batch>,
    size: usize,
    held: Held,
    /// The batches after those in memory, once memory is full.
    rest: Option<Spill>,
}

impl Gathered {
    /// A batch by number; `None` after the last.
    fn batch(
        &mut self,
        number: usize,
        node: &physical::SharedQuery,
        context: &Context,
    ) -> Result<Option<Batch>> {
        while number >= self.batches.len() && !self.is_done {
            self.pull(node, context)?;
        }
        match (self.batches.get(number), &mut self.rest) {
            (Some(batch), _) => Ok(Some(batch.clone())),
            (None, Some(rest)) => rest.read(0, number - self.batches.len()),
            (None, None) => Ok(None),
        }
    }

    fn pull(&mut self, node: &physical::SharedQuery, context: &Context) -> Result<()> {
        context.check()?;
        // A shared query does not depend on outer rows.
        let context = &context.with_outer(Vec::new());
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(build(&node.plan, context)?),
        };
        match running.next(context)? {
            None => self.end(),
            Some(batch) if batch.row_count == 0 => {}
            Some(batch) => {
                self.size += batch.size();
                self.held.charge(context.limits(), self.size)?;
                self.batches.push(batch);
                if context.is_full(self.size)
                    && let Some(mut rest) = Spill::new(&node.types, context)?
                {
                    while let Some(batch) = running.next(context)? {
                        context.check()?;
                        rest.write(&batch, |_| 0, context)?;
                    }
                    rest.finish(context)?;
                    self.rest = Some(rest);
                    self.end();
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.running = None;
        self.is_done = true;
    }
}

/// One reader.
pub(super) struct SharedRows {
    node: Arc<physical::SharedQuery>,
    /// The positions of the columns that it reads.
    columns: Arc<[usize]>,
    gathered: Option<Arc<Mutex<Gathered>>>,
    number: usize,
}

impl SharedRows {
    pub(super) fn new(node: &Arc<physical::SharedQuery>, columns: &Arc<[usize]>) -> Self {
        let (node, columns) = (Arc::clone(node), Arc::clone(columns));
        Self { node, columns, gathered: None, number: 0 }
    }
}

impl Operator for SharedRows {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let gathered = self.gathered.get_or_insert_with(|| context.kept(self.node.number));
        // Queries read only those named before them, so this cannot deadlock.
        let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = gathered.batch(self.number, &self.node, context)?;
        self.number += usize::from(batch.is_some());
        Ok(batch.map(|batch| {
            let columns = self.columns.iter().map(|at| Arc::clone(&batch.columns[*at])).collect();
            Batch::new(columns, batch.row_count)
        }))
    }
}
