//! Pages as of a commit: which version of a page counts, and where its bytes are.
//!
//! A [`Pager`] is an open store's two files with the buffer pool before them: where blocks
//! come from (`blocks`), which versions of a page the log holds (`versions`), and who reads
//! as of when (`snapshots`). Whatever reads pages takes them through the trait [`Pages`],
//! and knows neither files nor commits.

mod blocks;
mod snapshots;
mod versions;

use std::sync::Arc;

pub(crate) use blocks::Blocks;
pub(crate) use snapshots::{CommitPoint, Snapshots};
pub(crate) use versions::{NO_SLOT, Versions};

use crate::buffer::{BufferPool, PageGuard};
use crate::error::{Error, Result};
use crate::ids::{BlockId, Lsn, PageId};
use crate::options::{Options, Synchronous};

/// Where an operation's pages come from. `'s` is the open store.
pub(crate) trait Pages<'s> {
    /// A page to read.
    fn pin(&self, page: PageId) -> Result<PageGuard<'s>>;

    /// The same for one of many pages passed over once.
    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'s>>;

    /// How many pages there are: no valid number is greater.
    fn page_count(&self) -> u32;
}

/// The pages of an open store, in all their versions.
#[derive(Debug)]
pub(crate) struct Pager {
    pub(crate) options: Options,
    pub(crate) page_size: usize,
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) pool: BufferPool,
    pub(crate) snapshots: Snapshots,
}

impl Pager {
    pub(crate) fn new(
        options: Options,
        page_size: usize,
        blocks: Blocks,
        snapshots: Snapshots,
    ) -> Self {
        let blocks = Arc::new(blocks);
        let storage = Arc::clone(&blocks);
        let pool = BufferPool::new(
            (options.pool_size / page_size).max(6),
            page_size,
            options.policy,
            storage,
        );
        Self { options, page_size, blocks, pool, snapshots }
    }

    /// Frames that the pool was asked to have.
    pub(crate) fn frame_count(&self) -> usize {
        self.options.pool_size / self.page_size
    }

    /// The block with a page as of a position.
    #[inline]
    pub(crate) fn block(&self, page: PageId, at: Lsn) -> BlockId {
        self.blocks.versions.block(page, at)
    }

    /// Makes the data file durable. If that fails what it has is not known, and
    /// the log must keep everything: no more writes.
    pub(crate) fn sync_data(&self) -> Result<()> {
        if self.options.synchronous == Synchronous::Off || self.blocks.switches.skip_data_sync() {
            return Ok(());
        }
        self.blocks.data.sync_data().map_err(|error| {
            self.blocks.wal.poison();
            Error::io("sync", &self.blocks.data_name)(error)
        })
    }
}
