//! The files of an index that fit the data, and the lines after them in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::file::{FieldFault, FieldFile, KEY_SIZE_MAX, Keyed};
use super::range::KeyRange;
use crate::index::Entry;

/// Keys of lines after the last file, sorted by key and place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recent(BTreeMap<Place, (bool, Entry)>);

/// A key, and the offset of a line.
type Place = (Box<[u8]>, u64);

impl Recent {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, key: &[u8], entry: Entry) {
        let is_cut = key.len() > KEY_SIZE_MAX;
        let key = &key[..key.len().min(KEY_SIZE_MAX)];
        self.0.insert((key.into(), entry.offset()), (is_cut, entry));
    }

    /// The first entry at or after a key, or after an entry.
    pub(super) fn next(&self, key: &[u8], after: Option<u64>) -> Option<Keyed<'_>> {
        let from = (Box::from(key), after.unwrap_or(0));
        let from = if after.is_some() { Bound::Excluded(from) } else { Bound::Included(from) };
        let ((key, _), (is_cut, entry)) = self.0.range((from, Bound::Unbounded)).next()?;
        Some((key, *is_cut, *entry))
    }

    /// The last entry before a key, or before an entry; without a key, the last of all.
    pub(super) fn previous(&self, key: Option<&[u8]>, before: u64) -> Option<Keyed<'_>> {
        let to = match key {
            Some(key) => Bound::Excluded((Box::from(key), before)),
            None => Bound::Unbounded,
        };
        let ((key, _), (is_cut, entry)) = self.0.range((Bound::Unbounded, to)).next_back()?;
        Some((key, *is_cut, *entry))
    }
}

/// What of the data file an index knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Covered {
    /// The generation of the view that this belongs to; `None` before the first use.
    pub(crate) generation: Option<u64>,
    /// By range of lines, without gaps.
    pub(crate) files: Vec<Arc<FieldFile>>,
    pub(crate) recent: Arc<Recent>,
    /// Lines that start before this have entries.
    pub(crate) end: u64,
    /// The last of them has no end, so more text may become part of it.
    pub(crate) is_open: bool,
}

impl Covered {
    /// Where the files end.
    pub(crate) fn files_end(&self) -> u64 {
        self.files.last().map_or(0, |file| file.header.end)
    }

    /// Calls `each` for every entry whose key begins with these bytes, file after file, until it
    /// says to stop. For lookups, which need no cursor: few entries are met, in any order.
    pub(crate) fn each_with(
        &self,
        prefix: &[u8],
        mut each: impl FnMut(Keyed<'_>) -> Result<bool, FieldFault>,
    ) -> Result<(), FieldFault> {
        for file in &self.files {
            let mut position = file.seek(prefix)?;
            let mut found = file.entry(position)?;
            while let Some(keyed) = found.filter(|(key, ..)| key.starts_with(prefix)) {
                if !each(keyed)? {
                    return Ok(());
                }
                found = file.advance(&mut position)?;
            }
        }
        let mut found = if self.recent.len() > 0 { self.recent.next(prefix, None) } else { None };
        while let Some(keyed) = found.filter(|(key, ..)| key.starts_with(prefix)) {
            if !each(keyed)? {
                return Ok(());
            }
            found = self.recent.next(keyed.0, Some(keyed.2.offset()));
        }
        Ok(())
    }

    /// About how many keys are in a range. Those in memory, which are few, all count.
    pub(crate) fn key_count(&self, range: &KeyRange) -> Result<u64, FieldFault> {
        let in_files = self.files.iter().map(|file| file.key_count(range));
        Ok(in_files.sum::<Result<u64, _>>()? + self.recent.len() as u64)
    }

    /// Forgets the lines in memory.
    pub(crate) fn without_recent(&mut self) {
        self.recent = Arc::default();
        self.end = self.files_end();
        self.is_open = false;
    }
}
