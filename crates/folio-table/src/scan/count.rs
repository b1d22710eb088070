//! Counting: a scan that makes no rows, and looks at none where every one of a leaf counts.

use super::Scan;
use crate::error::Result;
use crate::page::node::Node;
use crate::reader::Reader;

impl Scan {
    /// How many rows the next leaf has, none of them decoded; `None` at the end. A scan is
    /// counted from its beginning, by nothing else.
    ///
    /// # Errors
    /// What the pages say.
    pub fn next_count(&mut self, reader: &Reader<'_>) -> Result<Option<usize>> {
        self.find_place_again(reader)?;
        if self.is_done || self.left == 0 {
            return Ok(None);
        }
        let Some(leaf) = self.cursor.next_page(reader)? else { return Ok(None) };
        let page = self.cursor.page_again(reader, leaf)?;
        let node = Node::new(&page);
        let part = self.part(node, 0, usize::MAX);
        let cells = self.cells_of(node, &part);
        if let Some(last) = cells.clone().last() {
            node.key(last).copy_to(&mut self.last);
        }
        let (mut count, mut whole) = (0, Vec::new());
        for cell in cells {
            let (key, value) = (node.key(cell), node.value(cell));
            let fulfils = self.tests.is_empty() || self.fulfils(reader, key, value, &mut whole)?;
            count += usize::from(fulfils);
        }
        let count = count.min(self.left);
        self.left -= count;
        self.is_done = part.is_last_leaf;
        Ok(Some(count))
    }
}
