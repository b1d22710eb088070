//! DISTINCT: the first row of each key, in the order of the input.
//!
//! If the keys need more memory than an operator may hold, rows with new keys are partitioned into
//! a file ([`super::hash_partition`]). Each partition is processed the same way afterwards. Rows
//! of different keys may change order, but the first row of each key stays the first.

use std::sync::Arc;

use arrow_array::UInt32Array;
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Result};

use super::hash_partition::{Partitions, write_unknown};
use super::spill::Spill;
use super::{Operator, Running};
use crate::context::Context;
use crate::expression::evaluate::{evaluate_arrays, types};
use crate::limits::Held;
use crate::plan::physical;

pub(super) struct Distinct {
    node: Arc<physical::Distinct>,
    input: Running,
    /// The keys seen in the input or in the current partition.
    seen: Option<KeyTable>,
    /// Receives rows that do not fit in memory.
    spill: Option<Spill>,
    /// Partitioned rows.
    divisions: Partitions<Spill>,
    /// Memory of the keys.
    held: Held,
}

impl Distinct {
    pub(super) fn new(node: &Arc<physical::Distinct>, input: Running) -> Self {
        let divisions = Partitions::new();
        Self {
            node: Arc::clone(node),
            input,
            seen: None,
            spill: None,
            divisions,
            held: Held::default(),
        }
    }

    fn next_input(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.divisions.current() {
            Some((rows, part)) => rows.next(part),
            None => self.input.next(context),
        }
    }

    /// The rows of a batch with new keys. Spills those that do not fit in memory.
    fn first_rows(&mut self, batch: &Batch, context: &Context) -> Result<Vec<u32>> {
        let node = Arc::clone(&self.node);
        let keys = evaluate_arrays(&node.keys, batch, context)?;
        let seen = match &mut self.seen {
            Some(seen) => seen,
            none => none.insert(KeyTable::new(&types(&node.keys))?),
        };
        let mut fresh = Vec::new();
        if let Some(spill) = &mut self.spill {
            write_unknown(seen, &keys, batch, (self.divisions.depth(), spill), context)?;
            return Ok(fresh);
        }
        seen.intern(&keys, batch.row_count, &mut fresh)?;
        self.held.charge(context.limits(), seen.size())?;
        if context.is_full(seen.size()) && !node.keys.is_empty() {
            self.spill = Spill::new(&node.types, context)?;
        }
        Ok(fresh)
    }

    /// Starts the next spilled partition; `false` if there is none.
    fn next_part(&mut self, context: &Context) -> Result<bool> {
        self.seen = None;
        self.held.charge(context.limits(), 0)?;
        if let Some(mut rows) = self.spill.take() {
            rows.finish(context)?;
            self.divisions.push(rows);
            return Ok(true);
        }
        Ok(self.divisions.next_part())
    }
}

impl Operator for Distinct {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        loop {
            context.check()?;
            let Some(batch) = self.next_input(context)? else {
                match self.next_part(context)? {
                    true => continue,
                    false => return Ok(None),
                }
            };
            let fresh = self.first_rows(&batch, context)?;
            if fresh.len() == batch.row_count && !fresh.is_empty() {
                return Ok(Some(batch));
            }
            if !fresh.is_empty() {
                return batch.take(&UInt32Array::from(fresh)).map(Some);
            }
        }
    }
}
