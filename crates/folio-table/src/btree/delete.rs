//! Deletes keys, and merges pages so that they do not stay half empty.

use super::{Path, Tree};
use crate::edit::{Editor, Step};
use crate::error::Result;
use crate::ids::PageId;
use crate::page::node::{Node, NodeMut, merged_size};
use crate::page::{self, PageKind};
use crate::pager::Pages;

impl Tree {
    /// Deletes a key; `false` when there is no such key.
    ///
    /// # Errors
    /// Errors of the pages; the transaction must then return to its last mark.
    pub(crate) fn delete(self, editor: &mut Editor<'_, '_>, key: &[u8]) -> Result<bool> {
        let page = self.locate(editor, key)?;
        let leaf = self.node(editor, page, Some(0))?;
        let Ok(index) = self.locate_cell(editor, &leaf, key) else { return Ok(false) };
        drop(leaf);
        let mut leaf = editor.pin_mut(page)?;
        NodeMut::new(&mut leaf).remove(index);
        let is_small = is_small(&leaf);
        drop(leaf);
        if is_small {
            let path = self.located(editor);
            self.merge_up(editor, path)?;
        }
        Ok(true)
    }

    /// Merges a page with a neighbour, and continues up the path as needed.
    fn merge_up(self, editor: &mut Editor<'_, '_>, path: Path) -> Result<()> {
        let mut steps = path.steps;
        while let Some(step) = steps.pop() {
            if !self.merge(editor, step)? {
                return Ok(());
            }
            let parent = self.node(editor, step.page, None)?;
            let is_root = step.page == self.root;
            if is_root && Node::new(&parent).len() == 0 {
                let only_child = Node::new(&parent).child(0);
                drop(parent);
                return self.lower_root(editor, only_child);
            }
            if is_root || !is_small(&parent) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Merges the child of a step with its left neighbour, or its right if it is
    /// the first; `false` when they do not fit one page.
    fn merge(self, editor: &mut Editor<'_, '_>, step: Step) -> Result<bool> {
        let parent = self.node(editor, step.page, None)?;
        let node = Node::new(&parent);
        if node.len() == 0 {
            return Ok(false);
        }
        let left_index = step.child_index.saturating_sub(1).min(node.len() - 1);
        let (left, right) = (node.child(left_index), node.child(left_index + 1));
        let separator = node.key(left_index).to_vec();
        let level = page::level(&parent) - 1;
        drop(parent);
        let left_page = self.node(editor, left, Some(level))?;
        let right_page = self.node(editor, right, Some(level))?;
        let between = (level > 0).then_some(&separator[..]);
        let total = merged_size(Node::new(&left_page), Node::new(&right_page), between);
        if total > Node::new(&left_page).capacity() {
            return Ok(false);
        }
        let (left_bytes, right_bytes) = (left_page.to_vec(), right_page.to_vec());
        drop((left_page, right_page));
        join(&mut editor.pin_mut(left)?, &left_bytes, &right_bytes, between);
        let mut parent = editor.pin_mut(step.page)?;
        NodeMut::new(&mut parent).remove(left_index);
        drop(parent);
        editor.free(right)?;
        Ok(true)
    }

    /// Replaces the root with its only child.
    fn lower_root(self, editor: &mut Editor<'_, '_>, child: PageId) -> Result<()> {
        let bytes = self.node(editor, child, None)?.to_vec();
        let node = Node::new(&bytes);
        let mut root = editor.pin_mut(self.root)?;
        page::initialise(&mut root, self.root, PageKind::Node, page::level(&bytes), self.id);
        super::insert::fill(&mut root, page::link(&bytes), &node.whole_cells(&mut Vec::new()));
        drop(root);
        editor.free(child)
    }

    /// Adds every page of the tree to the free list. Calls `visit_leaf` for each leaf first.
    ///
    /// # Errors
    /// Errors of the pages.
    pub(crate) fn drop_all(
        self,
        editor: &mut Editor<'_, '_>,
        mut visit_leaf: impl FnMut(&mut Editor<'_, '_>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut left = vec![(self.root, None)];
        while let Some((page, level)) = left.pop() {
            self.check_number(editor, page)?;
            let guard = editor.pin_for_scan(page)?;
            self.check(&guard, page, level)?;
            let bytes = guard.to_vec();
            drop(guard);
            let node = Node::new(&bytes);
            if node.is_leaf() {
                visit_leaf(editor, &bytes)?;
            } else {
                let below = page::level(&bytes) - 1;
                left.extend((0..node.child_count()).map(|child| (node.child(child), Some(below))));
            }
            editor.free(page)?;
        }
        Ok(())
    }
}

fn is_small(page: &[u8]) -> bool {
    let node = Node::new(page);
    node.used_size() < node.capacity() / 3
}

/// Copies the cells of two neighbours into one page.
fn join(page: &mut [u8], left: &[u8], right: &[u8], separator: Option<&[u8]>) {
    let (mut left_keys, mut right_keys) = (Vec::new(), Vec::new());
    let mut cells = Node::new(left).whole_cells(&mut left_keys);
    // The right page's first child now needs a key: the parent's separator.
    let first_child = page::link(right).0.to_le_bytes();
    cells.extend(separator.map(|separator| (separator, &first_child[..])));
    cells.extend(Node::new(right).whole_cells(&mut right_keys));
    super::insert::fill(page, page::link(left), &cells);
}
