//! One page of a b-tree: its header and its cells.

use crate::bytes::be32;
use crate::pages::HEADER_SIZE;
use crate::record::varint;

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Pointers to child pages of a table.
    TableInterior,
    /// Rows under their row numbers.
    TableLeaf,
    /// Keys, and pointers to child pages.
    IndexInterior,
    /// Keys.
    IndexLeaf,
}

impl PageKind {
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, Self::TableLeaf | Self::IndexLeaf)
    }

    pub(crate) fn is_of_table(self) -> bool {
        matches!(self, Self::TableLeaf | Self::TableInterior)
    }
}

/// A page with a valid header.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) number: u32,
    pub(crate) kind: PageKind,
    bytes: Vec<u8>,
    usable_size: usize,
    cell_count: usize,
    /// The offset of the pointers to cells.
    pointers: usize,
    rightmost: u32,
    /// Bytes of the cells read so far. Cells do not overlap, so this must not exceed the page.
    used: usize,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The child page; 0 in a leaf.
    pub(crate) child: u32,
    /// The row number, in tables.
    pub(crate) row_number: i64,
    /// The total size of the payload in bytes.
    pub(crate) size: usize,
    /// The range of its first bytes in the page.
    pub(crate) local: std::ops::Range<usize>,
    /// The page with the next bytes; 0 if there are none.
    pub(crate) overflow: u32,
}

const OUTSIDE: &str = "a cell lies outside of the page";

impl Page {
    /// Parses a page.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn new(
        number: u32,
        bytes: Vec<u8>,
        usable_size: usize,
    ) -> Result<Self, &'static str> {
        let start = if number == 1 { HEADER_SIZE } else { 0 };
        let kind = match bytes.get(start) {
            Some(2) => PageKind::IndexInterior,
            Some(5) => PageKind::TableInterior,
            Some(10) => PageKind::IndexLeaf,
            Some(13) => PageKind::TableLeaf,
            _ => return Err("it is not a page of a table or an index"),
        };
        let pointers = start + if kind.is_leaf() { 8 } else { 12 };
        let cell_count = be16(&bytes, start + 3);
        if pointers + 2 * cell_count > usable_size {
            return Err("it has more cells than fit");
        }
        let rightmost = if kind.is_leaf() { 0 } else { be32(&bytes, start + 8) };
        Ok(Self { number, kind, bytes, usable_size, cell_count, pointers, rightmost, used: 0 })
    }

    pub(crate) fn cell_count(&self) -> usize {
        self.cell_count
    }

    /// The child page at a position, or the last one.
    ///
    /// # Errors
    /// What is wrong with the cell.
    pub(crate) fn child(&self, index: usize) -> Result<u32, &'static str> {
        if index == self.cell_count {
            return Ok(self.rightmost);
        }
        let offset = self.offset(index)?;
        if offset + 4 > self.usable_size {
            return Err(OUTSIDE);
        }
        Ok(be32(&self.bytes, offset))
    }

    /// The cell at a position, which has a payload.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn cell(&mut self, index: usize) -> Result<Cell, &'static str> {
        let start = self.offset(index)?;
        let mut at = start;
        let mut child = 0;
        if self.kind == PageKind::IndexInterior {
            child = be32(&self.bytes, at);
            at += 4;
        }
        let mut number = || -> Result<u64, &'static str> {
            let bytes = self.bytes.get(at..self.usable_size).ok_or(OUTSIDE)?;
            let (value, size) = varint(bytes).ok_or(OUTSIDE)?;
            at += size;
            Ok(value)
        };
        let size = usize::try_from(number()?).map_err(|_| OUTSIDE)?;
        let row_number = if self.kind.is_of_table() { number()?.cast_signed() } else { 0 };
        let local_size = self.local_size(size);
        let end = at.checked_add(local_size).ok_or(OUTSIDE)?;
        let has_overflow = local_size < size;
        let cell_end = end + if has_overflow { 4 } else { 0 };
        if cell_end > self.usable_size {
            return Err(OUTSIDE);
        }
        self.used += (cell_end - start).max(4);
        if self.used > self.usable_size {
            return Err("its cells overlap");
        }
        let overflow = if has_overflow { be32(&self.bytes, end) } else { 0 };
        Ok(Cell { child, row_number, size, local: at..end, overflow })
    }

    /// The bytes of a cell's payload that are in the page.
    pub(crate) fn local(&self, cell: &Cell) -> &[u8] {
        &self.bytes[cell.local.clone()]
    }

    /// The buffer, for reuse.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn offset(&self, index: usize) -> Result<usize, &'static str> {
        let offset = be16(&self.bytes, self.pointers + 2 * index);
        let first = self.pointers + 2 * self.cell_count;
        if offset < first || offset >= self.usable_size {
            return Err(OUTSIDE);
        }
        Ok(offset)
    }

    /// The size of the payload part in the page. The rest goes to overflow pages, so that a page
    /// holds at least four keys.
    fn local_size(&self, size: usize) -> usize {
        let usable = self.usable_size;
        let max = match self.kind.is_of_table() {
            true => usable - 35,
            false => (usable - 12) * 64 / 255 - 23,
        };
        if size <= max {
            return size;
        }
        let min = (usable - 12) * 32 / 255 - 23;
        let fitting = min + (size - min) % (usable - 4);
        if fitting <= max { fitting } else { min }
    }
}

fn be16(bytes: &[u8], offset: usize) -> usize {
    let two = bytes.get(offset..).and_then(|bytes| bytes.first_chunk::<2>());
    two.map_or(0, |two| usize::from(u16::from_be_bytes(*two)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(cells: &[(usize, &[u8])], count: u8) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[0] = 13;
        bytes[4] = count;
        for (index, (offset, cell)) in cells.iter().enumerate() {
            let pointer = u16::try_from(*offset).unwrap().to_be_bytes();
            bytes[8 + 2 * index..10 + 2 * index].copy_from_slice(&pointer);
            let end = 512.min(offset + cell.len());
            bytes[*offset..end].copy_from_slice(&cell[..end - offset]);
        }
        bytes
    }

    #[test]
    fn cells_are_held_to_their_page() {
        let cell = [3, 7, 2, 1, 42];
        let mut page = Page::new(2, leaf(&[(507, &cell)], 1), 512).unwrap();
        let found = page.cell(0).unwrap();
        assert_eq!((found.row_number, found.size, page.local(&found)), (7, 3, &cell[2..]));
        for (cells, count, problem) in [
            (&[(508, &cell[..])][..], 1, OUTSIDE),
            (&[(4, &cell)], 1, OUTSIDE),
            (&[], 255, "it has more cells than fit"),
        ] {
            let outcome = Page::new(2, leaf(cells, count), 512).and_then(|mut page| page.cell(0));
            assert_eq!(outcome, Err(problem));
        }
        assert!(Page::new(2, vec![0; 512], 512).is_err());
    }

    #[test]
    fn cells_do_not_lie_in_each_other() {
        let mut long = vec![0x82, 0x00, 1];
        long.resize(259, 0);
        let mut page = Page::new(2, leaf(&[(100, &long), (100, &long)], 2), 512).unwrap();
        assert!(page.cell(0).is_ok());
        assert_eq!(page.cell(1), Err("its cells overlap"));
    }
}
