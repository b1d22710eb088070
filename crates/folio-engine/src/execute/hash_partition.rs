//! Partitions rows by the hash of a key, so that each partition has all rows of its keys. Used by
//! groupings, joins and DISTINCT for more rows than fit in memory.
//!
//! A partition that is still too large is partitioned again, by other bits of the hash.

use arrow_array::{ArrayRef, UInt32Array};
use folio_compute::keys::KeyTable;
use folio_compute::{Batch, Result};

use super::spill::Spill;
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate_arrays, types};

/// Number of partitions.
const PARTS: usize = 16;

/// The partition of a key. Each level uses other bits of the hash, so that the keys of one
/// partition are split again.
fn part_of(hash: u64, level: u32) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = hash.rotate_left(level.wrapping_mul(11)).wrapping_add(level.into());
    (mixed.wrapping_mul(ODD) >> 32) as usize % PARTS
}

/// Partitions rows by key, without a table of keys.
pub(super) struct Partitioner<'k> {
    keys: &'k [Expr],
    table: KeyTable,
    level: u32,
}

impl<'k> Partitioner<'k> {
    pub(super) fn new(keys: &'k [Expr], level: u32) -> Result<Self> {
        Ok(Self { keys, table: KeyTable::new(&types(keys))?, level })
    }

    /// Writes each row of a batch to its partition.
    ///
    /// # Errors
    /// Errors of the file and of the key expressions.
    pub(super) fn write(&self, spill: &mut Spill, batch: &Batch, context: &Context) -> Result<()> {
        let keys = evaluate_arrays(self.keys, batch, context)?;
        let found = self.table.find_or_hash(&keys, batch.row_count)?;
        let hashes: Vec<u64> = found.into_iter().map(|found| found.err().unwrap_or(0)).collect();
        spill.write(batch, |row| part_of(hashes[row], self.level), context)
    }
}

/// Writes the rows with keys that a table does not have, each to its partition. Returns the
/// other rows with the numbers of their keys.
///
/// # Errors
/// Errors of the file.
pub(super) fn write_unknown(
    known: &KeyTable,
    keys: &[ArrayRef],
    batch: &Batch,
    (level, spill): (u32, &mut Spill),
    context: &Context,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    let (mut unknown, mut parts) = (Vec::new(), Vec::new());
    for (row, found) in (0u32..).zip(known.find_or_hash(keys, batch.row_count)?) {
        match found {
            Ok(number) => {
                rows.push(row);
                numbers.push(number);
            }
            Err(hash) => {
                unknown.push(row);
                parts.push(part_of(hash, level));
            }
        }
    }
    if !unknown.is_empty() {
        spill.write(&batch.take(&UInt32Array::from(unknown))?, |row| parts[row], context)?;
    }
    Ok((rows, numbers))
}

/// A stack of partitioned rows, processed partition by partition, the deepest first.
pub(super) struct Partitions<R> {
    all: Vec<Partition<R>>,
}

struct Partition<R> {
    rows: R,
    part: usize,
}

impl<R> Partitions<R> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new() }
    }

    /// The most deeply partitioned rows, and their current partition.
    pub(super) fn current(&mut self) -> Option<(&mut R, usize)> {
        self.all.last_mut().map(|division| (&mut division.rows, division.part))
    }

    /// How often the current rows were partitioned.
    pub(super) fn depth(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Adds newly partitioned rows and starts with their first partition.
    pub(super) fn push(&mut self, rows: R) {
        self.all.push(Partition { rows, part: 0 });
    }

    /// Moves to the next partition; `false` if there is none.
    pub(super) fn next_part(&mut self) -> bool {
        while let Some(division) = self.all.last_mut() {
            division.part += 1;
            if division.part < PARTS {
                return true;
            }
            self.all.pop();
        }
        false
    }
}
