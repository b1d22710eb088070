//! The pages a transaction has changed.
//!
//! The first change of a page copies it into a version of its own, which only
//! the transaction sees; later changes go there. Savepoints work the same way one
//! level down: a page changed again after a savepoint is copied again, and the
//! copy before it is what the savepoint returns to.
//!
//! Changed pages live in the buffer pool. When the pool needs their frames they
//! go to the log, from where they come back; so a transaction may be greater than
//! the pool. Pages that a long transaction has filled go to the data file at once, see
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

/// What a transaction has changed so far.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) writer: Box<Writer>,
    pub(crate) state: State,
    /// Where the log stood when the transaction began.
    pub(crate) start: LogPosition,
    pub(crate) changed: HashMap<PageId, Version, RandomState>,
    /// What to return to, newest last. Empty without savepoints.
    undo: Vec<Undo>,
    /// The innermost savepoint's number, 0 without one: what was copied since is
    /// changed in place. No number comes twice, so that pages changed under a
    /// savepoint that is gone are not taken for copies of the next one.
    level: u64,
    level_max: u64,
    /// Rows added to and taken from each table.
    pub(crate) row_counts: HashMap<TreeId, i64, RandomState>,
    /// Grows with every operation: scans look whether their place still is one.
    pub(crate) changes: u64,
    /// Where the last change was.
    pub(crate) hint: LeafHint,
    /// Pages that went to the data file already, also those of a bulk load.
    pub(crate) early: HashSet<PageId, RandomState>,
    /// Pages that are full, and go there soon.
    full: Vec<PageId>,
    /// Whether the data file must be durable before the commit is.
    pub(crate) is_data_to_sync: bool,
}

/// A page's version in this transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version {
    pub(crate) slot: u32,
    /// Number of the savepoint it was made under.
    level: u64,
}

#[derive(Debug)]
struct Undo {
    page: PageId,
    /// The version before, if the transaction had one.
    before: Option<Version>,
}

/// Where a transaction stood.
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

    /// Changes from here on can be taken back together.
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

    /// Takes back what has changed since the mark.
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
        // Pages made since are gone. The others wait on: to write one twice costs a write.
        self.full.retain(|page| page.0 <= mark.state.page_count);
        self.row_counts.clone_from(&mark.row_counts);
    }

    /// Drops the innermost mark; its changes belong to the one around it.
    pub(crate) fn release(&mut self, pager: &Pager, mark: &Mark) {
        self.level = mark.level_outside;
        if self.level > 0 {
            return;
        }
        // Nothing can be returned to: older versions are of no use.
        for undo in self.undo.drain(mark.undo_count..) {
            if let Some(before) = undo.before {
                self.writer.drop_private(pager, before.slot);
            }
        }
    }

    /// Makes the definitions those of a version of their own. Versions of changes
    /// that were taken back are not used again: somebody may hold such a table.
    pub(crate) fn bump_catalog(&mut self) {
        self.writer.catalog_version_max += 1;
        self.state.catalog_version = self.writer.catalog_version_max;
    }

    /// The transaction is in the log: versions that only savepoints needed go.
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

/// A transaction's way to pages, for the length of one operation.
#[derive(Debug)]
pub(crate) struct Editor<'s, 'e> {
    pub(crate) pager: &'s Pager,
    pub(crate) edit: &'e mut Edit,
}

impl<'s> Editor<'s, '_> {
    /// A page to change.
    pub(crate) fn pin_mut(&mut self, page: PageId) -> Result<PageGuardMut<'s>> {
        let before = self.edit.changed.get(&page).copied();
        match before {
            Some(version) if version.level >= self.edit.level => {
                self.pager.pool.pin_mut(BlockId::version(version.slot))
            }
            _ => self.copy(page, before),
        }
    }

    /// A page to change, if that copies nothing: it has changed already.
    pub(crate) fn pin_changed(&self, page: PageId) -> Result<Option<PageGuardMut<'s>>> {
        match self.edit.changed.get(&page) {
            Some(version) if version.level >= self.edit.level => {
                self.pager.pool.pin_mut(BlockId::version(version.slot)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Makes this transaction's version of a page from the one it sees.
    fn copy(&mut self, page: PageId, before: Option<Version>) -> Result<PageGuardMut<'s>> {
        let old = self.pin(page)?;
        let mut copy = self.begin_version(page, before)?;
        copy.copy_from_slice(&old);
        Ok(copy)
    }

    /// A version of a page whose old bytes do not matter.
    fn replace(&mut self, page: PageId) -> Result<PageGuardMut<'s>> {
        let before = self.edit.changed.get(&page).copied();
        match before {
            Some(version) if version.level >= self.edit.level => {
                self.pager.pool.pin_mut(BlockId::version(version.slot))
            }
            _ => self.begin_version(page, before),
        }
    }

    fn begin_version(&mut self, page: PageId, before: Option<Version>) -> Result<PageGuardMut<'s>> {
        let slot = self.edit.writer.take_slot(self.pager, page);
        let created = match self.pager.pool.create(BlockId::version(slot)) {
            Ok(created) => created,
            Err(error) => {
                self.edit.writer.drop_private(self.pager, slot);
                return Err(error);
            }
        };
        if self.edit.level > 0 {
            self.edit.undo.push(Undo { page, before });
        }
        self.edit.changed.insert(page, Version { slot, level: self.edit.level });
        Ok(created)
    }

    /// A page nobody uses, made into one of this kind.
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
            return Err(Error::page(list, "the free list leads to it, but it does not exist"));
        }
        let guard = self.pin_mut(list)?;
        if PageKind::of(&guard) != Some(PageKind::FreeList) {
            return Err(Error::page(list, "it should be a page of the free list"));
        }
        Ok(guard)
    }

    /// Gives a page to the free list.
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

    /// Drops this transaction's version of a page whose content is of no use,
    /// unless a savepoint may return to it.
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

/// The pages as a transaction sees them: its own versions, else the newest
/// committed ones.
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
