//! Writes pending lines to the file.
//!
//! Someone else may change the file at any time: an editor renames another file over it, `>>`
//! appends to it. Checking and appending are two calls, so changes between them are looked for
//! afterwards, before anything is acknowledged.

use std::io;

use folio_file::{File, Stat};

use super::publish::fault_error;
use super::repair::replay;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::IndexFault;
use crate::options::Durability;

/// How often to retry while the file keeps being replaced.
const ATTEMPTS: usize = 5;

impl LineStore {
    /// Appends pending lines to the file and adds them to the index.
    pub(super) fn append_pending(&self, writer: &mut Writer) -> Result<()> {
        if self.read_view().pending.is_empty() {
            return Ok(());
        }
        let io = |error| Error::io("read", &self.paths.data)(error);
        for _ in 0..ATTEMPTS {
            let data = self.prepare_to_append(writer)?;
            let expected = self.read_view().index.state.data_end;
            let end = self.append_whole(writer, &*data, expected)?;
            writer.known = Some(data.stat().map_err(io)?);
            writer.data_unsynced = true;
            writer.unpublished = true;
            let is_named = self.is_named(writer);
            if !matches!(is_named, Ok(true)) {
                writer.known = None; // our lines may be in a file without a name
                is_named?;
                continue;
            }
            let pending = std::mem::take(&mut self.write_view().pending);
            let start = end - pending.bytes.len() as u64;
            if writer.known.is_some_and(|known| known.size != end) {
                writer.known = None; // lines of others after ours are not indexed
            }
            if start == expected {
                return match self.take_in(writer, &pending, start) {
                    Err(fault @ IndexFault::Io(_)) => {
                        writer.known = None; // the next write or refresh looks
                        Err(fault_error(fault, &self.paths))
                    }
                    Err(fault) => self.repair_as(writer, &fault),
                    Ok(()) => Ok(()),
                };
            }
            return self.take_all_in(writer);
        }
        Err(Error::Invalid(format!(
            "{} keeps being replaced by another program; try again when that is done",
            self.paths.data.display()
        )))
    }

    /// Appends for a put. If that fails, drops the lines of the puts that then fail: all pending
    /// lines if each put waits until it is durable, otherwise the newest one.
    pub(super) fn append_or_take_back(&self, writer: &mut Writer) -> Result<()> {
        let Err(error) = self.append_pending(writer) else { return Ok(()) };
        let mut view = self.write_view();
        let pending = std::mem::take(&mut view.pending);
        let count = pending.delta.len();
        let waits = self.options.durability == Durability::EveryPut;
        let failed = if waits { count } else { count.min(1) };
        if replay(&mut view, pending.lines().take(count - failed)).is_err() {
            view.pending = pending; // acknowledged lines survive a damaged index
        } else if waits {
            self.commit.fail(writer.sequence, count as u64, &error);
        }
        Err(error)
    }

    /// Whether the path still names the file that was written to.
    pub(super) fn is_named(&self, writer: &Writer) -> Result<bool> {
        let named = self.stat_data()?;
        Ok(named.as_ref().map(Stat::identity) == writer.known.as_ref().map(Stat::identity))
    }

    /// The data file at its path; `None` if there is none.
    pub(super) fn stat_data(&self) -> Result<Option<Stat>> {
        match self.files.stat(&self.paths.data) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &self.paths.data)(error)),
        }
    }

    /// Called if someone wrote between our check and our write. Indexes the current file from its
    /// first line on.
    pub(super) fn take_all_in(&self, writer: &mut Writer) -> Result<()> {
        self.reload(writer, true, &mut |_, _| true)?;
        self.open_data(writer)?;
        writer.data_unsynced = true;
        Ok(())
    }

    /// Appends the pending lines at the start of a line. Returns their end.
    fn append_whole(&self, writer: &mut Writer, data: &dyn File, expected: u64) -> Result<u64> {
        let end = self.append_bytes(writer, data)?;
        let start = end - self.read_view().pending.bytes.len() as u64;
        let mut before = [b'\n'];
        if start > 0 && start != expected {
            data.read_at(&mut before, start - 1).map_err(Error::io("read", &self.paths.data))?;
        }
        if before == *b"\n" {
            return Ok(end);
        }
        // Someone appended a line without its end, and our first line became part of it. Our lines
        // are written again, separately.
        data.append(b"\n").map_err(Error::io("append to", &self.paths.data))?;
        self.append_bytes(writer, data)
    }

    /// Writes the pending bytes. On failure the file is truncated and they stay pending.
    fn append_bytes(&self, writer: &mut Writer, data: &dyn File) -> Result<u64> {
        let before = writer.known.map_or(0, |known| known.size);
        let view = self.read_view();
        match data.append(&view.pending.bytes) {
            Ok(end) => {
                data.start_writeback(before, end - before);
                Ok(end)
            }
            Err(_) if self.options.failpoints().ignore_short_write() => {
                Ok(before + view.pending.bytes.len() as u64)
            }
            Err(error) => {
                let wrote = view.pending.bytes.len() as u64;
                drop(view);
                self.cut_back(writer, data, before, wrote);
                Err(Error::io("append to", &self.paths.data)(error))
            }
        }
    }

    /// After a failed append, removes the part that was written, unless the file grew by more than
    /// our write explains.
    pub(super) fn cut_back(&self, writer: &mut Writer, data: &dyn File, size: u64, at_most: u64) {
        if data.stat().is_ok_and(|stat| stat.size >= size && stat.size <= size + at_most) {
            let _ = data.truncate(size);
        }
        writer.known = None; // look before the next write
        writer.data = None;
        writer.sums = None;
    }
}
