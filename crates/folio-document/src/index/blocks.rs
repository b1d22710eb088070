//! Sums of 64-KiB blocks of the data file, for scans, to detect a changed file, and to count lines.
//!
//! A sum is one word: 47 bits of a checksum, and below them the number of line feeds in the block,
//! which needs 17. So whoever reads the sums of a range knows its number of lines too.

use std::io;

use folio_file::File;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Blocks are aligned to their size in the file; the last one may be shorter.
pub(crate) const BLOCK_SIZE: u64 = 64 << 10;

const LINE_FEEDS: u64 = (1 << 17) - 1;

/// The sum of a block, or of a part of one.
#[inline]
pub(crate) fn block_sum(bytes: &[u8]) -> u64 {
    join(xxh3_64(bytes), count_line_feeds(bytes))
}

/// Whether a block has this sum. Does not count its lines.
#[inline]
pub(crate) fn has_block_sum(bytes: &[u8], sum: u64) -> bool {
    (xxh3_64(bytes) ^ sum) & !LINE_FEEDS == 0
}

/// The number of line feeds in the block with this sum.
#[inline]
pub(crate) fn line_feeds(sum: u64) -> u64 {
    sum & LINE_FEEDS
}

fn join(checksum: u64, line_feeds: u64) -> u64 {
    (checksum & !LINE_FEEDS) | line_feeds
}

fn count_line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Computes the block sums of a file that grows at its end.
#[derive(Clone)]
pub(crate) struct BlockSums {
    /// Of the partial block before the position.
    hasher: Xxh3,
    line_feeds: u64,
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
        Ok(Self { hasher, line_feeds: count_line_feeds(&begun), position })
    }

    pub(crate) fn at_start() -> Self {
        Self { hasher: Xxh3::new(), line_feeds: 0, position: 0 }
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
                self.line_feeds += count_line_feeds(now);
                if now.len() == room {
                    done.push(self.tail());
                    self.hasher.reset();
                    self.line_feeds = 0;
                }
            }
            self.position += now.len() as u64;
            bytes = later;
        }
    }

    /// The sum of the partial last block; of zero bytes at a block boundary.
    pub(crate) fn tail(&self) -> u64 {
        join(self.hasher.digest(), self.line_feeds)
    }
}

impl std::fmt::Debug for BlockSums {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "BlockSums({})", self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_counts_the_line_feeds_of_its_block() {
        let full = vec![b'\n'; BLOCK_SIZE as usize];
        for (bytes, count) in [(&b""[..], 0), (b"{}", 0), (b"{}\n\n{}", 2), (&full, BLOCK_SIZE)] {
            let sum = block_sum(bytes);
            assert_eq!(line_feeds(sum), count);
            assert!(has_block_sum(bytes, sum));
            assert!(!has_block_sum(b"{\"a\":1}\n", sum));
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_sums_of_whole_blocks() {
        let lines: Vec<u8> =
            (0..30_000).flat_map(|n| format!("{{\"n\":{n}}}\n").into_bytes()).collect();
        let mut whole = lines.chunks_exact(BLOCK_SIZE as usize);
        let expected: Vec<u64> = whole.by_ref().map(block_sum).collect();
        assert_eq!(expected.len(), 5);
        for size in [1, 1_000, BLOCK_SIZE as usize, 100_000, lines.len()] {
            let (mut sums, mut done) = (BlockSums::at_start(), Vec::new());
            lines.chunks(size).for_each(|piece| sums.update(piece, &mut done));
            assert_eq!((&done, sums.tail()), (&expected, block_sum(whole.remainder())), "{size}");
        }
    }
}
