//! The end of a leaf, for whoever appends many cells: what [`NodeMut::append`] reads from the
//! page for each of them, known from the last.
//!
//! For keys of one size, with at most eight bytes of their own behind at most sixteen that
//! all share: ids that ascend, and what begins with one.

use super::super::slot;
use super::{Node, put_u16, put_u32};

/// Bytes looked at of the prefix, and of what is behind it.
const PREFIX_MAX: usize = 16;
const REST_MAX: usize = 8;

/// What the end of a leaf is like. It holds as long as nobody else changes the leaf.
#[derive(Debug)]
pub(crate) struct Tail {
    prefix_size: usize,
    rest_size: usize,
    /// What all keys begin with, as a number, and the last key's own bytes as another.
    prefix: u128,
    last: u64,
    len: usize,
    /// Where the last slot ends, and the last cell begins.
    slots_end: usize,
    cells_start: usize,
}

impl Tail {
    /// Of a leaf with some cells; `None` where its keys are not such.
    pub(crate) fn of(node: Node<'_>) -> Option<Self> {
        let last = node.len().checked_sub(1)?;
        let (prefix_size, rest_size) = (node.shape.prefix_size(), node.shape.same_size()?);
        let is_such = (1..=PREFIX_MAX).contains(&prefix_size)
            && (1..=REST_MAX).contains(&rest_size)
            && prefix_size + rest_size >= PREFIX_MAX;
        if !is_such {
            return None;
        }
        let key = node.key(last).to_vec();
        Some(Self {
            prefix_size,
            rest_size,
            prefix: prefix_of(&key, prefix_size)?,
            last: rest_of(&key, rest_size)?,
            len: node.len(),
            slots_end: slot::range(node.page.len(), 0..node.len()).end,
            cells_start: super::get_u32(node.page, 28) as usize,
        })
    }

    /// Appends a cell to the leaf, as [`NodeMut::append`] does; `false`, and nothing changed,
    /// where that or more is needed.
    ///
    /// [`NodeMut::append`]: super::NodeMut::append
    #[inline]
    pub(crate) fn append(&mut self, page: &mut [u8], key: &[u8], value: &[u8]) -> bool {
        let (Some(prefix), Some(rest)) =
            (prefix_of(key, self.prefix_size), rest_of(key, self.rest_size))
        else {
            return false;
        };
        let is_next = key.len() == self.prefix_size + self.rest_size
            && prefix == self.prefix
            && rest > self.last;
        let (size, slot_size) = (self.rest_size + value.len(), slot::size(page.len()));
        if !is_next || self.slots_end + slot_size + size > self.cells_start {
            return false;
        }
        let start = self.cells_start - size;
        // The key's own bytes, and as many more as make eight, which the value then covers: a
        // copy of unknown length is a call.
        match page.get_mut(start..start + REST_MAX).filter(|_| size >= REST_MAX) {
            Some(eight) => {
                let own = rest << (8 * (REST_MAX - self.rest_size));
                eight.copy_from_slice(&own.to_be_bytes());
            }
            None => page[start..start + self.rest_size].copy_from_slice(&key[self.prefix_size..]),
        }
        page[start + self.rest_size..self.cells_start].copy_from_slice(value);
        slot::set(page, self.len, start..self.cells_start);
        self.len += 1;
        self.slots_end += slot_size;
        (self.cells_start, self.last) = (start, rest);
        put_u32(page, 28, start as u32);
        put_u16(page, 22, self.len as u16);
        true
    }
}

/// The first bytes of a key as a number; there are one to sixteen, and sixteen in the key.
#[inline]
fn prefix_of(key: &[u8], size: usize) -> Option<u128> {
    let first = key.first_chunk::<PREFIX_MAX>()?;
    Some(u128::from_be_bytes(*first) >> (8 * (PREFIX_MAX - size)))
}

/// The last bytes of a key as a number; there are one to eight.
#[inline]
fn rest_of(key: &[u8], size: usize) -> Option<u64> {
    let unused = 8 * (REST_MAX - size);
    let last = key.last_chunk::<REST_MAX>()?;
    Some(u64::from_be_bytes(*last) << unused >> unused)
}
