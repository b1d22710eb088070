//! Columns indexes: which rows are copied in files of columns, and which changed since.
//!
//! The files are made and read by the caller: their bytes have no meaning here. What is here makes
//! them transactional. An index is a tree like any other, so every snapshot has its own:
//!
//! ```text
//! key                  value
//! (empty)              the parts, in the order of their rows
//! the key of a row     nothing: the row was inserted, updated or deleted since its part was made
//! ```
//!
//! A part is a copy of the rows after those of the part before it, up to and including its last key.
//! Rows after the last part are in none, and need no entry when they change.

use std::sync::Arc;

use crate::btree::Cursor;
use crate::catalog::{ColumnsIndex, Table};
use crate::error::{Error, Result};
use crate::overflow;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::scan::{Lookup, RowRange, lookup_encoded};
use crate::snapshot::Reader;

/// The key of the list of parts. No row has it.
pub(crate) const PARTS: &[u8] = &[];

/// The first byte of the list of parts.
const LIST: u8 = 1;

/// A file with a copy of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPart {
    /// Its number, which no other file of the index has.
    pub number: u64,
    /// What proves that a file is the one that was made.
    pub sum: u64,
    /// How many rows it has, those that changed since included.
    pub row_count: u64,
    /// The key of its last row, or of one that was there.
    pub last_key: Vec<u8>,
}

/// The list of parts as it is stored.
pub(crate) fn parts_to_bytes(parts: &[RowPart]) -> Vec<u8> {
    let mut bytes = vec![LIST];
    for part in parts {
        for word in [part.number, part.sum, part.row_count] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&(part.last_key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&part.last_key);
    }
    bytes
}

/// The parts in a stored list; `None` for other bytes.
fn parts_of_bytes(bytes: &[u8]) -> Option<Vec<RowPart>> {
    let mut rest = bytes.strip_prefix(&[LIST])?;
    let mut parts: Vec<RowPart> = Vec::new();
    while !rest.is_empty() {
        let mut word = || {
            let (word, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_le_bytes(*word))
        };
        let (number, sum, row_count) = (word()?, word()?, word()?);
        let (size, after) = rest.split_first_chunk::<4>()?;
        let (last_key, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        rest = after;
        if parts.last().is_some_and(|before| &before.last_key[..] >= last_key) {
            return None;
        }
        parts.push(RowPart { number, sum, row_count, last_key: last_key.to_vec() });
    }
    Some(parts)
}

/// The parts of an index.
pub(crate) fn read_parts<'s>(pages: &impl Pages<'s>, index: &ColumnsIndex) -> Result<Vec<RowPart>> {
    let Some((page, range)) = index.tree().get(pages, PARTS)? else { return Ok(Vec::new()) };
    let stored = page[range].to_vec();
    drop(page);
    let whole = overflow::load(pages, index.id, &stored)?.unwrap_or(stored);
    parts_of_bytes(&whole).ok_or_else(|| {
        Error::page(index.root, format!("the parts of index {:?} cannot be read", index.name))
    })
}

/// Calls `see` with the keys of rows in a range that changed, in order, until it says `false`.
pub(crate) fn see_changed<'s>(
    pages: &impl Pages<'s>,
    index: &ColumnsIndex,
    range: &RowRange,
    see: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    let from = range.from.as_deref().unwrap_or(&[0]); // after the list
    let mut cursor = Cursor::forward(index.tree(), pages, Some(from))?;
    while let Some(leaf) = cursor.next_leaf(pages)? {
        let node = Node::new(&leaf);
        let first = node.search(from).unwrap_or_else(|at| at);
        for at in first..node.len() {
            let key = node.key(at).to_vec();
            let is_in = range.to.as_ref().is_none_or(|to| key < *to);
            if !is_in || !see(&key) {
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Reader<'_> {
    /// The parts of a columns index, in the order of their rows.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the index was dropped; errors of the pages.
    pub fn row_parts(&self, table: &Arc<Table>, index: &ColumnsIndex) -> Result<Vec<RowPart>> {
        let table = self.current(table)?;
        read_parts(self, table.current_columns_index(index)?)
    }

    /// The keys of rows in a range that changed since their parts were made, in order; only the first
    /// ones if there are more than `limit`.
    ///
    /// # Errors
    /// As [`Reader::row_parts`].
    pub fn changed_keys(
        &self,
        table: &Arc<Table>,
        index: &ColumnsIndex,
        range: &RowRange,
        limit: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let table = self.current(table)?;
        let mut keys = Vec::new();
        see_changed(self, table.current_columns_index(index)?, range, &mut |key| {
            keys.push(key.to_vec());
            keys.len() < limit
        })?;
        Ok(keys)
    }

    /// The rows with these keys, as [`Table::encoded_key`] makes them, in their order. Keys without a
    /// row are left out.
    ///
    /// # Errors
    /// As [`Reader::lookup`].
    pub fn lookup_encoded(
        &self,
        table: &Arc<Table>,
        keys: &[Vec<u8>],
        projection: &[usize],
    ) -> Result<Lookup> {
        lookup_encoded(self, &self.current(table)?, keys, projection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_parts_are_read_as_written() {
        let part = |number: u64, last_key: &[u8]| RowPart {
            number,
            sum: number << 40,
            row_count: 7,
            last_key: last_key.to_vec(),
        };
        let parts = [part(1, &[128]), part(9, &[128, 0]), part(2, &[200; 300])];
        let bytes = parts_to_bytes(&parts);
        assert_eq!(parts_of_bytes(&bytes).unwrap(), parts);
        assert_eq!(parts_of_bytes(&parts_to_bytes(&[])).unwrap(), []);
        assert!((1..bytes.len()).all(|at| parts_of_bytes(&bytes[..at]).as_deref() != Some(&parts)));
        assert_eq!(parts_of_bytes(&[]), None);
        assert_eq!(parts_of_bytes(&parts_to_bytes(&[part(1, &[2]), part(2, &[1])])), None);
    }
}
