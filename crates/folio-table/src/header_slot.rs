//! Headers of files that have two slots for them: a new header is written beside the newest, which
//! stays whole.

use std::io;

use folio_file::File;

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
    const SIZE: usize;

    fn from_bytes(bytes: &[u8]) -> Slot<Self>;

    /// One more than that of the header before it.
    fn sequence(self) -> u64;

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
