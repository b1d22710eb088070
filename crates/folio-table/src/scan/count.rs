//! Counts rows, and passes over them, without making batches. Only the compared columns of a row are
//! decoded; where none is compared, rows are counted by leaf.

use std::ops::Range;

use super::Scan;
use crate::btree::Direction;
use crate::error::Result;
use crate::page::node::Node;
use crate::snapshot::Reader;

impl Scan {
    /// The number of rows in the next leaf; `None` at the end. Use it from the start of a scan and
    /// do not mix it with other calls.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn next_count(&mut self, reader: &Reader<'_>) -> Result<Option<usize>> {
        self.pass_leaf(reader, usize::MAX)
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
            && let Some(passed) = self.pass_leaf(reader, count - skipped)?
        {
            skipped += passed;
        }
        Ok(skipped)
    }

    /// Passes the next cells of a leaf that lie in the range, at most `room`, and returns how many rows
    /// they are; `None` at the end.
    fn pass_leaf(&mut self, reader: &Reader<'_>, room: usize) -> Result<Option<usize>> {
        self.find_place_again(reader)?;
        if self.is_done || self.left == 0 {
            return Ok(None);
        }
        let Some((leaf, done)) = self.next_leaf(reader)? else { return Ok(None) };
        let page = self.cursor.page_again(reader, leaf)?;
        let node = Node::new(&page);
        let part = self.part(node, done, room);
        let cells = self.cells_of(node, &part);
        let count = match self.tests.is_empty() {
            // Every row in the range counts; none is looked at.
            true => cells.len().min(self.left),
            false => self.count_cells(reader, node, &cells)?,
        };
        let last = cells.len().checked_sub(1).map(|last| self.in_order(&cells, last));
        if let Some(last) = last {
            node.key(last).copy_to(&mut self.last);
        }
        self.left -= count;
        self.go_on_after(leaf, done, &part);
        Ok(Some(count))
    }

    /// The number of rows of cells that satisfy the conditions, up to the limit of the scan.
    fn count_cells(
        &self,
        reader: &Reader<'_>,
        node: Node<'_>,
        cells: &Range<usize>,
    ) -> Result<usize> {
        let (mut count, mut whole) = (0, Vec::new());
        for cell in (0..cells.len()).map(|at| self.in_order(cells, at)) {
            if count == self.left {
                break;
            }
            count +=
                usize::from(self.fulfils(reader, node.key(cell), node.value(cell), &mut whole)?);
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
