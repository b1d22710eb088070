//! Point reads: one document, or several whose memory accesses overlap.

use super::LineStore;
use crate::error::Result;
use crate::fetched::Chunk;
use crate::index::{IndexFault, id_hash};
use crate::store::view::View;

/// So many lookups are under way at once: about as many cache lines as a core
/// can wait for.
const GROUP: usize = 16;

impl LineStore {
    /// Reads the line of a document, replacing what `text` held.
    #[inline]
    pub(crate) fn get_into(&self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        self.standing.check_open()?;
        let hash = id_hash(id);
        let found = self.healing(|view| {
            Ok(view.find_newest(id, hash, text) || view.find(id, hash, text)?.document().is_some())
        })?;
        if found || !self.confirm_missing()? {
            return Ok(found);
        }
        self.get_into(id, text)
    }

    /// As [`LineStore::get_into`], where that needs neither the file nor waiting; `false` says
    /// nothing about whether there is such a document. Does something else while memory is
    /// fetched.
    #[inline]
    pub(crate) fn get_kept(&self, id: &str, text: &mut Vec<u8>, meanwhile: impl FnOnce()) -> bool {
        if self.standing.check_open().is_err() {
            return false;
        }
        let Ok(view) = self.view.try_read() else { return false };
        view.find_kept(id, text, meanwhile)
    }

    /// Several documents at once.
    pub(crate) fn get_chunk<S: AsRef<str>>(&self, ids: &[S]) -> Result<Chunk> {
        self.standing.check_open()?;
        let chunk = self.healing(|view| find_all(view, ids))?;
        if chunk.is_full() || !self.confirm_missing()? {
            return Ok(chunk);
        }
        self.get_chunk(ids)
    }

    /// A miss counts only once the whole file has been looked at; answers whether
    /// that was done just now, so that the lookup has to be repeated.
    fn confirm_missing(&self) -> Result<bool> {
        if !self.read_view().is_doubtful {
            return Ok(false);
        }
        self.verify()?;
        Ok(true)
    }
}

/// Looks up a group at a time: first all their entries are asked for, then all
/// their lines, and only then is any of them used.
fn find_all<S: AsRef<str>>(view: &View, ids: &[S]) -> Result<Chunk, IndexFault> {
    let mut chunk = Chunk::default();
    let mut line = Vec::new();
    let mut hashes = [0; GROUP];
    for group in ids.chunks(GROUP) {
        for (hash, id) in hashes.iter_mut().zip(group) {
            *hash = id_hash(id.as_ref());
            view.index.prefetch_entry(*hash);
        }
        if let Some(segment) = &view.segment {
            for &hash in &hashes[..group.len()] {
                view.index.prefetch_line(hash, &**segment);
            }
        }
        for (&hash, id) in hashes.iter().zip(group) {
            let found = view.find(id.as_ref(), hash, &mut line)?.document().is_some();
            chunk.push(found.then_some(&line));
        }
    }
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use folio_file::{FileSystem, MemoryFileSystem, WriterLock};

    use super::*;
    use crate::manifest::Manifest;
    use crate::options::CollectionOptions;
    use crate::store::Paths;

    /// A caller that waited would wait for itself.
    #[test]
    fn a_lookup_of_what_is_kept_waits_for_nobody() {
        let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let lock = Arc::new(WriterLock::new(Arc::clone(&files), "/db/folio.lock".into()));
        let (paths, options) = (Paths::new(Path::new("/db"), "c"), CollectionOptions::default());
        let manifest = Manifest::fallback();
        let store = LineStore::open(files, paths, "c", &options, lock, manifest).unwrap();
        let text = r#"{"_id":"a"}"#;
        store.put_line("a", text).unwrap();
        let (writer, view, line) = (store.any_writer(), store.write_view(), &mut Vec::new());
        assert!(!store.get_kept("a", line, || unreachable!()));
        drop(view);
        assert!(
            store.get_kept("a", line, || ()),
            "a writer that changes nothing yet is not in the way"
        );
        drop(writer);
        assert_eq!(line, text.as_bytes());
    }
}
