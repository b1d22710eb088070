//! Slots: the positions of a node's cells, in key order.
//!
//! ```text
//! pages of up to 8 KiB   u24   13 bits: the cell's offset in the page, 11 bits: its size
//! greater pages          u32   16 bits and 16 bits
//! ```
//!
//! Numbers are little endian, with the offset in the lower bits. A cell takes at most a quarter of
//! its page, so eleven bits hold any cell size of a small page.

use std::ops::Range;

use super::{HEADER_SIZE, put, put_u32};

/// The maximum size of a slot.
pub(super) const SLOT_SIZE_MAX: usize = 4;

/// The largest page with slots of three bytes.
const SMALL_PAGE: usize = 8192;
/// Bits of the offset in such a slot.
const OFFSET_BITS: u32 = SMALL_PAGE.trailing_zeros();

/// The size of a slot in a page of a given size.
#[inline]
pub(super) fn size(page_size: usize) -> usize {
    if page_size <= SMALL_PAGE { 3 } else { SLOT_SIZE_MAX }
}

/// The byte range of some cells' slots.
#[inline]
pub(super) fn range(page_size: usize, cells: Range<usize>) -> Range<usize> {
    let size = size(page_size);
    HEADER_SIZE + size * cells.start..HEADER_SIZE + size * cells.end
}

/// The start of a cell.
#[inline]
pub(super) fn offset(page: &[u8], index: usize) -> usize {
    cell(page, index).start
}

/// The byte range of a cell. In a damaged page it may be outside the page.
#[inline]
pub(super) fn cell(page: &[u8], index: usize) -> Range<usize> {
    decode(&page[range(page.len(), index..index + 1)])
}

/// The byte ranges of some cells, in slot order.
#[inline]
pub(super) fn cells(
    page: &[u8],
    cells: Range<usize>,
) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator {
    page[range(page.len(), cells)].chunks_exact(size(page.len())).map(decode)
}

#[inline]
fn decode(slot: &[u8]) -> Range<usize> {
    let (offset, size) = match *slot {
        [a, b, c] => {
            let slot = u32::from_le_bytes([a, b, c, 0]);
            (slot & ((1 << OFFSET_BITS) - 1), slot >> OFFSET_BITS)
        }
        [a, b, c, d] => (u16::from_le_bytes([a, b]).into(), u16::from_le_bytes([c, d]).into()),
        _ => unreachable!("slots have three bytes or four"),
    };
    offset as usize..(offset + size) as usize
}

/// Sets the position of a cell.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "pages have at most 64 KiB")]
pub(super) fn set(page: &mut [u8], index: usize, cell: Range<usize>) {
    let (offset, size) = (cell.start as u32, cell.len() as u32);
    let start = range(page.len(), index..index + 1).start;
    if page.len() <= SMALL_PAGE {
        let [a, b, c, _] = (offset | size << OFFSET_BITS).to_le_bytes();
        put(page, start, [a, b, c]);
    } else {
        let slot = offset | size << u16::BITS;
        put_u32(page, start, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZES;
    use super::*;
    use crate::page::node::cell_cost_max;

    #[test]
    fn a_slot_holds_every_cell_that_a_page_may_have() {
        for page_size in PAGE_SIZES {
            let most = cell_cost_max(page_size);
            for cell in [HEADER_SIZE..HEADER_SIZE, page_size - 1..page_size, 100..100 + most] {
                let mut page = vec![0xee; page_size];
                for index in [1, 0, 2] {
                    set(&mut page, index, cell.clone());
                }
                let cells = [0, 1, 2].map(|index| super::cell(&page, index));
                assert_eq!(cells, [cell.clone(), cell.clone(), cell], "{page_size}");
                assert_eq!(page[range(page_size, 0..3).end], 0xee, "{page_size}");
            }
        }
    }
}
