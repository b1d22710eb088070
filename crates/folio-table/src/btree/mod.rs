//! B+trees: keys are bytes, values are bytes, both as the caller encodes them.
//!
//! A tree's root stays where it is for the tree's life, so whoever names a tree by
//! its root need not be told when it grows: the root's content moves down
//! instead. Leaves are not linked; a [`Cursor`] walks by way of the parents, which
//! lets a scan look ahead and a leaf change without its neighbours.
//!
//! - insert: seek the leaf; if it is full, split it, and so up the path. Past the
//!   end of the tree the old page stays full and the new one starts empty, so that
//!   rows in key order fill pages. The transaction's leaf hint spares the descent for a key
//!   near the last one, and a [`HeldLeaf`] the way to the page for many in order.
//! - build: a [`Builder`] fills the pages of an empty tree one after the other.
//! - delete: a page less than a third full is merged with a neighbour where both
//!   fit one page; a root with one child takes its place.
//!
//! Each page is checked against what the way to it demands: its tree, and a level
//! one below its parent's. So no damage can lead in circles.

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

/// The way from the root to a leaf: inner nodes, then the leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) steps: Vec<Step>,
    pub(crate) leaf: PageId,
}

impl Tree {
    /// A node of this tree. `level` is what its parent says, if one was asked.
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
                format!("tree {} leads to it, but there are {} pages", self.id, pages.page_count()),
            ));
        }
        Ok(())
    }

    #[inline]
    fn check(self, bytes: &[u8], page: PageId, level: Option<u8>) -> Result<()> {
        let fits = PageKind::of(bytes) == Some(PageKind::Node)
            && page::tree(bytes) == self.id
            && level.is_none_or(|level| page::level(bytes) == level);
        if fits { Ok(()) } else { Err(self.misfit(bytes, page, level)) }
    }

    #[cold]
    fn misfit(self, bytes: &[u8], page: PageId, level: Option<u8>) -> Error {
        let expected = level.map_or_else(String::new, |level| format!(" at level {level}"));
        let found = match PageKind::of(bytes) {
            Some(PageKind::Node) => {
                format!("a node of tree {} at level {}", page::tree(bytes), page::level(bytes))
            }
            Some(PageKind::Overflow) => "an overflow page".to_owned(),
            _ => "a page of the free list".to_owned(),
        };
        Error::page(page, format!("tree {}{expected} leads to it, but it is {found}", self.id))
    }

    /// The value under a key: its page, and where in it.
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

    /// The first key that begins so.
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

    /// The leaf that has the key, or would have it.
    pub(crate) fn leaf<'s>(self, pages: &impl Pages<'s>, key: &[u8]) -> Result<PageGuard<'s>> {
        let mut guard = self.node(pages, self.root, None)?;
        loop {
            let node = Node::new(&guard);
            if node.is_leaf() {
                return Ok(guard);
            }
            let child = node.child(node.child_index(key));
            let level = page::level(&guard) - 1;
            guard = self.node(pages, child, Some(level))?;
        }
    }

    /// The way to the leaf that has the key, or would have it.
    pub(crate) fn seek<'s>(self, pages: &impl Pages<'s>, key: &[u8]) -> Result<Path> {
        let mut steps = Vec::with_capacity(4);
        let mut page = self.root;
        let mut guard = self.node(pages, page, None)?;
        loop {
            let node = Node::new(&guard);
            if node.is_leaf() {
                return Ok(Path { steps, leaf: page });
            }
            let child_index = node.child_index(key);
            steps.push(Step { page, child_index });
            page = node.child(child_index);
            let level = page::level(&guard) - 1;
            guard = self.node(pages, page, Some(level))?;
        }
    }
}

/// The shortest key that comes after `left` and not after `right`: what an inner
/// node needs to tell them apart.
pub(crate) fn separator<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    &right[..(same + 1).min(right.len())]
}

/// Refuses a key that fits no page. A reference to a chain must fit beside it.
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

/// The longest key that a page takes, with room for a small value.
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
