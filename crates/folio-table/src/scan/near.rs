//! Looks up cells by key, grouped by leaf.
//!
//! Keys of one lookup are often close together, and mostly ascend. So the leaf of the last one is
//! searched before descending from the root. The cells found in a leaf are decoded together, when
//! the search leaves it. Where several were found in a leaf, the next leaf is searched after it, and
//! prefetched meanwhile.

use super::ahead::Ahead;
use crate::btree::{Cursor, Tree};
use crate::buffer::PageGuard;
use crate::error::Result;
use crate::page::node::Node;
use crate::pager::Pages;

/// The next leaf is expected to have keys, too, after this many were found in one.
const DENSE: usize = 2;

/// Searches during which the next leaf is prefetched.
const AHEAD_STEPS: usize = 8;

/// A search that remembers its leaf. It passes the cells found there to `take`, with their shared
/// key prefix.
pub(super) struct Near<'s> {
    tree: Tree,
    leaf: Option<PageGuard<'s>>,
    /// Before the next leaf, where keys are dense.
    cursor: Option<Cursor>,
    ahead: Ahead,
    /// The cells found in the leaf, not passed on yet.
    found: Vec<u32>,
}

impl<'s> Near<'s> {
    pub(super) fn new(tree: Tree) -> Self {
        Self { tree, leaf: None, cursor: None, ahead: Ahead::default(), found: Vec::new() }
    }

    /// Finds the cell with a key; `false` when there is none.
    pub(super) fn find(
        &mut self,
        pages: &impl Pages<'s>,
        key: &[u8],
        take: &mut impl FnMut(&[u8], &[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<bool> {
        self.ahead.step();
        let position = match self.position(key) {
            Some(position) => position,
            None => {
                self.move_to(pages, key, take)?;
                self.node().map_or(Err(0), |node| node.search(key))
            }
        };
        self.found.extend(position.ok().map(|at| at as u32));
        Ok(position.is_ok())
    }

    /// Moves to the leaf of a key.
    fn move_to(
        &mut self,
        pages: &impl Pages<'s>,
        key: &[u8],
        take: &mut impl FnMut(&[u8], &[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<()> {
        let is_dense = self.found.len() >= DENSE;
        self.leave(take)?;
        if !is_dense {
            self.cursor = None;
            self.leaf = Some(self.tree.leaf(pages, key)?);
            return Ok(());
        }
        self.move_on(pages)?;
        if self.position(key).is_none() {
            self.cursor = Some(Cursor::forward(self.tree, pages, Some(key))?);
            self.move_on(pages)?;
        }
        Ok(())
    }

    /// Moves to the leaf after the cursor, if there is one, and begins to prefetch the one after it.
    fn move_on(&mut self, pages: &impl Pages<'s>) -> Result<()> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        let Some(page) = cursor.next_page(pages)? else { return Ok(()) };
        let leaf = self.tree.node(pages, page, Some(0))?;
        self.ahead = Ahead::of(pages, cursor.upcoming(), leaf.len(), AHEAD_STEPS);
        self.leaf = Some(leaf);
        Ok(())
    }

    /// Finds the cells whose keys have a prefix; returns how many.
    pub(super) fn find_prefixed(
        &mut self,
        pages: &impl Pages<'s>,
        prefix: &[u8],
        take: &mut impl FnMut(&[u8], &[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<usize> {
        // If other keys follow them in the leaf, there are no more.
        if let (Some(position), Some(node)) = (self.position(prefix), self.node()) {
            let first = position.unwrap_or_else(|at| at);
            if let Some(end) = node.end_of_prefixed(first, prefix) {
                self.found.extend(first as u32..end as u32);
                return Ok(end - first);
            }
        }
        self.leave(take)?;
        let mut cursor = Cursor::forward(self.tree, pages, Some(prefix))?;
        let mut count = 0;
        while let Some(leaf) = cursor.next_leaf(pages)? {
            let node = Node::new(&leaf);
            let first = node.search(prefix).unwrap_or_else(|at| at);
            let end = node.end_of_prefixed(first, prefix);
            let is_last = end.is_some();
            let end = end.unwrap_or(node.len());
            count += end - first;
            self.found.extend(first as u32..end as u32);
            self.leaf = Some(leaf);
            if is_last {
                break;
            }
            self.leave(take)?;
        }
        Ok(count)
    }

    /// Passes on the cells found in the leaf, and leaves it.
    pub(super) fn leave(
        &mut self,
        take: &mut impl FnMut(&[u8], &[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<()> {
        let Some(leaf) = self.leaf.take() else { return Ok(()) };
        if self.found.is_empty() {
            return Ok(());
        }
        let node = Node::new(&leaf);
        let cells = self.found.iter().map(|at| node.entry(*at as usize));
        let cells: Vec<(&[u8], &[u8])> = cells.collect();
        self.found.clear();
        take(node.prefix(), &cells)
    }

    fn node(&self) -> Option<Node<'_>> {
        self.leaf.as_ref().map(|leaf| Node::new(leaf))
    }

    /// The position of a key in the leaf, or its insert position; `None` if it may belong to a leaf
    /// before or after.
    fn position(&self, key: &[u8]) -> Option<Result<usize, usize>> {
        let node = self.node()?;
        // Keys of one lookup are often as far from each other as the last two were.
        let guess = match *self.found {
            [] => 0,
            [last] => last + 1,
            [.., before, last] => last + last.abs_diff(before),
        };
        let position = node.search_near(guess as usize, key);
        (position != Err(0) && position != Err(node.len())).then_some(position)
    }
}
