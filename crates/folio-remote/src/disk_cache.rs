//! What was read of files at URLs, on the disk, for the next process.
//!
//! ```text
//! <folder>/ranges/<content>/<first>-<count>   blocks that one request fetched, and their sum
//! <folder>/ranges/<process>-<number>.tmp      one that is being written
//! ```
//!
//! **A content** is a URL, without its secrets, with an ETag and a size. The ETag comes from the
//! server each time a file is opened, so who reads the cache may read the file. Without a strong ETag
//! nothing proves that the content is the same, and nothing is cached.
//!
//! **A range is believed by its sum**, which covers the content's name and the place of the blocks,
//! too. One that is damaged or cut is removed and fetched again, and so is one in which a reader has
//! found damage that the server had sent. It is written under another name
//! and renamed, so processes share the folder without locks.
//!
//! **The size is bounded**: when a sixteenth of the limit was written, all ranges are counted, and
//! those used longest ago are removed. Each process counts only what it writes, so several may
//! exceed the limit by a sixteenth each.
//!
//! A cache that cannot be written, or read, is a slow one. What it cannot do is no error.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use folio_file::{FileKind, FileSystem, OpenMode};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::cache::BLOCK_SIZE;
use crate::reading::Known;

/// How long a file that is being written may take.
const WRITE_TIME: Duration = Duration::from_secs(3600);

/// Bytes of the sum before the blocks.
const SUM_SIZE: usize = 8;

/// Distinguishes the files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A folder of ranges of all contents.
#[derive(Debug)]
pub(crate) struct DiskCache {
    files: Arc<dyn FileSystem>,
    folder: PathBuf,
    limit: u64,
    /// Bytes written since all ranges were counted.
    uncounted: Mutex<u64>,
}

impl DiskCache {
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn new(files: Arc<dyn FileSystem>, folder: &Path, limit: u64) -> io::Result<Self> {
        let folder = folder.join("ranges");
        files.create_directory(&folder)?;
        // The first range that is written counts those that are there.
        Ok(Self { files, folder, limit, uncounted: Mutex::new(limit) })
    }

    /// What is cached of a file; `None` if nothing would prove its content.
    pub(crate) fn content(self: &Arc<Self>, shown: &str, known: &Known) -> Option<CachedContent> {
        let etag = known.strong_etag()?;
        let name = xxh3_128(format!("{shown}\n{}\n{etag}", known.size).as_bytes());
        let folder = self.folder.join(format!("{name:032x}"));
        let cache = Arc::clone(self);
        Some(CachedContent { cache, folder, name, size: known.size, ranges: OnceLock::new() })
    }

    fn write(&self, path: &Path, sum: u64, bytes: &[u8]) -> io::Result<()> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = self.folder.join(format!("{}-{number}.tmp", std::process::id()));
        let file = self.files.open(&beside, OpenMode::Write)?;
        let written = file
            .truncate(0)
            .and_then(|()| file.write_at(&sum.to_le_bytes(), 0))
            .and_then(|()| file.write_at(bytes, SUM_SIZE as u64))
            .and_then(|()| {
                path.parent().map_or(Ok(()), |folder| self.files.create_directory(folder))
            })
            .and_then(|()| self.files.rename(&beside, path));
        if written.is_err() {
            let _ = self.files.remove_file(&beside);
        }
        written
    }

    /// Counts what was written, and from time to time all there is.
    fn note_written(&self, size: u64) {
        let mut uncounted = self.uncounted.lock().unwrap_or_else(PoisonError::into_inner);
        *uncounted = uncounted.saturating_add(size);
        if *uncounted >= self.limit / 16 {
            *uncounted = 0;
            // What cannot be listed is counted the next time.
            let _ = self.evict();
        }
    }

    /// Removes the ranges used longest ago, if there are too many.
    fn evict(&self) -> io::Result<()> {
        let mut ranges = Vec::new();
        for entry in self.files.read_directory(&self.folder)? {
            let path = self.folder.join(&entry.name);
            if entry.kind == FileKind::Directory {
                ranges.extend(self.ranges_in(&path));
            } else if self.is_left_over(&path) {
                let _ = self.files.remove_file(&path);
            }
        }
        let mut total: u64 = ranges.iter().map(|(_, size, _)| size).sum();
        if total <= self.limit - self.limit / 16 {
            return Ok(());
        }
        ranges.sort_unstable();
        for (_, size, path) in ranges {
            if total <= self.limit / 4 * 3 {
                break;
            }
            // Another process may have removed it.
            let _ = self.files.remove_file(&path);
            if let Some(folder) = path.parent() {
                let _ = self.files.remove_directory(folder);
            }
            total -= size;
        }
        Ok(())
    }

    /// When each range of a content was used, its size and path.
    fn ranges_in(&self, folder: &Path) -> Vec<(i128, u64, PathBuf)> {
        let entries = self.files.read_directory(folder).unwrap_or_default();
        let range = |name: String| {
            let path = folder.join(name);
            let stat = self.files.stat(&path).ok()?;
            Some((stat.modified_ns, stat.size, path))
        };
        entries.into_iter().filter_map(|entry| range(entry.name)).collect()
    }

    /// Whether a file was being written by a process that has died.
    fn is_left_over(&self, path: &Path) -> bool {
        let since = self.files.now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let oldest = since.saturating_sub(WRITE_TIME).as_nanos() as i128;
        self.files.stat(path).is_ok_and(|stat| stat.modified_ns < oldest)
    }
}

/// What is cached of one content.
#[derive(Debug)]
pub(crate) struct CachedContent {
    cache: Arc<DiskCache>,
    folder: PathBuf,
    name: u128,
    /// Bytes of the file.
    size: u64,
    /// The first block of each range, and how many there are; listed when they are first needed.
    ranges: OnceLock<Mutex<BTreeSet<(u64, u64)>>>,
}

impl CachedContent {
    /// Blocks with at least those from `first` to `end`: the number of the first, and their bytes.
    pub(crate) fn read(&self, first: u64, end: u64) -> Option<(u64, Vec<u8>)> {
        let covers = |&&(start, count): &&(u64, u64)| start <= first && end <= start + count;
        let (start, count) = {
            let ranges = self.ranges().lock().unwrap_or_else(PoisonError::into_inner);
            *ranges.range(..=(first, u64::MAX)).rev().find(covers)?
        };
        let path = self.path(start, count);
        let bytes = self.read_file(&path, start, count);
        if bytes.is_none() {
            self.ranges().lock().unwrap_or_else(PoisonError::into_inner).remove(&(start, count));
            let _ = self.cache.files.remove_file(&path);
        }
        Some((start, bytes?))
    }

    /// Removes what has one of the blocks from `first` to `end`.
    pub(crate) fn forget(&self, first: u64, end: u64) {
        let mut ranges = self.ranges().lock().unwrap_or_else(PoisonError::into_inner);
        ranges.retain(|&(start, count)| {
            let is_elsewhere = start >= end || first >= start + count;
            if !is_elsewhere {
                let _ = self.cache.files.remove_file(&self.path(start, count));
            }
            is_elsewhere
        });
    }

    /// Adds blocks, in which only the last of the file may be short.
    pub(crate) fn keep(&self, first: u64, bytes: &[u8]) {
        let count = (bytes.len() as u64).div_ceil(BLOCK_SIZE);
        if bytes.len() as u64 != self.size_of(first, count) || bytes.len() as u64 > self.cache.limit
        {
            return;
        }
        let sum = self.sum(first, bytes);
        if self.cache.write(&self.path(first, count), sum, bytes).is_ok() {
            let mut ranges = self.ranges().lock().unwrap_or_else(PoisonError::into_inner);
            ranges.insert((first, count));
            drop(ranges);
            self.cache.note_written(bytes.len() as u64);
        }
    }

    fn ranges(&self) -> &Mutex<BTreeSet<(u64, u64)>> {
        self.ranges.get_or_init(|| {
            let entries = self.cache.files.read_directory(&self.folder).unwrap_or_default();
            let range = |name: &str| {
                let (first, count) = name.split_once('-')?;
                let of = |text| u64::from_str_radix(text, 16).ok();
                Some((of(first)?, of(count).filter(|count| *count < u64::MAX / BLOCK_SIZE)?))
            };
            Mutex::new(entries.iter().filter_map(|entry| range(&entry.name)).collect())
        })
    }

    fn path(&self, first: u64, count: u64) -> PathBuf {
        self.folder.join(format!("{first:x}-{count:x}"))
    }

    /// Bytes of so many blocks of the file.
    fn size_of(&self, first: u64, count: u64) -> u64 {
        let start = first.saturating_mul(BLOCK_SIZE);
        start.saturating_add(count * BLOCK_SIZE).min(self.size).saturating_sub(start)
    }

    /// The blocks of a range; `None` if they are not those that were written.
    fn read_file(&self, path: &Path, first: u64, count: u64) -> Option<Vec<u8>> {
        let size = self.size_of(first, count);
        let file = self.cache.files.open(path, OpenMode::Read).ok()?;
        let is_whole = file.stat().ok()?.size == size + SUM_SIZE as u64 && size > 0;
        let mut sum = [0; SUM_SIZE];
        if !is_whole || file.read_at(&mut sum, 0).ok()? < SUM_SIZE {
            return None;
        }
        let bytes = file.read_new(size as usize, SUM_SIZE as u64).ok()?;
        if bytes.len() as u64 != size || self.sum(first, &bytes) != u64::from_le_bytes(sum) {
            return None;
        }
        // What is used is removed last. A file of another user is removed in its turn.
        let _ = file.set_modified(self.cache.files.now());
        Some(bytes)
    }

    fn sum(&self, first: u64, bytes: &[u8]) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&self.name.to_le_bytes());
        hash.update(&first.to_le_bytes());
        hash.update(bytes);
        hash.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::MemoryFileSystem;

    const FOLDER: &str = "/cache";

    fn cache(files: &MemoryFileSystem, limit: u64) -> Arc<DiskCache> {
        Arc::new(DiskCache::new(Arc::new(files.clone()), Path::new(FOLDER), limit).unwrap())
    }

    fn known(size: u64, etag: &str) -> Known {
        Known { size, etag: Some(etag.to_owned()), modified_ns: 0 }
    }

    fn blocks(count: u64, fill: u8) -> Vec<u8> {
        vec![fill; (count * BLOCK_SIZE) as usize]
    }

    #[test]
    fn ranges_are_found_by_content() {
        let files = MemoryFileSystem::new();
        let size = 10 * BLOCK_SIZE + 7;
        let of = |url: &str, etag: &str| {
            cache(&files, 100 * BLOCK_SIZE).content(url, &known(size, etag)).unwrap()
        };
        of("u", "e").keep(2, &blocks(3, 1));
        of("u", "e").keep(10, &[1; 7]);
        // Another process.
        let same = of("u", "e");
        assert_eq!(same.read(3, 5), Some((2, blocks(3, 1))));
        assert_eq!(same.read(10, 11), Some((10, vec![1; 7])));
        assert!(same.read(1, 3).is_none() && same.read(4, 6).is_none());
        for other in [of("u", "f"), of("v", "e")] {
            assert!(other.read(3, 5).is_none());
        }
        // A piece of a block is none.
        same.keep(0, &[1; 7]);
        assert!(of("u", "e").read(0, 1).is_none());
        // What was damaged when it arrived.
        same.keep(0, &blocks(1, 3));
        same.forget(4, 5);
        for content in [same, of("u", "e")] {
            assert!(content.read(2, 3).is_none());
            assert!(content.read(0, 1).is_some() && content.read(10, 11).is_some());
        }
        let weak = cache(&files, 100).content("u", &known(size, "W/\"e\""));
        assert!(weak.is_none());
    }

    #[test]
    fn what_is_damaged_is_removed() {
        let damages: [fn(&MemoryFileSystem, &Path); 4] = [
            |files, path| write(files, path, &[9], 100),
            |files, path| write(files, path, &[9], 0),
            |files, path| files.open(path, OpenMode::Write).unwrap().truncate(50).unwrap(),
            // The right blocks of another place.
            |files, path| files.rename(path, &path.with_file_name("3-2")).unwrap(),
        ];
        for damage in damages {
            let files = MemoryFileSystem::new();
            let content = || {
                cache(&files, 100 * BLOCK_SIZE).content("u", &known(9 * BLOCK_SIZE, "e")).unwrap()
            };
            let written = content();
            written.keep(2, &blocks(2, 1));
            damage(&files, &written.path(2, 2));
            let again = content();
            assert!(again.read(3, 4).is_none());
            assert!(files.read_directory(&written.folder).unwrap().is_empty());
            again.keep(2, &blocks(2, 1));
            assert!(content().read(3, 4).is_some());
        }
    }

    fn write(files: &MemoryFileSystem, path: &Path, bytes: &[u8], offset: u64) {
        files.open(path, OpenMode::Write).unwrap().write_at(bytes, offset).unwrap();
    }

    #[test]
    fn the_size_is_bounded() {
        let files = MemoryFileSystem::new();
        let limit = 32 * BLOCK_SIZE;
        let cache = cache(&files, limit);
        for number in 0..100 {
            let content =
                cache.content(&format!("u{}", number / 10), &known(1 << 30, "e")).unwrap();
            content.keep(number, &blocks(1, 1));
            let folders = files.read_directory(&cache.folder).unwrap();
            let total: u64 = folders
                .iter()
                .flat_map(|folder| cache.ranges_in(&cache.folder.join(&folder.name)))
                .map(|(_, size, _)| size)
                .sum();
            assert!(total <= limit, "{total}");
            assert!(content.read(number, number + 1).is_some(), "{number}");
        }
    }
    #[test]
    fn caches_of_many_processes_share_a_folder() {
        let files = MemoryFileSystem::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = cache(&files, 24 * BLOCK_SIZE);
                scope.spawn(move || {
                    for round in 0..60_u64 {
                        let url = format!("u{}", (round + thread) % 3);
                        let content = cache.content(&url, &known(1 << 30, "e")).unwrap();
                        let (first, count) = (round % 7, 1 + round % 3);
                        let fill = |number| (number + (round + thread) % 3) as u8;
                        if let Some((start, bytes)) = content.read(first, first + count) {
                            let mut blocks = (start..).zip(bytes.chunks(BLOCK_SIZE as usize));
                            assert!(blocks.all(|(n, block)| block.iter().all(|b| *b == fill(n))));
                        }
                        let bytes: Vec<u8> =
                            (first..first + count).flat_map(|n| blocks(1, fill(n))).collect();
                        content.keep(first, &bytes);
                    }
                });
            }
        });
    }
}
