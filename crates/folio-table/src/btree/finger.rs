//! Where a transaction was last in a tree.
//!
//! Changes come in runs: rows in key order, a row read and then changed. The
//! finger remembers the way to one leaf and the keys that belong there, so that
//! the next key in that range needs no descent. Changing a page in place leaves the
//! way as it is; whatever allocates or frees a page, or takes changes back, lifts
//! the finger.

use super::{Path, Step, Tree};
use crate::error::Result;
use crate::ids::PageId;
use crate::page;
use crate::page::node::Node;
use crate::shared::Pages;
use crate::transaction::edit::Editor;

/// The way to a leaf, and the keys that lead there.
#[derive(Debug, Default)]
pub(crate) struct Finger {
    /// `None` while it points nowhere.
    tree: Option<Tree>,
    steps: Vec<Step>,
    leaf: PageId,
    /// Where in the leaf the last key was, or would have been: a guess by now.
    cell: usize,
    from: Vec<u8>,
    /// Counts when `has_end`.
    to: Vec<u8>,
    has_end: bool,
}

impl Finger {
    /// Points nowhere from now on.
    pub(crate) fn lift(&mut self) {
        self.tree = None;
    }

    /// The first key that belongs to the next leaf, if there is one.
    pub(crate) fn end(&self) -> Option<&[u8]> {
        self.has_end.then_some(&self.to[..])
    }

    #[inline]
    fn covers(&self, tree: Tree, key: &[u8]) -> bool {
        self.tree == Some(tree) && key >= &self.from[..] && (!self.has_end || key < &self.to[..])
    }

    fn descend<'s>(&mut self, tree: Tree, pages: &impl Pages<'s>, key: &[u8]) -> Result<()> {
        self.tree = None;
        self.steps.clear();
        self.from.clear();
        self.has_end = false;
        let mut page = tree.root;
        let mut guard = tree.node(pages, page, None)?;
        loop {
            let node = Node::new(&guard);
            if node.is_leaf() {
                (self.tree, self.leaf) = (Some(tree), page);
                return Ok(());
            }
            let child_index = node.child_index(key);
            if child_index > 0 {
                node.key(child_index - 1).copy_to(&mut self.from);
            }
            if child_index < node.len() {
                node.key(child_index).copy_to(&mut self.to);
                self.has_end = true;
            }
            self.steps.push(Step { page, child_index });
            page = node.child(child_index);
            let level = page::level(&guard) - 1;
            guard = tree.node(pages, page, Some(level))?;
        }
    }
}

impl Tree {
    /// The leaf that has the key, or would have it.
    pub(crate) fn locate(self, editor: &mut Editor<'_, '_>, key: &[u8]) -> Result<PageId> {
        if !editor.edit.finger.covers(self, key) {
            let mut finger = std::mem::take(&mut editor.edit.finger);
            let result = finger.descend(self, editor, key);
            editor.edit.finger = finger;
            result?;
        }
        Ok(editor.edit.finger.leaf)
    }

    /// Whether a key begins so, as far as one leaf can tell: `None` where the next leaf
    /// may have it.
    ///
    /// # Errors
    /// What the pages say.
    pub(crate) fn has_prefix(
        self,
        editor: &mut Editor<'_, '_>,
        prefix: &[u8],
    ) -> Result<Option<bool>> {
        let page = self.locate(editor, prefix)?;
        let leaf = self.node(editor, page, Some(0))?;
        let node = Node::new(&leaf);
        let at = node.search(prefix).unwrap_or_else(|at| at);
        if at < node.len() {
            return Ok(Some(node.key(at).starts_with(prefix)));
        }
        // What follows begins so only if what separates the leaves does.
        let end = editor.edit.finger.end();
        Ok(if end.is_some_and(|end| end.starts_with(prefix)) { None } else { Some(false) })
    }

    /// Where the key is in the leaf located last, or would stand.
    pub(crate) fn locate_cell(
        self,
        editor: &mut Editor<'_, '_>,
        leaf: &[u8],
        key: &[u8],
    ) -> Result<usize, usize> {
        let found = Node::new(leaf).search_near(editor.edit.finger.cell, key);
        editor.edit.finger.cell = match found {
            Ok(cell) => cell,
            // Where it stands once it is inserted, the next in order comes behind it.
            Err(cell) => cell + 1,
        };
        found
    }

    /// The way to the leaf that was located last.
    pub(super) fn located(self, editor: &Editor<'_, '_>) -> Path {
        let finger = &editor.edit.finger;
        debug_assert_eq!(finger.tree, Some(self), "the leaf was located");
        Path { steps: finger.steps.clone(), leaf: finger.leaf }
    }
}
