//! Inserts and replaces cells, and splits pages as needed.

use super::{Path, Tree, separator};
use crate::buffer::PageGuardMut;
use crate::edit::{Editor, LeafHint, Step};
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::page::node::{Node, NodeMut, cell_cost, cell_cost_max, filled_size};
use crate::page::{self, HEADER_SIZE, PageKind};

impl Tree {
    /// Creates an empty tree.
    pub(crate) fn create(editor: &mut Editor<'_, '_>, id: crate::ids::TreeId) -> Result<Self> {
        let (root, _page) = editor.allocate(PageKind::Node, 0, id)?;
        Ok(Self { id, root })
    }

    /// Inserts a key; `false`, with nothing changed, when it exists.
    ///
    /// # Errors
    /// [`Error::KeyTooLong`]; errors of the pages, after which the tree may be half changed and the
    /// transaction must return to its last mark.
    pub(crate) fn insert(
        self,
        editor: &mut Editor<'_, '_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        self.insert_held(editor, &mut HeldLeaf::default(), key, value, &[])
    }

    /// The same, holding the leaf for the next key. The prefix `unique` of the key must not be the
    /// prefix of another key; otherwise returns `false`. An empty prefix is not checked.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    #[inline]
    pub(crate) fn insert_held<'s>(
        self,
        editor: &mut Editor<'s, '_>,
        held: &mut HeldLeaf<'s>,
        key: &[u8],
        value: &[u8],
        unique: &[u8],
    ) -> Result<bool> {
        self.check_size(editor, key, value)?;
        if unique.is_empty() && held.append(self, &mut editor.edit.hint, key, value) {
            return Ok(true);
        }
        self.insert_anywhere(editor, held, key, value, unique)
    }

    /// The same for a key that need not follow the last one.
    #[inline(never)]
    fn insert_anywhere<'s>(
        self,
        editor: &mut Editor<'s, '_>,
        held: &mut HeldLeaf<'s>,
        key: &[u8],
        value: &[u8],
        unique: &[u8],
    ) -> Result<bool> {
        let (mut leaf, index) = match held.take(self, editor, key) {
            Some(leaf) => (leaf, None),
            None => match self.leaf_to_change(editor, key)? {
                Some(found) => found,
                None => return Ok(false),
            },
        };
        if index.is_none()
            && unique.is_empty()
            && append(&mut leaf, &mut editor.edit.hint, key, value)
        {
            held.leaf = Some(leaf);
            return Ok(true);
        }
        let index = index.map_or_else(|| self.locate_cell(editor, &leaf, key), Err);
        let Err(index) = index else { return Ok(false) };
        match repeats(Node::new(&leaf), index, unique, &editor.edit.hint) {
            Some(false) => {}
            Some(true) => return Ok(false),
            None => {
                drop(leaf);
                if self.first_with_prefix(editor, unique)?.is_some() {
                    return Ok(false);
                }
                leaf = editor.pin_mut(editor.edit.hint.leaf)?;
            }
        }
        if NodeMut::new(&mut leaf).insert(index, key, value) {
            held.leaf = Some(leaf);
            return Ok(true);
        }
        drop(leaf);
        self.split_located(editor, index, key, value)?;
        Ok(true)
    }

    /// The leaf for a key, and the key's position if it was searched; `None` if the key is found to
    /// exist, when checking first can save copying a page.
    fn leaf_to_change<'s>(
        self,
        editor: &mut Editor<'s, '_>,
        key: &[u8],
    ) -> Result<Option<(PageGuardMut<'s>, Option<usize>)>> {
        let page = self.locate(editor, key)?;
        if let Some(leaf) = editor.pin_changed(page)? {
            self.check(&leaf, page, Some(0))?;
            return Ok(Some((leaf, None)));
        }
        let leaf = self.node(editor, page, Some(0))?;
        let Err(index) = self.locate_cell(editor, &leaf, key) else { return Ok(None) };
        drop(leaf);
        Ok(Some((editor.pin_mut(page)?, Some(index))))
    }

    /// Replaces the value of a key; `false` when the key does not exist.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub(crate) fn replace(
        self,
        editor: &mut Editor<'_, '_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        self.check_size(editor, key, value)?;
        let page = self.locate(editor, key)?;
        let leaf = self.node(editor, page, Some(0))?;
        let Ok(index) = self.locate_cell(editor, &leaf, key) else { return Ok(false) };
        drop(leaf);
        let mut leaf = editor.pin_mut(page)?;
        let mut node = NodeMut::new(&mut leaf);
        if !node.replace(index, value) {
            node.remove(index);
            drop(leaf);
            self.place(editor, page, index, key, value)?;
        }
        Ok(true)
    }

    #[inline]
    fn check_size(self, editor: &Editor<'_, '_>, key: &[u8], value: &[u8]) -> Result<()> {
        let limit = cell_cost_max(editor.pager.page_size);
        // An inner node may have to hold the key with a child's number.
        let cost = cell_cost(key.len(), value.len().max(4));
        if cost > limit {
            return Err(Error::KeyTooLong { size: key.len(), limit: limit - cell_cost(0, 4) });
        }
        Ok(())
    }

    /// Inserts a cell into the leaf located last, splitting it if it is full.
    fn place(
        self,
        editor: &mut Editor<'_, '_>,
        page: PageId,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let mut leaf = editor.pin_mut(page)?;
        if NodeMut::new(&mut leaf).insert(index, key, value) {
            return Ok(());
        }
        drop(leaf);
        self.split_located(editor, index, key, value)
    }

    /// Splits the leaf located last.
    fn split_located(
        self,
        editor: &mut Editor<'_, '_>,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        let Path { steps, leaf } = self.located(editor);
        self.split(editor, steps, leaf, index, key, value)
    }

    /// Splits a full page to make room for a cell.
    fn split(
        self,
        editor: &mut Editor<'_, '_>,
        mut steps: Vec<Step>,
        page: PageId,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if let Some(separator) = self.end_of_leaf(editor, page, index, key)?
            && let Some(step) = steps.pop()
        {
            // At the end of the tree the old page is full and final.
            if editor.edit.hint.end().is_none() {
                editor.filled(page)?;
            }
            let (right, mut right_page) = editor.allocate(PageKind::Node, 0, self.id)?;
            fill(&mut right_page, PageId::NONE, &[(key, value)]);
            drop(right_page);
            return self.enter(editor, steps, step, separator, right);
        }
        let old = self.node(editor, page, None)?.to_vec();
        let level = page::level(&old);
        let node = Node::new(&old);
        let mut keys = Vec::new();
        let mut cells = node.whole_cells(&mut keys);
        cells.insert(index, (key, value));
        let halves = Halves::of(&cells, index, old.len(), (level, page::link(&old)));
        let Some(step) = steps.pop() else {
            return self.split_root(editor, level, &halves);
        };
        let (right, mut right_page) = editor.allocate(PageKind::Node, level, self.id)?;
        fill(&mut right_page, halves.right_link, halves.right);
        drop(right_page);
        fill(&mut editor.pin_mut(page)?, halves.left_link, halves.left);
        self.enter(editor, steps, step, halves.separator, right)
    }

    /// The separator before a key that comes after everything in a leaf. The leaf then stays
    /// unchanged: rows in key order leave full pages.
    fn end_of_leaf<'k>(
        self,
        editor: &Editor<'_, '_>,
        page: PageId,
        index: usize,
        key: &'k [u8],
    ) -> Result<Option<&'k [u8]>> {
        let bytes = self.node(editor, page, None)?;
        let node = Node::new(&bytes);
        if page::level(&bytes) > 0 || index < node.len() {
            return Ok(None);
        }
        let last = index.checked_sub(1).map(|last| node.key(last).to_vec());
        Ok(last.map(|last| separator(&last, key)))
    }

    /// Adds a new page to the parent of its left neighbour.
    pub(super) fn enter(
        self,
        editor: &mut Editor<'_, '_>,
        steps: Vec<Step>,
        step: Step,
        separator: &[u8],
        right: PageId,
    ) -> Result<()> {
        let mut parent = editor.pin_mut(step.page)?;
        let child = right.0.to_le_bytes();
        if NodeMut::new(&mut parent).insert(step.child_index, separator, &child) {
            return Ok(());
        }
        drop(parent);
        self.split(editor, steps, step.page, step.child_index, separator, &child)
    }

    /// Splits the root, which keeps its page: both halves move down.
    fn split_root(
        self,
        editor: &mut Editor<'_, '_>,
        level: u8,
        halves: &Halves<'_, '_>,
    ) -> Result<()> {
        let (left, mut left_page) = editor.allocate(PageKind::Node, level, self.id)?;
        fill(&mut left_page, halves.left_link, halves.left);
        drop(left_page);
        let (right, mut right_page) = editor.allocate(PageKind::Node, level, self.id)?;
        fill(&mut right_page, halves.right_link, halves.right);
        drop(right_page);
        let Some(level) = level.checked_add(1) else {
            return Err(Error::page(self.root, "the tree is as high as a tree can be"));
        };
        let mut root = editor.pin_mut(self.root)?;
        page::initialise(&mut root, self.root, PageKind::Node, level, self.id);
        page::set_link(&mut root, left);
        let is_in = NodeMut::new(&mut root).insert(0, halves.separator, &right.0.to_le_bytes());
        assert!(is_in, "an empty page has room for one cell");
        Ok(())
    }
}

/// The leaf of the last insert, held for the next key: most keys are in order.
#[derive(Default)]
pub(crate) struct HeldLeaf<'s> {
    leaf: Option<PageGuardMut<'s>>,
}

impl<'s> HeldLeaf<'s> {
    /// Appends a key that comes after all others of the leaf. Returns `false`, with nothing changed,
    /// if the leaf, or this place of it, is not the key's.
    #[inline]
    fn append(&mut self, tree: Tree, hint: &mut LeafHint, key: &[u8], value: &[u8]) -> bool {
        let Some(leaf) = self.leaf.as_deref_mut() else { return false };
        hint.leaf == page::page_id(leaf)
            && hint.reaches((tree.id, tree.root), key)
            && append(leaf, hint, key, value)
    }

    /// The leaf, if it is the key's and nothing else was located since.
    fn take(
        &mut self,
        tree: Tree,
        editor: &Editor<'s, '_>,
        key: &[u8],
    ) -> Option<PageGuardMut<'s>> {
        let hint = &editor.edit.hint;
        let leaf = self.leaf.take()?;
        let is_there = hint.covers((tree.id, tree.root), key) && page::page_id(&leaf) == hint.leaf;
        is_there.then_some(leaf)
    }
}

/// Appends a key to the hint's leaf if the last key there was the last insert and this one follows
/// it. Rows in key order need no more than this comparison each: what follows the last key follows
/// the start of the leaf's range, too.
#[inline(always)] // every row of a load comes here
#[allow(clippy::inline_always)]
fn append(leaf: &mut [u8], hint: &mut LeafHint, key: &[u8], value: &[u8]) -> bool {
    let mut node = NodeMut::new(leaf);
    let len = node.as_node().len();
    let is_next = hint.cell == len && node.append(key, value);
    if is_next {
        hint.cell = len + 1;
    }
    is_next
}

/// Whether a neighbour of a key to be inserted in the hint's leaf has the same `unique` prefix;
/// `None` if the neighbour is in an adjacent leaf and might.
fn repeats(leaf: Node<'_>, index: usize, unique: &[u8], hint: &LeafHint) -> Option<bool> {
    if unique.is_empty() {
        return Some(false);
    }
    let before = index.checked_sub(1).map(|before| leaf.key(before).starts_with(unique));
    let next = (index < leaf.len()).then(|| leaf.key(index).starts_with(unique));
    // If both neighbours had the prefix, the separator between the leaves would have it too.
    match (before, next) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) if hint.from.starts_with(unique) => None,
        (_, None) if hint.end().is_some_and(|end| end.starts_with(unique)) => None,
        _ => Some(false),
    }
}

/// How to divide the cells of a full page, including the new one.
struct Halves<'c, 'k> {
    left: &'c [(&'k [u8], &'k [u8])],
    left_link: PageId,
    /// After all keys on the left, and not after any on the right.
    separator: &'k [u8],
    right: &'c [(&'k [u8], &'k [u8])],
    right_link: PageId,
}

impl<'c, 'k> Halves<'c, 'k> {
    fn of(
        cells: &'c [(&'k [u8], &'k [u8])],
        arrived: usize,
        page_size: usize,
        (level, link): (u8, PageId),
    ) -> Self {
        let capacity = page_size - HEADER_SIZE;
        let fits = |middle: &usize| {
            let right = middle + usize::from(level > 0);
            let size = |part| filled_size(part, page_size);
            size(&cells[..*middle]) <= capacity && size(&cells[right..]) <= capacity
        };
        let last = cells.len() - 1 - usize::from(level > 0);
        // As with leaves, see `Tree::end_of_leaf`.
        let middle = if arrived == cells.len() - 1 {
            arrived
        } else if let (0, Some(middle)) = (level, between_groups(cells, capacity)) {
            middle
        } else {
            middle(cells)
        };
        let middle = middle.min(last);
        // An unusual key is before or after all others, which fit without it.
        let middle = (middle..=last).chain((1..middle).rev()).find(fits).unwrap_or(middle);
        if level == 0 {
            let (left, right) = cells.split_at(middle);
            let separator = separator(left[left.len() - 1].0, right[0].0);
            return Self { left, left_link: link, separator, right, right_link: PageId::NONE };
        }
        // An inner node's middle key moves up; its child becomes the right page's first.
        let (separator, child) = cells[middle];
        Self {
            left: &cells[..middle],
            left_link: link,
            separator,
            right: &cells[middle + 1..],
            right_link: PageId(page::get_u32(child, 0)),
        }
    }
}

/// Finds a split between groups of keys, so that each page stores its shared key prefix once.
/// Returns the first cell of the right page; `None` if that saves too little and halves are better.
///
/// An index with few distinct values grows at the end of each group. After a split in the middle,
/// the entries of one value would stay in a half page, which becomes nearly empty (Bayer and
/// Unterauer, Prefix B-Trees, 1977, choose split points similarly).
fn between_groups(cells: &[(&[u8], &[u8])], capacity: usize) -> Option<usize> {
    /// The split must save 1/`WORTH` of a page.
    const WORTH: usize = 8;
    // What each cell shares with the next one.
    let shared = |pair: &[(&[u8], &[u8])]| page::common_size(pair[0].0, pair[1].0);
    let shared: Vec<usize> = cells.windows(2).map(shared).collect();
    let (Some((first, _)), Some((last, _))) = (cells.first(), cells.last()) else { return None };
    // The common prefix of the cells from each on, computed from the last one.
    let mut rights = vec![last.len(); cells.len()];
    for at in (0..shared.len()).rev() {
        rights[at] = rights[at + 1].min(shared[at]);
    }
    let (all, mut left) = (rights[0], first.len());
    let mut best = (capacity / WORTH, None);
    for (before, at) in (1..cells.len()).enumerate() {
        let saved = (left - all) * at + (rights[at] - all) * (cells.len() - at);
        if saved > best.0 {
            best = (saved, Some(at));
        }
        left = left.min(shared[before]);
    }
    best.1
}

/// The first cell of the right page after a split by bytes.
fn middle(cells: &[(&[u8], &[u8])]) -> usize {
    let common = page::common_size(cells[0].0, cells[cells.len() - 1].0);
    let cost = |cell: &(&[u8], &[u8])| cell_cost(cell.0.len() - common, cell.1.len());
    let total: usize = cells.iter().map(cost).sum();
    let mut left = 0;
    let middle = cells.iter().position(|cell| {
        left += cost(cell);
        left >= total / 2
    });
    middle.map_or(1, |index| index + 1).clamp(1, cells.len() - 1)
}

/// Replaces the cells of a page.
pub(super) fn fill(bytes: &mut [u8], link: PageId, cells: &[(&[u8], &[u8])]) {
    page::set_link(bytes, link);
    NodeMut::new(bytes).fill(cells);
}
