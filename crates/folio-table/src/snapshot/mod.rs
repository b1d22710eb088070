//! A snapshot: the database as of the newest durable commit when it began. It is read through a
//! [`Reader`], like a transaction.

mod reader;

use std::sync::Arc;

pub use reader::Reader;

use crate::buffer::PageGuard;
use crate::data_header::data_size;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::page;
use crate::pager::{CommitPoint, Pager, Pages};
use crate::shared::Shared;

/// A view that no writer changes. It blocks no one and is not blocked. It ends with a typed error
/// only when the log has outgrown its limit because of it.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) shared: Arc<Shared>,
    number: u64,
    pub(crate) commit: CommitPoint,
}

impl Snapshot {
    pub(crate) fn begin(shared: &Arc<Shared>) -> Self {
        let shared = Arc::clone(shared); // before it counts, see `TableStore::users`
        shared.role.enter();
        let (number, commit) = shared.pager.snapshots.begin();
        Self { shared, number, commit }
    }

    /// A reader of this snapshot.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::of_snapshot(self.pages(), &self.shared.catalog)
    }

    /// The number of the transaction that it shows. It grows with each commit, and is the same in
    /// every process.
    #[must_use]
    pub fn transaction(&self) -> u64 {
        self.commit.state.transaction
    }

    /// The size of a data file with the content of this snapshot.
    #[must_use]
    pub fn data_size(&self) -> u64 {
        data_size(self.commit.state.page_count, self.shared.pager.page_size)
    }

    pub(crate) fn pages(&self) -> SnapshotPages<'_> {
        SnapshotPages { pager: &self.shared.pager, commit: self.commit }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.shared.pager.snapshots.end(self.number);
        self.shared.role.leave();
    }
}

/// The pages of a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SnapshotPages<'s> {
    pub(crate) pager: &'s Pager,
    pub(crate) commit: CommitPoint,
}

impl<'s> SnapshotPages<'s> {
    /// A page pinned after a checkpoint passed this snapshot may be too new.
    #[inline]
    fn still_valid(&self, pinned: Result<PageGuard<'s>>) -> Result<PageGuard<'s>> {
        match self.pager.snapshots.may_be_too_old(self.commit.end) {
            true => self.checked(pinned),
            false => pinned,
        }
    }

    /// The checkpoint may be one of another process, which knows nothing of this snapshot. Pages of
    /// later commits have later positions.
    #[cold]
    fn checked(&self, pinned: Result<PageGuard<'s>>) -> Result<PageGuard<'s>> {
        let at = self.commit.end;
        if self.pager.snapshots.is_expired(at) {
            return Err(Error::SnapshotTooOld);
        }
        let page = pinned?;
        if page::lsn(&page) >= at { Err(Error::SnapshotTooOld) } else { Ok(page) }
    }
}

impl<'s> Pages<'s> for SnapshotPages<'s> {
    #[inline]
    fn pin(&self, page: PageId) -> Result<PageGuard<'s>> {
        let block = self.pager.block(page, self.commit.end);
        self.still_valid(self.pager.pool.pin(block))
    }

    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'s>> {
        let block = self.pager.block(page, self.commit.end);
        self.still_valid(self.pager.pool.pin_for_scan(block))
    }

    fn address(&self, page: PageId) -> Option<usize> {
        self.pager.pool.address(self.pager.block(page, self.commit.end))
    }

    fn page_count(&self) -> u32 {
        self.commit.state.page_count
    }
}
