//! Blocks of files, up to a total size.
//!
//! The key is the content (URL and ETag) and the number of the block, so that a block of an older
//! state is never found. When the limit is passed, the blocks used longest ago go, a quarter at a
//! time: then an eviction, which sorts all, is rare. What is fetched ahead of a scan is not here, but
//! counts: the limit is for both. Where it leaves no room, what nobody reads is given up, of any file.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Blocks are aligned to their size in the file; the last one may be shorter.
pub(crate) const BLOCK_SIZE: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    content: Mutex<Content>,
    /// What is fetched ahead, of each open file.
    ahead: Mutex<Vec<Weak<dyn Ahead>>>,
    /// Counts reads of all files.
    read_count: AtomicU64,
}

/// What is fetched ahead of the readers of a file.
pub(crate) trait Ahead: fmt::Debug + Send + Sync {
    /// Drops what was fetched for readers that have stopped, after so many reads of all files.
    /// Waits for nobody: who asks may hold another file's.
    fn give_up(&self, read_count: u64);
}

#[derive(Debug, Default)]
struct Content {
    blocks: HashMap<(u64, u64), Block>,
    size: usize,
    /// What is fetched ahead.
    ahead: usize,
    /// Counts uses.
    now: u64,
}

/// Room within the limit of a cache for what is fetched ahead.
#[derive(Debug)]
pub(crate) struct Room {
    cache: Arc<Cache>,
    size: usize,
}

#[derive(Debug)]
struct Block {
    bytes: Arc<[u8]>,
    used: u64,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        let (content, ahead) = (Mutex::default(), Mutex::default());
        Self { limit, content, ahead, read_count: AtomicU64::new(0) }
    }

    /// Adds a file.
    pub(crate) fn add_ahead(&self, own: Weak<dyn Ahead>) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.retain(|other| other.strong_count() > 0);
        ahead.push(own);
    }

    /// Notes a read, and says how many there were.
    pub(crate) fn note_read(&self) -> u64 {
        self.read_count.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn read_count(&self) -> u64 {
        self.read_count.load(Ordering::Relaxed)
    }

    /// Drops what was fetched ahead for readers that have stopped, of all files.
    fn give_up(&self) {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let files: Vec<_> = ahead.iter().filter_map(Weak::upgrade).collect();
        drop(ahead);
        files.iter().for_each(|file| file.give_up(self.read_count()));
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn get(&self, identity: u64, number: u64) -> Option<Arc<[u8]>> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        content.now += 1;
        let now = content.now;
        let block = content.blocks.get_mut(&(identity, number))?;
        block.used = now;
        Some(Arc::clone(&block.bytes))
    }

    /// Drops blocks of a file.
    pub(crate) fn forget(&self, identity: u64, blocks: Range<u64>) {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        for number in blocks {
            if let Some(block) = content.blocks.remove(&(identity, number)) {
                content.size -= block.bytes.len();
            }
        }
    }

    /// Keeps the whole blocks among bytes that were read at an offset of a file.
    pub(crate) fn keep(&self, identity: u64, offset: u64, bytes: &[u8], file_size: u64) {
        let end = offset + bytes.len() as u64;
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        for number in offset.div_ceil(BLOCK_SIZE).. {
            let start = number * BLOCK_SIZE;
            let stop = (start + BLOCK_SIZE).min(file_size);
            if start >= stop || stop > end {
                break;
            }
            let bytes = &bytes[(start - offset) as usize..(stop - offset) as usize];
            content.insert((identity, number), bytes.into());
        }
        content.fit(self.limit);
    }
}

impl Room {
    /// `None` if a quarter of the cache would not be left for blocks.
    pub(crate) fn take(cache: &Arc<Cache>, size: usize) -> Option<Self> {
        Self::take_free(cache, size).or_else(|| {
            cache.give_up();
            Self::take_free(cache, size)
        })
    }

    fn take_free(cache: &Arc<Cache>, size: usize) -> Option<Self> {
        let mut content = cache.content.lock().unwrap_or_else(PoisonError::into_inner);
        if content.ahead + size > cache.limit / 4 * 3 {
            return None;
        }
        content.ahead += size;
        content.fit(cache.limit);
        Some(Self { cache: Arc::clone(cache), size })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let content = self.cache.content.lock();
        content.unwrap_or_else(PoisonError::into_inner).ahead -= self.size;
    }
}

impl Content {
    fn insert(&mut self, key: (u64, u64), bytes: Arc<[u8]>) {
        self.now += 1;
        self.size += bytes.len();
        if let Some(older) = self.blocks.insert(key, Block { bytes, used: self.now }) {
            self.size -= older.bytes.len();
        }
    }

    /// Removes blocks if there is more than a limit.
    fn fit(&mut self, limit: usize) {
        let left = limit.saturating_sub(self.ahead);
        if self.size > left {
            self.evict(left / 4 * 3);
        }
    }

    /// Removes the blocks used longest ago, down to a size.
    fn evict(&mut self, size: usize) {
        let mut uses: Vec<(u64, (u64, u64))> =
            self.blocks.iter().map(|(key, block)| (block.used, *key)).collect();
        uses.sort_unstable();
        for (_, key) in uses {
            if self.size <= size {
                return;
            }
            if let Some(block) = self.blocks.remove(&key) {
                self.size -= block.bytes.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_are_kept_and_the_oldest_go_first() {
        let block = BLOCK_SIZE as usize;
        let cache = Cache::new(4 * block);
        let bytes = vec![7; 3 * block];
        // From the middle of block 0 to the middle of block 3: two whole blocks.
        cache.keep(1, BLOCK_SIZE / 2, &bytes, 100 * BLOCK_SIZE);
        let has = |number| cache.get(1, number).is_some();
        assert_eq!([has(0), has(1), has(2), has(3)], [false, true, true, false]);
        assert!(cache.get(2, 1).is_none(), "another content");
        // The short last block of a file is whole.
        let other = Cache::new(4 * block);
        other.keep(1, 9 * BLOCK_SIZE, &[1, 2], 9 * BLOCK_SIZE + 2);
        assert_eq!(other.get(1, 9).as_deref(), Some(&[1, 2][..]));
        // As much as fits, of which block 1 is used last; then one block too many.
        cache.keep(1, 20 * BLOCK_SIZE, &bytes[..2 * block], 100 * BLOCK_SIZE);
        assert!(has(1));
        cache.keep(1, 30 * BLOCK_SIZE, &bytes[..block], 100 * BLOCK_SIZE);
        assert_eq!([has(1), has(2), has(20), has(21), has(30)], [true, false, false, true, true]);
    }
}
