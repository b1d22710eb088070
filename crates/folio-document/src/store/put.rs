//! Single puts and deletes.

use std::sync::MutexGuard;

use serde_json::Value;

use super::publish::fault_error;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{IndexFault, id_hash};
use crate::line;
use crate::options::Durability;
use crate::report::Put;

/// Pending lines go to the file once there are so many bytes of them: a process that is
/// killed loses no more. Few large writes leave the file in few extents.
const PENDING_LIMIT: usize = 1 << 20;

/// What becomes of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Put,
    /// Nothing where it has a document.
    Insert,
    /// Nothing where it has none.
    Delete,
}

impl LineStore {
    /// Puts a value under an id that has been checked.
    pub(crate) fn put_value(&self, id: &str, document: &Value) -> Result<Put> {
        self.change(id, Change::Put, |line| line::encode_value(id, document, line))
            .map(|existed| if existed { Put::Replaced } else { Put::Inserted })
    }

    /// Puts a normalized line.
    pub(crate) fn put_line(&self, id: &str, text: &str) -> Result<Put> {
        self.change(id, Change::Put, |line| {
            line.extend_from_slice(text.as_bytes());
            Ok(())
        })
        .map(|existed| if existed { Put::Replaced } else { Put::Inserted })
    }

    /// Puts a normalized line unless the id has a document; answers whether it did.
    pub(crate) fn insert_line(&self, id: &str, text: &str) -> Result<bool> {
        let existed = self.change(id, Change::Insert, |line| {
            line.extend_from_slice(text.as_bytes());
            Ok(())
        })?;
        Ok(!existed)
    }

    /// Deletes a document; answers whether there was one.
    pub(crate) fn delete(&self, id: &str) -> Result<bool> {
        self.change(id, Change::Delete, |line| {
            line.extend_from_slice(&line::tombstone(id));
            Ok(())
        })
    }

    /// Deletes a document and answers its line, without another writer in between.
    pub(crate) fn take(&self, id: &str) -> Result<Option<String>> {
        self.standing.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.prepare_to_look(&mut writer)?;
        if !self.find_older(&mut writer, id)? {
            return Ok(None);
        }
        let taken = String::from_utf8(writer.older.clone())
            .map_err(|_| Error::Json { offset: 0, reason: "not valid UTF-8" })?;
        self.push_line(&mut writer, id, &line::tombstone(id), true, true)?;
        self.finish_change(writer)?;
        Ok(Some(taken))
    }

    /// Replaces a document by what `make` turns its line into, without another
    /// writer in between; `None` when there is none.
    pub(crate) fn update(
        &self,
        id: &str,
        make: impl FnOnce(&[u8]) -> Result<String>,
    ) -> Result<Option<String>> {
        self.standing.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.prepare_to_look(&mut writer)?;
        if !self.find_older(&mut writer, id)? {
            return Ok(None);
        }
        let text = make(&writer.older)?;
        self.push_line(&mut writer, id, text.as_bytes(), false, true)?;
        self.finish_change(writer)?;
        Ok(Some(text))
    }

    fn change(
        &self,
        id: &str,
        change: Change,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<bool> {
        self.standing.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.prepare_to_look(&mut writer)?;
        let mut text = std::mem::take(&mut writer.line);
        text.clear();
        encode(&mut text)?;
        if text.len() > line::MAX_LINE_SIZE {
            return Err(Error::Invalid(format!(
                "document {id:?} is longer than 2 GiB as JSON; split it"
            )));
        }
        let existed = self.find_older(&mut writer, id)?;
        if matches!((change, existed), (Change::Insert, true) | (Change::Delete, false)) {
            writer.line = text;
            return Ok(existed);
        }
        self.push_line(&mut writer, id, &text, change == Change::Delete, existed)?;
        writer.line = text;
        self.finish_change(writer)?;
        Ok(existed)
    }

    /// Holds the writer's lock, and has looked whether somebody else wrote
    /// while we did not hold it.
    pub(super) fn prepare_to_look(&self, writer: &mut Writer) -> Result<()> {
        if writer.guard.is_none() {
            self.take_lock(writer)?;
            self.follow_others(writer)?;
        }
        Ok(())
    }

    /// Whether the id has a document; its line is then in `writer.older`.
    fn find_older(&self, writer: &mut Writer, id: &str) -> Result<bool> {
        let hash = id_hash(id);
        for _ in 0..2 {
            let found = self.read_view().find(id, hash, &mut writer.older);
            match found {
                Ok(found) => return Ok(found.document().is_some()),
                Err(IndexFault::Io(error)) => {
                    return Err(Error::io("read", &self.paths.data)(error));
                }
                Err(fault) => self.heal_as(writer, &fault)?,
            }
        }
        let found = self.read_view().find(id, hash, &mut writer.older);
        found
            .map(|found| found.document().is_some())
            .map_err(|fault| fault_error(fault, &self.paths))
    }

    fn push_line(
        &self,
        writer: &mut Writer,
        id: &str,
        text: &[u8],
        is_tombstone: bool,
        existed: bool,
    ) -> Result<()> {
        let is_full = {
            let mut view = self.write_view();
            view.pending.push(id, text, is_tombstone);
            view.pending.live_change += i64::from(!is_tombstone) - i64::from(existed);
            view.pending.bytes.len() >= PENDING_LIMIT
        };
        writer.sequence += 1;
        if is_full {
            self.settle(writer)?;
            self.compact_if_worthwhile(writer)?;
        }
        Ok(())
    }

    fn finish_change(&self, writer: MutexGuard<'_, Writer>) -> Result<()> {
        let sequence = writer.sequence;
        drop(writer);
        match self.options.durability {
            Durability::EveryPut => self.sync_up_to(sequence),
            Durability::OnFlush | Durability::None => Ok(()),
        }
    }
}
