//! Walks through a tree, leaf by leaf.

use super::{Path, Tree};
use crate::buffer::PageGuard;
use crate::edit::Step;
use crate::error::Result;
use crate::ids::PageId;
use crate::page;
use crate::page::node::Node;
use crate::pager::Pages;

/// The direction of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Direction {
    #[default]
    Forward,
    Backward,
}

/// A position between leaves. It pins no page, so it may be held for as long as the view of the
/// tree is valid.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    tree: Tree,
    steps: Vec<Step>,
    /// The next leaf.
    leaf: Option<PageId>,
    direction: Direction,
}

impl Cursor {
    /// Before the leaf with the first key at or after `key`, or before the first leaf.
    pub(crate) fn forward<'s>(
        tree: Tree,
        pages: &impl Pages<'s>,
        key: Option<&[u8]>,
    ) -> Result<Self> {
        let Path { steps, leaf } = tree.seek(pages, key.unwrap_or_default())?;
        Ok(Self { tree, steps, leaf: Some(leaf), direction: Direction::Forward })
    }

    /// Before the leaf with the last key before `key`, or before the last leaf,
    /// walking backwards.
    pub(crate) fn backward<'s>(
        tree: Tree,
        pages: &impl Pages<'s>,
        key: Option<&[u8]>,
    ) -> Result<Self> {
        let direction = Direction::Backward;
        let Path { steps, leaf } = match key {
            Some(key) => tree.seek(pages, key)?,
            None => {
                let mut steps = Vec::new();
                let leaf = outermost(tree, pages, (tree.root, None), direction, &mut steps)?;
                Path { steps, leaf }
            }
        };
        Ok(Self { tree, steps, leaf: Some(leaf), direction })
    }

    /// The next leaf, pinned for a scan.
    pub(crate) fn next_leaf<'s>(
        &mut self,
        pages: &impl Pages<'s>,
    ) -> Result<Option<PageGuard<'s>>> {
        self.next_page(pages)?.map(|leaf| self.page_again(pages, leaf)).transpose()
    }

    /// The number of the next leaf.
    pub(crate) fn next_page<'s>(&mut self, pages: &impl Pages<'s>) -> Result<Option<PageId>> {
        let Some(leaf) = self.leaf else { return Ok(None) };
        self.advance(pages)?;
        Ok(Some(leaf))
    }

    /// The number of the next leaf, without moving to it.
    pub(crate) fn upcoming(&self) -> Option<PageId> {
        self.leaf
    }

    /// A leaf that the cursor has visited, pinned for a scan.
    pub(crate) fn page_again<'s>(
        &self,
        pages: &impl Pages<'s>,
        leaf: PageId,
    ) -> Result<PageGuard<'s>> {
        self.tree.check_number(pages, leaf)?;
        let guard = pages.pin_for_scan(leaf)?;
        self.tree.check(&guard, leaf, Some(0))?;
        Ok(guard)
    }

    /// The tree it walks.
    pub(crate) fn tree(&self) -> Tree {
        self.tree
    }

    fn advance<'s>(&mut self, pages: &impl Pages<'s>) -> Result<()> {
        self.leaf = None;
        while let Some(step) = self.steps.pop() {
            let guard = self.tree.node(pages, step.page, None)?;
            let node = Node::new(&guard);
            let next = match self.direction {
                Direction::Forward => {
                    Some(step.child_index + 1).filter(|&i| i < node.child_count())
                }
                Direction::Backward => step.child_index.checked_sub(1),
            };
            let Some(child_index) = next else { continue };
            let child = node.child(child_index);
            let level = page::level(&guard) - 1;
            drop(guard);
            self.steps.push(Step { page: step.page, child_index });
            let direction = self.direction;
            self.leaf = Some(if level == 0 {
                child
            } else {
                outermost(self.tree, pages, (child, Some(level)), direction, &mut self.steps)?
            });
            return Ok(());
        }
        Ok(())
    }
}

/// The outermost leaf below a page, on the side where a walk starts.
fn outermost<'s>(
    tree: Tree,
    pages: &impl Pages<'s>,
    from: (PageId, Option<u8>),
    direction: Direction,
    steps: &mut Vec<Step>,
) -> Result<PageId> {
    let (leaf, _) = tree.descend(pages, from, |page, node| {
        let child_index = match direction {
            Direction::Forward => 0,
            Direction::Backward => node.child_count() - 1,
        };
        steps.push(Step { page, child_index });
        child_index
    })?;
    Ok(leaf)
}
