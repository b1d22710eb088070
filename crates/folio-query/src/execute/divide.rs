//! Rows divided by the hash of a key, so that each part has all the rows of its keys:
//! what groupings, joins and DISTINCT do with more rows than memory holds.
//!
//! A part that is still too large is divided again, by other bits of the hash.

use arrow_array::ArrayRef;

use super::context::Context;
use super::keys::KeyTable;
use super::spill::Spill;
use crate::batch::Batch;
use crate::error::Result;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate, types};

/// Parts that rows are divided into.
pub(super) const PARTS: usize = 16;

/// The part that a key goes to. Each level looks at other bits of the hash, so that the
/// keys of one part are divided again.
pub(super) fn part_of(hash: u64, level: u32) -> usize {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = hash.rotate_left(level.wrapping_mul(11)).wrapping_add(level.into());
    (mixed.wrapping_mul(ODD) >> 32) as usize % PARTS
}

/// The values of a key for every row.
pub(super) fn keys_of(keys: &[Expr], batch: &Batch, context: &Context) -> Result<Vec<ArrayRef>> {
    let arrays = keys.iter().map(|key| evaluate(key, batch, context)?.to_array(batch.row_count));
    arrays.collect()
}

/// What tells rows apart by a key before anything is known of any.
pub(super) struct Divider<'k> {
    keys: &'k [Expr],
    table: KeyTable,
    level: u32,
}

impl<'k> Divider<'k> {
    pub(super) fn new(keys: &'k [Expr], level: u32) -> Result<Self> {
        Ok(Self { keys, table: KeyTable::new(&types(keys))?, level })
    }

    /// Writes the rows of a batch, each to its part.
    ///
    /// # Errors
    /// What the file says, and the expressions of the key.
    pub(super) fn write(&self, spill: &mut Spill, batch: &Batch, context: &Context) -> Result<()> {
        let keys = keys_of(self.keys, batch, context)?;
        let found = self.table.find_or_hash(&keys, batch.row_count)?;
        let hashes: Vec<u64> = found.into_iter().map(|found| found.err().unwrap_or(0)).collect();
        spill.write(batch, |row| part_of(hashes[row], self.level))
    }
}
