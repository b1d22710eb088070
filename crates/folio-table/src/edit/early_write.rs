//! Early page writes: full pages of a long transaction go to the data file at once.
//!
//! They are behind the last page any commit knows of, so nobody can see them there, as with
//! a bulk load, and the data file is synced before the commit is logged. That saves the
//! page's image in the log, the copy at the checkpoint, and the page's frame. The last few
//! wait: what was written just now is soon read again, by whoever points at it.
//!
//! A page goes once. Changed after that, it goes the way of all others, by the log:
//! a savepoint may return to what stands in the data file.

use super::Editor;
use crate::buffer::PageGuard;
use crate::data_header::page_offset;
use crate::error::{Error, Result};
use crate::ids::{BlockId, PageId};
use crate::page;

/// Pages a transaction has changed before full ones go to the data file, unless a quarter
/// of the pool is less: of fewer the log takes less time than the data file's sync.
const CHANGED_MIN: usize = 256;

/// Pages that are sent at once: for the system a call costs as much as a page.
const RUN: usize = 16;

/// Full pages that wait at most, unless an eighth of the pool is less.
const WAITING_MAX: usize = 128;

impl<'s> Editor<'s, '_> {
    /// A page is full, and nothing more is expected to go there. Nobody holds it.
    ///
    /// # Errors
    /// The device's failure.
    pub(crate) fn filled(&mut self, page: PageId) -> Result<()> {
        self.edit.full.push(page);
        let pool = self.pager.frame_count();
        if self.edit.full.len() < WAITING_MAX.min(pool / 8) + RUN {
            return Ok(());
        }
        let pages: Vec<PageId> = self.edit.full.drain(..RUN).collect();
        self.write_pages_early(&pages)
    }

    /// Sends those that wait: the transaction is about to commit.
    ///
    /// # Errors
    /// The device's failure.
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

    /// A page that may go to the data file; `None` for one that may not.
    fn ready_to_write(&self, page: PageId) -> Result<Option<PageGuard<'s>>> {
        let is_unknown = page.0 > self.edit.writer.state.page_count;
        if !is_unknown || self.edit.early.contains(&page) {
            return Ok(None);
        }
        let Some(version) = self.edit.changed.get(&page) else { return Ok(None) };
        let bytes = self.pager.pool.pin(BlockId::version(version.slot))?;
        Ok(Some(bytes).filter(|bytes| page::level(bytes) == 0))
    }

    /// Writes pages that stand one behind the other, from the given one on.
    ///
    /// # Errors
    /// The device's failure.
    pub(crate) fn write_early(&mut self, first: PageId, run: &[u8]) -> Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        let (blocks, page_size) = (&self.pager.blocks, self.pager.page_size);
        let count = u32::try_from(run.len() / page_size).expect("a run is a few pages");
        let pages = (first.0..first.0 + count).map(PageId);
        // A transaction that was rolled back may have left its pages here.
        for page in pages.clone() {
            self.pager.pool.discard(BlockId::page(page));
        }
        let written = blocks.data.write_at(run, page_offset(first, page_size));
        written.map_err(Error::io("write", &blocks.data_name))?;
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
