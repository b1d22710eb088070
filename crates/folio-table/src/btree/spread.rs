//! Spreading the cells of a full leaf, and sorted keys that came for it, over as many pages
//! as they need.
//!
//! Keys entered one by one part the leaf again and again, and each parting looks at every
//! cell and writes both halves. Here cells and keys are merged once and fill page after
//! page. The first page stays where it is, unless it is the root, which becomes their
//! parent.

use super::ascending::may_repeat;
use super::insert::fill;
use super::{Path, Tree, separator};
use crate::edit::Editor;
use crate::error::Result;
use crate::ids::PageId;
use crate::page::key::{Key, compare};
use crate::page::node::{Node, cell_cost, fitting};
use crate::page::{self, PageKind};

/// A key without a value, and its beginning that no other key may have; nothing where any may.
pub(super) type NewKey<'k> = (&'k [u8], &'k [u8]);

/// Pages filled at once, about: what is merged is held in memory.
const PAGES_MAX: usize = 64;

impl Tree {
    /// Inserts keys, which ascend, into the leaf located last, if with what is there they
    /// need more than two pages: two are made by a split. Answers how many were inserted,
    /// as [`Tree::insert_ascending`] does.
    ///
    /// # Errors
    /// What the pages say, after which the tree may be half-way changed and the transaction
    /// must return to where it was.
    pub(super) fn spread<'k>(
        self,
        editor: &mut Editor<'_, '_>,
        keys: impl Iterator<Item = NewKey<'k>>,
    ) -> Result<usize> {
        let Path { leaf: page, steps } = self.located(editor);
        let leaf = self.node(editor, page, Some(0))?.to_vec();
        let end = editor.edit.hint.end();
        let keys = within(Node::new(&leaf), end, keys);
        if keys.is_empty() {
            return Ok(0);
        }
        let mut whole = Vec::new();
        let old = Node::new(&leaf).whole_cells(&mut whole);
        let (cells, count) = merge(&old, &keys, end);
        if count == 0 {
            return Ok(0);
        }
        let parts = parts(&cells, leaf.len());
        let first =
            if steps.is_empty() && parts.len() > 1 { self.push_down(editor)? } else { page };
        fill(&mut editor.pin_mut(first)?, PageId::NONE, parts[0]);
        for pair in parts.windows(2) {
            let (left, next) = (pair[0], pair[1]);
            let (right, mut right_page) = editor.allocate(PageKind::Node, 0, self.id)?;
            fill(&mut right_page, PageId::NONE, next);
            drop(right_page);
            let between = separator(left[left.len() - 1].0, next[0].0);
            let Path { mut steps, .. } = self.seek(editor, between)?;
            let step = steps.pop().expect("the root is above the leaves");
            self.enter(editor, steps, step, between, right)?;
        }
        Ok(count)
    }

    /// Puts a leaf under a root that is one. The leaf is empty.
    fn push_down(self, editor: &mut Editor<'_, '_>) -> Result<PageId> {
        let (leaf, _page) = editor.allocate(PageKind::Node, 0, self.id)?;
        let mut root = editor.pin_mut(self.root)?;
        page::initialise(&mut root, self.root, PageKind::Node, 1, self.id);
        page::set_link(&mut root, leaf);
        Ok(leaf)
    }
}

/// The keys that belong to a leaf, up to [`PAGES_MAX`] pages of them; none where two pages
/// have room for all.
fn within<'k>(
    leaf: Node<'_>,
    end: Option<&[u8]>,
    keys: impl Iterator<Item = NewKey<'k>>,
) -> Vec<NewKey<'k>> {
    let mut size = leaf.used_size();
    let mut taken = Vec::new();
    for (key, unique) in keys {
        if end.is_some_and(|end| key >= end) || size > PAGES_MAX * leaf.capacity() {
            break;
        }
        size += cell_cost(key.len() - page::common_size(leaf.prefix(), key), 0);
        taken.push((key, unique));
    }
    if size <= 2 * leaf.capacity() {
        taken.clear();
    }
    taken
}

type Cells<'k> = Vec<(&'k [u8], &'k [u8])>;

/// Cells parted so that each part fills a page.
fn parts<'c, 'k>(
    mut cells: &'c [(&'k [u8], &'k [u8])],
    page_size: usize,
) -> Vec<&'c [(&'k [u8], &'k [u8])]> {
    let mut parts = Vec::new();
    while !cells.is_empty() {
        let count = fitting(cells, page_size);
        assert!(count > 0, "an empty page has room for any cell");
        let (part, rest) = cells.split_at(count);
        parts.push(part);
        cells = rest;
    }
    parts
}

/// Cells and keys in one order, and how many of the keys: up to the first that is there
/// already or may repeat the beginning of a neighbour it must not.
fn merge<'k>(
    old: &[(&'k [u8], &'k [u8])],
    keys: &[NewKey<'k>],
    end: Option<&[u8]>,
) -> (Cells<'k>, usize) {
    let mut cells: Cells<'k> = Vec::with_capacity(old.len() + keys.len());
    let (mut at, mut count) = (0, 0);
    for &(key, unique) in keys {
        let before = old[at..].iter().take_while(|(old, _)| compare(old, key).is_lt()).count();
        cells.extend_from_slice(&old[at..at + before]);
        at += before;
        let next = old.get(at).map(|(old, _)| *old);
        let last = cells.last().map(|(last, _)| Key::whole(last));
        let repeats = !unique.is_empty() && may_repeat(last, next.or(end).map(Key::whole), unique);
        if repeats || next == Some(key) {
            break;
        }
        cells.push((key, &[]));
        count += 1;
    }
    cells.extend_from_slice(&old[at..]);
    (cells, count)
}
