//! Inserting keys in their order, leaf by leaf: while a leaf is held, what belongs to it
//! is entered beside what came before. One key on its own costs the way to its leaf, a
//! look at its neighbours and a search among all cells.

use super::Tree;
use super::spread::NewKey;
use crate::edit::Editor;
use crate::error::Result;
use crate::page::key::Key;
use crate::page::node::{Node, NodeMut};

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
        let end = editor.edit.hint.end();
        let mut node = NodeMut::new(&mut leaf);
        let (mut count, mut behind) = (0, 0);
        while let Some((key, unique)) = keys.next() {
            if end.is_some_and(|end| key >= end) {
                break;
            }
            let is_last = unique.is_empty() && behind > 0 && behind == node.as_node().len();
            let mut index = behind;
            if !(is_last && node.append(key, &[])) {
                let Err(found) = search_behind(node.as_node(), behind, key) else { break };
                if !unique.is_empty() && repeats_neighbour(node.as_node(), found, unique, end) {
                    break;
                }
                if !node.insert(found, key, &[]) {
                    drop(leaf);
                    return Ok(count + self.spread(editor, rest)?);
                }
                index = found;
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

/// [`may_repeat`] of a key that is inserted there, where the leaf's last key has the keys from
/// `end` on behind it.
fn repeats_neighbour(node: Node<'_>, index: usize, unique: &[u8], end: Option<&[u8]>) -> bool {
    let before = index.checked_sub(1).map(|before| node.key(before));
    let next = (index < node.len()).then(|| node.key(index)).or(end.map(Key::whole));
    may_repeat(before, next, unique)
}

/// Whether the key before one that is inserted, or the next, may begin as it must not. What
/// comes before a leaf is not known.
pub(super) fn may_repeat(before: Option<Key<'_>>, next: Option<Key<'_>>, unique: &[u8]) -> bool {
    before.is_none_or(|before| before.starts_with(unique))
        || next.is_some_and(|next| next.starts_with(unique))
}
