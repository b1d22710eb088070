//! INTERSECT ALL and EXCEPT ALL: matches each row of the left with one equal row of the right, as
//! long as there are any. Null equals null here.
//!
//! The keys of the right and their counts stay in memory whatever their size.

use std::sync::Arc;

use arrow_array::UInt32Array;
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Result};

use super::{Operator, Running};
use crate::context::Context;
use crate::limits::Held;
use crate::plan::physical;
use crate::plan::terms::SetKind;

pub(super) struct MatchedRows {
    node: Arc<physical::MatchedRows>,
    left: Running,
    right: Running,
    keys: Option<KeyTable>,
    /// For each key, rows of the right that are not matched yet.
    counts: Vec<u64>,
    held: Held,
}

impl MatchedRows {
    pub(super) fn new(node: &Arc<physical::MatchedRows>, left: Running, right: Running) -> Self {
        let (keys, counts, held) = (None, Vec::new(), Held::default());
        Self { node: Arc::clone(node), left, right, keys, counts, held }
    }

    /// Counts the keys of the right.
    fn count_right(&mut self, context: &Context) -> Result<KeyTable> {
        let mut keys = KeyTable::new(&self.node.types)?;
        while let Some(batch) = self.right.next(context)? {
            context.check()?;
            for number in keys.intern(&batch.columns, batch.row_count, &mut Vec::new())? {
                if number as usize == self.counts.len() {
                    self.counts.push(0);
                }
                self.counts[number as usize] += 1;
            }
            let counts = self.counts.capacity() * size_of::<u64>();
            self.held.charge(context.limits(), keys.size() + counts)?;
        }
        Ok(keys)
    }

    /// Whether the next row with this key stays in the result.
    fn keeps(&mut self, number: Option<u32>) -> bool {
        let count = number.map(|number| &mut self.counts[number as usize]);
        let count = count.filter(|count| **count > 0);
        let is_matched = count.is_some();
        if let Some(count) = count {
            *count -= 1;
        }
        is_matched == (self.node.kind == SetKind::Intersect)
    }
}

impl Operator for MatchedRows {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        let keys = match self.keys.take() {
            Some(keys) => keys,
            None => self.count_right(context)?,
        };
        let mut found = None;
        while found.is_none() {
            context.check()?;
            let Some(batch) = self.left.next(context)? else { break };
            let numbers = keys.find(&batch.columns, batch.row_count)?;
            let rows = numbers.into_iter().zip(0u32..);
            let kept = rows.filter(|(number, _)| self.keeps(*number)).map(|(_, row)| row);
            let kept: Vec<u32> = kept.collect();
            if !kept.is_empty() {
                found = Some(batch.take(&UInt32Array::from(kept))?);
            }
        }
        self.keys = Some(keys);
        Ok(found)
    }
}
