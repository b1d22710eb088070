//! Checkpoints write the log's pages to the data file, so that the log can restart.
//!
//! In this order, each step durable before the next:
//!
//! 1. the log, up to the last commit;
//! 2. the newest version of every page in the log, into the data file;
//! 3. the data file's header, in the slot that the last one does not use;
//! 4. the log's header, in its other slot: a new generation, with a new salt.
//!
//! After its new header the log's file keeps some space for later transactions, and releases what a
//! very long one took beyond that. Closing the store releases all of it.
//!
//! A crash before step 4 leaves the old log, whose pages take precedence over those of the data
//! file, whatever their state. After step 4 the old log is not needed. The log restarts only if
//! there are no readers from before its end; then the old content of the data file is not needed.
//! Such readers get a moment to end. If one does not, the checkpoint is retried later. Once the log
//! has outgrown its limit, these readers are ended. The same goes for readers in other processes,
//! which announce their position, see `processes`.

use std::time::Duration;

use crate::data_header::{DataHeader, data_size, page_offset};
use crate::edit::Writer;
use crate::error::{Error, Result};
use crate::header_slot::Header;
use crate::ids::{BlockId, PageId, draw};
use crate::options::Synchronous;
use crate::page;
use crate::pager::{CommitPoint, NO_SLOT};
use crate::shared::Shared;

/// How long to wait for old readers.
const PATIENCE: Duration = Duration::from_millis(20);

/// The log keeps space for this many checkpoints (256 MiB with the default options). Growing the
/// file again takes a fifth of the time of an update of 20,000 rows in random order.
const KEPT_CHECKPOINTS: u64 = 16;

/// Adjacent pages are written together, up to this size.
const WRITE_SIZE: usize = 1 << 20;

impl Shared {
    /// Runs a checkpoint, after waiting for the current writer.
    pub(crate) fn checkpoint(&self) -> Result<bool> {
        let mut writer = self.take_writer(self.pager.options.timeout)?;
        let result = self.checkpoint_as_writer(&mut writer);
        self.give_writer_back(writer);
        result
    }

    /// Runs a checkpoint and cuts the log to its header; `false` when a writer or an old reader
    /// prevents it.
    pub(crate) fn leave(&self) -> Result<bool> {
        let mut writer = self.take_writer(Duration::ZERO)?;
        let result = self.checkpoint_as_writer(&mut writer).and_then(|is_done| {
            if is_done {
                self.pager.blocks.wal.cut(0)?;
            }
            Ok(is_done)
        });
        self.give_writer_back(writer);
        result
    }

    /// Runs a checkpoint if the log has grown enough and there is no writer.
    pub(crate) fn checkpoint_if_due(&self) -> Result<()> {
        let wal = &self.pager.blocks.wal;
        if wal.size(wal.written()) < self.pager.options.checkpoint_size {
            return Ok(());
        }
        let Ok(mut writer) = self.take_writer(Duration::ZERO) else { return Ok(()) };
        let result = if wal.size(writer.position.end) >= writer.checkpoint_at {
            self.checkpoint_as_writer(&mut writer).map(|_| ())
        } else {
            Ok(())
        };
        self.give_writer_back(writer);
        // The preceding commit is durable; a full disk must not make it look failed.
        match result {
            Err(error) if self.pager.blocks.wal.check_writable().is_err() => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn checkpoint_as_writer(&self, writer: &mut Writer) -> Result<bool> {
        let end = writer.position.end;
        if writer.logged.is_empty() && self.pager.blocks.wal.size(end) == 0 {
            return Ok(true);
        }
        let has_outgrown = self.pager.blocks.wal.size(end) > self.pager.options.log_size_max;
        let here = self.readers_are_past(writer, has_outgrown)?;
        // Until the log has restarted, no other process may come in.
        let gate = if here { self.role.close_gate(end, PATIENCE)? } else { None };
        let are_past = here && (gate.is_some() || has_outgrown);
        if !are_past && !self.pager.blocks.failpoints.checkpoint_past_readers() {
            let size = self.pager.blocks.wal.size(end);
            writer.checkpoint_at = size + size / 4;
            return Ok(false);
        }
        if self.pager.blocks.failpoints.restart_log_first() {
            self.restart_log(writer)?;
        }
        self.copy_pages(writer)?;
        self.write_header(writer)?;
        // Before the log restarts: its old content must not be looked up any more.
        writer.retire_all(&self.pager);
        self.restart_log(writer)?;
        writer.checkpoint_at = self.pager.options.checkpoint_size;
        Ok(true)
    }

    /// Makes the log durable, and waits until no reader of this process needs the old content of
    /// the data file. Ends such readers when the log has outgrown its limit.
    fn readers_are_past(&self, writer: &Writer, has_outgrown: bool) -> Result<bool> {
        let end = writer.position.end;
        if self.pager.options.synchronous != Synchronous::Off {
            self.pager.blocks.wal.sync_to(end)?;
        }
        self.pager.snapshots.show(CommitPoint { end, state: writer.state });
        if self.pager.blocks.failpoints.checkpoint_past_readers()
            || self.pager.snapshots.wait_for_older(end, PATIENCE)
        {
            return Ok(true);
        }
        if has_outgrown {
            self.pager.snapshots.expire_below(end);
        }
        Ok(has_outgrown)
    }

    /// Writes the newest version of every page to the data file.
    fn copy_pages(&self, writer: &Writer) -> Result<()> {
        let mut pages: Vec<PageId> = writer.logged.iter().copied().collect();
        pages.sort_unstable();
        let mut run = Run { first: PageId::NONE, bytes: Vec::new() };
        for page in pages {
            let slot = self.pager.blocks.versions.head(page);
            if slot == NO_SLOT {
                continue;
            }
            if !run.takes(page, self.pager.page_size) {
                self.write_run(&mut run)?;
                run.first = page;
            }
            let start = run.bytes.len();
            run.bytes.extend_from_slice(&self.pager.pool.pin_for_scan(BlockId::version(slot))?);
            page::seal(&mut run.bytes[start..], self.pager.blocks.database);
        }
        self.write_run(&mut run)?;
        self.cover(writer.state.page_count)?;
        self.pager.sync_data()
    }

    /// Extends the file to hold all its pages. The last ones may never have been written, if they
    /// were allocated and freed within a transaction.
    fn cover(&self, page_count: u32) -> Result<()> {
        let needed = data_size(page_count, self.pager.page_size);
        let data = &self.pager.blocks.data;
        let size = data.stat().map_err(Error::io("read", &self.pager.blocks.data_path))?.size;
        if size >= needed {
            return Ok(());
        }
        data.truncate(needed).map_err(Error::io("extend", &self.pager.blocks.data_path))
    }

    fn write_run(&self, run: &mut Run) -> Result<()> {
        if run.bytes.is_empty() {
            return Ok(());
        }
        let offset = page_offset(run.first, self.pager.page_size);
        let written = self.pager.blocks.data.write_at(&run.bytes, offset);
        run.bytes.clear();
        written.map_err(Error::io("write", &self.pager.blocks.data_path))
    }

    fn write_header(&self, writer: &Writer) -> Result<()> {
        let mut sequence = self.header_sequence();
        let header = DataHeader {
            page_size: self.pager.page_size as u32,
            database: self.pager.blocks.database,
            sequence: *sequence + 1,
            checkpoint: writer.position.end,
            state: writer.state,
        };
        self.pager
            .blocks
            .data
            .write_at(&header.to_bytes(), header.offset())
            .map_err(Error::io("write", &self.pager.blocks.data_path))?;
        self.pager.sync_data()?;
        *sequence += 1;
        Ok(())
    }

    fn restart_log(&self, writer: &mut Writer) -> Result<()> {
        let kept_size = KEPT_CHECKPOINTS * self.pager.options.checkpoint_size;
        writer.position = self.pager.blocks.wal.restart(writer.position.end, draw(), kept_size)?;
        *self.pager.blocks.position() = writer.position;
        Ok(())
    }
}

/// Adjacent pages.
struct Run {
    first: PageId,
    bytes: Vec<u8>,
}

impl Run {
    fn takes(&self, page: PageId, page_size: usize) -> bool {
        let count = (self.bytes.len() / page_size) as u32;
        count > 0 && self.first.0 + count == page.0 && self.bytes.len() < WRITE_SIZE
    }
}
