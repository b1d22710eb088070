//! Where the buffer pool's blocks come from: the data file or the log.
//!
//! Only versions of a transaction under way are ever written out, to the log,
//! when the pool needs their frames. Everything committed is there already.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio_file::File;

use crate::buffer::BlockStorage;
use crate::data_header::page_offset;
use crate::error::{Error, Result};
use crate::ids::{BlockId, BlockPlace, PageId};
use crate::options::Switches;
use crate::page;
use crate::versions::{VersionPlace, Versions};
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
}

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
        Self { data, data_name, database, wal, versions, position, switches }
    }

    /// Where the log ends for the transaction under way.
    pub(crate) fn position(&self) -> MutexGuard<'_, LogPosition> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a page of the data file.
    pub(crate) fn read_page(&self, id: PageId, page: &mut [u8]) -> Result<()> {
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
        loop {
            let place = self.versions.place(slot);
            let result = match place {
                VersionPlace::DataFile(id) => self.read_page(id, page),
                VersionPlace::Log(id, lsn) => self.wal.read_image(lsn, id, page),
            };
            // A checkpoint may have moved the page while it was being read.
            if result.is_ok() || self.versions.place(slot) == place {
                return result;
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
        self.versions.set_logged(slot, lsn);
        Ok(())
    }
}
