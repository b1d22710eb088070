//! The log's header: two slots, written in turn.
//!
//! ```text
//!  0  magic       "FolioLog"
//!  8  version     u32
//! 12  page size   u32
//! 16  database    u64  the data file's number
//! 24  generation  u64  from 1; grows when the log begins again
//! 32  salt        u64  the seed of this generation's records
//! 40  base        u64  the position of the first record
//! 48  checksum    u64  XXH3 of the bytes before
//! ```
//!
//! The slots are at bytes 0 and 4096, records begin at 8192. Generation `g` uses slot `g mod 2`, so
//! writing the next one cannot damage the last.

use xxhash_rust::xxh3::xxh3_64;

use crate::header_slot::{Header, Slot};
use crate::ids::{COUNT_MAX, Lsn};
use crate::page::{get_u32, get_u64, put_u32, put_u64};

/// The log's file name.
pub(crate) const LOG_NAME: &str = "tables.folio-wal";
pub(crate) const LOG_START: u64 = 8192;
pub(crate) const LOG_HEADER_SIZE: usize = 56;
const MAGIC: &[u8; 8] = b"FolioLog";
pub(crate) const FORMAT_VERSION: u32 = 1;

/// One generation of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub(crate) page_size: u32,
    pub(crate) database: u64,
    pub(crate) generation: u64,
    pub(crate) salt: u64,
    pub(crate) base: Lsn,
}

impl LogHeader {
    pub(crate) fn to_bytes(self) -> [u8; LOG_HEADER_SIZE] {
        let mut bytes = [0; LOG_HEADER_SIZE];
        bytes[..8].copy_from_slice(MAGIC);
        put_u32(&mut bytes, 8, FORMAT_VERSION);
        put_u32(&mut bytes, 12, self.page_size);
        put_u64(&mut bytes, 16, self.database);
        put_u64(&mut bytes, 24, self.generation);
        put_u64(&mut bytes, 32, self.salt);
        put_u64(&mut bytes, 40, self.base.0);
        let checksum = xxh3_64(&bytes[..48]);
        put_u64(&mut bytes, 48, checksum);
        bytes
    }

    /// The generation that follows this one.
    pub(crate) fn successor(self, base: Lsn, salt: u64) -> Self {
        Self { generation: self.generation + 1, salt, base, ..self }
    }
}

impl Header for LogHeader {
    const SIZE: usize = LOG_HEADER_SIZE;

    fn from_bytes(bytes: &[u8]) -> Slot<Self> {
        let is_whole = bytes.len() >= LOG_HEADER_SIZE
            && bytes.starts_with(MAGIC)
            && xxh3_64(&bytes[..48]) == get_u64(bytes, 48);
        if !is_whole {
            return Slot::Invalid;
        }
        match get_u32(bytes, 8) {
            FORMAT_VERSION if get_u64(bytes, 24).max(get_u64(bytes, 40)) > COUNT_MAX => {
                Slot::Invalid
            }
            FORMAT_VERSION => Slot::Valid(Self {
                page_size: get_u32(bytes, 12),
                database: get_u64(bytes, 16),
                generation: get_u64(bytes, 24),
                salt: get_u64(bytes, 32),
                base: Lsn(get_u64(bytes, 40)),
            }),
            version => Slot::Foreign(version),
        }
    }

    fn sequence(self) -> u64 {
        self.generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_nobody_reaches_are_no_header() {
        let header =
            LogHeader { page_size: 4096, database: 1, generation: 2, salt: 3, base: Lsn(4) };
        assert_eq!(LogHeader::from_bytes(&header.to_bytes()), Slot::Valid(header));
        for (generation, base) in [(u64::MAX, 4), (2, u64::MAX), (2, COUNT_MAX + 1)] {
            let forged = LogHeader { generation, base: Lsn(base), ..header };
            assert_eq!(LogHeader::from_bytes(&forged.to_bytes()), Slot::Invalid);
        }
    }
}
