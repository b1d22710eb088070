//! Finds runs of equal keys within and across batches.

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_ord::cmp::distinct;

use crate::compare::canonical;
use crate::error::Result;

/// Detects runs of equal keys. Null equals null.
#[derive(Debug, Default)]
pub struct KeyRuns {
    /// The key of the previous row.
    last: Option<Vec<ArrayRef>>,
}

impl KeyRuns {
    /// Marks the rows of a batch that begin a run.
    ///
    /// # Errors
    /// None for types that are plain values.
    pub fn starts(&mut self, keys: &[ArrayRef], row_count: usize) -> Result<BooleanArray> {
        let keys: Vec<ArrayRef> = keys.iter().map(canonical).collect();
        let mut starts = BooleanBufferBuilder::new(row_count);
        if row_count == 0 {
            return Ok(BooleanArray::new(starts.finish(), None));
        }
        let is_new = match &self.last {
            None => true,
            Some(last) => are_distinct(last, &part(&keys, 0, 1))?.value(0),
        };
        starts.append(is_new);
        let rest = row_count - 1;
        starts.append_buffer(are_distinct(&part(&keys, 0, rest), &part(&keys, 1, rest))?.values());
        self.last = Some(part(&keys, rest, 1));
        Ok(BooleanArray::new(starts.finish(), None))
    }
}

fn part(keys: &[ArrayRef], start: usize, count: usize) -> Vec<ArrayRef> {
    keys.iter().map(|key| key.slice(start, count)).collect()
}

/// For each row, whether any column differs.
fn are_distinct(left: &[ArrayRef], right: &[ArrayRef]) -> Result<BooleanArray> {
    let mut all: Option<BooleanArray> = None;
    for (left, right) in left.iter().zip(right) {
        let differ = distinct(left, right)?;
        all = Some(match all {
            None => differ,
            Some(before) => BooleanArray::new(before.values() | differ.values(), None),
        });
    }
    Ok(all.unwrap_or_else(|| BooleanArray::from(Vec::<bool>::new())))
}
