//! A node of a B+tree: cells sorted by key, found through slots.
//!
//! ```text
//! header │ slot 0 │ slot 1 │ … →   hole   ← … │ cell │ cell │ prefix │
//! ```
//!
//! A slot is the offset and the size of its cell (`slot`). Slots are in key order, cells in any
//! order. The prefix that all keys of the node share is stored once, at the page's end. A cell is
//! the size of its key after the prefix, that part of the key, and the value up to the cell's end.
//! In a leaf the value is the row or nothing. In an inner node it is the child (u32) with the keys
//! from this one on, and the header's link is the child with the keys before the first.
//!
//! If all keys of a node have one size, as uuids and numbers do, the size is in the header and not
//! in the cells (`prefix_header`).

mod cell;
mod search;

use std::ops::Range;

use cell::Cell;

use super::key::Key;
use super::prefix_header::PrefixHeader;
use super::slot::{self, SLOT_SIZE_MAX};
use super::{HEADER_SIZE, count, get_u16, get_u32, link, put_u16, put_u32};
use crate::ids::PageId;

/// The maximum bytes for the key size in a cell.
const KEY_SIZE_MAX: usize = 2;

/// The maximum cost of a cell, including its slot.
pub(crate) fn cell_cost(key_size: usize, value_size: usize) -> usize {
    SLOT_SIZE_MAX + KEY_SIZE_MAX + key_size + value_size
}

/// The largest cell: four must fit a page, so that splitting always helps.
pub(crate) fn cell_cost_max(page_size: usize) -> usize {
    (page_size - HEADER_SIZE) / 4
}

/// A node to read. The page has passed [`check_layout`].
#[derive(Clone, Copy)]
pub(crate) struct Node<'p> {
    page: &'p [u8],
    header: PrefixHeader,
}

impl<'p> Node<'p> {
    #[inline]
    pub(crate) fn new(page: &'p [u8]) -> Self {
        Self { page, header: PrefixHeader::of(page) }
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        count(self.page)
    }

    pub(crate) fn is_leaf(self) -> bool {
        self.page[21] == 0
    }

    /// All cells with whole keys, which are assembled in `keys`.
    pub(crate) fn whole_cells<'c>(self, keys: &'c mut Vec<u8>) -> Vec<(&'c [u8], &'c [u8])>
    where
        'p: 'c,
    {
        let prefix = self.prefix();
        keys.clear();
        keys.reserve(self.used_size() + self.len() * prefix.len());
        for (rest, _) in self.entries(0..self.len()) {
            keys.extend_from_slice(prefix);
            keys.extend_from_slice(rest);
        }
        let mut keys = &keys[..];
        let cells = self.entries(0..self.len()).map(|(rest, value)| {
            let key;
            (key, keys) = keys.split_at(prefix.len() + rest.len());
            (key, value)
        });
        cells.collect()
    }

    /// The shared prefix of all keys.
    #[inline]
    pub(crate) fn prefix(self) -> &'p [u8] {
        &self.page[self.page.len() - self.header.prefix_size()..]
    }

    #[inline]
    fn cell(self, index: usize) -> &'p [u8] {
        &self.page[slot::cell(self.page, index)]
    }

    /// Key and value of a cell; the key without the prefix.
    #[inline]
    pub(crate) fn entry(self, index: usize) -> (&'p [u8], &'p [u8]) {
        self.header.divide(self.cell(index))
    }

    /// Calls `see` for each cell, with its whole key.
    ///
    /// # Errors
    /// Those of `see`.
    pub(crate) fn see_all<E>(
        self,
        mut see: impl FnMut(&[u8], &'p [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut key = self.prefix().to_vec();
        self.entries(0..self.len()).try_for_each(|(rest, value)| {
            key.truncate(self.header.prefix_size());
            key.extend_from_slice(rest);
            see(&key, value)
        })
    }

    /// Keys and values of a range of cells; the keys without the prefix.
    #[inline]
    pub(crate) fn entries(
        self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = (&'p [u8], &'p [u8])> + ExactSizeIterator {
        let Self { page, header } = self;
        slot::cells(page, range).map(move |cell| header.divide(&page[cell]))
    }

    #[inline]
    pub(crate) fn key(self, index: usize) -> Key<'p> {
        Key { prefix: self.prefix(), rest: self.entry(index).0 }
    }

    #[inline]
    pub(crate) fn value(self, index: usize) -> &'p [u8] {
        self.entry(index).1
    }

    /// The number of children: one more than cells.
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

    /// The child for a key.
    #[inline]
    pub(crate) fn child_index(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(index) => index + 1,
            Err(index) => index,
        }
    }

    /// Bytes of slots, live cells and the prefix.
    pub(crate) fn used_size(self) -> usize {
        let cells = self.page.len() - get_u32(self.page, 28) as usize;
        slot::size(self.page.len()) * self.len() + cells - usize::from(get_u16(self.page, 32))
    }

    /// The same under another header, which must fit its keys.
    pub(super) fn used_size_as(self, header: PrefixHeader) -> usize {
        let (from, to) = (self.header, header);
        let grown = to.prefix_size() + self.len() * (to.mark_size() + from.prefix_size());
        let shrunk = from.prefix_size() + self.len() * (from.mark_size() + to.prefix_size());
        self.used_size() + grown - shrunk
    }

    /// The sizes of all keys, or of one if they are the same.
    pub(super) fn key_sizes(self) -> impl Iterator<Item = usize> + 'p {
        let looked_at =
            if self.header.same_size().is_some() { self.len().min(1) } else { self.len() };
        (0..looked_at).map(move |cell| self.key(cell).len())
    }

    /// The maximum bytes of cells, slots and the prefix.
    pub(crate) fn capacity(self) -> usize {
        self.page.len() - HEADER_SIZE
    }

    /// The byte range of a cell's value in the page, for callers that hold the page rather than the
    /// borrow.
    pub(crate) fn value_range(self, index: usize) -> Range<usize> {
        let cell = slot::cell(self.page, index);
        cell.end - self.value(index).len()..cell.end
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

    /// Inserts a cell at position `index`, which is the key's; `false` when there is no room.
    pub(crate) fn insert(&mut self, index: usize, key: &[u8], value: &[u8]) -> bool {
        let node = self.as_node();
        let (len, mut header) = (node.len(), node.header);
        if len == 0 || !header.suits(node.prefix(), key) {
            header = PrefixHeader::with(node, key);
        }
        let cell = Cell::new(header, key, value);
        let used = if header == node.header { node.used_size() } else { node.used_size_as(header) };
        let slots = slot::range(self.page.len(), index..len);
        let slot_size = slot::size(self.page.len());
        let size = cell.size();
        if used + slot_size + size > node.capacity() {
            return false;
        }
        let room = slots.end + slot_size + size;
        if header != node.header || (get_u32(self.page, 28) as usize) < room {
            self.repack(header, key);
        }
        let end = get_u32(self.page, 28) as usize;
        let offset = end - size;
        put_u32(self.page, 28, small(offset));
        cell.write(&mut self.page[offset..end]);
        let next = slots.start + slot_size;
        self.page.copy_within(slots, next);
        slot::set(self.page, index, offset..end);
        put_u16(self.page, 22, (len + 1) as u16);
        true
    }

    /// Appends a cell after all others. Returns `false` and changes nothing if its key does not
    /// come last, there is no room, or only [`NodeMut::insert`] can handle the case.
    #[inline]
    pub(crate) fn append(&mut self, key: &[u8], value: &[u8]) -> bool {
        let node = self.as_node();
        let (len, header, page_size) = (node.len(), node.header, node.page.len());
        if len == 0 || !node.comes_last(key) {
            return false;
        }
        let cell = Cell::new(header, key, value);
        let slots_end = slot::range(page_size, 0..len + 1).end;
        let (end, size) = (get_u32(node.page, 28) as usize, cell.size());
        if slots_end + size > end {
            return false;
        }
        let offset = end - size;
        cell.write(&mut self.page[offset..end]);
        put_u32(self.page, 28, offset as u32);
        slot::set(self.page, len, offset..end);
        put_u16(self.page, 22, (len + 1) as u16);
        true
    }

    /// Removes a cell.
    pub(crate) fn remove(&mut self, index: usize) {
        let len = self.as_node().len();
        if len == 1 {
            return self.clear();
        }
        let dead = slot::cell(self.page, index).len();
        let after = slot::range(self.page.len(), index + 1..len);
        self.page.copy_within(after, slot::range(self.page.len(), index..len).start);
        put_u16(self.page, 22, (len - 1) as u16);
        self.add_dead(dead);
    }

    /// Replaces the value of a cell; `false`, with nothing changed, when there is no room.
    pub(crate) fn replace(&mut self, index: usize, value: &[u8]) -> bool {
        let range = self.as_node().value_range(index);
        if range.len() == value.len() {
            self.page[range].copy_from_slice(value);
            return true;
        }
        if value.len() < range.len() {
            let end = range.start + value.len();
            self.page[range.start..end].copy_from_slice(value);
            let offset = slot::offset(self.page, index);
            slot::set(self.page, index, offset..end);
            self.add_dead(range.end - end);
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
                put_u32(self.page, range.start, child.0);
            }
        }
    }

    /// Removes all cells.
    pub(crate) fn clear(&mut self) {
        put_u16(self.page, 22, 0);
        self.begin(PrefixHeader::default(), &[]);
    }

    /// Replaces all cells with these, in key order. They must fit.
    pub(crate) fn fill(&mut self, cells: &[(&[u8], &[u8])]) {
        let header = PrefixHeader::of_cells(cells);
        put_u16(self.page, 22, cells.len() as u16);
        self.begin(header, cells.first().map_or(&[], |(key, _)| key));
        let mut end = get_u32(self.page, 28) as usize;
        for (index, &(key, value)) in cells.iter().enumerate() {
            end = self.set_cell(index, end, &Cell::new(header, key, value));
        }
        put_u32(self.page, 28, small(end));
    }

    /// Writes a cell up to `end`, and its slot. Returns its start.
    #[inline]
    fn set_cell(&mut self, index: usize, end: usize, cell: &Cell<'_>) -> usize {
        let start = end - cell.size();
        cell.write(&mut self.page[start..end]);
        slot::set(self.page, index, start..end);
        start
    }

    /// Starts with no cells, and the prefix of a key.
    fn begin(&mut self, header: PrefixHeader, key: &[u8]) {
        let start = self.page.len() - header.prefix_size();
        self.page[start..].copy_from_slice(&key[..header.prefix_size()]);
        header.write(self.page);
        put_u32(self.page, 28, small(start));
        put_u16(self.page, 32, 0);
    }

    fn add_dead(&mut self, size: usize) {
        let dead = get_u16(self.page, 32) + size as u16;
        put_u16(self.page, 32, dead);
    }

    /// Compacts the cells at the end of the page, under a header that fits their keys. `key` is one
    /// that has the prefix.
    fn repack(&mut self, header: PrefixHeader, key: &[u8]) {
        let old = self.page.to_vec();
        let node = Node::new(&old);
        self.begin(header, key);
        let mut end = get_u32(self.page, 28) as usize;
        // Prefixes only get shorter here: the keys get back the bytes they lose.
        let given_back = &node.prefix()[header.prefix_size().min(node.prefix().len())..];
        let mut key = given_back.to_vec();
        for (index, (rest, value)) in node.entries(0..node.len()).enumerate() {
            key.truncate(given_back.len());
            key.extend_from_slice(rest);
            end = self.set_cell(index, end, &Cell { header, rest: &key, value });
        }
        put_u32(self.page, 28, small(end));
    }
}

fn small(size: usize) -> u32 {
    u32::try_from(size).expect("sizes within a page")
}

/// The size of these cells as one node, with whole keys in order.
pub(crate) fn filled_size(cells: &[(&[u8], &[u8])], page_size: usize) -> usize {
    let header = PrefixHeader::of_cells(cells);
    let whole: usize = cells.iter().map(|(key, value)| key.len() + value.len()).sum();
    let of_each = slot::size(page_size) + header.mark_size();
    header.prefix_size() + whole + cells.len() * of_each - cells.len() * header.prefix_size()
}

/// The maximum size of the cells of two neighbours as one node, including their separator as a key
/// if they are inner nodes.
pub(crate) fn merged_size(left: Node<'_>, right: Node<'_>, separator: Option<&[u8]>) -> usize {
    let (header, between) = PrefixHeader::of_neighbours(left, right, separator);
    let slot_size = slot::size(left.page.len());
    let between = between.map_or(0, |rest| slot_size + header.mark_size() + rest + 4);
    left.used_size_as(header) + right.used_size_as(header) - header.prefix_size() + between
}

/// Checks that slots, cells and keys are within the page.
pub(super) fn check_layout(page: &[u8]) -> Result<(), String> {
    let len = count(page);
    let slots_end = slot::range(page.len(), 0..len).end;
    let cell_start = get_u32(page, 28) as usize;
    let header = PrefixHeader::of(page);
    let cell_end = page.len() - header.prefix_size();
    if slots_end > cell_start || cell_start > cell_end {
        return Err(format!("{len} slots and cells from byte {cell_start} overlap"));
    }
    let is_leaf = page[21] == 0;
    let mut live = 0;
    for index in 0..len {
        let cell = slot::cell(page, index);
        let (offset, size) = (cell.start, cell.len());
        if offset < cell_start || cell.end > cell_end {
            return Err(format!("cell {index} at {offset} with {size} bytes is outside"));
        }
        let value_size = header.value_size(&page[cell]);
        if value_size.is_none_or(|value_size| !is_leaf && value_size != 4) {
            return Err(format!("the key of cell {index} has an impossible size"));
        }
        live += size;
    }
    if cell_start + live + usize::from(get_u16(page, 32)) != cell_end {
        return Err("the cells and the dead bytes do not add up".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
