//! The groups of the rows of a batch.

use std::cell::OnceCell;
use std::ops::Deref;

/// Up to so many groups are added up several times side by side, so that rows of one group do not wait
/// for each other.
pub(super) const FEW_GROUPS: usize = 16;
const LANES: usize = 4;

/// The group of each row.
pub(crate) struct Groups<'g> {
    of_rows: &'g [u32],
    /// For all aggregates that ask.
    sizes: OnceCell<[i64; FEW_GROUPS]>,
}

impl<'g> Groups<'g> {
    pub(crate) fn new(of_rows: &'g [u32]) -> Self {
        Self { of_rows, sizes: OnceCell::new() }
    }

    /// Adds up what each row adds to its group, of few groups. Nothing may overflow.
    pub(super) fn sums_of_few(&self, added: impl Iterator<Item = i64>) -> [i64; FEW_GROUPS] {
        let mut lanes = [[0; FEW_GROUPS]; LANES];
        for (row, (added, group)) in added.zip(self.of_rows).enumerate() {
            lanes[row % LANES][*group as usize % FEW_GROUPS] += added;
        }
        let mut sums = [0; FEW_GROUPS];
        for lane in lanes {
            sums.iter_mut().zip(lane).for_each(|(sum, own)| *sum += own);
        }
        sums
    }

    /// How many rows each of few groups has.
    pub(super) fn sizes_of_few(&self) -> &[i64; FEW_GROUPS] {
        self.sizes.get_or_init(|| self.sums_of_few(self.of_rows.iter().map(|_| 1)))
    }
}

impl Deref for Groups<'_> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        self.of_rows
    }
}
