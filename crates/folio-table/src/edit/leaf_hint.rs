//! Remembers a transaction's last position in a tree.
//!
//! Changes often come in runs: rows in key order, or a row read and then changed. The hint is the
//! path to one leaf and the range of keys that belong there, so that the next key in that range
//! needs no descent. Changing a page in place keeps the path valid. Allocating or freeing a page,
//! or undoing changes, drops the hint.

use crate::ids::{PageId, TreeId};

/// A step from an inner node to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) page: PageId,
    pub(crate) child_index: usize,
}

/// The path to a leaf, and the range of its keys.
#[derive(Debug, Default)]
pub(crate) struct LeafHint {
    /// The tree, by number and root; `None` without a hint.
    tree: Option<(TreeId, PageId)>,
    /// The inner nodes of the path.
    pub(crate) steps: Vec<Step>,
    pub(crate) leaf: PageId,
    /// The last key's position in the leaf, or where it would have been. Only a guess by now, and none
    /// ([`usize::MAX`]) in a leaf that was found just now.
    pub(crate) cell: usize,
    /// The first key of the leaf's range.
    pub(crate) from: Vec<u8>,
    /// The end of the range, exclusive. Valid if `has_end`.
    to: Vec<u8>,
    has_end: bool,
}

impl LeafHint {
    /// Drops the hint.
    pub(crate) fn forget(&mut self) {
        self.tree = None;
    }

    /// The first key of the next leaf, if there is one.
    pub(crate) fn end(&self) -> Option<&[u8]> {
        self.has_end.then_some(&self.to[..])
    }

    /// Whether a key is in the leaf's range.
    #[inline]
    pub(crate) fn covers(&self, tree: (TreeId, PageId), key: &[u8]) -> bool {
        self.reaches(tree, key) && key >= &self.from[..]
    }

    /// Whether a key comes before the end of the leaf's range.
    #[inline]
    pub(crate) fn reaches(&self, tree: (TreeId, PageId), key: &[u8]) -> bool {
        self.tree == Some(tree) && (!self.has_end || key < &self.to[..])
    }

    /// Begins a path at a root, whose range is all keys.
    pub(crate) fn begin(&mut self) {
        self.tree = None;
        self.steps.clear();
        self.from.clear();
        self.has_end = false;
        // A position in another leaf says nothing, and comparing the keys there costs as much as
        // some steps of a search.
        self.cell = usize::MAX;
    }

    /// Narrows the end of the range; each call must pass a smaller key.
    pub(crate) fn end_before(&mut self, copy: impl FnOnce(&mut Vec<u8>)) {
        copy(&mut self.to);
        self.has_end = true;
    }

    /// Ends the path at this leaf.
    pub(crate) fn arrive(&mut self, tree: (TreeId, PageId), leaf: PageId) {
        (self.tree, self.leaf) = (Some(tree), leaf);
    }
}
