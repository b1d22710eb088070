//! Passes over rows without making batches: they count, or collect keys. Only the compared columns
//! of a row are decoded; where none is compared, rows are counted by leaf.

use std::ops::Range;

use folio_types::{Value, key};

use super::Scan;
use crate::btree::Direction;
use crate::error::Result;
use crate::page::key::Key;
use crate::page::node::Node;
use crate::snapshot::Reader;

impl Scan {
    /// The number of rows in the next leaf; `None` at the end. Use it from the start of a scan and
    /// do not mix it with other calls.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn next_count(&mut self, reader: &Reader<'_>) -> Result<Option<usize>> {
        self.pass_leaf(reader, usize::MAX, |scan, node, cells| match scan.tests.is_empty() {
            // Every row in the range counts; none is looked at.
            true => Ok(cells.len().min(scan.left)),
            false => scan.pass_cells(reader, node, cells, |_, _| Ok(())),
        })
    }

    /// Passes over `count` rows, or all if there are fewer, and returns how many. If rows have to be
    /// tested, it passes over none.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn skip(&mut self, reader: &Reader<'_>, count: usize) -> Result<usize> {
        let mut skipped = 0;
        while self.tests.is_empty()
            && skipped < count
            && let Some(passed) = self.pass_leaf(reader, count - skipped, |scan, _, cells| {
                Ok(cells.len().min(scan.left))
            })?
        {
            skipped += passed;
        }
        Ok(skipped)
    }

    /// Appends the primary keys of the next leaf's rows, the values of each row in sequence.
    /// Returns the number of rows; `None` at the end. Use it from the start of a scan and do not
    /// mix it with other calls.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn next_keys(
        &mut self,
        reader: &Reader<'_>,
        keys: &mut Vec<Value>,
    ) -> Result<Option<usize>> {
        let mut buffer = Vec::new();
        self.pass_leaf(reader, usize::MAX, |scan, node, cells| {
            scan.pass_cells(reader, node, cells, |key, whole| {
                let mut rest = match &scan.entries {
                    Some(entries) => entries.row_key(key.bytes(whole), &mut buffer)?,
                    None => key.bytes(whole),
                };
                for (position, column) in scan.table.layout.key.iter().enumerate() {
                    let column_index = scan.table.schema.primary_key.get(position);
                    let value = key::decode(column, &mut rest);
                    keys.push(value.ok_or_else(|| {
                        scan.table.mismatch(column_index.copied().unwrap_or(usize::MAX))
                    })?);
                }
                Ok(())
            })
        })
    }

    /// Passes the next cells of a leaf that lie in the range, at most `room`, and returns what `pass`
    /// does: the number of rows that count.
    #[inline]
    fn pass_leaf(
        &mut self,
        reader: &Reader<'_>,
        room: usize,
        pass: impl FnOnce(&Self, Node<'_>, Range<usize>) -> Result<usize>,
    ) -> Result<Option<usize>> {
        self.find_place_again(reader)?;
        if self.is_done || self.left == 0 {
            return Ok(None);
        }
        let Some((leaf, done)) = self.next_leaf(reader)? else { return Ok(None) };
        let page = self.cursor.page_again(reader, leaf)?;
        let node = Node::new(&page);
        let part = self.part(node, done, room);
        let cells = self.cells_of(node, &part);
        let count = pass(self, node, cells.clone())?;
        let last = cells.len().checked_sub(1).map(|last| self.in_order(&cells, last));
        if let Some(last) = last {
            node.key(last).copy_to(&mut self.last);
        }
        self.left -= count;
        self.go_on_after(leaf, done, &part);
        Ok(Some(count))
    }

    /// Visits the rows of cells that satisfy the conditions, in walk order. Passes each row's key in
    /// the walked tree, and a buffer to assemble it. Returns the number of rows.
    fn pass_cells(
        &self,
        reader: &Reader<'_>,
        node: Node<'_>,
        cells: Range<usize>,
        mut pass: impl FnMut(Key<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<usize> {
        let (mut count, mut whole) = (0, Vec::new());
        for cell in (0..cells.len()).map(|at| self.in_order(&cells, at)) {
            if count == self.left {
                break;
            }
            let (key, value) = (node.key(cell), node.value(cell));
            if self.tests.is_empty() || self.fulfils(reader, key, value, &mut whole)? {
                pass(key, &mut whole)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// The cell that the walk meets at a place, from 0.
    fn in_order(&self, cells: &Range<usize>, at: usize) -> usize {
        match self.direction {
            Direction::Forward => cells.start + at,
            Direction::Backward => cells.end - 1 - at,
        }
    }
}
