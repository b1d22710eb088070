//! The data file's header: two slots, written in turn by checkpoints.
//!
//! ```text
//!  0  magic       "FolioTab"
//!  8  version     u32
//! 12  page size   u32
//! 16  database    u64  a number drawn when the file was made; the log has it too
//! 24  sequence    u64  from 1; the slot with the greater one counts
//! 32  checkpoint  u64  the log position up to which the file has everything
//! 40  state       40 bytes, see `state`
//! 80  checksum    u64  XXH3 of the bytes before
//! ```
//!
//! The slots are at bytes 0 and 4096; sequence `s` uses slot `s mod 2`. Page `n`, from 1, is at
//! `8192 + (n - 1) × page size`.

use crate::header_slot::Header;
use crate::ids::{COUNT_MAX, Lsn, PageId};
use crate::page::{PAGE_SIZES, get_u32, get_u64, put_u32, put_u64};
use crate::state::{STATE_SIZE, State};

/// The data file's name.
pub(crate) const DATA_NAME: &str = "tables.folio";
pub(crate) const DATA_START: u64 = 8192;

/// The content of the data file's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataHeader {
    pub(crate) page_size: u32,
    pub(crate) database: u64,
    pub(crate) sequence: u64,
    pub(crate) checkpoint: Lsn,
    pub(crate) state: State,
}

impl Header for DataHeader {
    const MAGIC: &'static [u8; 8] = b"FolioTab";
    const SIZE: usize = 88;

    fn write(self, bytes: &mut [u8]) {
        put_u32(bytes, 12, self.page_size);
        put_u64(bytes, 16, self.database);
        put_u64(bytes, 24, self.sequence);
        put_u64(bytes, 32, self.checkpoint.0);
        self.state.write(&mut bytes[40..40 + STATE_SIZE]);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let header = Self {
            page_size: get_u32(bytes, 12),
            database: get_u64(bytes, 16),
            sequence: get_u64(bytes, 24),
            checkpoint: Lsn(get_u64(bytes, 32)),
            state: State::read(&bytes[40..])?,
        };
        let is_possible = PAGE_SIZES.contains(&(header.page_size as usize))
            && header.sequence.max(header.checkpoint.0) <= COUNT_MAX;
        is_possible.then_some(header)
    }

    fn sequence(self) -> u64 {
        self.sequence
    }
}

/// The size of a data file with this many pages.
pub(crate) fn data_size(page_count: u32, page_size: usize) -> u64 {
    DATA_START + u64::from(page_count) * page_size as u64
}

/// The offset of a page in the data file.
pub(crate) fn page_offset(page: PageId, page_size: usize) -> u64 {
    DATA_START + u64::from(page.0 - 1) * page_size as u64
}
