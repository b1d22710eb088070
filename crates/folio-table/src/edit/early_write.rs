//! Early page writes: full pages of a long transaction go to the data file at once.
//!
//! They are after the last page of any commit, so no reader can see them, as in a bulk load. The
//! data file is synced before the commit is logged. An early write saves the page's image in the
//! log, the copy at the checkpoint, and the page's frame. The last few full pages wait: a recently
//! written page is often read again soon, by rows that refer to it.
//!
//! A page is written early only once. Later changes go through the log like all others: a savepoint
//! may need the version in the data file.

use super::Editor;
use crate::buffer::PageGuard;
use crate::data_header::page_offset;
use crate::error::{Error, Result};
use crate::ids::{BlockId, PageId};
use crate::page;

/// The number of changed pages before early writes begin, or a quarter of the pool if that is less.
/// For fewer pages the log is faster than the data file's sync.
const CHANGED_MIN: usize = 256;

/// The number of pages per write: a system call costs as much as a page.
const RUN: usize = 16;

/// The maximum number of waiting full pages, or an eighth of the pool if that is less.
const WAITING_MAX: usize = 128;

impl<'s> Editor<'s, '_> {
    /// Notes that a page is full and not expected to change. It must not be pinned.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn filled(&mut self, page: PageId) -> Result<()> {
        self.edit.full.push(page);
        let pool = self.pager.frame_count();
        if self.edit.full.len() < WAITING_MAX.min(pool / 8) + RUN {
            return Ok(());
        }
        let pages: Vec<PageId> = self.edit.full.drain(..RUN).collect();
        self.write_pages_early(&pages)
    }

    /// Writes the waiting pages, before the transaction commits.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn write_rest_early(&mut self) -> Result<()> {
        let pages = std::mem::take(&mut self.edit.full);
        pages.chunks(RUN).try_for_each(|pages| self.write_pages_early(pages))
    }

    fn write_pages_early(&mut self, pages: &[PageId]) -> Result<()> {
        let page_size = self.pager.page_size;
        let pool = self.pager.frame_count();
        if self.edit.changed.len() < CHANGED_MIN.min(pool / 4).max(1) {
            return Ok(());
        }
        let (mut first, mut run) = (PageId::NONE, Vec::with_capacity(pages.len() * page_size));
        for &page in pages {
            let Some(bytes) = self.ready_to_write(page)? else { continue };
            if page.0 as usize != first.0 as usize + run.len() / page_size {
                self.write_early(first, &run)?;
                run.clear();
                first = page;
            }
            let start = run.len();
            run.extend_from_slice(&bytes);
            page::set_lsn(&mut run[start..], self.edit.start.end);
            page::seal(&mut run[start..], self.pager.blocks.database);
        }
        self.write_early(first, &run)
    }

    /// A page that may be written early; `None` for one that may not.
    fn ready_to_write(&self, page: PageId) -> Result<Option<PageGuard<'s>>> {
        let is_unknown = page.0 > self.edit.writer.state.page_count;
        if !is_unknown || self.edit.early.contains(&page) {
            return Ok(None);
        }
        let Some(version) = self.edit.changed.get(&page) else { return Ok(None) };
        let bytes = self.pager.pool.pin(BlockId::version(version.slot))?;
        Ok(Some(bytes).filter(|bytes| page::level(bytes) == 0))
    }

    /// Writes consecutive pages, starting with `first`.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn write_early(&mut self, first: PageId, run: &[u8]) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        let (blocks, page_size) = (&self.pager.blocks, self.pager.page_size);
        blocks.wal.check_writable()?;
        let count = u32::try_from(run.len() / page_size).expect("a run is a few pages");
        let pages = (first.0..first.0 + count).map(PageId);
        // A rolled back transaction may have left its pages in the pool.
        for page in pages.clone() {
            self.pager.pool.discard(BlockId::page(page));
        }
        let written = blocks.data.write_at(run, page_offset(first, page_size));
        written.map_err(Error::io("write", &blocks.data_path))?;
        self.edit.is_data_to_sync = true;
        for page in pages {
            self.edit.early.insert(page);
            if let Some(version) = self.edit.changed.remove(&page) {
                self.edit.writer.drop_private(self.pager, version.slot);
            }
        }
        Ok(())
    }
}
