//! Passes over rows that make no batches: they count, or gather keys. Of a row no more is
//! decoded than is compared with something.

use folio_types::{Value, key};

use super::Scan;
use crate::btree::Direction;
use crate::error::Result;
use crate::page::key::Key;
use crate::page::node::Node;
use crate::snapshot::Reader;

impl Scan {
    /// How many rows the next leaf has; `None` at the end. A scan is counted from its
    /// beginning, by nothing else.
    ///
    /// # Errors
    /// What the pages say.
    pub fn next_count(&mut self, reader: &Reader<'_>) -> Result<Option<usize>> {
        self.pass_leaf(reader, |_, _, _| Ok(()))
    }

    /// Appends the primary keys of the rows of the next leaf, the values of one behind those
    /// of the other; how many rows there are, `None` at the end. Keys are gathered from the
    /// beginning of a scan, by nothing else.
    ///
    /// # Errors
    /// What the pages say.
    pub fn next_keys(
        &mut self,
        reader: &Reader<'_>,
        keys: &mut Vec<Value>,
    ) -> Result<Option<usize>> {
        let mut buffer = Vec::new();
        self.pass_leaf(reader, |scan, key, whole| {
            let mut rest = match &scan.entries {
                Some(entries) => entries.row_key(key.bytes(whole), &mut buffer)?,
                None => key.bytes(whole),
            };
            for (position, column) in scan.table.layout.key.iter().enumerate() {
                let column_index = scan.table.schema.primary_key.get(position);
                let value = key::decode(column, &mut rest);
                keys.push(value.ok_or_else(|| {
                    scan.table.misfit(column_index.copied().unwrap_or(usize::MAX))
                })?);
            }
            Ok(())
        })
    }

    /// Passes over the rows of the next leaf that fulfil the conditions, in the order of the
    /// walk, with the key of each in the tree walked and room to put it together; answers how
    /// many they are.
    #[inline]
    fn pass_leaf(
        &mut self,
        reader: &Reader<'_>,
        mut pass: impl FnMut(&Self, Key<'_>, &mut Vec<u8>) -> Result<()>,
    ) -> Result<Option<usize>> {
        self.find_place_again(reader)?;
        if self.is_done || self.left == 0 {
            return Ok(None);
        }
        let Some(leaf) = self.cursor.next_page(reader)? else { return Ok(None) };
        let page = self.cursor.page_again(reader, leaf)?;
        let node = Node::new(&page);
        let part = self.part(node, 0, usize::MAX);
        let cells = self.cells_of(node, &part);
        let in_order = |at: usize| match self.direction {
            Direction::Forward => cells.start + at,
            Direction::Backward => cells.end - 1 - at,
        };
        let (mut count, mut whole) = (0, Vec::new());
        for cell in (0..cells.len()).map(in_order) {
            if count == self.left {
                break;
            }
            let (key, value) = (node.key(cell), node.value(cell));
            if self.tests.is_empty() || self.fulfils(reader, key, value, &mut whole)? {
                pass(self, key, &mut whole)?;
                count += 1;
            }
        }
        let last = cells.len().checked_sub(1).map(in_order);
        if let Some(last) = last {
            node.key(last).copy_to(&mut self.last);
        }
        self.left -= count;
        self.is_done = part.is_last_leaf;
        Ok(Some(count))
    }
}
