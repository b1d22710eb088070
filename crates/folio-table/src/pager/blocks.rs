//! Where the buffer pool's blocks come from: the data file or the log.
//!
//! A process that only reads is not told when another makes a checkpoint. It notices:
//! a page of the data file that is newer than what it reads says so by its position,
//! and an image that is gone from the log stands in the data file since, unless a
//! newer one does. Then its snapshots have become too old; it never sees a page of
//! another time.
//!
//! Only versions of a transaction under way are ever written out, to the log,
//! when the pool needs their frames. Everything committed is there already.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use folio_file::File;

use super::versions::{VersionPlace, Versions};
use crate::buffer::BlockStorage;
use crate::data_header::page_offset;
use crate::error::{Error, Result};
use crate::ids::{BlockId, BlockPlace, Lsn, PageId};
use crate::page;
use crate::planted::Switches;
use crate::wal::Wal;
use crate::wal::record::LogPosition;

/// Data file, log and versions together.
#[derive(Debug)]
pub(crate) struct Blocks {
    pub(crate) data: Arc<dyn File>,
    pub(crate) data_name: String,
    pub(crate) database: u64,
    pub(crate) wal: Wal,
    pub(crate) versions: Versions,
    /// Where the transaction under way writes next.
    position: Mutex<LogPosition>,
    pub(crate) switches: Switches,
    /// Set for whoever only reads: pages from this position on are newer than
    /// what it reads, because another process has made a checkpoint.
    newer_from: Option<Lsn>,
}

/// How often a reader looks again at a page that another process may just be writing.
const LOOKS: u32 = 20;

impl Blocks {
    pub(crate) fn new(
        data: Arc<dyn File>,
        data_name: String,
        database: u64,
        wal: Wal,
        versions: Versions,
        position: LogPosition,
        switches: Switches,
    ) -> Self {
        let position = Mutex::new(position);
        let newer_from = None;
        Self { data, data_name, database, wal, versions, position, switches, newer_from }
    }

    /// The same for a process that only reads, as of a position, while another may write.
    pub(crate) fn reading_as_of(self, end: Lsn) -> Self {
        Self { newer_from: Some(end), ..self }
    }

    /// Where the log ends for the transaction under way.
    pub(crate) fn position(&self) -> MutexGuard<'_, LogPosition> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a page of the data file.
    pub(crate) fn read_page(&self, id: PageId, page: &mut [u8]) -> Result<()> {
        let Some(newer_from) = self.newer_from else { return self.read_page_once(id, page) };
        let mut looks = 1;
        loop {
            match self.read_page_once(id, page) {
                Ok(()) if page::lsn(page) >= newer_from => return Err(Error::SnapshotTooOld),
                Err(Error::Corrupted { .. }) if looks < LOOKS => {
                    looks += 1;
                    thread::sleep(Duration::from_millis(1));
                }
                result => return result,
            }
        }
    }

    fn read_page_once(&self, id: PageId, page: &mut [u8]) -> Result<()> {
        let offset = page_offset(id, page.len());
        let damaged = |problem| Error::Corrupted { file: self.data_name.clone(), offset, problem };
        let count = self.data.read_at(page, offset).map_err(Error::io("read", &self.data_name))?;
        if count < page.len() {
            return Err(damaged(format!("the file ends within page {id}")));
        }
        if self.switches.skip_page_checksum() {
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
            // A checkpoint may have moved the page while it was being read.
            if result.is_ok() || self.versions.place(slot) == place {
                let is_reader = self.newer_from.is_some();
                if result.is_err() && is_reader && self.wal.has_begun_again() {
                    // The checkpoint before that has brought every page to the data
                    // file: one that is not too new there is the one that was logged.
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
