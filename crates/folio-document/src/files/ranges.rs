//! Ranges of the order that other processes read. A checksum over the names, sizes and times of the
//! files proves that they read the same documents.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::{FileScan, FileStore};
use crate::error::{Error, Result};
use crate::range::DocumentRange;

impl FileStore {
    /// At most `count` ranges with about the same number of documents.
    pub(crate) fn ranges(&self, count: usize) -> Result<Vec<DocumentRange>> {
        let ids = self.ids()?;
        let size = ids.len().div_ceil(count.max(1)).max(1);
        let range = |(number, part): (usize, &[Arc<str>])| {
            let start = (number * size) as u64;
            let document_count = part.len() as u64;
            let end = start + document_count;
            let checksum = self.checksum(part)?;
            Ok(DocumentRange { start, end, document_count, checksum, omits_replaced: false })
        };
        ids.chunks(size).enumerate().map(range).collect()
    }

    fn checksum(&self, ids: &[Arc<str>]) -> Result<u64> {
        let mut hasher = Xxh3::new();
        for id in ids {
            hasher.update(id.as_bytes());
            hasher.update(&[0]); // no id holds one
            let stat = self.stat_document(&self.paths.document(id))?;
            let (size, modified_ns) = stat.map_or((0, 0), |stat| (stat.size, stat.modified_ns));
            hasher.update(&size.to_le_bytes());
            hasher.update(&(modified_ns as u64).to_le_bytes());
        }
        Ok(hasher.digest())
    }
}

impl FileScan {
    /// The documents of a range.
    pub(crate) fn range(store: &Arc<FileStore>, range: &DocumentRange) -> Result<Self> {
        let ids = store.ids()?;
        let wanted = ids.get(range.start as usize..range.end as usize);
        let changed = || Error::Changed { collection: store.handle.collection().to_owned() };
        let wanted = wanted.ok_or_else(changed)?;
        if store.checksum(wanted)? != range.checksum {
            return Err(changed());
        }
        Ok(Self::of(store, wanted.to_vec()))
    }
}
