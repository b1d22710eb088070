//! Pages as of a commit: which version of a page is valid, and where its bytes are.
//!
//! A [`Pager`] has the two files of an open store and the buffer pool: the storage of blocks
//! (`blocks`), the versions of pages in the log (`versions`), and the open snapshots (`snapshots`).
//! Code that reads pages uses the trait [`Pages`], and depends on neither files nor commits.

mod blocks;
mod snapshots;
mod versions;

use std::sync::Arc;

pub(crate) use blocks::Blocks;
pub(crate) use snapshots::{CommitPoint, Snapshots};
pub(crate) use versions::{NO_SLOT, Versions};

use crate::buffer::{BufferPool, PageGuard};
use crate::data_header::data_size;
use crate::error::{Error, Result};
use crate::ids::{BlockId, Lsn, PageId};
use crate::options::{Options, Synchronous};

/// A source of pages for an operation. `'s` is the open store.
pub(crate) trait Pages<'s> {
    /// A page to read.
    fn pin(&self, page: PageId) -> Result<PageGuard<'s>>;

    /// The same for a page of a scan, used once.
    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'s>>;

    /// The address of a page that is in memory, for a prefetch; `None` where that is unknown.
    fn address(&self, _page: PageId) -> Option<usize> {
        None
    }

    /// The number of pages, which is the highest valid page number.
    fn page_count(&self) -> u32;
}

/// The pages of an open store, in all versions.
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

    /// The configured number of frames.
    pub(crate) fn frame_count(&self) -> usize {
        self.options.pool_size / self.page_size
    }

    /// The block of a page as of a position.
    #[inline]
    pub(crate) fn block(&self, page: PageId, at: Lsn) -> BlockId {
        self.blocks.versions.block(page, at)
    }

    /// Makes the data file durable. On failure its state is unknown, and the log must keep
    /// everything: writes are refused from then on.
    pub(crate) fn sync_data(&self) -> Result<()> {
        if self.options.synchronous == Synchronous::Off || self.blocks.failpoints.skip_data_sync() {
            return Ok(());
        }
        self.blocks.data.sync_data().map_err(|error| {
            self.blocks.wal.poison();
            Error::io("sync", &self.blocks.data_path)(error)
        })
    }

    /// Cuts off the data file what is after these pages: early writes of a transaction that did
    /// not commit. Nobody reads it, in any process: the pages that a commit counts never become
    /// fewer, and the file is not mapped. The log is synced first: a commit that was taken back in
    /// it must not return once its pages are gone.
    ///
    /// # Errors
    /// Errors of the device.
    pub(crate) fn cut_data(&self, page_count: u32) -> Result<()> {
        let Blocks { data, data_path, wal, .. } = &*self.blocks;
        let needed = data_size(page_count, self.page_size);
        let size = data.stat().map_err(Error::io("read", data_path))?.size;
        if size <= needed {
            return Ok(());
        }
        wal.sync_all()?;
        data.truncate(needed).map_err(Error::io("cut", data_path))
    }
}
