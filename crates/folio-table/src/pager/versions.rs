//! The versions of pages in the log.
//!
//! A committed change of a page makes a new version of it; the data file has the one as of the last
//! checkpoint. Each newer version has a slot here: the position of its image in the log, and the
//! slot of the previous version. A page's head is its newest committed version. A snapshot walks
//! from the head to the first version that was committed before it began. After the last version
//! comes the data file.
//!
//! Slots are written by the one writer and read by all threads, without locks. A slot is reused
//! only when no thread can still be reading it: see `Writer::retire_all`.
//! `Writer::retire`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::chunked_array::ChunkedArray;
use crate::ids::{BlockId, Lsn, PageId};

/// No slot: the end of a page's versions.
pub(crate) const NO_SLOT: u32 = 0;

/// The place of a version whose page is in the data file.
const IN_DATA_FILE: u64 = u64::MAX;

#[derive(Debug, Default)]
struct Slot {
    page: AtomicU32,
    older: AtomicU32,
    /// The position of the image; 0 if there is none yet.
    place: AtomicU64,
}

/// The location of a version's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionPlace {
    Log(PageId, Lsn),
    DataFile(PageId),
}

/// All versions in the log.
#[derive(Debug)]
pub(crate) struct Versions {
    heads: ChunkedArray<AtomicU32>,
    slots: ChunkedArray<Slot>,
}

impl Versions {
    pub(crate) fn new() -> Self {
        Self { heads: ChunkedArray::new(), slots: ChunkedArray::new() }
    }

    /// The block of a page as of a position.
    #[inline]
    pub(crate) fn block(&self, page: PageId, at: Lsn) -> BlockId {
        let mut slot = self.head(page);
        while slot != NO_SLOT {
            let version = self.slots.at(slot);
            match version.place.load(Ordering::Acquire) {
                place if place < at.0 => return BlockId::version(slot),
                // A checkpoint has happened meanwhile; older versions are gone.
                IN_DATA_FILE => break,
                _ => {}
            }
            slot = version.older.load(Ordering::Acquire);
        }
        BlockId::page(page)
    }

    /// The newest committed version, or [`NO_SLOT`].
    #[inline]
    pub(crate) fn head(&self, page: PageId) -> u32 {
        self.heads.get(page.0).map_or(NO_SLOT, |head| head.load(Ordering::Acquire))
    }

    /// The location of a slot's bytes.
    pub(crate) fn place(&self, slot: u32) -> VersionPlace {
        let version = self.slots.at(slot);
        let page = PageId(version.page.load(Ordering::Acquire));
        match version.place.load(Ordering::Acquire) {
            IN_DATA_FILE => VersionPlace::DataFile(page),
            lsn => VersionPlace::Log(page, Lsn(lsn)),
        }
    }

    /// Assigns a slot to a new version that is not visible yet.
    pub(crate) fn begin(&self, slot: u32, page: PageId) {
        let version = self.slots.at(slot);
        version.page.store(page.0, Ordering::Release);
        version.older.store(NO_SLOT, Ordering::Release);
        version.place.store(0, Ordering::Release);
    }

    /// Notes that the version's image is in the log.
    pub(crate) fn set_logged(&self, slot: u32, lsn: Lsn) {
        self.slots.at(slot).place.store(lsn.0, Ordering::Release);
    }

    /// The position of a version's image.
    pub(crate) fn logged_at(&self, slot: u32) -> Lsn {
        Lsn(self.slots.at(slot).place.load(Ordering::Acquire))
    }

    /// Makes a version its page's newest, and returns the previous one.
    pub(crate) fn publish(&self, page: PageId, slot: u32) -> u32 {
        let older = self.head(page);
        self.slots.at(slot).older.store(older, Ordering::Release);
        self.heads.at(page.0).store(slot, Ordering::Release);
        older
    }

    /// Cuts off all versions older than this one.
    pub(crate) fn cut_older(&self, slot: u32) {
        self.slots.at(slot).older.store(NO_SLOT, Ordering::Release);
    }

    /// Notes that the data file has the page's newest version. Later lookups use it, as do threads
    /// that have just found the slot.
    pub(crate) fn move_to_data_file(&self, page: PageId) -> u32 {
        let slot = self.heads.at(page.0).swap(NO_SLOT, Ordering::AcqRel);
        if slot != NO_SLOT {
            self.slots.at(slot).place.store(IN_DATA_FILE, Ordering::Release);
        }
        slot
    }
}
