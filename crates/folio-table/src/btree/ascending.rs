//! Inserting keys in their order, leaf by leaf: while a leaf is held, what belongs to it
//! is entered beside what came before. One key on its own costs the way to its leaf, a
//! look at its neighbours and a search among all cells.

use super::Tree;
use super::spread::NewKey;
use crate::error::Result;
use crate::page::node::{Node, NodeMut};
use crate::transaction::edit::Editor;

impl Tree {
    /// Inserts keys without values, which ascend, into the leaf that the first belongs to,
    /// and into pages beside it if many come that it has no room for.
    /// With each comes its beginning that no other key may have; nothing where any may.
    /// Answers how many were inserted: up to the first that belongs to another leaf, does
    /// not fit, or may repeat such a beginning, as far as this leaf can tell. That one is
    /// for [`Tree::insert`], and keys are as short as it wants them.
    ///
    /// # Errors
    /// What the pages say.
    pub(crate) fn insert_ascending<'k>(
        self,
        editor: &mut Editor<'_, '_>,
        mut keys: impl Iterator<Item = NewKey<'k>> + Clone,
    ) -> Result<usize> {
        let mut rest = keys.clone();
        let Some((first, _)) = keys.clone().next() else { return Ok(0) };
        let page = self.locate(editor, first)?;
        let mut leaf = editor.pin_mut(page)?;
        self.check(&leaf, page, Some(0))?;
        let end = editor.edit.finger.end();
        let mut node = NodeMut::new(&mut leaf);
        let (mut count, mut behind) = (0, 0);
        while let Some((key, unique)) = keys.next() {
            if end.is_some_and(|end| key >= end) {
                break;
            }
            let is_last = unique.is_empty() && behind > 0 && behind == node.as_node().len();
            if is_last && node.append(key, &[]) {
                (count, behind) = (count + 1, behind + 1);
                rest = keys.clone();
                continue;
            }
            let Err(index) = search_behind(node.as_node(), behind, key) else { break };
            if may_repeat(node.as_node(), index, unique, end) {
                break;
            }
            if !node.insert(index, key, &[]) {
                drop(leaf);
                return Ok(count + self.spread(editor, rest)?);
            }
            (count, behind) = (count + 1, index + 1);
            rest = keys.clone();
        }
        Ok(count)
    }
}

/// Position of the key, or where it would stand, among the cells from a position on, which
/// all before it are less than. It mostly is that position.
fn search_behind(node: Node<'_>, behind: usize, key: &[u8]) -> Result<usize, usize> {
    let is_there = behind > 0 && (behind == node.len() || node.key(behind).compare(key).is_gt());
    if is_there { Err(behind) } else { node.search_from(behind, key) }
}

/// Whether a key that stands before or behind one inserted there may begin as it does. Where
/// the leaf ends, the keys from `end` on come next; what comes before it is not known.
fn may_repeat(node: Node<'_>, index: usize, unique: &[u8], end: Option<&[u8]>) -> bool {
    let begins_so = |cell: usize| node.key(cell).starts_with(unique);
    !unique.is_empty()
        && (index == 0
            || begins_so(index - 1)
            || if index < node.len() {
                begins_so(index)
            } else {
                end.is_some_and(|end| end.starts_with(unique))
            })
}
