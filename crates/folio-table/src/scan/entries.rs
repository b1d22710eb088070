//! Reads index entries, and the rows they refer to.

use std::sync::Arc;

use super::near::Near;
use super::{ROW_NUMBER, append_rows};
use crate::catalog::{Index, Table};
use crate::error::{Error, Result};
use crate::page::key::Key;
use crate::pager::Pages;
use crate::row::BatchBuilder;

/// Reads the rows of entries, or only the entries if they have all wanted columns.
#[derive(Debug)]
pub(super) struct EntryReader {
    pub(super) index: Index,
    /// Whether the entries have all wanted columns.
    pub(super) is_covering: bool,
}

impl EntryReader {
    /// # Errors
    /// [`Error::NotFound`] when the table no longer has the index.
    pub(super) fn new(table: &Table, index: &Index, projection: &[usize]) -> Result<Self> {
        let index = table.current_index(index)?.clone();
        let is_covering = projection.iter().all(|column| {
            *column == ROW_NUMBER
                || table.schema.primary_key.contains(column)
                || index.columns.iter().any(|(indexed, _)| indexed == column)
        });
        Ok(Self { index, is_covering })
    }

    /// Appends the rows of entries, whose keys share a prefix.
    ///
    /// # Errors
    /// [`Error::CorruptedPage`] for an entry without a row; errors of the pages.
    pub(super) fn append<'s>(
        &self,
        pages: &impl Pages<'s>,
        table: &Arc<Table>,
        builder: &mut BatchBuilder,
        prefix: &[u8],
        entries: &[(&[u8], &[u8])],
    ) -> Result<()> {
        if builder.is_of_entries() {
            return builder.append(prefix, entries);
        }
        let mut near = Near::new(table.tree());
        let mut take = |prefix: &[u8], rows: &[(&[u8], &[u8])]| {
            append_rows(pages, table, builder, prefix, rows)
        };
        let (mut whole, mut buffer) = (Vec::new(), Vec::new());
        for (rest, _) in entries {
            let key = self.row_key(Key { prefix, rest }.bytes(&mut whole), &mut buffer)?;
            if !near.find(pages, key, &mut take)? {
                let problem =
                    format!("index {:?} points to a row that does not exist", self.index.name);
                return Err(Error::page(self.index.root, problem));
            }
        }
        near.leave(&mut take)
    }

    /// The row key of an entry, assembled in `buffer` if necessary.
    ///
    /// # Errors
    /// [`Error::CorruptedPage`] for an invalid entry.
    pub(super) fn row_key<'k>(&self, entry: &'k [u8], buffer: &'k mut Vec<u8>) -> Result<&'k [u8]> {
        let index = &self.index;
        index.row_key(entry, buffer).ok_or_else(|| {
            Error::page(index.root, format!("index {:?} has an invalid entry", index.name))
        })
    }
}
