//! Adds many rows to an index: collects their entries, sorts them, and builds or inserts.
//!
//! Up to [`GATHERED_SIZE`] bytes of entries are held. If there are no more, an empty index is built
//! from them in one pass. If there are more, each part is sorted and inserted, which at least
//! visits the pages in order.

use folio_types::ValueRef;

use super::index_entries;
use crate::btree::{self, Builder, HeldLeaf};
use crate::catalog::Index;
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::page;
use crate::page::key::{compare, first_bytes};

/// Bytes of entries to hold before a part is inserted.
const GATHERED_SIZE: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct IndexFiller {
    index: Index,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Whether parts have been inserted already.
    is_started: bool,
    /// The position of the refused row.
    refused: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    size: u32,
    /// The size of the indexed columns; 0 if one of them is null, which equals nothing.
    unique_size: u32,
    /// The position of the row in the input.
    row: u32,
}

impl Entry {
    #[inline]
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.start + self.size as usize]
    }
}

impl IndexFiller {
    pub(super) fn new(index: Index) -> Self {
        let (bytes, entries) = (Vec::new(), Vec::new());
        Self { index, bytes, entries, is_started: false, refused: None }
    }

    /// With a capacity for about this many rows.
    pub(super) fn expecting(index: Index, row_count: usize) -> Self {
        Self { entries: Vec::with_capacity(row_count), ..Self::new(index) }
    }

    /// The position of the refused row, as passed to [`IndexFiller::push_row`].
    pub(super) fn refused(&self) -> Option<usize> {
        self.refused.map(|row| row as usize)
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; those of [`IndexFiller::finish`].
    pub(super) fn push(
        &mut self,
        editor: &mut Editor<'_, '_>,
        values: &[ValueRef<'_>],
        row_key: &[u8],
    ) -> Result<()> {
        if self.bytes.len() >= GATHERED_SIZE {
            self.insert_part(editor)?;
        }
        self.push_row(editor, 0, values, row_key)
    }

    /// Adds the row at a position, without inserting a part.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`].
    pub(super) fn push_row(
        &mut self,
        editor: &Editor<'_, '_>,
        row: usize,
        values: &[ValueRef<'_>],
        row_key: &[u8],
    ) -> Result<()> {
        let start = self.bytes.len();
        let has_null = index_entries::push_prefix(&self.index, values, &mut self.bytes);
        let prefix_size = (self.bytes.len() - start) as u32;
        let unique_size = if self.index.unique && !has_null { prefix_size } else { 0 };
        self.index.complete(&mut self.bytes, row_key);
        let entry = &self.bytes[start..];
        btree::check_key_size(editor.pager.page_size, entry)?;
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        self.entries.push(Entry { start, size: entry.len() as u32, unique_size, row });
        Ok(())
    }

    fn entry(&self, entry: Entry) -> &[u8] {
        entry.of(&self.bytes)
    }

    /// The prefix that no other entry may have; empty if there is no such restriction.
    fn unique(&self, entry: Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + entry.unique_size as usize]
    }

    fn sort(&mut self) -> Result<()> {
        sort_by_bytes(&mut self.entries, &self.bytes);
        let repeated = self.entries.windows(2).find(|pair| {
            let size = pair[1].unique_size as usize;
            size > 0 && self.entry(pair[0]).get(..size) == self.entry(pair[1]).get(..size)
        });
        if let Some(pair) = repeated {
            self.refused = Some(pair[0].row.max(pair[1].row));
            return Err(Error::Conflict { constraint: self.index.name.clone() });
        }
        Ok(())
    }

    /// Sorts the collected entries, and inserts them.
    ///
    /// # Errors
    /// [`Error::Conflict`] when rows are equal in a unique index; errors of the pages.
    pub(super) fn insert_part(&mut self, editor: &mut Editor<'_, '_>) -> Result<()> {
        self.sort()?;
        self.is_started = true;
        let (tree, mut leaf) = (self.index.tree(), HeldLeaf::default());
        for &entry in &self.entries {
            let (key, unique) = (self.entry(entry), self.unique(entry));
            if !tree.insert_held(editor, &mut leaf, key, &[], unique)? {
                self.refused = Some(entry.row);
                return Err(Error::Conflict { constraint: self.index.name.clone() });
            }
        }
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }

    /// Inserts the remaining entries.
    ///
    /// # Errors
    /// [`Error::Conflict`] when rows are equal in a unique index; an error of the device.
    pub(super) fn finish(mut self, editor: &mut Editor<'_, '_>) -> Result<()> {
        if self.is_started {
            return self.insert_part(editor);
        }
        self.sort()?;
        let mut builder = Builder::new(self.index.tree(), editor.pager.page_size);
        for &entry in &self.entries {
            builder.push(editor, self.entry(entry), &[])?;
        }
        builder.finish(editor)
    }
}

/// Sorts entries by their bytes. The eight bytes after the common prefix distinguish most entries.
/// They are sorted as numbers, together with positions. Ties are in input order and are compared as
/// a whole.
fn sort_by_bytes(entries: &mut Vec<Entry>, bytes: &[u8]) {
    let Some(first) = entries.first().map(|entry| entry.of(bytes)) else { return };
    let shared = entries.iter().map(|entry| page::common_size(first, entry.of(bytes))).min();
    let shared = shared.unwrap_or_default();
    let places = entries.iter().zip(0u32..).map(|(entry, place)| {
        let eight = first_bytes(&entry.of(bytes)[shared..]);
        u128::from(eight) << 32 | u128::from(place)
    });
    let mut places: Vec<u128> = places.collect();
    places.sort_unstable();
    *entries = places.iter().map(|place| entries[*place as u32 as usize]).collect();
    let mut rest = &mut entries[..];
    for same in places.chunk_by(|left, right| left >> 32 == right >> 32) {
        let (same, others) = std::mem::take(&mut rest).split_at_mut(same.len());
        same.sort_unstable_by(|left, right| compare(left.of(bytes), right.of(bytes)));
        rest = others;
    }
}
