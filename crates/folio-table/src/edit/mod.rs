//! The pages that a transaction has changed.
//!
//! The first change of a page copies it into a private version, which only the transaction sees;
//! later changes go there. Savepoints work the same way one level down: a page changed after a
//! savepoint is copied again, and rolling back to the savepoint restores the earlier copy.
//!
//! Changed pages are in the buffer pool. When the pool evicts them they go to the log, and are read
//! back from there. So a transaction may be larger than the pool. Pages filled by a long
//! transaction go to the data file at once, see
//! [`Editor::filled`].

mod early_write;
mod leaf_hint;
mod writer;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub(crate) use leaf_hint::{LeafHint, Step};
pub(crate) use writer::Writer;

use crate::buffer::{PageGuard, PageGuardMut};
use crate::error::{Error, Result};
use crate::ids::{BlockId, PageId, TreeId};
use crate::page::{self, PageKind, free_list};
use crate::pager::{NO_SLOT, Pager, Pages};
use crate::state::{PAGE_COUNT_MAX, State};
use crate::wal::record::LogPosition;

/// The changes of a transaction.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) writer: Box<Writer>,
    pub(crate) state: State,
    /// The log position when the transaction began.
    pub(crate) start: LogPosition,
    pub(crate) changed: HashMap<PageId, Version, RandomState>,
    /// Versions for rollback to savepoints, newest last. Empty without savepoints.
    undo: Vec<Undo>,
    /// The number of the innermost savepoint, 0 without one. Pages copied since are changed in
    /// place. Numbers are not reused, so a page copied under a dropped savepoint is not taken for a
    /// copy under the next one.
    level: u64,
    level_max: u64,
    /// Change of the row count of each table.
    pub(crate) row_counts: HashMap<TreeId, i64, RandomState>,
    /// Grows with every operation: scans use it to check whether their position is still valid.
    pub(crate) changes: u64,
    /// The position of the last change.
    pub(crate) hint: LeafHint,
    /// Pages already written to the data file, including those of a bulk load.
    pub(crate) early: HashSet<PageId, RandomState>,
    /// Full pages waiting for an early write.
    full: Vec<PageId>,
    /// Whether the data file must be synced before the commit.
    pub(crate) is_data_to_sync: bool,
}

/// A page's version in this transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    pub(crate) slot: u32,
    /// The number of the savepoint it was made under.
    level: u64,
}

#[derive(Debug)]
struct Undo {
    page: PageId,
    /// The previous version, if the transaction had one.
    before: Option<Version>,
}

/// A point in the transaction to return to.
#[derive(Debug)]
pub(crate) struct Mark {
    undo_count: usize,
    level_outside: u64,
    state: State,
    row_counts: HashMap<TreeId, i64, RandomState>,
}

impl Edit {
    pub(crate) fn begin(pager: &Pager, mut writer: Box<Writer>) -> Self {
        writer.collect(pager);
        let (state, start) = (writer.state, writer.position);
        *pager.blocks.position() = start;
        Self {
            writer,
            state,
            start,
            changed: HashMap::default(),
            undo: Vec::new(),
            level: 0,
            level_max: 0,
            row_counts: HashMap::default(),
            changes: 0,
            hint: LeafHint::default(),
            early: HashSet::default(),
            full: Vec::new(),
            is_data_to_sync: false,
        }
    }

    /// Sets a mark: changes after it can be undone together.
    pub(crate) fn mark(&mut self) -> Mark {
        let level_outside = self.level;
        self.level_max += 1;
        self.level = self.level_max;
        Mark {
            undo_count: self.undo.len(),
            level_outside,
            state: self.state,
            row_counts: self.row_counts.clone(),
        }
    }

    /// Undoes all changes after the mark.
    pub(crate) fn return_to(&mut self, pager: &Pager, mark: &Mark) {
        for undo in self.undo.drain(mark.undo_count..).rev() {
            let dropped = match undo.before {
                Some(before) => self.changed.insert(undo.page, before),
                None => self.changed.remove(&undo.page),
            };
            if let Some(dropped) = dropped {
                self.writer.drop_private(pager, dropped.slot);
            }
        }
        self.changes += 1;
        self.hint.forget();
        self.state = mark.state;
        // Drop pages allocated since. The others keep waiting: a second write only costs time.
        self.full.retain(|page| page.0 <= mark.state.page_count);
        self.row_counts.clone_from(&mark.row_counts);
    }

    /// Drops the innermost mark; its changes then belong to the enclosing one.
    pub(crate) fn release(&mut self, pager: &Pager, mark: &Mark) {
        self.level = mark.level_outside;
        if self.level > 0 {
            return;
        }
        // Without a mark to return to, older versions are not needed.
        for undo in self.undo.drain(mark.undo_count..) {
            if let Some(before) = undo.before {
                self.writer.drop_private(pager, before.slot);
            }
        }
    }

    /// Gives the definitions a new version number. Numbers of undone changes are not reused: a
    /// caller may still hold such a table.
    pub(crate) fn bump_catalog(&mut self) {
        self.writer.catalog_version_max += 1;
        self.state.catalog_version = self.writer.catalog_version_max;
    }

    /// Ends a logged transaction: drops versions needed only by savepoints.
    pub(crate) fn end(mut self, pager: &Pager) -> Box<Writer> {
        for undo in std::mem::take(&mut self.undo) {
            if let Some(before) = undo.before {
                self.writer.drop_private(pager, before.slot);
            }
        }
        self.writer
    }

    /// Drops every change.
    pub(crate) fn discard(mut self, pager: &Pager) -> Box<Writer> {
        let slots =
            self.changed.values().chain(self.undo.iter().filter_map(|undo| undo.before.as_ref()));
        for slot in slots.map(|version| version.slot).collect::<Vec<_>>() {
            self.writer.drop_private(pager, slot);
        }
        self.writer
    }
}

/// Access to a transaction's pages, for the duration of one operation.
#[derive(Debug)]
pub(crate) struct Editor<'s, 'e> {
    pub(crate) pager: &'s Pager,
    pub(crate) edit: &'e mut Edit,
}

impl<'s> Editor<'s, '_> {
    /// A page to change.
    pub(crate) fn pin_mut(&mut self, page: PageId) -> Result<PageGuardMut<'s>> {
        match self.pin_changed(page)? {
            Some(own) => Ok(own),
            None => self.copy(page),
        }
    }

    /// A page to change, if the transaction has already copied it.
    pub(crate) fn pin_changed(&self, page: PageId) -> Result<Option<PageGuardMut<'s>>> {
        match self.edit.changed.get(&page) {
            Some(version) if version.level >= self.edit.level => {
                self.pager.pool.pin_mut(BlockId::version(version.slot)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Creates this transaction's version of a page from the one it sees.
    fn copy(&mut self, page: PageId) -> Result<PageGuardMut<'s>> {
        let old = self.pin(page)?;
        let mut copy = self.begin_version(page)?;
        copy.copy_from_slice(&old);
        Ok(copy)
    }

    /// Creates a version of a page whose old bytes do not matter.
    fn replace(&mut self, page: PageId) -> Result<PageGuardMut<'s>> {
        match self.pin_changed(page)? {
            Some(own) => Ok(own),
            None => self.begin_version(page),
        }
    }

    fn begin_version(&mut self, page: PageId) -> Result<PageGuardMut<'s>> {
        let slot = self.edit.writer.take_slot(self.pager, page);
        let created = match self.pager.pool.create(BlockId::version(slot)) {
            Ok(created) => created,
            Err(error) => {
                self.edit.writer.drop_private(self.pager, slot);
                return Err(error);
            }
        };
        let before = self.edit.changed.insert(page, Version { slot, level: self.edit.level });
        if self.edit.level > 0 {
            self.edit.undo.push(Undo { page, before });
        }
        Ok(created)
    }

    /// Allocates a free page and initialises it with this kind.
    pub(crate) fn allocate(
        &mut self,
        kind: PageKind,
        level: u8,
        tree: TreeId,
    ) -> Result<(PageId, PageGuardMut<'s>)> {
        self.edit.hint.forget();
        let page = match self.take_free()? {
            Some(page) => page,
            None => self.extend()?,
        };
        let mut guard = self.replace(page)?;
        page::initialise(&mut guard, page, kind, level, tree);
        Ok((page, guard))
    }

    fn extend(&mut self) -> Result<PageId> {
        if self.edit.state.page_count == PAGE_COUNT_MAX {
            let what = "the data file has as many pages as there are numbers".to_owned();
            return Err(Error::InvalidInput { what });
        }
        self.edit.state.page_count += 1;
        Ok(PageId(self.edit.state.page_count))
    }

    fn take_free(&mut self) -> Result<Option<PageId>> {
        let list = self.edit.state.free_list;
        if !list.is_some() {
            return Ok(None);
        }
        let mut guard = self.list_page(list)?;
        let free = free_list::pop(&mut guard).unwrap_or_else(|| {
            self.edit.state.free_list = page::link(&guard);
            list
        });
        if !free.is_some() || free.0 > self.edit.state.page_count {
            return Err(Error::page(list, format!("it lists page {free}, which does not exist")));
        }
        self.edit.state.free_count = self.edit.state.free_count.saturating_sub(1);
        Ok(Some(free))
    }

    /// A page of the free list, to change.
    fn list_page(&mut self, list: PageId) -> Result<PageGuardMut<'s>> {
        if list.0 > self.edit.state.page_count {
            return Err(Error::page(list, "the free list points to it, but it does not exist"));
        }
        let guard = self.pin_mut(list)?;
        if PageKind::of(&guard) != Some(PageKind::FreeList) {
            return Err(Error::page(list, "it should be a page of the free list"));
        }
        Ok(guard)
    }

    /// Adds a page to the free list.
    pub(crate) fn free(&mut self, page: PageId) -> Result<()> {
        self.edit.hint.forget();
        self.edit.state.free_count += 1;
        self.forget(page);
        let list = self.edit.state.free_list;
        if list.is_some() && free_list::push(&mut self.list_page(list)?, page) {
            return Ok(());
        }
        free_list::start(&mut self.replace(page)?, page, list);
        self.edit.state.free_list = page;
        Ok(())
    }

    /// Drops this transaction's version of a page whose content is not needed, unless a savepoint
    /// may return to it.
    fn forget(&mut self, page: PageId) {
        if self.edit.level == 0
            && let Some(version) = self.edit.changed.remove(&page)
        {
            self.edit.writer.drop_private(self.pager, version.slot);
        }
    }

    fn seen(&self) -> Seen<'s, '_> {
        Seen { pager: self.pager, edit: self.edit }
    }
}

impl<'s> Pages<'s> for Editor<'s, '_> {
    fn pin(&self, page: PageId) -> Result<PageGuard<'s>> {
        self.seen().pin(page)
    }

    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'s>> {
        self.seen().pin_for_scan(page)
    }

    fn page_count(&self) -> u32 {
        self.edit.state.page_count
    }
}

/// The pages as a transaction sees them: its private versions, otherwise the newest committed ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'s, 'e> {
    pub(crate) pager: &'s Pager,
    pub(crate) edit: &'e Edit,
}

impl Seen<'_, '_> {
    fn block(&self, page: PageId) -> BlockId {
        match self.edit.changed.get(&page) {
            Some(version) => BlockId::version(version.slot),
            None => match self.pager.blocks.versions.head(page) {
                NO_SLOT => BlockId::page(page),
                slot => BlockId::version(slot),
            },
        }
    }
}

impl<'s> Pages<'s> for Seen<'s, '_> {
    fn pin(&self, page: PageId) -> Result<PageGuard<'s>> {
        self.pager.pool.pin(self.block(page))
    }

    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'s>> {
        self.pager.pool.pin_for_scan(self.block(page))
    }

    fn page_count(&self) -> u32 {
        self.edit.state.page_count
    }
}
