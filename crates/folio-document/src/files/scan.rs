//! Scans the documents in order, one file at a time.

use std::sync::Arc;

use super::FileStore;
use super::read::Reading;
use crate::error::Result;
use crate::report::Notice;

/// How many invalid files one scan reports by name.
const REPORTED_MAX: u64 = 5;

/// Yields the documents that existed when the scan began, each in its current state. Files that are
/// not documents are skipped and reported.
#[derive(Debug)]
pub(crate) struct FileScan {
    store: Arc<FileStore>,
    ids: Vec<Arc<str>>,
    next: usize,
    line: Vec<u8>,
    invalid_count: u64,
}

impl FileScan {
    pub(crate) fn new(store: &Arc<FileStore>) -> Result<Self> {
        let ids = store.ids()?;
        Ok(Self::of(store, ids))
    }

    /// The documents of these ids.
    pub(super) fn of(store: &Arc<FileStore>, ids: Vec<Arc<str>>) -> Self {
        Self { store: Arc::clone(store), ids, next: 0, line: Vec::new(), invalid_count: 0 }
    }

    /// Scans of up to `count` ranges of the order, as of the same moment.
    pub(crate) fn parts(store: &Arc<FileStore>, count: usize) -> Result<Vec<Self>> {
        let ids = store.ids()?;
        let size = ids.len().div_ceil(count.max(1)).max(1);
        Ok(ids.chunks(size).map(|ids| Self::of(store, ids.to_vec())).collect())
    }

    /// The next document as a line, without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        while let Some(id) = self.ids.get(self.next) {
            self.store.handle.check_open()?;
            let reading = self.store.read(id, &mut self.line)?;
            self.next += 1;
            match reading {
                Reading::Document => return Ok(Some(&self.line)),
                Reading::Missing => {} // deleted since
                Reading::Invalid(invalid) => {
                    self.invalid_count += 1;
                    if self.invalid_count <= REPORTED_MAX {
                        let path = self.store.paths.document(&self.ids[self.next - 1]);
                        let (line, reason) = (invalid.line, invalid.reason);
                        let text = format!("{}:{line}: {reason}; it is skipped", path.display());
                        self.store.handle.notice([Notice(text)]);
                    }
                }
            }
        }
        if self.invalid_count > REPORTED_MAX {
            let more = self.invalid_count - REPORTED_MAX;
            let folder = self.store.paths.docs.display();
            let text = format!(
                "{folder}: {more} more files are not documents; `folio validate` lists them"
            );
            self.store.handle.notice([Notice(text)]);
            self.invalid_count = 0;
        }
        Ok(None)
    }

    /// Documents scanned, and the total. The sizes of files are not known in advance.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.next as u64, self.ids.len() as u64)
    }
}
