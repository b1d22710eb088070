//! Cells by key, those of one leaf together.
//!
//! Keys that are looked up together often lie near each other, and mostly ascend. The
//! leaf of the last one is looked at before the way from the root is taken, the cell
//! behind the last one before the others; and what was found in a leaf is decoded
//! together, when the search leaves it. Where several were found in a leaf, the next one is
//! asked for meanwhile, and looked at first.

use crate::btree::{Cursor, Tree};
use crate::buffer::PageGuard;
use crate::error::Result;
use crate::page::node::Node;
use crate::pager::Pages;

use super::ahead::Ahead;

/// Cells found in a leaf from which on the next leaf is expected to have some as well.
const WALK_MIN: usize = 2;

/// Look-ups in which the next leaf is asked for.
const AHEAD_STEPS: usize = 8;

/// A search that remembers its leaf. What it finds there it hands to `take`: what all keys
/// begin with, and the cells.
pub(super) struct Near<'s> {
    tree: Tree,
    leaf: Option<PageGuard<'s>>,
    /// Before the leaf behind this one, where keys come close to each other.
    cursor: Option<Cursor>,
    ahead: Ahead,
    /// The cells found in it, which nobody has taken yet.
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
        let known = self.position(key);
        let position = match known {
            Some(position) => position,
            None => {
                self.go_to(pages, key, take)?;
                self.node().map_or(Err(0), |node| node.search(key))
            }
        };
        self.found.extend(position.ok().map(|at| at as u32));
        Ok(position.is_ok())
    }

    /// Goes to the leaf that has a key, or would have it.
    fn go_to(
        &mut self,
        pages: &impl Pages<'s>,
        key: &[u8],
        take: &mut impl FnMut(&[u8], &[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<()> {
        let is_walk = self.found.len() >= WALK_MIN;
        self.leave(take)?;
        if !is_walk {
            self.cursor = None;
            self.leaf = Some(self.tree.leaf(pages, key)?);
            return Ok(());
        }
        if self.cursor.is_some() && self.go_on(pages)? && self.has(key) {
            return Ok(());
        }
        self.cursor = Some(Cursor::forward(self.tree, pages, Some(key))?);
        self.go_on(pages)?;
        Ok(())
    }

    /// Goes to the leaf before which the cursor stands; `false` where there is none.
    fn go_on(&mut self, pages: &impl Pages<'s>) -> Result<bool> {
        let Some(cursor) = &mut self.cursor else { return Ok(false) };
        let Some(page) = cursor.next_page(pages)? else { return Ok(false) };
        let leaf = self.tree.node(pages, page, Some(0))?;
        self.ahead = Ahead::of(pages, cursor.upcoming(), leaf.len(), AHEAD_STEPS);
        self.leaf = Some(leaf);
        Ok(true)
    }

    /// Whether a key lies between the keys of the leaf.
    fn has(&self, key: &[u8]) -> bool {
        let ends = self.node().and_then(|node| Some((node, node.len().checked_sub(1)?)));
        ends.is_some_and(|(node, last)| {
            node.key(0).compare(key).is_le() && node.key(last).compare(key).is_ge()
        })
    }

    /// Finds the cells whose keys begin so; returns how many.
    pub(super) fn find_prefixed(
        &mut self,
        pages: &impl Pages<'s>,
        prefix: &[u8],
        take: &mut impl FnMut(&[u8], &[(&[u8], &[u8])]) -> Result<()>,
    ) -> Result<usize> {
        // Where the leaf goes on behind them, there are no more.
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

    /// Hands over what was found in the leaf, and forgets the leaf.
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

    /// Where a key stands in the leaf, or would; `None` where it may belong before it or
    /// behind it.
    fn position(&self, key: &[u8]) -> Option<Result<usize, usize>> {
        let node = self.node()?;
        let position = match *self.found {
            [] => match node.len() {
                0 => None,
                _ => Some(node.search(key)).filter(|position| *position != Err(0)),
            },
            [.., before, last] => {
                node.search_onward(last as usize, last.abs_diff(before) as usize, key)
            }
            [last] => node.search_onward(last as usize, 1, key),
        };
        position.filter(|position| *position != Err(node.len()))
    }
}
