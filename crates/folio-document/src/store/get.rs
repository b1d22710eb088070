//! Point reads: one document, or several with overlapping memory accesses.

use super::LineStore;
use crate::error::Result;
use crate::fetched::Chunk;
use crate::index::{Entry, IndexFault, id_hash};
use crate::store::view::View;

/// How many lookups run at once: about as many cache lines as a core can wait for.
const GROUP: usize = 16;

impl LineStore {
    /// Reads the line of a document into `text`, which is cleared first.
    #[inline]
    pub(crate) fn get(&self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        self.handle.check_open()?;
        let found = self.repairing(|view| view.read(id, text))?;
        if found || !self.confirm_missing()? {
            return Ok(found);
        }
        self.get(id, text)
    }

    /// Like `get`, but never blocks. `false` if the line is not in memory, another thread holds a
    /// lock, or there is no such document.
    #[inline]
    pub(crate) fn try_get(&self, id: &str, text: &mut Vec<u8>) -> bool {
        if self.handle.check_open().is_err() {
            return false;
        }
        let Ok(view) = self.view.try_read() else { return false };
        view.try_read(id, text)
    }

    /// Reads several documents at once.
    pub(crate) fn get_chunk(&self, ids: &[&str]) -> Result<Chunk> {
        self.handle.check_open()?;
        let chunk = self.repairing(|view| find_all(view, ids))?;
        if chunk.is_full() || !self.confirm_missing()? {
            return Ok(chunk);
        }
        self.get_chunk(ids)
    }

    /// A miss counts only after the whole file was checked. Returns whether that was done just now,
    /// so that the lookup must be repeated.
    fn confirm_missing(&self) -> Result<bool> {
        if self.read_view().doubtful_from.is_none() {
            return Ok(false);
        }
        self.verify()?;
        Ok(true)
    }
}

/// Looks up one group at a time: prefetches all entries, then all lines, and only then uses them.
fn find_all(view: &View, ids: &[&str]) -> Result<Chunk, IndexFault> {
    let mut chunk = Chunk::default();
    let mut line = Vec::new();
    let mut hashes = [0; GROUP];
    if let Some(segment) = view.segment.as_ref().filter(|segment| segment.is_remote) {
        segment.read_ahead(&newest_of(view, ids)?)?;
    }
    for group in ids.chunks(GROUP) {
        for (hash, id) in hashes.iter_mut().zip(group) {
            *hash = id_hash(id);
            view.index.prefetch_entry(*hash);
        }
        if let Some(segment) = &view.segment {
            for &hash in &hashes[..group.len()] {
                view.index.prefetch_line(hash, &**segment);
            }
        }
        for id in group {
            let found = view.read_indexed(id, &mut line)?;
            chunk.push(found.then_some(&line));
        }
    }
    Ok(chunk)
}

/// The newest entries of ids that have a line.
fn newest_of(view: &View, ids: &[&str]) -> Result<Vec<Entry>, IndexFault> {
    let newest = ids.iter().filter_map(|id| view.index.newest(id_hash(id)).transpose());
    newest.filter(|entry| !matches!(entry, Ok(entry) if entry.is_tombstone())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use folio_file::{FileSystem, MemoryFileSystem, WriterLock};

    use super::*;
    use crate::line::EncodedLine;
    use crate::manifest::Manifest;
    use crate::options::CollectionOptions;
    use crate::store::Paths;

    /// A caller that waited would deadlock with itself.
    #[test]
    fn a_lookup_of_what_is_cached_waits_for_nobody() {
        let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let lock = Arc::new(WriterLock::new(Arc::clone(&files), "/db/folio.lock".into()));
        let (paths, options) = (Paths::new(Path::new("/db"), "c"), CollectionOptions::default());
        let manifest = Manifest::fallback();
        let store = LineStore::open(files, paths, "c", &options, lock, manifest).unwrap();
        let text = br#"{"_id":"a"}"#;
        store.put_line(EncodedLine::trust(text).unwrap()).unwrap();
        let (writer, view, line) = (store.any_writer(), store.write_view(), &mut Vec::new());
        assert!(!store.try_get("a", line));
        drop(view);
        assert!(store.try_get("a", line), "a writer that changes nothing yet is not in the way");
        drop(writer);
        assert_eq!(line, text);
    }
}
