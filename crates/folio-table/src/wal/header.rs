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

use crate::header_slot::Header;
use crate::ids::{COUNT_MAX, Lsn};
use crate::page::{get_u32, get_u64, put_u32, put_u64};

/// The log's file name.
pub(crate) const LOG_NAME: &str = "tables.folio-wal";
pub(crate) const LOG_START: u64 = 8192;

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
    /// The generation that follows this one.
    pub(crate) fn successor(self, base: Lsn, salt: u64) -> Self {
        Self { generation: self.generation + 1, salt, base, ..self }
    }
}

impl Header for LogHeader {
    const MAGIC: &'static [u8; 8] = b"FolioLog";
    const SIZE: usize = 56;

    fn write(self, bytes: &mut [u8]) {
        put_u32(bytes, 12, self.page_size);
        put_u64(bytes, 16, self.database);
        put_u64(bytes, 24, self.generation);
        put_u64(bytes, 32, self.salt);
        put_u64(bytes, 40, self.base.0);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let header = Self {
            page_size: get_u32(bytes, 12),
            database: get_u64(bytes, 16),
            generation: get_u64(bytes, 24),
            salt: get_u64(bytes, 32),
            base: Lsn(get_u64(bytes, 40)),
        };
        (header.generation.max(header.base.0) <= COUNT_MAX).then_some(header)
    }

    fn sequence(self) -> u64 {
        self.generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header_slot::Slot;

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
