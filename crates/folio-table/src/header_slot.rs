//! Headers of files that have two slots for them: a new header is written beside the newest, which
//! stays whole.
//!
//! ```text
//!  0  magic       8 bytes
//!  8  version     u32
//! 12  fields      those of the file
//!     checksum    u64  XXH3 of the bytes before
//! ```

use std::io;

use folio_file::File;
use xxhash_rust::xxh3::xxh3_64;

use crate::page::{get_u32, get_u64, put_u32, put_u64};

/// The version of both formats.
pub(crate) const FORMAT_VERSION: u32 = 1;

pub(crate) const SLOT_SPACING: u64 = 4096;

/// The content of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot<H> {
    Valid(H),
    /// Written by a newer release.
    Foreign(u32),
    /// Torn, damaged or never written.
    Invalid,
}

/// A header with a sequence number, which selects its slot.
pub(crate) trait Header: Copy {
    const MAGIC: &'static [u8; 8];
    const SIZE: usize;

    /// Writes the fields to the bytes of a header.
    fn write(self, bytes: &mut [u8]);

    /// Reads the fields; `None` if they are impossible.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// One more than that of the header before it.
    fn sequence(self) -> u64;

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![0; Self::SIZE];
        bytes[..8].copy_from_slice(Self::MAGIC);
        put_u32(&mut bytes, 8, FORMAT_VERSION);
        self.write(&mut bytes);
        let checksum = xxh3_64(&bytes[..Self::SIZE - 8]);
        put_u64(&mut bytes, Self::SIZE - 8, checksum);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Slot<Self> {
        let sum_at = Self::SIZE - 8;
        let is_whole = bytes.len() >= Self::SIZE
            && bytes.starts_with(Self::MAGIC)
            && xxh3_64(&bytes[..sum_at]) == get_u64(bytes, sum_at);
        match is_whole {
            true if get_u32(bytes, 8) != FORMAT_VERSION => Slot::Foreign(get_u32(bytes, 8)),
            true => Self::read(bytes).map_or(Slot::Invalid, Slot::Valid),
            false => Slot::Invalid,
        }
    }

    /// The offset of this header's slot.
    fn offset(self) -> u64 {
        self.sequence() % 2 * SLOT_SPACING
    }
}

/// Reads the slots of a file. A header in the other one's slot is invalid.
pub(crate) fn read_slots<H: Header>(file: &dyn File) -> io::Result<[Slot<H>; 2]> {
    let read = |offset| -> io::Result<Slot<H>> {
        let mut bytes = vec![0; H::SIZE];
        let count = file.read_at(&mut bytes, offset)?;
        Ok(match H::from_bytes(&bytes[..count]) {
            Slot::Valid(header) if header.offset() != offset => Slot::Invalid,
            slot => slot,
        })
    };
    Ok([read(0)?, read(SLOT_SPACING)?])
}

/// The newest of the valid headers.
pub(crate) fn newest<H: Header>(slots: [Slot<H>; 2]) -> Option<H> {
    let headers = slots.into_iter().filter_map(|slot| match slot {
        Slot::Valid(header) => Some(header),
        _ => None,
    });
    headers.max_by_key(|header| header.sequence())
}
