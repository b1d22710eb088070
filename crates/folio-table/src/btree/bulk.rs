//! Builds a tree from keys in order.
//!
//! Pages are filled one after the other and go straight to the data file, after the last page of
//! any commit. No reader can see them there, so they need no log. The data file is synced before
//! the commit that includes them.

use super::{Tree, separator};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::page::node::{Node, NodeMut, cell_cost, cell_cost_max};
use crate::page::{self, PageKind};
use crate::state::PAGE_COUNT_MAX;

/// Bytes per write.
const RUN_SIZE: usize = 1 << 20;

/// A tree under construction. It must be empty at first, with its root.
#[derive(Debug)]
pub(crate) struct Builder {
    tree: Tree,
    /// The page being filled on each level, leaves first.
    levels: Vec<Vec<u8>>,
    last_key: Vec<u8>,
    count: u64,
    /// Finished pages to be written, and the number of the first.
    run: Vec<u8>,
    run_first: PageId,
}

impl Builder {
    pub(crate) fn new(tree: Tree, page_size: usize) -> Self {
        let mut builder = Self {
            tree,
            levels: Vec::new(),
            last_key: Vec::new(),
            count: 0,
            run: Vec::new(),
            run_first: PageId::NONE,
        };
        builder.add_level(page_size, PageId::NONE);
        builder
    }

    fn add_level(&mut self, page_size: usize, first_child: PageId) {
        let mut bytes = vec![0; page_size];
        self.start_page(&mut bytes, self.levels.len(), first_child);
        self.levels.push(bytes);
    }

    fn start_page(&self, bytes: &mut [u8], level: usize, first_child: PageId) {
        let level = u8::try_from(level).expect("a tree of 31-bit pages is lower than that");
        page::initialise(bytes, PageId::NONE, PageKind::Node, level, self.tree.id);
        page::set_link(bytes, first_child);
    }

    /// Appends a cell.
    ///
    /// # Errors
    /// [`Error::Unsorted`], [`Error::KeyTooLong`]; an error of the device.
    pub(crate) fn push(
        &mut self,
        editor: &mut Editor<'_, '_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if self.count > 0 && key <= &self.last_key[..] {
            return Err(Error::Unsorted { row: self.count });
        }
        let limit = cell_cost_max(self.levels[0].len());
        if cell_cost(key.len(), value.len().max(4)) > limit {
            return Err(Error::KeyTooLong { size: key.len(), limit: limit - cell_cost(0, 4) });
        }
        let len = Node::new(&self.levels[0]).len();
        if !NodeMut::new(&mut self.levels[0]).insert(len, key, value) {
            let between = separator(&self.last_key, key).to_vec();
            self.finish_page(editor, 0, &between, PageId::NONE)?;
            let is_in = NodeMut::new(&mut self.levels[0]).insert(0, key, value);
            assert!(is_in, "an empty page has room for any cell");
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.count += 1;
        Ok(())
    }

    /// Writes a level's full page and begins the next, which has keys from `between` on and, above
    /// the leaves, `first_child` before them.
    fn finish_page(
        &mut self,
        editor: &mut Editor<'_, '_>,
        level: usize,
        between: &[u8],
        first_child: PageId,
    ) -> Result<()> {
        let done = self.write_page(editor, level)?;
        let mut bytes = std::mem::take(&mut self.levels[level]);
        self.start_page(&mut bytes, level, first_child);
        self.levels[level] = bytes;
        if level + 1 == self.levels.len() {
            self.add_level(self.levels[0].len(), done);
        }
        // The new page has no number yet. Its parent gets the number when the page is finished;
        // until then the parent holds the separator.
        self.link(editor, level + 1, done, between)
    }

    /// Adds the child `done` to a level, and the separator of the next child.
    fn link(
        &mut self,
        editor: &mut Editor<'_, '_>,
        level: usize,
        done: PageId,
        between: &[u8],
    ) -> Result<()> {
        self.set_last_child(level, done);
        let len = Node::new(&self.levels[level]).len();
        if NodeMut::new(&mut self.levels[level]).insert(len, between, &[0; 4]) {
            return Ok(());
        }
        self.finish_page(editor, level, between, PageId::NONE)
    }

    fn set_last_child(&mut self, level: usize, child: PageId) {
        let last = Node::new(&self.levels[level]).len();
        NodeMut::new(&mut self.levels[level]).set_child(last, child);
    }

    /// Adds a level's page to the run, under the next free number.
    fn write_page(&mut self, editor: &mut Editor<'_, '_>, level: usize) -> Result<PageId> {
        let state = &mut editor.edit.state;
        let follows = self.run_first.0 + (self.run.len() / self.levels[0].len()) as u32
            == state.page_count + 1;
        if !follows || self.run.len() >= RUN_SIZE {
            editor.write_early(self.run_first, &self.run)?;
            self.run.clear();
            self.run_first = PageId(editor.edit.state.page_count + 1);
        }
        if editor.edit.state.page_count == PAGE_COUNT_MAX {
            let what = "the data file has as many pages as there are numbers".to_owned();
            return Err(Error::InvalidInput { what });
        }
        editor.edit.state.page_count += 1;
        let id = PageId(editor.edit.state.page_count);
        let bytes = &mut self.levels[level];
        page::put_u32(bytes, 16, id.0);
        page::set_lsn(bytes, editor.edit.start.end);
        page::seal(bytes, editor.pager.blocks.database);
        self.run.extend_from_slice(bytes);
        Ok(id)
    }

    /// Writes the remaining pages, and copies the top page into the root.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn finish(mut self, editor: &mut Editor<'_, '_>) -> Result<()> {
        for level in 0..self.levels.len() - 1 {
            let done = self.write_page(editor, level)?;
            self.set_last_child(level + 1, done);
        }
        editor.write_early(self.run_first, &self.run)?;
        editor.edit.hint.forget();
        let top = self.levels.pop().expect("there is a leaf at least");
        let mut root = editor.pin_mut(self.tree.root)?;
        root.copy_from_slice(&top);
        page::put_u32(&mut root, 16, self.tree.root.0);
        Ok(())
    }
}
