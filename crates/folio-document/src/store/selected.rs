//! Documents of given ids, in file order: their places first, then line by line.
//!
//! For a few documents of a large collection, which a scan would read from one end to the other.

use std::sync::Arc;
use std::vec::IntoIter;

use super::LineStore;
use crate::error::{Error, Result};
use crate::index::{Entry, IndexFault, LineSource, id_hash};
use crate::segment::Segment;
use crate::store::view::View;
use crate::version::Version;

/// Lines on another machine that are fetched before the first is yielded.
const AHEAD_COUNT: usize = 512;

/// Yields the lines of the ids that have one, as of when the scan began.
#[derive(Debug)]
pub(crate) struct SelectedScan {
    store: Arc<LineStore>,
    ids: Vec<String>,
    places: Places,
    text: Vec<u8>,
    given: u64,
    restarts: u32,
}

/// Where the lines are, in file order.
#[derive(Debug)]
struct Places {
    segment: Option<Arc<Segment>>,
    entries: IntoIter<Entry>,
    version: Version,
}

impl SelectedScan {
    pub(crate) fn new(store: &Arc<LineStore>, ids: Vec<String>) -> Result<Self> {
        store.ready_to_read_many()?;
        let places = store.repairing(|view| Places::find(view, &ids))?;
        let (text, given, restarts) = (Vec::new(), 0, 0);
        let store = Arc::clone(store);
        Ok(Self { store, ids, places, text, given, restarts })
    }

    /// The next line, without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        while let Some(&entry) = self.places.entries.as_slice().first() {
            let segment = self.places.segment.as_deref().expect("places are in a file");
            match segment.read(entry, &mut self.text) {
                Ok(_) => {
                    self.places.entries.next();
                    self.given += 1;
                    return Ok(Some(&self.text));
                }
                Err(fault) => self.recover(fault)?,
            }
        }
        Ok(None)
    }

    /// Starts again if nothing was yielded yet.
    #[cold]
    fn recover(&mut self, fault: IndexFault) -> Result<()> {
        if let IndexFault::Io(error) = fault {
            return Err(Error::io("read", &self.store.paths.data)(error));
        }
        self.store.repair(&fault)?;
        self.store.count_restart(self.given, &mut self.restarts)?;
        self.places = self.store.repairing(|view| Places::find(view, &self.ids))?;
        Ok(())
    }

    pub(crate) fn version(&self) -> Version {
        self.places.version
    }

    /// Documents read, and the total.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.given, self.given + self.places.entries.len() as u64)
    }
}

impl Places {
    fn find(view: &View, ids: &[String]) -> Result<Self, IndexFault> {
        let mut text = Vec::new();
        let mut entries = Vec::with_capacity(ids.len());
        if let Some(segment) = view.segment.as_deref() {
            for id in ids {
                // Of another thread's lines that are still pending, a scan yields none either.
                let hash = id_hash(id);
                let newest = match view.index.newest(hash)? {
                    Some(entry) if entry.is_collided() => {
                        view.index.find(id, hash, segment, &mut text)?.entry
                    }
                    newest => newest,
                };
                entries.extend(newest.filter(|entry| !entry.is_tombstone()));
            }
        }
        entries.sort_unstable_by_key(|entry| entry.offset());
        if let Some(segment) = view.segment.as_ref().filter(|segment| segment.is_remote) {
            // What is cached at most; a longer scan fetches the rest as it comes.
            segment.read_ahead(&entries[..entries.len().min(AHEAD_COUNT)])?;
        }
        let entries = entries.into_iter();
        Ok(Self { segment: view.segment.clone(), entries, version: view.version() })
    }
}
