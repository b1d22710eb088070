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
            view.look_ahead(hash);
            Ok(view.find(id, hash, text)?.document().is_some())
        })?;
        if found || !self.confirm_missing()? {
            return Ok(found);
        }
        self.get_into(id, text)
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
