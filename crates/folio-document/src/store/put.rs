//! Single puts and deletes.

use std::sync::MutexGuard;

use super::publish::fault_error;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::IndexFault;
use crate::line::{self, EncodedLine};
use crate::options::Durability;
use crate::report::Put;

/// Pending lines are written to the file when they reach this size. A process that is killed loses
/// no more than that. Few large writes give the file few extents.
const PENDING_LIMIT: usize = 1 << 20;

/// What a line changes for its id.
#[derive(Debug, Clone, Copy)]
struct Change {
    is_tombstone: bool,
    /// Whether the id had a document.
    existed: bool,
}

impl LineStore {
    /// Puts a document.
    pub(crate) fn put_line(&self, line: EncodedLine<'_>) -> Result<Put> {
        let mut writer = self.ready_writer()?;
        let existed = self.find_older(&mut writer, line.id())?;
        self.check_unique(&mut writer, line.id(), line.text())?;
        self.push_line(writer, line.id(), line.text(), Change { is_tombstone: false, existed })?;
        Ok(if existed { Put::Replaced } else { Put::Inserted })
    }

    /// Puts a document unless its id has one. Returns whether it did.
    pub(crate) fn insert_line(&self, line: EncodedLine<'_>) -> Result<bool> {
        let mut writer = self.ready_writer()?;
        if self.find_older(&mut writer, line.id())? {
            return Ok(false);
        }
        self.check_unique(&mut writer, line.id(), line.text())?;
        let change = Change { is_tombstone: false, existed: false };
        self.push_line(writer, line.id(), line.text(), change)?;
        Ok(true)
    }

    /// Deletes a document. Returns whether it existed.
    pub(crate) fn delete(&self, id: &str) -> Result<bool> {
        Ok(self.take(id)?.is_some())
    }

    /// Deletes a document and returns its line, in one step: no other writer comes between.
    pub(crate) fn take(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let mut writer = self.ready_writer()?;
        if !self.find_older(&mut writer, id)? {
            return Ok(None);
        }
        let taken = std::mem::take(&mut writer.older);
        let change = Change { is_tombstone: true, existed: true };
        self.push_line(writer, id, &line::tombstone(id), change)?;
        Ok(Some(taken))
    }

    /// Replaces a document by the line that `make` returns, in one step: no other writer comes
    /// between. `None` if there is no document.
    pub(crate) fn update(
        &self,
        id: &str,
        make: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>> {
        let mut writer = self.ready_writer()?;
        if !self.find_older(&mut writer, id)? {
            return Ok(None);
        }
        let text = make(&writer.older)?;
        let line = EncodedLine::new(id, &text)?;
        self.check_unique(&mut writer, line.id(), line.text())?;
        self.push_line(writer, id, line.text(), Change { is_tombstone: false, existed: true })?;
        Ok(Some(text))
    }

    /// The writer, holding the lock, after it has read what others wrote while it did not hold it.
    fn ready_writer(&self) -> Result<MutexGuard<'_, Writer>> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.look_at_others(&mut writer)?;
        Ok(writer)
    }

    /// Takes the lock, unless it is already held, and reads what others have written since.
    pub(super) fn look_at_others(&self, writer: &mut Writer) -> Result<()> {
        if writer.guard.is_none() {
            self.take_lock(writer)?;
            self.follow_others(writer)?;
        }
        Ok(())
    }

    /// Whether the id has a document. If so, `writer.older` holds its line.
    fn find_older(&self, writer: &mut Writer, id: &str) -> Result<bool> {
        for _ in 0..2 {
            let found = self.read_view().find(id, &mut writer.older);
            match found {
                Ok(found) => return Ok(found.document().is_some()),
                Err(IndexFault::Io(error)) => {
                    return Err(Error::io("read", &self.paths.data)(error));
                }
                Err(fault) => self.repair_as(writer, &fault)?,
            }
        }
        let found = self.read_view().find(id, &mut writer.older);
        found
            .map(|found| found.document().is_some())
            .map_err(|fault| fault_error(fault, &self.paths))
    }

    /// Adds a line to the pending ones. With `Durability::EveryPut`, makes it durable.
    fn push_line(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        id: &str,
        text: &[u8],
        change: Change,
    ) -> Result<()> {
        let waits = self.options.durability == Durability::EveryPut;
        let is_full = {
            let mut view = self.write_view();
            view.push_pending(id, text, change.is_tombstone);
            view.pending.live_change += i64::from(!change.is_tombstone) - i64::from(change.existed);
            view.pending.bytes.len() >= PENDING_LIMIT && !waits
        };
        writer.sequence += 1;
        if is_full {
            self.append_or_take_back(&mut writer)?;
            self.compact_if_worthwhile(&mut writer)?;
        }
        let sequence = writer.sequence;
        drop(writer);
        if waits { self.sync_up_to(sequence) } else { Ok(()) }
    }
}
