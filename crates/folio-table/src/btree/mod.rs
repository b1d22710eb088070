//! B+trees. Keys and values are bytes, encoded by the caller.
//!
//! A tree's root page never changes, so references to the tree stay valid when it grows: the root's
//! content moves down instead. Leaves are not linked. A [`Cursor`] walks through the parents, so a
//! scan can look ahead and a leaf can change without its neighbours.
//!
//! - insert: seek the leaf; if it is full, split it, and its ancestors as needed. At the
//!   end of the tree the old page stays full and the new one starts empty, so that
//!   rows in key order fill pages. The transaction's leaf hint saves the descent for a key
//!   near the last one, and a [`HeldLeaf`] the page lookup for many keys in order.
//! - build: a [`Builder`] fills the pages of an empty tree one after the other.
//! - delete: a page less than a third full is merged with a neighbour if both
//!   fit one page; a root with one child is replaced by it.
//!
//! Each page is checked against its parent: it must have the same tree number, and a level one
//! lower. So damage cannot cause an endless loop.

mod bulk;
mod cursor;
mod delete;
mod insert;
mod locate;

pub(crate) use bulk::Builder;
pub(crate) use cursor::{Cursor, Direction};
pub(crate) use insert::HeldLeaf;

use std::ops::Range;

use crate::buffer::PageGuard;
use crate::edit::Step;
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};
use crate::page::node::{Node, cell_cost, cell_cost_max};
use crate::page::{self, PageKind};
use crate::pager::Pages;

/// A tree: its number and its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) id: TreeId,
    pub(crate) root: PageId,
}

/// The path from the root to a leaf: inner nodes, then the leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) steps: Vec<Step>,
    pub(crate) leaf: PageId,
}

impl Tree {
    /// A node of this tree, with the `level` that its parent requires, if any.
    pub(crate) fn node<'s>(
        self,
        pages: &impl Pages<'s>,
        page: PageId,
        level: Option<u8>,
    ) -> Result<PageGuard<'s>> {
        self.check_number(pages, page)?;
        let guard = pages.pin(page)?;
        self.check(&guard, page, level)?;
        Ok(guard)
    }

    fn check_number<'s>(self, pages: &impl Pages<'s>, page: PageId) -> Result<()> {
        if !page.is_some() || page.0 > pages.page_count() {
            return Err(Error::page(
                page,
                format!(
                    "tree {} points to it, but there are {} pages",
                    self.id,
                    pages.page_count()
                ),
            ));
        }
        Ok(())
    }

    #[inline]
    fn check(self, bytes: &[u8], page: PageId, level: Option<u8>) -> Result<()> {
        let fits = PageKind::of(bytes) == Some(PageKind::Node)
            && page::tree(bytes) == self.id
            && level.is_none_or(|level| page::level(bytes) == level);
        if fits { Ok(()) } else { Err(self.mismatch(bytes, page, level)) }
    }

    #[cold]
    fn mismatch(self, bytes: &[u8], page: PageId, level: Option<u8>) -> Error {
        let expected = level.map_or_else(String::new, |level| format!(" at level {level}"));
        let found = match PageKind::of(bytes) {
            Some(PageKind::Node) => {
                format!("a node of tree {} at level {}", page::tree(bytes), page::level(bytes))
            }
            Some(PageKind::Overflow) => "an overflow page".to_owned(),
            _ => "a page of the free list".to_owned(),
        };
        Error::page(page, format!("tree {}{expected} points to it, but it is {found}", self.id))
    }

    /// The value of a key: its page, and the range in it.
    pub(crate) fn get<'s>(
        self,
        pages: &impl Pages<'s>,
        key: &[u8],
    ) -> Result<Option<(PageGuard<'s>, Range<usize>)>> {
        let leaf = self.leaf(pages, key)?;
        let node = Node::new(&leaf);
        let found = node.search(key).ok().map(|index| node.value_range(index));
        Ok(found.map(|range| (leaf, range)))
    }

    /// The first key with a prefix.
    pub(crate) fn first_with_prefix<'s>(
        self,
        pages: &impl Pages<'s>,
        prefix: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let mut cursor = Cursor::forward(self, pages, Some(prefix))?;
        while let Some(leaf) = cursor.next_leaf(pages)? {
            let node = Node::new(&leaf);
            let at = node.search(prefix).unwrap_or_else(|at| at);
            if at < node.len() {
                let key = node.key(at);
                return Ok(key.starts_with(prefix).then(|| key.to_vec()));
            }
        }
        Ok(None)
    }

    /// Goes down from a page, whose `level` its parent requires, to a leaf. `choose` takes each inner
    /// node on the way, with its page, and answers the number of a child.
    #[inline]
    pub(crate) fn descend<'s>(
        self,
        pages: &impl Pages<'s>,
        (mut page, level): (PageId, Option<u8>),
        mut choose: impl FnMut(PageId, Node<'_>) -> usize,
    ) -> Result<(PageId, PageGuard<'s>)> {
        let mut guard = self.node(pages, page, level)?;
        loop {
            let node = Node::new(&guard);
            if node.is_leaf() {
                return Ok((page, guard));
            }
            page = node.child(choose(page, node));
            let level = page::level(&guard) - 1;
            guard = self.node(pages, page, Some(level))?;
        }
    }

    /// The leaf for a key.
    pub(crate) fn leaf<'s>(self, pages: &impl Pages<'s>, key: &[u8]) -> Result<PageGuard<'s>> {
        let (_, leaf) = self.descend(pages, (self.root, None), |_, node| node.child_index(key))?;
        Ok(leaf)
    }

    /// The number of its pages. Leaves are counted by their parents, and not read.
    pub(crate) fn page_count<'s>(self, pages: &impl Pages<'s>) -> Result<u64> {
        let mut count = 1;
        let mut left = vec![(self.root, None)];
        while let Some((page, level)) = left.pop() {
            let guard = self.node(pages, page, level)?;
            let node = Node::new(&guard);
            if node.is_leaf() {
                continue;
            }
            count += node.child_count() as u64;
            let below = page::level(&guard) - 1;
            if below > 0 {
                left.extend((0..node.child_count()).map(|at| (node.child(at), Some(below))));
            }
        }
        Ok(count)
    }

    /// The path to the leaf for a key.
    pub(crate) fn seek<'s>(self, pages: &impl Pages<'s>, key: &[u8]) -> Result<Path> {
        let mut steps = Vec::with_capacity(4);
        let (leaf, _) = self.descend(pages, (self.root, None), |page, node| {
            let child_index = node.child_index(key);
            steps.push(Step { page, child_index });
            child_index
        })?;
        Ok(Path { steps, leaf })
    }
}

/// The shortest key after `left` and not after `right`: the separator for an inner node.
pub(crate) fn separator<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    &right[..(same + 1).min(right.len())]
}

/// Refuses a key that does not fit a page together with a reference to a chain.
///
/// # Errors
/// [`Error::KeyTooLong`].
pub(crate) fn check_key_size(page_size: usize, key: &[u8]) -> Result<()> {
    let (size, limit) = (key.len(), key_size_max(page_size));
    if size > limit {
        return Err(Error::KeyTooLong { size, limit });
    }
    Ok(())
}

/// The maximum key size, leaving room for a small value.
pub(crate) fn key_size_max(page_size: usize) -> usize {
    cell_cost_max(page_size) - cell_cost(0, 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_separate() {
        for (left, right, expected) in
            [("a", "b", "b"), ("abc", "abd", "abd"), ("ab", "abcd", "abc"), ("aXX", "bYY", "b")]
        {
            let found = separator(left.as_bytes(), right.as_bytes());
            assert_eq!(found, expected.as_bytes());
            assert!(left.as_bytes() < found && found <= right.as_bytes());
        }
    }
}
