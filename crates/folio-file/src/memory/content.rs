//! The bytes of one file, cheap to copy.
//!
//! A file is a list of chunks that copies share until one of them writes. So a crash image of a
//! large tree costs only a few reference counts. A chunk that was never written is a hole and reads
//! as zeros.

use std::sync::Arc;

const CHUNK_SIZE: usize = 4096;

/// Larger files are rejected, as in a real file system. A hole of this size costs a list of 128
/// MiB.
pub(super) const LARGEST_SIZE: u64 = 1 << 36;

type Chunk = [u8; CHUNK_SIZE];

/// Bytes from 0 to `size`. Copies share unchanged chunks.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    /// Covers `size` exactly. Bytes of the last chunk after `size` are 0.
    chunks: Arc<Vec<Option<Arc<Chunk>>>>,
    size: u64,
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Reads up to `buffer.len()` bytes. Reads fewer only at the end.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> usize {
        let wanted = buffer.len() as u64;
        let count = index(self.size.saturating_sub(offset).min(wanted));
        for_each_piece(offset, count, |chunk, within, done, length| {
            let target = &mut buffer[done..done + length];
            match &self.chunks[chunk] {
                Some(bytes) => target.copy_from_slice(&bytes[within..within + length]),
                None => target.fill(0),
            }
        });
        count
    }

    /// Writes all of `bytes`. A gap before `offset` becomes a hole. The caller has checked that the
    /// end is within [`LARGEST_SIZE`].
    pub(super) fn write_at(&mut self, bytes: &[u8], offset: u64) {
        let end = offset + bytes.len() as u64;
        if end > self.size {
            self.resize(end);
        }
        let chunks = Arc::make_mut(&mut self.chunks);
        for_each_piece(offset, bytes.len(), |chunk, within, done, length| {
            let target = chunks[chunk].get_or_insert_with(|| Arc::new([0; CHUNK_SIZE]));
            Arc::make_mut(target)[within..within + length]
                .copy_from_slice(&bytes[done..done + length]);
        });
    }

    /// Truncates to `size`, or extends to it with zeros.
    pub(super) fn resize(&mut self, size: u64) {
        assert!(size <= LARGEST_SIZE, "sizes are checked before they get here");
        if size == self.size {
            return;
        }
        let shrinks = size < self.size;
        self.size = size;
        let chunks = Arc::make_mut(&mut self.chunks);
        chunks.resize(index(size).div_ceil(CHUNK_SIZE), None);
        let used = index(size) % CHUNK_SIZE;
        if shrinks
            && used > 0
            && let Some(Some(last)) = chunks.last_mut()
        {
            Arc::make_mut(last)[used..].fill(0);
        }
    }

    /// Copies the bytes from `start` to `end` of another content, up to its end.
    pub(super) fn copy_from(&mut self, other: &Self, start: u64, end: u64) {
        let end = end.min(other.size);
        if start < end {
            let mut bytes = vec![0; index(end - start)];
            other.read_at(&mut bytes, start);
            self.write_at(&bytes, start);
        }
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; index(self.size)];
        self.read_at(&mut bytes, 0);
        bytes
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        let mut content = Self::default();
        content.write_at(bytes, 0);
        content
    }
}

/// Calls `visit(chunk, offset within it, bytes done before, length)` for each chunk that a range
/// covers.
fn for_each_piece(offset: u64, count: usize, mut visit: impl FnMut(usize, usize, usize, usize)) {
    let mut done = 0;
    while done < count {
        let position = index(offset) + done;
        let within = position % CHUNK_SIZE;
        let length = (CHUNK_SIZE - within).min(count - done);
        visit(position / CHUNK_SIZE, within, done, length);
        done += length;
    }
}

fn index(value: u64) -> usize {
    usize::try_from(value).expect("sizes of files in memory fit the address space")
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    /// Random writes and resizes match a plain vector, and do not affect an earlier copy.
    #[test]
    fn it_is_a_vector_of_bytes() {
        for seed in 0..200 {
            let mut random = Random::for_part(seed, 0);
            let (mut content, mut model) = (Content::default(), Vec::new());
            for _ in 0..40 {
                let (copy, model_before) = (content.clone(), model.clone());
                let offset = index(random.below(3 * CHUNK_SIZE as u64));
                if random.below(3) == 0 {
                    content.resize(offset as u64);
                    model.resize(offset, 0);
                } else {
                    let bytes = vec![random.draw() as u8; index(random.below(5000))];
                    content.write_at(&bytes, offset as u64);
                    model.resize(model.len().max(offset + bytes.len()), 0);
                    model[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
                assert!(content.to_vec() == model, "seed {seed}");
                assert!(copy.to_vec() == model_before, "seed {seed}: a copy changed");
            }
        }
    }

    #[test]
    fn reading_after_the_end_gives_nothing() {
        let content = Content::from(&b"abc"[..]);
        let mut buffer = [9; 4];
        assert_eq!(content.read_at(&mut buffer, 1), 2);
        assert_eq!(&buffer, b"bc\x09\x09");
        assert_eq!(content.read_at(&mut buffer, 3), 0);
        assert_eq!(content.read_at(&mut buffer, u64::MAX), 0);
    }
}
