//! What readers see: the indexed file, and lines that are not in it yet.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, RwLockWriteGuard};

use crate::index::{Delta, Entry, Found, Index, IndexFault, LineSource, id_hash, line_sum};
use crate::line;
use crate::segment::{Near, Segment};
use crate::version::Version;

/// Lines that were accepted but not yet written to the file.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) bytes: Vec<u8>,
    /// Entries whose offsets count from the start of `bytes`.
    pub(crate) delta: Delta,
    /// Documents they add, less those they delete.
    pub(crate) live_change: i64,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a line and its end.
    pub(crate) fn push(&mut self, id: &str, text: &[u8], is_tombstone: bool) {
        let (hash, sum, offset) = (id_hash(id), line_sum(text), self.bytes.len() as u64);
        self.bytes.extend_from_slice(text);
        self.bytes.push(b'\n');
        self.delta.push(if is_tombstone {
            Entry::tombstone(hash, offset, sum)
        } else {
            Entry::document(hash, offset, text.len() as u32, sum)
        });
    }

    /// The newest entry of an id; `text` receives its line if it is a document.
    fn find(&self, id: &str, hash: u64, text: &mut Vec<u8>) -> Option<Entry> {
        if self.is_empty() {
            return None;
        }
        self.delta.find(hash, |entry| {
            if entry.is_tombstone() {
                return (line_sum(&line::tombstone(id)) == entry.sum()).then_some(entry);
            }
            let found = self.line(entry);
            (line::has_id(found, id) == Some(true)).then(|| {
                text.clear();
                text.extend_from_slice(found);
                entry
            })
        })
    }

    /// The text of a pending document.
    pub(crate) fn line(&self, entry: Entry) -> &[u8] {
        let start = entry.offset() as usize;
        &self.bytes[start..start + entry.size() as usize]
    }

    /// Every pending line in order: its text, and whether it is a tombstone.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let texts = self.bytes.split(|&byte| byte == b'\n');
        texts.zip(self.delta.entries()).map(|(text, entry)| (text, entry.is_tombstone()))
    }
}

/// The view while it is changed. Behind that, another line may be the newest of its id.
pub(crate) struct ViewGuard<'a>(pub(super) RwLockWriteGuard<'a, View>);

impl Deref for ViewGuard<'_> {
    type Target = View;

    fn deref(&self) -> &View {
        &self.0
    }
}

impl DerefMut for ViewGuard<'_> {
    fn deref_mut(&mut self) -> &mut View {
        &mut self.0
    }
}

impl Drop for ViewGuard<'_> {
    fn drop(&mut self) {
        if let Some(segment) = &self.0.segment {
            segment.begin_epoch();
        }
    }
}

/// A consistent picture of a collection.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// `None` while the collection has no data file.
    pub(crate) segment: Option<Arc<Segment>>,
    pub(crate) index: Index,
    pub(crate) pending: Pending,
    /// Only the end of a grown file was looked at: that an id is missing, and
    /// how many there are, may be said once the rest has been verified.
    pub(crate) is_doubtful: bool,
    /// Stays as long as the data file is only appended to.
    pub(crate) generation: u64,
}

impl View {
    /// The version of what is in the file.
    pub(crate) fn version(&self) -> Version {
        let state = &self.index.state;
        Version { generation: self.generation, end: state.data_end, count: state.live_count }
    }

    /// The line of an id if it is known to be the newest without a look at the index. What a
    /// lookup that goes on will wait for is fetched from memory.
    #[inline]
    pub(crate) fn find_newest(&self, id: &str, hash: u64, text: &mut Vec<u8>) -> bool {
        let near = self.fetch(hash);
        self.copy_newest(near.as_ref(), id, text)
    }

    /// Has what a lookup of one hash looks at first fetched from memory. Lookups of many have
    /// other means ([`Index::prefetch_entry`], for all of them first).
    #[inline]
    fn fetch(&self, hash: u64) -> Option<Near<'_>> {
        self.index.prefetch_entry(hash);
        self.segment.as_deref().and_then(|segment| segment.near(hash))
    }

    /// Pending lines are newer than any that were kept.
    #[inline]
    fn copy_newest(&self, near: Option<&Near<'_>>, id: &str, text: &mut Vec<u8>) -> bool {
        let Some(near) = near else { return false };
        near.prefetch();
        let mut lines = near.newest().filter(|_| self.pending.is_empty());
        let Some(line) = lines.find(|line| line::has_id(line, id) == Some(true)) else {
            return false;
        };
        text.clear();
        text.extend_from_slice(line);
        true
    }

    /// Looks an id up, the newest first. `text` receives the line of a document.
    #[inline]
    pub(crate) fn find(
        &self,
        id: &str,
        hash: u64,
        text: &mut Vec<u8>,
    ) -> Result<Found, IndexFault> {
        self.find_in(self.segment.as_deref(), id, hash, text)
    }

    /// The line of an id, where that needs no reading of the file; does something else while
    /// memory is fetched.
    #[inline]
    pub(crate) fn find_kept(&self, id: &str, text: &mut Vec<u8>, meanwhile: impl FnOnce()) -> bool {
        let hash = id_hash(id);
        let near = self.fetch(hash);
        meanwhile();
        self.copy_newest(near.as_ref(), id, text)
            || self
                .find_in(near.as_ref(), id, hash, text)
                .is_ok_and(|found| found.document().is_some())
    }

    #[inline(always)]
    fn find_in(
        &self,
        lines: Option<&impl LineSource>,
        id: &str,
        hash: u64,
        text: &mut Vec<u8>,
    ) -> Result<Found, IndexFault> {
        if let Some(entry) = self.pending.find(id, hash, text) {
            return Ok(Found { entry: Some(entry), collided: false });
        }
        match lines {
            Some(lines) => self.index.find(id, hash, lines, text),
            None => Ok(Found { entry: None, collided: false }),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.index.state.live_count.saturating_add_signed(self.pending.live_change)
    }
}
