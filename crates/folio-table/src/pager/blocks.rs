//! Reads and writes the buffer pool's blocks, in the data file or the log.
//!
//! A read-only process is not notified when another makes a checkpoint. It detects it: a page of
//! the data file that is newer than its snapshot has a later position, and an image missing from
//! the log has been moved to the data file, unless a newer one was. Then its snapshots are too old.
//! It never sees a page of another commit.
//!
//! Only versions of the running transaction are ever written out, to the log, when the pool evicts
//! them. Everything committed is already there.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use folio_file::File;

use super::versions::{VersionPlace, Versions};
use crate::buffer::BlockStorage;
use crate::data_header::{DATA_NAME, page_offset};
use crate::error::{Error, Result};
use crate::failpoint::Failpoints;
use crate::ids::{BlockId, BlockPlace, Lsn, PageId};
use crate::page;
use crate::wal::Wal;
use crate::wal::record::LogPosition;

/// The data file, the log and the versions.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) data: Arc<dyn File>,
    pub(crate) data_path: PathBuf,
    pub(crate) database: u64,
    pub(crate) wal: Wal,
    pub(crate) versions: Versions,
    /// The position of the running transaction's next write.
    position: Mutex<LogPosition>,
    pub(crate) failpoints: Failpoints,
    /// In a process that only reads: pages from this position on are newer than its snapshots,
    /// because another process has made a checkpoint. [`NEVER`] in one that writes.
    newer_from: AtomicU64,
}

/// After all positions.
const NEVER: u64 = u64::MAX;

/// How often a reader retries a page that another process may be writing.
const LOOKS: u32 = 20;

impl Blocks {
    pub(crate) fn new(
        data: Arc<dyn File>,
        data_path: PathBuf,
        database: u64,
        wal: Wal,
        versions: Versions,
        position: LogPosition,
        failpoints: Failpoints,
    ) -> Self {
        let position = Mutex::new(position);
        let newer_from = AtomicU64::new(NEVER);
        Self { data, data_path, database, wal, versions, position, failpoints, newer_from }
    }

    /// From now on another process may write: only pages from before a position are read.
    pub(crate) fn read_as_of(&self, end: Lsn) {
        self.newer_from.store(end.0, Ordering::Release);
    }

    /// The end of the log for the running transaction.
    pub(crate) fn position(&self) -> MutexGuard<'_, LogPosition> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a page of the data file.
    pub(crate) fn read_page(&self, id: PageId, page: &mut [u8]) -> Result<()> {
        let mut looks = 1;
        loop {
            let read = self.read_page_once(id, page);
            let newer_from = self.newer_from.load(Ordering::Acquire); // as of after the read
            match read {
                Ok(()) if page::lsn(page).0 >= newer_from => return Err(Error::SnapshotTooOld),
                Err(Error::Corrupted { .. }) if newer_from != NEVER && looks < LOOKS => {
                    looks += 1;
                    thread::sleep(Duration::from_millis(1));
                }
                result => return result,
            }
        }
    }

    fn read_page_once(&self, id: PageId, page: &mut [u8]) -> Result<()> {
        let offset = page_offset(id, page.len());
        let damaged = |problem| Error::Corrupted { file: DATA_NAME.to_owned(), offset, problem };
        let count = self.data.read_at(page, offset).map_err(Error::io("read", &self.data_path))?;
        if count < page.len() {
            return Err(damaged(format!("the file ends within page {id}")));
        }
        if self.failpoints.skip_page_checksum() {
            return page::check_layout(page).map_err(damaged);
        }
        page::verify(page, id, self.database).map_err(damaged)
    }

    fn read_version(&self, slot: u32, page: &mut [u8]) -> Result<()> {
        let mut looks = 1;
        loop {
            let place = self.versions.place(slot);
            let result = match place {
                VersionPlace::DataFile(id) => self.read_page(id, page),
                VersionPlace::Log(id, lsn) => self.wal.read_image(lsn, id, page),
            };
            // A checkpoint may have moved the page during the read.
            if result.is_ok() || self.versions.place(slot) == place {
                let is_reader = self.newer_from.load(Ordering::Acquire) != NEVER;
                if result.is_err() && is_reader && self.wal.has_begun_again() {
                    // The checkpoint before that has written every page to the data file: a page
                    // there that is not too new is the logged one.
                    let (VersionPlace::Log(id, _) | VersionPlace::DataFile(id)) = place;
                    return self.read_page(id, page);
                }
                if result.is_ok() || !is_reader || looks == LOOKS {
                    return result;
                }
                looks += 1;
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl BlockStorage for Blocks {
    fn read(&self, block: BlockId, page: &mut [u8]) -> Result<()> {
        match block.place() {
            BlockPlace::Page(id) => self.read_page(id, page),
            BlockPlace::Version(slot) => self.read_version(slot, page),
        }
    }

    fn write(&self, block: BlockId, page: &mut [u8]) -> Result<()> {
        let BlockPlace::Version(slot) = block.place() else {
            unreachable!("pages of the data file are never changed in the pool");
        };
        let id = page::page_id(page);
        let mut position = self.position();
        page::set_lsn(page, position.end);
        let mut batch = self.wal.batch(*position);
        let lsn = batch.add_image(page, id);
        self.wal.write(&batch)?;
        *position = batch.position();
        self.wal.recycle(batch);
        self.versions.set_logged(slot, lsn);
        Ok(())
    }
}
