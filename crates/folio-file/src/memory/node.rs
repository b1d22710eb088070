//! One file: what a reader sees, and what the disk has of it.
//!
//! Writes change the page cache at once and the disk at a sync. In between, [`FileNode::pending`]
//! holds every change in order, so that a crash can apply any part of them to the disk.

use std::ops::Range;
use std::sync::Arc;

use super::content::Content;

/// The unit that a disk writes atomically, in bytes.
pub(super) const SECTOR_SIZE: u64 = 512;

/// Times of a file, nanoseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) modified_ns: i128,
    pub(super) changed_ns: i128,
}

/// One change of content since the last sync.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) kind: ChangeKind,
    pub(super) size_after: u64,
}

#[derive(Debug, Clone)]
pub(super) enum ChangeKind {
    Write { offset: u64, bytes: Arc<[u8]> },
    Truncate,
}

impl Change {
    /// Applies the change to the page cache.
    pub(super) fn apply(&self, cache: &mut Content) {
        match &self.kind {
            ChangeKind::Write { offset, bytes } => cache.write_at(bytes, *offset),
            ChangeKind::Truncate => cache.resize(self.size_after),
        }
    }

    /// The sectors that become dirty.
    pub(super) fn sectors(&self) -> Range<u64> {
        match &self.kind {
            ChangeKind::Write { bytes, .. } if bytes.is_empty() => 0..0,
            ChangeKind::Write { offset, bytes } => {
                offset / SECTOR_SIZE..(offset + bytes.len() as u64).div_ceil(SECTOR_SIZE)
            }
            ChangeKind::Truncate => 0..0,
        }
    }
}

/// A file, with or without a name.
#[derive(Debug, Clone)]
pub(super) struct FileNode {
    /// What every reader sees.
    pub(super) cache: Content,
    pub(super) times: Times,
    /// What is surely on the disk.
    pub(super) durable: Content,
    pub(super) durable_times: Times,
    /// The page cache at the last sync, successful or not: `pending` leads from here to `cache`.
    /// Equal to `durable` unless a sync has failed.
    pub(super) base: Content,
    pub(super) pending: Arc<Vec<Change>>,
    /// A sync has failed: the cache has bytes that no sync will write.
    pub(super) diverged: bool,
    /// Names in the volatile tree, and open handles.
    pub(super) name_count: u32,
    pub(super) open_count: u32,
}

impl FileNode {
    pub(super) fn new(times: Times) -> Self {
        Self {
            cache: Content::default(),
            times,
            durable: Content::default(),
            durable_times: times,
            base: Content::default(),
            pending: Arc::default(),
            diverged: false,
            name_count: 0,
            open_count: 0,
        }
    }

    /// A file as found after a restart: all of it is on the disk.
    pub(super) fn durable(content: Content, times: Times) -> Self {
        Self { durable: content.clone(), base: content.clone(), cache: content, ..Self::new(times) }
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        let kind = ChangeKind::Write { offset, bytes: bytes.into() };
        let size_after = self.cache.size().max(offset + bytes.len() as u64);
        self.change(Change { kind, size_after });
    }

    pub(super) fn truncate(&mut self, size: u64) {
        self.change(Change { kind: ChangeKind::Truncate, size_after: size });
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.cache);
        assert_eq!(self.cache.size(), change.size_after, "a change knows the size it leaves");
        Arc::make_mut(&mut self.pending).push(change);
    }

    /// A successful sync.
    pub(super) fn sync(&mut self) {
        if self.durable.size() != self.cache.size() {
            // fdatasync(2) writes metadata only if reading needs it.
            self.durable_times = self.times;
        }
        if self.diverged {
            self.write_pending_sectors();
        } else {
            self.durable = self.cache.clone();
        }
        self.base = self.cache.clone();
        self.pending = Arc::default();
    }

    /// After a failed sync, only what was dirtied since then is written.
    fn write_pending_sectors(&mut self) {
        for change in self.pending.iter() {
            if let ChangeKind::Truncate = change.kind {
                self.durable.resize(change.size_after);
            }
            let sectors = change.sectors();
            let (start, end) = (sectors.start * SECTOR_SIZE, sectors.end * SECTOR_SIZE);
            self.durable.copy_from(&self.cache, start, end);
        }
        self.durable.resize(self.cache.size());
    }

    /// A failed sync after which the disk has `written`. The rest counts as clean and will not be
    /// written again.
    pub(super) fn fail_sync(&mut self, written: Content) {
        self.durable = written;
        self.base = self.cache.clone();
        self.pending = Arc::default();
        self.diverged = true;
    }

    /// Makes the disk equal to the cache, as if it had always been so.
    pub(super) fn make_durable(&mut self) {
        let counts = (self.name_count, self.open_count);
        *self = Self::durable(self.cache.clone(), self.times);
        (self.name_count, self.open_count) = counts;
    }
}
