//! A node of a B+tree: cells sorted by key, found through slots.
//!
//! ```text
//! header │ slot 0 │ slot 1 │ … →   hole   ← … │ cell │ cell │
//! ```
//!
//! A slot is the offset (u16) and the size (u16) of its cell; slots stand in the
//! order of the keys, cells in any. A cell is the size of its key (u16), the key,
//! and the value up to the cell's end. In a leaf the value is the row or nothing;
//! in an inner node it is the child (u32) with keys from this one on, and the
//! header's link is the child with the keys before the first.

use std::cmp::Ordering;
use std::ops::Range;

use super::{HEADER_SIZE, count, get_u16, get_u32, link, put_u16, put_u32};
use crate::ids::PageId;

pub(crate) const SLOT_SIZE: usize = 4;
const KEY_SIZE_SIZE: usize = 2;

/// What a cell takes, slot included.
pub(crate) fn cell_cost(key_size: usize, value_size: usize) -> usize {
    SLOT_SIZE + KEY_SIZE_SIZE + key_size + value_size
}

/// The greatest cell: four must fit a page, so that splitting always helps.
pub(crate) fn cell_cost_max(page_size: usize) -> usize {
    (page_size - HEADER_SIZE) / 4
}

/// A node to read. The page has passed [`check_layout`].
#[derive(Clone, Copy)]
pub(crate) struct Node<'p> {
    page: &'p [u8],
}

impl<'p> Node<'p> {
    #[inline]
    pub(crate) fn new(page: &'p [u8]) -> Self {
        Self { page }
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        count(self.page)
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.page[21] == 0
    }

    #[inline]
    fn cell(self, index: usize) -> &'p [u8] {
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        let offset = usize::from(get_u16(self.page, slot));
        let size = usize::from(get_u16(self.page, slot + 2));
        &self.page[offset..offset + size]
    }

    /// Key and value of a cell.
    #[inline]
    pub(crate) fn entry(self, index: usize) -> (&'p [u8], &'p [u8]) {
        let cell = self.cell(index);
        let key_size = usize::from(u16::from_le_bytes([cell[0], cell[1]]));
        cell[KEY_SIZE_SIZE..].split_at(key_size)
    }

    /// Keys and values of a range of cells.
    #[inline]
    pub(crate) fn entries(
        self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = (&'p [u8], &'p [u8])> + ExactSizeIterator {
        let page = self.page;
        let slots = HEADER_SIZE + SLOT_SIZE * range.start..HEADER_SIZE + SLOT_SIZE * range.end;
        let (slots, _) = page[slots].as_chunks::<SLOT_SIZE>();
        slots.iter().map(move |&[a, b, c, d]| {
            let offset = usize::from(u16::from_le_bytes([a, b]));
            let size = usize::from(u16::from_le_bytes([c, d]));
            let cell = &page[offset..offset + size];
            let (key_size, rest) =
                cell.split_first_chunk::<KEY_SIZE_SIZE>().unwrap_or((&[0; 2], &[]));
            rest.split_at(usize::from(u16::from_le_bytes(*key_size)))
        })
    }

    #[inline]
    pub(crate) fn key(self, index: usize) -> &'p [u8] {
        self.entry(index).0
    }

    #[inline]
    pub(crate) fn value(self, index: usize) -> &'p [u8] {
        self.entry(index).1
    }

    /// Position of the key, or where it would stand.
    #[inline]
    pub(crate) fn search(self, key: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match compare(self.key(middle), key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// The same, with a position where the key may be: whoever comes again finds it at
    /// once, and so do keys behind the last, which rows in key order have.
    #[inline]
    pub(crate) fn search_near(self, hint: usize, key: &[u8]) -> Result<usize, usize> {
        let len = self.len();
        if hint < len && self.key(hint) == key {
            return Ok(hint);
        }
        if len > 0 && hint >= len && compare(self.key(len - 1), key) == Ordering::Less {
            return Err(len);
        }
        self.search(key)
    }

    /// Number of children: one more than there are cells.
    pub(crate) fn child_count(self) -> usize {
        self.len() + 1
    }

    /// A child: 0 is the link, `n` the value of cell `n - 1`.
    #[inline]
    pub(crate) fn child(self, index: usize) -> PageId {
        match index.checked_sub(1) {
            None => link(self.page),
            Some(cell) => PageId(get_u32(self.value(cell), 0)),
        }
    }

    /// Which child holds the key.
    #[inline]
    pub(crate) fn child_index(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(index) => index + 1,
            Err(index) => index,
        }
    }

    /// Bytes of slots and live cells.
    pub(crate) fn used_size(self) -> usize {
        let cells = self.page.len() - get_u32(self.page, 28) as usize;
        SLOT_SIZE * self.len() + cells - get_u32(self.page, 32) as usize
    }

    /// Bytes that cells and slots can have in all.
    pub(crate) fn capacity(self) -> usize {
        self.page.len() - HEADER_SIZE
    }

    /// Offset of a cell's value in the page, with its size: for whoever keeps the
    /// page and not the borrow.
    pub(crate) fn value_range(self, index: usize) -> Range<usize> {
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        let offset = usize::from(get_u16(self.page, slot));
        let size = usize::from(get_u16(self.page, slot + 2));
        let key_size = usize::from(get_u16(self.page, offset));
        offset + KEY_SIZE_SIZE + key_size..offset + size
    }
}

/// Compares keys. Most differ within eight bytes, or are no longer; those of four are
/// integers and dates.
#[inline]
fn compare(left: &[u8], right: &[u8]) -> Ordering {
    if let (&[a, b, c, d], &[e, f, g, h]) = (left, right) {
        return u32::from_be_bytes([a, b, c, d]).cmp(&u32::from_be_bytes([e, f, g, h]));
    }
    let (Some(first), Some(second)) = (left.first_chunk::<8>(), right.first_chunk::<8>()) else {
        return left.cmp(right);
    };
    match u64::from_be_bytes(*first).cmp(&u64::from_be_bytes(*second)) {
        Ordering::Equal if left.len() == 8 && right.len() == 8 => Ordering::Equal,
        Ordering::Equal => left[8..].cmp(&right[8..]),
        other => other,
    }
}

/// A node to change.
pub(crate) struct NodeMut<'p> {
    page: &'p mut [u8],
}

impl<'p> NodeMut<'p> {
    pub(crate) fn new(page: &'p mut [u8]) -> Self {
        Self { page }
    }

    pub(crate) fn as_node(&self) -> Node<'_> {
        Node::new(self.page)
    }

    /// Inserts a cell before position `index`; `false` when there is no room.
    pub(crate) fn insert(&mut self, index: usize, key: &[u8], value: &[u8]) -> bool {
        let size = KEY_SIZE_SIZE + key.len() + value.len();
        if self.as_node().used_size() + SLOT_SIZE + size > self.as_node().capacity() {
            return false;
        }
        let len = self.as_node().len();
        let slots_end = HEADER_SIZE + SLOT_SIZE * (len + 1);
        if (get_u32(self.page, 28) as usize) < slots_end + size {
            self.compact();
        }
        let offset = get_u32(self.page, 28) as usize - size;
        put_u32(self.page, 28, small(offset));
        self.write_cell(offset, key, value);
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        self.page.copy_within(slot..slots_end - SLOT_SIZE, slot + SLOT_SIZE);
        self.set_slot(index, offset, size);
        put_u16(self.page, 22, (len + 1) as u16);
        true
    }

    /// Removes a cell.
    pub(crate) fn remove(&mut self, index: usize) {
        let len = self.as_node().len();
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        let dead = usize::from(get_u16(self.page, slot + 2));
        self.page.copy_within(slot + SLOT_SIZE..HEADER_SIZE + SLOT_SIZE * len, slot);
        put_u16(self.page, 22, (len - 1) as u16);
        self.add_dead(dead);
    }

    /// Gives a cell another value; `false` when there is no room, and nothing changed.
    pub(crate) fn replace(&mut self, index: usize, value: &[u8]) -> bool {
        let range = self.as_node().value_range(index);
        if range.len() == value.len() {
            self.page[range].copy_from_slice(value);
            return true;
        }
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        if value.len() < range.len() {
            let offset = usize::from(get_u16(self.page, slot));
            let shorter_by = range.len() - value.len();
            self.page[range.start..range.start + value.len()].copy_from_slice(value);
            self.set_slot(index, offset, range.end - offset - shorter_by);
            self.add_dead(shorter_by);
            return true;
        }
        if self.as_node().used_size() + value.len() - range.len() > self.as_node().capacity() {
            return false;
        }
        let key = self.as_node().key(index).to_vec();
        self.remove(index);
        let is_in = self.insert(index, &key, value);
        assert!(is_in, "the room was counted before");
        true
    }

    /// Sets child `index` of an inner node.
    pub(crate) fn set_child(&mut self, index: usize, child: PageId) {
        match index.checked_sub(1) {
            None => super::set_link(self.page, child),
            Some(cell) => {
                let range = self.as_node().value_range(cell);
                self.page[range].copy_from_slice(&child.0.to_le_bytes());
            }
        }
    }

    /// Takes all cells out.
    pub(crate) fn clear(&mut self) {
        put_u16(self.page, 22, 0);
        put_u32(self.page, 28, small(self.page.len()));
        put_u32(self.page, 32, 0);
    }

    fn write_cell(&mut self, offset: usize, key: &[u8], value: &[u8]) {
        put_u16(self.page, offset, key.len() as u16);
        let start = offset + KEY_SIZE_SIZE;
        self.page[start..start + key.len()].copy_from_slice(key);
        self.page[start + key.len()..start + key.len() + value.len()].copy_from_slice(value);
    }

    fn set_slot(&mut self, index: usize, offset: usize, size: usize) {
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        put_u16(self.page, slot, offset as u16);
        put_u16(self.page, slot + 2, size as u16);
    }

    fn add_dead(&mut self, size: usize) {
        let dead = get_u32(self.page, 32) + small(size);
        put_u32(self.page, 32, dead);
    }

    /// Moves the cells together at the end of the page.
    fn compact(&mut self) {
        let old = self.page.to_vec();
        let node = Node::new(&old);
        let mut end = self.page.len();
        for index in 0..node.len() {
            let cell = node.cell(index);
            end -= cell.len();
            self.page[end..end + cell.len()].copy_from_slice(cell);
            self.set_slot(index, end, cell.len());
        }
        put_u32(self.page, 28, small(end));
        put_u32(self.page, 32, 0);
    }
}

fn small(size: usize) -> u32 {
    u32::try_from(size).expect("sizes within a page")
}

/// Whether slots, cells and keys lie within the page.
pub(super) fn check_layout(page: &[u8]) -> Result<(), String> {
    let len = count(page);
    let slots_end = HEADER_SIZE + SLOT_SIZE * len;
    let cell_start = get_u32(page, 28) as usize;
    if slots_end > cell_start || cell_start > page.len() {
        return Err(format!("{len} slots and cells from byte {cell_start} overlap"));
    }
    let is_leaf = page[21] == 0;
    let mut live = 0;
    for index in 0..len {
        let slot = HEADER_SIZE + SLOT_SIZE * index;
        let offset = usize::from(get_u16(page, slot));
        let size = usize::from(get_u16(page, slot + 2));
        if offset < cell_start || offset + size > page.len() || size < KEY_SIZE_SIZE {
            return Err(format!("cell {index} at {offset} with {size} bytes is outside"));
        }
        let key_size = usize::from(get_u16(page, offset));
        let value_size = (size - KEY_SIZE_SIZE).checked_sub(key_size);
        if value_size.is_none_or(|value_size| !is_leaf && value_size != 4) {
            return Err(format!("the key of cell {index} has an impossible size {key_size}"));
        }
        live += size;
    }
    if cell_start + live + get_u32(page, 32) as usize != page.len() {
        return Err("the cells and the dead bytes do not add up".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{PageKind, initialise};
    use super::*;
    use crate::ids::TreeId;
    use std::collections::BTreeMap;

    /// A node and a map under the same random changes.
    #[test]
    fn a_node_is_a_small_sorted_map() {
        for seed in 0..40u64 {
            let mut random = seed * 2 + 1;
            let mut next = |below: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                (random >> 33) % below
            };
            let mut page = vec![0xee; 4096];
            initialise(&mut page, PageId(1), PageKind::Node, 0, TreeId(9));
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            for step in 0..2000 {
                let key = format!("{:03}", next(200)).into_bytes();
                let value = vec![step as u8; next(120) as usize];
                let mut node = NodeMut::new(&mut page);
                match (node.as_node().search(&key), next(3)) {
                    (Ok(index), 0) => {
                        node.remove(index);
                        model.remove(&key);
                    }
                    (Ok(index), _) => {
                        if node.replace(index, &value) {
                            model.insert(key, value);
                        }
                    }
                    (Err(index), _) => {
                        if node.insert(index, &key, &value) {
                            model.insert(key, value);
                        }
                    }
                }
                assert_eq!(check_layout(&page), Ok(()), "seed {seed} step {step}");
                let node = Node::new(&page);
                let found = (0..node.len()).map(|index| node.entry(index));
                let expected = model.iter().map(|(key, value)| (&key[..], &value[..]));
                assert!(found.eq(expected), "seed {seed} step {step}");
            }
        }
    }
}
