//! Searches keys in a node.
//!
//! The shared prefix is stripped from the key once; then only the rest is compared with the cells.

use std::cmp::Ordering;

use super::Node;
use crate::page::key::{compare, first_bytes};
use crate::page::slot;

impl Node<'_> {
    /// The position of the key, or where it would be inserted.
    #[inline]
    pub(crate) fn search(self, key: &[u8]) -> Result<usize, usize> {
        match self.after_prefix(key) {
            Ok(rest) => self.search_rest(rest),
            Err(Ordering::Less) => Err(0),
            Err(_) => Err(self.len()),
        }
    }

    /// The same, with a guess of the position. Repeated searches and ascending keys then hit at
    /// once.
    #[inline]
    pub(crate) fn search_near(self, hint: usize, key: &[u8]) -> Result<usize, usize> {
        let rest = match self.after_prefix(key) {
            Ok(rest) => rest,
            Err(Ordering::Less) => return Err(0),
            Err(_) => return Err(self.len()),
        };
        let order_at = |cell: usize| compare(self.entry(cell).0, rest);
        let order = if hint < self.len() { order_at(hint) } else { Ordering::Greater };
        match order {
            Ordering::Equal => Ok(hint),
            Ordering::Greater if (1..=self.len()).contains(&hint) && order_at(hint - 1).is_lt() => {
                Err(hint)
            }
            _ => self.search_rest(rest),
        }
    }

    /// The first cell from `first` on whose key lacks the prefix; `None` if all have it.
    #[inline]
    pub(crate) fn end_of_prefixed(self, first: usize, start: &[u8]) -> Option<usize> {
        let own = self.prefix();
        let (shared, after) = start.split_at(own.len().min(start.len()));
        let mut cells = first..self.len();
        if own[..shared.len()] != *shared {
            return (!cells.is_empty()).then_some(first);
        }
        let size = after.len();
        if (1..=8).contains(&size) && self.header.same_size().is_some_and(|own| own >= size) {
            let unused = 64 - 8 * size as u32;
            let wanted = first_bytes(after) >> unused;
            return cells.find(|cell| self.first_eight(*cell) >> unused != wanted);
        }
        let begins_so = |rest: &[u8]| match rest.get(..size) {
            Some(begin) => compare(begin, after) == Ordering::Equal,
            None => false,
        };
        self.entries(cells).position(|(rest, _)| !begins_so(rest)).map(|cell| first + cell)
    }

    /// Whether a key can be appended after all keys of the node, which must not be empty, without
    /// changing its header.
    #[inline]
    pub(super) fn comes_last(self, key: &[u8]) -> bool {
        if !self.header.has_room(key.len()) || !self.begins_as_all(key) {
            return false;
        }
        let (last, rest) = (self.len() - 1, &key[self.header.prefix_size()..]);
        let short = self.header.same_size().filter(|size| (1..=8).contains(size));
        let (Some(size), Some(end)) = (short, key.last_chunk()) else {
            return compare(self.entry(last).0, rest) == Ordering::Less;
        };
        // Compare both as numbers.
        let unused = 64 - 8 * size as u32;
        self.first_eight(last) >> unused < u64::from_be_bytes(*end) << unused >> unused
    }

    /// Whether a key has the shared prefix of the node. Most are shorter than sixteen bytes: two
    /// words, where a comparison of unknown length would be a call.
    #[inline]
    fn begins_as_all(self, key: &[u8]) -> bool {
        let prefix = self.prefix();
        let Some(start) = key.get(..prefix.len()) else { return false };
        match (prefix.len(), key.first_chunk(), self.page.last_chunk()) {
            (0, ..) => true,
            (1..8, Some(first), Some(last)) => {
                // The prefix is at the end of the page.
                let unused = 64 - 8 * prefix.len() as u32;
                let prefix = u64::from_be_bytes(*last) << unused >> unused;
                u64::from_be_bytes(*first) >> unused == prefix
            }
            (8..=16, ..) => {
                start.first_chunk::<8>() == prefix.first_chunk()
                    && start.last_chunk::<8>() == prefix.last_chunk()
            }
            _ => start == prefix,
        }
    }

    /// The key without the node's shared prefix. If it lacks the prefix, whether it comes before or
    /// after all keys of the node.
    #[inline]
    fn after_prefix(self, key: &[u8]) -> Result<&[u8], Ordering> {
        let prefix = self.prefix();
        let (start, rest) = key.split_at(prefix.len().min(key.len()));
        match compare(start, prefix) {
            Ordering::Equal => Ok(rest),
            other => Err(other),
        }
    }

    #[inline]
    fn search_rest(self, rest: &[u8]) -> Result<usize, usize> {
        if (1..=8).contains(&rest.len()) && self.header.same_size() == Some(rest.len()) {
            return self.search_short(rest);
        }
        self.binary_search(|cell| compare(self.entry(cell).0, rest))
    }

    /// Compares keys of one size of up to eight bytes as numbers.
    #[inline]
    fn search_short(self, rest: &[u8]) -> Result<usize, usize> {
        let unused = 64 - 8 * rest.len() as u32;
        let wanted = first_bytes(rest);
        self.binary_search(|cell| (self.first_eight(cell) >> unused << unused).cmp(&wanted))
    }

    /// The bytes from the start of a cell as a number, if cells begin with their keys. The bytes
    /// after the key are arbitrary.
    #[inline]
    fn first_eight(self, cell: usize) -> u64 {
        let offset = slot::offset(self.page, cell);
        match self.page.get(offset..offset + 8).and_then(<[u8]>::first_chunk) {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => first_bytes(self.entry(cell).0),
        }
    }

    #[inline]
    fn binary_search(self, compare: impl Fn(usize) -> Ordering) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match compare(middle) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }
}
