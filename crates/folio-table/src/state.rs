//! The root state: the numbers from which everything else in the data file is reached.
//!
//! ```text
//!  0  page count       u32  pages in use or free, from 1
//!  4  free list        u32  its first page, or 0
//!  8  free count       u32  pages in it, list pages included
//! 12  catalog root     u32  page
//! 16  statistics root  u32  page
//! 20  next tree        u32  the number of the tree made next
//! 24  catalog version  u64  grows with every change of a table's definition
//! 32  transaction      u64  number of the last transaction
//! ```
//!
//! Every commit record contains them, and every checkpoint copies them into the data file's header.
//! So they change atomically with the transaction.

use crate::ids::{PageId, TreeId};
use crate::page::{get_u32, get_u64, put_u32, put_u64};

/// The size on disk.
pub(crate) const STATE_SIZE: usize = 40;

/// The roots, as of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) page_count: u32,
    pub(crate) free_list: PageId,
    pub(crate) free_count: u32,
    pub(crate) catalog_root: PageId,
    pub(crate) statistics_root: PageId,
    pub(crate) next_tree: TreeId,
    pub(crate) catalog_version: u64,
    pub(crate) transaction: u64,
}

impl State {
    /// The state of an empty store.
    pub(crate) fn empty() -> Self {
        Self {
            page_count: 0,
            free_list: PageId::NONE,
            free_count: 0,
            catalog_root: PageId::NONE,
            statistics_root: PageId::NONE,
            next_tree: TreeId::FIRST_FREE,
            catalog_version: 0,
            transaction: 0,
        }
    }

    pub(crate) fn write(&self, out: &mut [u8]) {
        put_u32(out, 0, self.page_count);
        put_u32(out, 4, self.free_list.0);
        put_u32(out, 8, self.free_count);
        put_u32(out, 12, self.catalog_root.0);
        put_u32(out, 16, self.statistics_root.0);
        put_u32(out, 20, self.next_tree.0);
        put_u64(out, 24, self.catalog_version);
        put_u64(out, 32, self.transaction);
    }

    /// Reads the state; `None` when it is invalid.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let state = Self {
            page_count: get_u32(bytes, 0),
            free_list: PageId(get_u32(bytes, 4)),
            free_count: get_u32(bytes, 8),
            catalog_root: PageId(get_u32(bytes, 12)),
            statistics_root: PageId(get_u32(bytes, 16)),
            next_tree: TreeId(get_u32(bytes, 20)),
            catalog_version: get_u64(bytes, 24),
            transaction: get_u64(bytes, 32),
        };
        let pages = [state.free_list, state.catalog_root, state.statistics_root];
        let fits = state.page_count <= PAGE_COUNT_MAX
            && state.free_count <= state.page_count
            && pages.iter().all(|page| page.0 <= state.page_count);
        fits.then_some(state)
    }
}

/// Page numbers have 31 bits.
pub(crate) const PAGE_COUNT_MAX: u32 = (1 << 31) - 1;
