//! Inserting keys that come in order, with the leaf they go to held.

use super::Tree;
use crate::buffer::PageGuardMut;
use crate::edit::Editor;
use crate::error::Result;
use crate::ids::PageId;
use crate::page::node::{Node, NodeMut, Tail};

/// Inserts keys one after the other. As long as they ascend behind the end of a leaf, it
/// is found once and stays pinned; no other change of the tree may come in between
/// without [`Appender::let_go`].
pub(crate) struct Appender<'s> {
    tree: Tree,
    /// The leaf whose last key came last.
    leaf: Option<PageGuardMut<'s>>,
    /// How it ends, where that is known.
    tail: Option<Tail>,
    page: PageId,
    /// The last key that did not go to a leaf which was held.
    last: Vec<u8>,
    /// The keys from here on belong to the next leaf.
    end: Option<Vec<u8>>,
}

impl<'s> Appender<'s> {
    pub(crate) fn new(tree: Tree) -> Self {
        Self { tree, leaf: None, tail: None, page: PageId::NONE, last: Vec::new(), end: None }
    }

    /// Lets go of the leaf.
    pub(crate) fn let_go(&mut self) {
        (self.leaf, self.tail) = (None, None);
    }

    /// Inserts a key; `false` when it is there already, and nothing changed. The cell
    /// fits a leaf.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub(crate) fn push(
        &mut self,
        editor: &mut Editor<'s, '_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let belongs = self.end.as_ref().is_none_or(|end| key < &end[..]);
        let mut is_behind = false;
        if let (true, Some(leaf)) = (belongs, &mut self.leaf) {
            if self.tail.as_mut().is_some_and(|tail| tail.append(leaf, key, value)) {
                return Ok(true);
            }
            let mut node = NodeMut::new(leaf);
            if node.append(key, value) {
                // Keys are as they were before: they have a tail if they had one.
                self.tail = self.tail.take().and_then(|_| Tail::of(node.as_node()));
                return Ok(true);
            }
            let len = node.as_node().len();
            is_behind = node.as_node().search(key) == Err(len);
            if is_behind && node.insert(len, key, value) {
                self.tail = Tail::of(node.as_node());
                return Ok(true);
            }
        }
        let full = if is_behind { self.page } else { PageId::NONE };
        self.let_go();
        if !self.tree.insert(editor, key, value)? {
            return Ok(false);
        }
        // Behind the end of the tree the next page is begun: this one is done with.
        if full.is_some() && self.end.is_none() {
            editor.filled(full)?;
        }
        let ascends = key > &self.last[..];
        self.last.clear();
        self.last.extend_from_slice(key);
        if ascends {
            self.hold(editor, key)?;
        }
        Ok(true)
    }

    /// Takes hold of the leaf of a key that is there, if it is the last one.
    fn hold(&mut self, editor: &mut Editor<'s, '_>, key: &[u8]) -> Result<()> {
        let page = self.tree.locate(editor, key)?;
        let leaf = editor.pin_mut(page)?;
        let node = Node::new(&leaf);
        if node.len().checked_sub(1).is_some_and(|last| node.key(last).compare(key).is_eq()) {
            self.end = editor.edit.hint.end().map(<[u8]>::to_vec);
            self.page = page;
            self.tail = Tail::of(node);
            self.leaf = Some(leaf);
        }
        Ok(())
    }
}
