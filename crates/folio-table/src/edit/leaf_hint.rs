//! Where a transaction was last in a tree.
//!
//! Changes come in runs: rows in key order, a row read and then changed. The hint is the way
//! to one leaf and the range of keys that belong there, so that the next key in that range
//! needs no descent. Changing a page in place leaves the way as it is; whatever allocates or
//! frees a page, or takes changes back, forgets the hint.

use crate::ids::{PageId, TreeId};

/// A step from an inner node to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) page: PageId,
    pub(crate) child_index: usize,
}

/// The way to a leaf, and the keys that lead there.
#[derive(Debug, Default)]
pub(crate) struct LeafHint {
    /// The tree, by its number and its root; `None` without a hint.
    tree: Option<(TreeId, PageId)>,
    /// The inner nodes on the way.
    pub(crate) steps: Vec<Step>,
    pub(crate) leaf: PageId,
    /// Where in the leaf the last key was, or would have been: a guess by now.
    pub(crate) cell: usize,
    /// The first key that belongs to the leaf.
    pub(crate) from: Vec<u8>,
    /// The first key behind it. Counts when `has_end`.
    to: Vec<u8>,
    has_end: bool,
}

impl LeafHint {
    /// There is no hint from now on.
    pub(crate) fn forget(&mut self) {
        self.tree = None;
    }

    /// The first key that belongs to the next leaf, if there is one.
    pub(crate) fn end(&self) -> Option<&[u8]> {
        self.has_end.then_some(&self.to[..])
    }

    /// Whether a key belongs to the leaf, or would.
    #[inline]
    pub(crate) fn covers(&self, tree: (TreeId, PageId), key: &[u8]) -> bool {
        self.tree == Some(tree) && key >= &self.from[..] && (!self.has_end || key < &self.to[..])
    }

    /// Begins a way from a root, to which all keys lead.
    pub(crate) fn begin(&mut self) {
        self.tree = None;
        self.steps.clear();
        self.from.clear();
        self.has_end = false;
    }

    /// Notes the key before which keys lead there; each one noted comes before the last.
    pub(crate) fn end_before(&mut self, copy: impl FnOnce(&mut Vec<u8>)) {
        copy(&mut self.to);
        self.has_end = true;
    }

    /// The way ends at this leaf.
    pub(crate) fn arrive(&mut self, tree: (TreeId, PageId), leaf: PageId) {
        (self.tree, self.leaf) = (Some(tree), leaf);
    }
}
