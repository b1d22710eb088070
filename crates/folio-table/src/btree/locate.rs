//! Finds the leaf of a key, from the transaction's leaf hint if possible.

use super::{Path, Tree};
use crate::edit::{Editor, LeafHint, Step};
use crate::error::Result;
use crate::ids::PageId;
use crate::page::node::Node;
use crate::pager::Pages;

impl Tree {
    /// The leaf for a key.
    pub(crate) fn locate(self, editor: &mut Editor<'_, '_>, key: &[u8]) -> Result<PageId> {
        if !editor.edit.hint.covers((self.id, self.root), key) {
            let mut hint = std::mem::take(&mut editor.edit.hint);
            let result = self.refill(&mut hint, editor, key);
            editor.edit.hint = hint;
            result?;
        }
        Ok(editor.edit.hint.leaf)
    }

    fn refill<'s>(self, hint: &mut LeafHint, pages: &impl Pages<'s>, key: &[u8]) -> Result<()> {
        hint.begin();
        let (leaf, _) = self.descend(pages, (self.root, None), |page, node| {
            let child_index = node.child_index(key);
            if child_index > 0 {
                node.key(child_index - 1).copy_to(&mut hint.from);
            }
            if child_index < node.len() {
                hint.end_before(|to| node.key(child_index).copy_to(to));
            }
            hint.steps.push(Step { page, child_index });
            child_index
        })?;
        hint.arrive((self.id, self.root), leaf);
        Ok(())
    }

    /// The position of a key in the leaf located last, or its insert position.
    pub(crate) fn locate_cell(
        self,
        editor: &mut Editor<'_, '_>,
        leaf: &[u8],
        key: &[u8],
    ) -> Result<usize, usize> {
        let found = Node::new(leaf).search_near(editor.edit.hint.cell, key);
        editor.edit.hint.cell = match found {
            Ok(cell) => cell,
            // Once it is inserted, the next key in order comes after it.
            Err(cell) => cell + 1,
        };
        found
    }

    /// The path to the leaf located last.
    pub(super) fn located(self, editor: &Editor<'_, '_>) -> Path {
        let hint = &editor.edit.hint;
        Path { steps: hint.steps.clone(), leaf: hint.leaf }
    }
}
