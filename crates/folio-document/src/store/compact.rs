//! Compaction: the live lines, in order, into a new file that takes the old one's place.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use folio_file::Stat;

use super::publish::fault_error;
use super::staged::Staged;
use super::verify::is_unchanged;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{IndexFault, SkipCursor};
use crate::line::{self, LineReader};
use crate::options::Progress;
use crate::rejected::write_rejected;
use crate::report::{CompactReport, Notice};
use crate::segment::Segment;

/// Smaller files are not compacted: there is little to gain.
const WORTHWHILE_SIZE: u64 = 8 << 20;

/// Lines are copied in writes of this size.
const WRITE_SIZE: usize = 4 << 20;

impl LineStore {
    /// Rewrites the live lines in order. Invalid lines move to a separate file. Open readers keep
    /// the old file until they refresh.
    pub(crate) fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.take_lock(&mut writer)?;
        self.follow_others(&mut writer)?;
        let report = self.compact_as(&mut writer, progress)?;
        writer.guard = None;
        Ok(report)
    }

    /// Compacts when more than half of a large file is dead.
    pub(super) fn compact_if_worthwhile(&self, writer: &mut Writer) -> Result<()> {
        let (size, live_size) = {
            let state = &self.read_view().index.state;
            (state.data_end, state.live_size)
        };
        if size < WORTHWHILE_SIZE || live_size > size / 2 || writer.batch_owner.is_some() {
            return Ok(());
        }
        match self.compact_as(writer, &mut |_, _| true) {
            Ok(_) => Ok(()),
            Err(error) if self.handle.is_poisoned() => Err(error),
            Err(error) => {
                // The data is stored, and compaction can wait for another time.
                writer.known = None;
                let name = self.paths.data.display();
                self.handle.notice([Notice(format!("{name}: half of it is dead, but {error}"))]);
                Ok(())
            }
        }
    }

    fn compact_as(&self, writer: &mut Writer, progress: Progress<'_>) -> Result<CompactReport> {
        self.append_pending(writer)?;
        let Some(segment) = self.read_view().segment.clone() else {
            return Ok(CompactReport::default());
        };
        let is_known = writer.known.is_some() && self.stat_data()? == writer.known;
        let is_usable = {
            let index = &self.read_view().index;
            index.check_for_scan().is_ok() && is_unchanged(&segment, index).unwrap_or(false)
        };
        if !is_known || !is_usable {
            self.reload(writer, true, &mut |_, _| true)?;
        }
        let segment = self.read_view().segment.clone().unwrap_or(segment);
        // If anything fails from here on, the path may name the new file, not durably yet.
        let names_unsynced = std::mem::replace(&mut writer.names_unsynced, true);
        let replaced = self.replace_data(&segment, writer.known, progress)?;
        writer.names_unsynced = names_unsynced;
        self.sync_names(writer)?;
        self.reload(writer, true, progress)?;
        self.note_durable(writer);
        self.open_data(writer)?;
        self.publish(writer)?;
        self.publish_fields(writer);
        Ok(CompactReport { document_count: self.read_view().count(), ..replaced })
    }

    /// Replaces all lines by the live lines, if the file is still as `known`. An error changes
    /// nothing.
    fn replace_data(
        &self,
        segment: &Arc<Segment>,
        known: Option<Stat>,
        progress: Progress<'_>,
    ) -> Result<CompactReport> {
        let io = |action| Error::io(action, &self.paths.data);
        let before = known.map_or_else(|| segment.file.stat(), Ok).map_err(io("read"))?;
        let end = self.read_view().index.state.data_end;
        let mut copied = self.copy_live(segment, end, progress)?;
        copied.reject_rest(segment, end..before.size).map_err(io("read"))?;
        let rejected_path = match copied.rejected.is_empty() {
            true => None,
            false => Some(write_rejected(&*self.files, &self.paths.meta, &copied.rejected)?),
        };
        let size_after = copied.size;
        if !self.put_in_place(copied.file, &*segment.file, before)? {
            return Err(Error::Invalid(format!(
                "{} was changed during the compaction; nothing was replaced, run it again",
                self.paths.data.display()
            )));
        }
        Ok(CompactReport {
            size_before: before.size,
            size_after,
            rejected_count: copied.rejected_count,
            rejected_path,
            ..CompactReport::default()
        })
    }

    /// Records that the whole new file is on the device.
    fn note_durable(&self, writer: &mut Writer) {
        writer.data_unsynced = false;
        writer.found_unsynced = false;
        writer.suspect = 0..0;
        writer.synced_end = self.read_view().index.state.data_end;
        writer.unpublished = true;
    }

    fn copy_live(
        &self,
        segment: &Arc<Segment>,
        size: u64,
        progress: Progress<'_>,
    ) -> Result<Copied> {
        let file = self.stage()?;
        let mut copied =
            Copied { file, size: 0, buffer: Vec::new(), rejected: Vec::new(), rejected_count: 0 };
        let skips = {
            let index = &self.read_view().index;
            SkipCursor::new(&index.runs, index.delta.skips.clone(), 0)
        };
        let done = copied.copy(segment, skips, size, progress);
        done.map_err(|fault| match fault {
            CopyFault::Cancelled => Error::Cancelled,
            CopyFault::Write(error) => Error::io("write", &copied.file.path)(error),
            CopyFault::Index(fault) => fault_error(fault, &self.paths),
        })?;
        Ok(copied)
    }
}

enum CopyFault {
    Cancelled,
    Write(io::Error),
    Index(IndexFault),
}

impl From<IndexFault> for CopyFault {
    fn from(fault: IndexFault) -> Self {
        Self::Index(fault)
    }
}

impl From<io::Error> for CopyFault {
    fn from(error: io::Error) -> Self {
        Self::Index(error.into())
    }
}

struct Copied {
    file: Staged,
    size: u64,
    buffer: Vec<u8>,
    rejected: Vec<u8>,
    rejected_count: u64,
}

impl Copied {
    fn copy(
        &mut self,
        segment: &Segment,
        skips: Result<SkipCursor, IndexFault>,
        size: u64,
        progress: Progress<'_>,
    ) -> Result<(), CopyFault> {
        let mut skips = skips?;
        let mut reader = LineReader::new(&*segment.file, 0, size);
        while let Some(raw) = reader.next()? {
            let offset = raw.offset;
            while skips.peek() < offset {
                skips.pass(offset - 1)?;
            }
            if skips.peek() != offset {
                self.buffer.extend_from_slice(raw.text);
                self.buffer.push(b'\n');
            } else if line::examine(raw.text).is_err() {
                self.rejected.extend_from_slice(raw.text);
                self.rejected.push(b'\n');
                self.rejected_count += 1;
            }
            if self.buffer.len() >= WRITE_SIZE {
                let done = raw.next;
                self.write_out().map_err(CopyFault::Write)?;
                if !progress(done / 2, size) {
                    return Err(CopyFault::Cancelled);
                }
            }
        }
        self.write_out().map_err(CopyFault::Write)
    }

    /// Moves the torn end of a write, which the index leaves out.
    fn reject_rest(&mut self, segment: &Segment, rest: Range<u64>) -> io::Result<()> {
        let mut bytes = vec![0; (rest.end - rest.start) as usize];
        let read = segment.file.read_at(&mut bytes, rest.start)?;
        if read > 0 {
            self.rejected.extend_from_slice(&bytes[..read]);
            self.rejected.push(b'\n');
            self.rejected_count += 1;
        }
        Ok(())
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.file.file.write_at(&self.buffer, self.size)?;
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
