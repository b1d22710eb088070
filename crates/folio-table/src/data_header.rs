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

use xxhash_rust::xxh3::xxh3_64;

use crate::header_slot::{Header, Slot};
use crate::ids::{COUNT_MAX, Lsn, PageId};
use crate::page::{PAGE_SIZES, get_u32, get_u64, put_u32, put_u64};
use crate::state::{STATE_SIZE, State};

/// The data file's name.
pub(crate) const DATA_NAME: &str = "tables.folio";
pub(crate) const DATA_START: u64 = 8192;
pub(crate) const DATA_HEADER_SIZE: usize = 88;
const MAGIC: &[u8; 8] = b"FolioTab";
const FORMAT_VERSION: u32 = 1;

/// The content of the data file's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataHeader {
    pub(crate) page_size: u32,
    pub(crate) database: u64,
    pub(crate) sequence: u64,
    pub(crate) checkpoint: Lsn,
    pub(crate) state: State,
}

impl DataHeader {
    pub(crate) fn to_bytes(self) -> [u8; DATA_HEADER_SIZE] {
        let mut bytes = [0; DATA_HEADER_SIZE];
        bytes[..8].copy_from_slice(MAGIC);
        put_u32(&mut bytes, 8, FORMAT_VERSION);
        put_u32(&mut bytes, 12, self.page_size);
        put_u64(&mut bytes, 16, self.database);
        put_u64(&mut bytes, 24, self.sequence);
        put_u64(&mut bytes, 32, self.checkpoint.0);
        self.state.write(&mut bytes[40..40 + STATE_SIZE]);
        let checksum = xxh3_64(&bytes[..80]);
        put_u64(&mut bytes, 80, checksum);
        bytes
    }
}

impl Header for DataHeader {
    const SIZE: usize = DATA_HEADER_SIZE;

    fn from_bytes(bytes: &[u8]) -> Slot<Self> {
        let is_whole = bytes.len() >= DATA_HEADER_SIZE
            && bytes.starts_with(MAGIC)
            && xxh3_64(&bytes[..80]) == get_u64(bytes, 80);
        if !is_whole {
            return Slot::Invalid;
        }
        let version = get_u32(bytes, 8);
        if version != FORMAT_VERSION {
            return Slot::Foreign(version);
        }
        let page_size = get_u32(bytes, 12);
        let is_possible = PAGE_SIZES.contains(&(page_size as usize))
            && get_u64(bytes, 24).max(get_u64(bytes, 32)) <= COUNT_MAX;
        let (true, Some(state)) = (is_possible, State::read(&bytes[40..])) else {
            return Slot::Invalid;
        };
        Slot::Valid(Self {
            page_size,
            database: get_u64(bytes, 16),
            sequence: get_u64(bytes, 24),
            checkpoint: Lsn(get_u64(bytes, 32)),
            state,
        })
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
