//! Transactions: changes that happen together or not at all.
//!
//! One transaction writes at a time. It sees its own changes over the newest committed state.
//! Commit writes the changed pages and a commit record to the log in one write, makes them the
//! newest versions, and lets the next writer in. Only then it waits for the log to be durable, so
//! that concurrent committers share one sync. Snapshots see a commit once it is durable.
//!
//! A dropped transaction leaves nothing. After an operation that fails half-way, the transaction
//! only allows [`Transaction::rollback`] or a rollback to a savepoint.

mod changed_rows;
mod definition;
mod identity;
pub(crate) mod index_entries;
mod index_filler;
mod insert_many;
mod load;
mod rows;
mod views;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::buffer::DirtyPage;
use crate::catalog::{Catalog, Table};
use crate::edit::{Edit, Editor, Mark, Seen};
use crate::error::{Error, Result};
use crate::ids::{BlockId, Lsn, PageId, TreeId};
use crate::options::Synchronous;
use crate::page;
use crate::pager::{CommitPoint, Pager};
use crate::row::RowEncoder;
use crate::scan::read_through_reader;
use crate::shared::Shared;
use crate::snapshot::Reader;
use crate::statistics;
use crate::wal::record::{Commit, LogPosition};

pub use definition::IndexDefinition;
pub use load::Load;

/// Bytes of images buffered before they are written.
const BATCH_SIZE: usize = 1 << 20;

/// How long to wait for a page that is being evicted from the pool.
const LEAVING_TIME: Duration = Duration::from_micros(20);

/// A write transaction. Dropping it without [`Transaction::commit`] rolls it back.
#[derive(Debug)]
pub struct Transaction {
    pub(crate) shared: Arc<Shared>,
    /// `None` once it has ended. Boxed, because a transaction moves from hand to hand.
    edit: Option<Box<Edit>>,
    has_failed: bool,
    savepoints: Vec<Mark>,
    /// The catalog as changed by this transaction.
    own_catalog: Option<Arc<Catalog>>,
    encoder: RowEncoder,
    /// The next hidden row number of tables without a key.
    row_numbers: HashMap<TreeId, i64>,
    /// The last key in parts of columns indexes, by index; `None` for one without parts.
    last_keys: HashMap<TreeId, Option<Arc<[u8]>>>,
}

/// A point to roll back to. A rollback removes the savepoints after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(usize);

impl Transaction {
    pub(crate) fn begin(shared: &Arc<Shared>, timeout: Duration) -> Result<Self> {
        let writer = shared.take_writer(timeout)?;
        Ok(Self {
            shared: Arc::clone(shared),
            edit: Some(Box::new(Edit::begin(&shared.pager, writer))),
            has_failed: false,
            savepoints: Vec::new(),
            own_catalog: None,
            encoder: RowEncoder::default(),
            row_numbers: HashMap::new(),
            last_keys: HashMap::new(),
        })
    }

    /// The size of a page in bytes.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.shared.pager.page_size
    }

    /// A reader of the database with this transaction's changes.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::of_transaction(self.seen(), &self.shared.catalog, self.own_catalog.as_ref())
    }

    /// Whether rows of tables with columns indexes have changed, so that parts may be worth making.
    #[must_use]
    pub fn has_changed_copied_rows(&self) -> bool {
        !self.last_keys.is_empty()
    }

    fn catalog(&self) -> Result<Arc<Catalog>> {
        self.reader().catalog()
    }

    fn current(&self, table: &Arc<Table>) -> Result<Arc<Table>> {
        self.reader().current(table)
    }

    fn edit_ref(&self) -> &Edit {
        self.edit.as_deref().expect("only ending the transaction takes it")
    }

    pub(crate) fn seen(&self) -> Seen<'_, '_> {
        Seen { pager: &self.shared.pager, edit: self.edit_ref() }
    }

    /// Runs one operation. If it fails for a reason other than refused input, pages may be half
    /// changed, and the transaction cannot continue.
    fn change<T>(&mut self, operation: impl FnOnce(&mut Editor<'_, '_>) -> Result<T>) -> Result<T> {
        if self.has_failed {
            return Err(Error::TransactionFailed);
        }
        let edit = self.edit.as_deref_mut().expect("only ending the transaction takes it");
        edit.changes += 1;
        let result = operation(&mut Editor { pager: &self.shared.pager, edit });
        self.has_failed = result.is_err();
        result
    }

    /// Creates a savepoint.
    pub fn savepoint(&mut self) -> Savepoint {
        let edit = self.edit.as_deref_mut().expect("only ending the transaction takes it");
        self.savepoints.push(edit.mark());
        Savepoint(self.savepoints.len() - 1)
    }

    /// Undoes all changes after a savepoint, which remains.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when it is gone.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.check_savepoint(savepoint)?;
        let edit = self.edit.as_deref_mut().expect("only ending the transaction takes it");
        while let Some(mark) = self.savepoints.pop() {
            edit.return_to(&self.shared.pager, &mark);
            edit.release(&self.shared.pager, &mark);
            if self.savepoints.len() == savepoint.0 {
                break;
            }
        }
        self.savepoints.push(edit.mark());
        self.has_failed = false;
        self.own_catalog = None;
        self.row_numbers.clear();
        self.last_keys.clear();
        if self.edit_ref().state.catalog_version != self.edit_ref().writer.state.catalog_version {
            self.own_catalog = Some(Arc::new(Catalog::read(&self.seen(), &self.edit_ref().state)?));
        }
        Ok(())
    }

    /// Releases a savepoint and those after it; their changes remain.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when it is gone.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.check_savepoint(savepoint)?;
        let edit = self.edit.as_deref_mut().expect("only ending the transaction takes it");
        while self.savepoints.len() > savepoint.0
            && let Some(mark) = self.savepoints.pop()
        {
            edit.release(&self.shared.pager, &mark);
        }
        Ok(())
    }

    fn check_savepoint(&self, savepoint: Savepoint) -> Result<()> {
        if savepoint.0 < self.savepoints.len() {
            return Ok(());
        }
        let what = format!("savepoint {} no longer exists; create another", savepoint.0);
        Err(Error::InvalidInput { what })
    }

    /// Undoes all changes. The same as dropping the transaction.
    pub fn rollback(self) {}

    /// Commits all changes.
    ///
    /// # Errors
    /// An error of the operating system, after which nothing of the transaction remains, or
    /// [`Error::TransactionFailed`]. If a sync fails, it is unknown whether the transaction
    /// survives a power failure, and later writes are refused.
    pub fn commit(mut self) -> Result<()> {
        if self.has_failed {
            return Err(Error::TransactionFailed);
        }
        self.write_statistics()?;
        self.change(|editor| editor.write_rest_early())?;
        let Some(edit) = self.edit.take() else { return Ok(()) };
        if edit.changed.is_empty() && edit.state == edit.writer.state {
            // It may have read another transaction's commit that is not durable yet.
            let seen = CommitPoint { end: edit.start.end, state: edit.state };
            self.shared.give_writer_back(edit.discard(&self.shared.pager));
            return self.make_durable(seen);
        }
        let commit = self.log_and_publish(edit)?;
        if let Some(catalog) = &self.own_catalog {
            self.shared.catalog.remember(catalog, &commit.state);
        }
        self.make_durable(commit)?;
        self.shared.checkpoint_if_due()
    }

    /// Logs the transaction, makes its versions the newest, and lets the next writer in. On failure
    /// nothing of it remains.
    fn log_and_publish(&self, mut edit: Box<Edit>) -> Result<CommitPoint> {
        let shared = &*self.shared;
        edit.state.transaction += 1;
        let is_home = if edit.is_data_to_sync { shared.pager.sync_data() } else { Ok(()) };
        let (slots, position) = match is_home.and_then(|()| log(&shared.pager, &edit)) {
            Ok(logged) => logged,
            Err(error) => {
                shared.give_writer_back(edit.discard(&shared.pager));
                return Err(error);
            }
        };
        let commit = CommitPoint { end: position.end, state: edit.state };
        let mut writer = edit.end(&shared.pager);
        for (page, slot, lsn) in slots {
            shared.pager.blocks.versions.set_logged(slot, lsn);
            writer.publish(&shared.pager, page, slot, commit.end);
        }
        writer.state = commit.state;
        writer.position = position;
        *shared.pager.blocks.position() = position;
        shared.pager.blocks.wal.set_written(commit.end);
        shared.give_writer_back(writer);
        Ok(commit)
    }

    /// Updates the row counts, before the commit.
    fn write_statistics(&mut self) -> Result<()> {
        let counts =
            std::mem::take(&mut self.edit.as_mut().expect("the transaction runs").row_counts);
        self.change(|editor| {
            counts
                .into_iter()
                .filter(|(_, change)| *change != 0)
                .try_for_each(|(table, change)| statistics::add(editor, table, change))
        })
    }

    fn make_durable(&self, commit: CommitPoint) -> Result<()> {
        let failpoints = self.shared.pager.blocks.failpoints;
        let waits = self.shared.pager.options.synchronous == Synchronous::Full;
        if waits && !failpoints.acknowledge_before_sync() {
            self.shared.pager.blocks.wal.sync_to(commit.end)?;
        }
        let wal = &self.shared.pager.blocks.wal;
        self.shared.role.check_lock(waits).inspect_err(|_| wal.poison())?;
        self.shared.pager.snapshots.show(commit);
        Ok(())
    }
}

/// A page's slot, and the position of its image in the log.
type Logged = (PageId, u32, Lsn);

/// Writes the images that are not in the log yet, and the commit record.
fn log(pager: &Pager, edit: &Edit) -> Result<(Vec<Logged>, LogPosition)> {
    let mut changed: Vec<(PageId, u32)> =
        edit.changed.iter().map(|(&page, version)| (page, version.slot)).collect();
    changed.sort_unstable();
    // While the position is held, evicted pages wait with their images.
    let mut position = pager.blocks.position();
    let mut batch = pager.blocks.wal.batch(*position);
    batch.expect((changed.len() * pager.page_size).min(BATCH_SIZE + pager.page_size));
    let mut commit = Commit { state: edit.state, images_from: batch.start(), listed: Vec::new() };
    let mut logged: Vec<Logged> = Vec::with_capacity(changed.len());
    let mut left = changed.into_iter();
    let mut next = left.next();
    while let Some((page, slot)) = next {
        let lsn = match pager.pool.pin_dirty(BlockId::version(slot)) {
            DirtyPage::Here(mut guard) => {
                page::set_lsn(&mut guard, batch.position().end);
                let lsn = batch.add_image(&guard, page);
                guard.mark_clean();
                lsn
            }
            DirtyPage::Stored => {
                let lsn = pager.blocks.versions.logged_at(slot);
                commit.listed.push((page, lsn));
                lsn
            }
            DirtyPage::Leaving => {
                pager.blocks.wal.write(&batch)?;
                *position = batch.position();
                pager.blocks.wal.recycle(batch);
                drop(position);
                thread::sleep(LEAVING_TIME);
                position = pager.blocks.position();
                batch = pager.blocks.wal.batch(*position);
                list_images(&mut commit, &logged, batch.start());
                continue;
            }
        };
        logged.push((page, slot, lsn));
        if batch.bytes().len() >= BATCH_SIZE {
            batch = pager.blocks.wal.write_and_go_on(batch)?;
        }
        next = left.next();
    }
    batch.add_commit(&commit);
    pager.blocks.wal.write(&batch)?;
    *position = batch.position();
    pager.blocks.wal.recycle(batch);
    Ok((logged, *position))
}

/// Lists the images so far one by one. After them there may be images of evicted pages, which do
/// not count.
fn list_images(commit: &mut Commit, logged: &[Logged], images_from: Lsn) {
    let images = logged.iter().filter(|(_, _, lsn)| *lsn >= commit.images_from);
    commit.listed.extend(images.map(|&(page, _, lsn)| (page, lsn)));
    commit.images_from = images_from;
}

read_through_reader!(Transaction);

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(edit) = self.edit.take() {
            let pager = &self.shared.pager;
            let has_written_early = edit.is_data_to_sync;
            let writer = edit.discard(pager);
            if has_written_early {
                // After an error the file stays large until the next open.
                let _ = pager.cut_data(writer.state.page_count);
            }
            self.shared.give_writer_back(writer);
        }
    }
}
