//! Checksums of 64-KiB blocks of the data file, for scans and to detect a changed file.

use std::io;

use folio_file::File;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Blocks are aligned to their size in the file; the last one may be shorter.
pub(crate) const BLOCK_SIZE: u64 = 64 << 10;

/// The checksum of a block, or of its filled part.
#[inline]
pub(crate) fn block_sum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Computes the block sums of a file that grows at its end.
#[derive(Clone)]
pub(crate) struct BlockSums {
    hasher: Xxh3,
    position: u64,
}

impl BlockSums {
    /// Starts at `position`, and reads the partial block before it.
    pub(crate) fn resume(file: &dyn File, position: u64) -> io::Result<Self> {
        let start = position - position % BLOCK_SIZE;
        let mut begun = vec![0; (position - start) as usize];
        let read = file.read_at(&mut begun, start)?;
        if read < begun.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut hasher = Xxh3::new();
        hasher.update(&begun);
        Ok(Self { hasher, position })
    }

    pub(crate) fn at_start() -> Self {
        Self { hasher: Xxh3::new(), position: 0 }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Adds bytes at the end. Sums of completed blocks go to `done`.
    pub(crate) fn update(&mut self, mut bytes: &[u8], done: &mut Vec<u64>) {
        while !bytes.is_empty() {
            let room = (BLOCK_SIZE - self.position % BLOCK_SIZE) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if room as u64 == BLOCK_SIZE && now.len() == room {
                done.push(block_sum(now)); // a whole block in one piece
            } else {
                self.hasher.update(now);
                if now.len() == room {
                    done.push(self.hasher.digest());
                    self.hasher.reset();
                }
            }
            self.position += now.len() as u64;
            bytes = later;
        }
    }

    /// The sum of the partial last block; of zero bytes at a block boundary.
    pub(crate) fn tail(&self) -> u64 {
        self.hasher.digest()
    }
}

impl std::fmt::Debug for BlockSums {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "BlockSums({})", self.position)
    }
}
