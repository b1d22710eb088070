//! What readers see: the indexed file, and lines that are not in it yet.

use std::sync::Arc;

use crate::index::{Delta, Entry, Found, Index, IndexFault, LineSource, Origin, id_hash, line_sum};
use crate::line;
use crate::segment::Segment;
use crate::version::Version;

/// Accepted lines that are not yet written to the file.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) bytes: Vec<u8>,
    /// Entries whose offsets count from the start of `bytes`.
    pub(crate) delta: Delta,
    /// Documents that they add, minus documents that they delete.
    pub(crate) live_change: i64,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Adds a line and its end.
    fn push(&mut self, id: &str, text: &[u8], is_tombstone: bool) {
        let (hash, sum, offset) = (id_hash(id), line_sum(text), self.bytes.len() as u64);
        self.bytes.extend_from_slice(text);
        self.bytes.push(b'\n');
        self.delta.push(if is_tombstone {
            Entry::tombstone(hash, offset, sum)
        } else {
            Entry::document(hash, offset, text.len() as u32, sum)
        });
    }

    /// The newest entry of an id. If it is a document, `text` receives its line.
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

/// A consistent snapshot of a collection.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// `None` if the collection has no data file.
    pub(crate) segment: Option<Arc<Segment>>,
    pub(crate) index: Index,
    pub(crate) pending: Pending,
    /// Where what was not compared with the index begins: all of a file that has grown, or what was
    /// not synced. It must be verified before an id is reported missing, before documents are
    /// counted, and before all are read.
    pub(crate) doubtful_from: Option<u64>,
    /// Constant while the data file is only appended to.
    pub(crate) generation: u64,
}

impl View {
    /// The version of what is in the file.
    pub(crate) fn version(&self) -> Version {
        let state = &self.index.state;
        Version { generation: self.generation, end: state.data_end, count: state.live_count }
    }

    /// The segment of a file on another machine, of which the index was proved to be: a reader sees
    /// one version of such a file, so the two fit each other from then on.
    pub(crate) fn fixed_segment(&self) -> Option<&Segment> {
        self.segment.as_deref().filter(|segment| segment.is_remote && self.doubtful_from.is_none())
    }

    /// Looks an id up, newest line first. `text` receives the line of a document.
    #[inline]
    pub(crate) fn find(&self, id: &str, text: &mut Vec<u8>) -> Result<Found, IndexFault> {
        let hash = id_hash(id);
        if let Some(entry) = self.pending.find(id, hash, text) {
            return Ok(Found { entry: Some(entry), collided: false, origin: Origin::Memory });
        }
        match self.segment.as_deref() {
            Some(segment) => self.index.find(id, hash, segment, text),
            None => Ok(Found { entry: None, collided: false, origin: Origin::Memory }),
        }
    }

    /// Reads the line of a document, usually from the cache; `false` if the id has none.
    #[inline]
    pub(crate) fn read(&self, id: &str, text: &mut Vec<u8>) -> Result<bool, IndexFault> {
        Ok(self.read_newest(id, id_hash(id), text) || self.read_indexed(id, text)?)
    }

    /// The same through the index. Lookups of several ids have prefetched it.
    #[inline]
    pub(crate) fn read_indexed(&self, id: &str, text: &mut Vec<u8>) -> Result<bool, IndexFault> {
        let found = self.find(id, text)?;
        let is_document = found.document().is_some();
        if let (Some(segment), true, Origin::File) = (&self.segment, is_document, found.origin) {
            segment.keep_newest(id_hash(id), text);
        }
        Ok(is_document)
    }

    /// Like [`View::read`], but does not read the file.
    #[inline]
    pub(crate) fn try_read(&self, id: &str, text: &mut Vec<u8>) -> bool {
        let hash = id_hash(id);
        if self.read_newest(id, hash, text) {
            return true;
        }
        if let Some(entry) = self.pending.find(id, hash, text) {
            return !entry.is_tombstone();
        }
        let Some(segment) = self.segment.as_deref() else { return false };
        let found = self.index.find(id, hash, &segment.cached(), text);
        found.is_ok_and(|found| found.document().is_some())
    }

    #[inline]
    fn read_newest(&self, id: &str, hash: u64, text: &mut Vec<u8>) -> bool {
        self.index.prefetch_entry(hash);
        self.segment.as_deref().is_some_and(|segment| segment.read_newest(hash, id, text))
    }

    /// Whether a line of the file is the newest of its id there. Pending lines do not count. `text`
    /// is for lines that have to be read.
    pub(crate) fn is_newest_in_file(
        &self,
        entry: Entry,
        text: &mut Vec<u8>,
    ) -> Result<bool, IndexFault> {
        if !self.index.has_dead_lines() {
            return Ok(self.segment.is_some());
        }
        let newest = self.index.newest(entry.hash)?;
        let (Some(newest), Some(segment)) = (newest, self.segment.as_deref()) else {
            return Ok(false);
        };
        if newest.offset() == entry.offset() || !newest.is_collided() {
            return Ok(newest.offset() == entry.offset());
        }
        // Another id has the same hash.
        segment.read(entry, text)?;
        let fault = IndexFault::Line { offset: entry.offset() };
        let id = line::id_of_valid_line(text).ok_or(fault)?.into_owned();
        let found = self.index.find(&id, entry.hash, segment, text)?;
        Ok(found.document().is_some_and(|found| found.offset() == entry.offset()))
    }

    /// Reads a line that is the newest of its id in the file, and caches it if it is the newest of all.
    pub(crate) fn read_newest_in_file(
        &self,
        entry: Entry,
        segment: &Segment,
        text: &mut Vec<u8>,
    ) -> Result<(), IndexFault> {
        if segment.read_kept(entry, text) {
            return Ok(());
        }
        if segment.read(entry, text)? == Origin::File && self.pending.is_empty() {
            segment.keep_newest(entry.hash, text);
        }
        Ok(())
    }

    /// Whether a pending line puts or deletes an id.
    pub(crate) fn is_pending(&self, id: &str, text: &mut Vec<u8>) -> bool {
        self.pending.find(id, id_hash(id), text).is_some()
    }

    /// Adds a pending line, which is now the newest of its id.
    pub(crate) fn push_pending(&mut self, id: &str, text: &[u8], is_tombstone: bool) {
        if let Some(segment) = &self.segment {
            segment.forget(id_hash(id));
        }
        self.pending.push(id, text, is_tombstone);
    }

    pub(crate) fn count(&self) -> u64 {
        self.index.state.live_count.saturating_add_signed(self.pending.live_change)
    }
}
