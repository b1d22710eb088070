//! The write-ahead log: makes a transaction's changes durable before it is acknowledged.
//!
//! A transaction's pages go into the log as images, followed by its commit record. The data file
//! gets them at a checkpoint. Until then the log has the newest version of a page, and
//! [`Wal::read_image`] reads it back after the buffer pool has evicted it.
//!
//! Positions ([`Lsn`]) always grow; the file holds those from the generation's base on. There is
//! one writer: it holds the [`LogPosition`] and passes in whole batches. Committers then wait in
//! [`Wal::sync_to`], where the first one syncs for all that have written by then.

mod header;
pub(crate) mod record;
pub(crate) mod scan;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use folio_file::{File, LockError, fork_count};

pub(crate) use header::{LOG_NAME, LOG_START, LogHeader};
use record::{Batch, LogPosition, RECORD_HEADER_SIZE, Record};

use crate::error::{Error, Result};
use crate::failpoint::Failpoints;
use crate::header_slot::{Header, newest, read_slots};
use crate::ids::{Lsn, PageId, draw};

/// The minimum and maximum growth of the file ahead of small commits. Existing space saves their
/// sync a change of metadata. Larger writes than the minimum go to the end of the file.
const GROWTH_MIN: u64 = 64 << 10;
const GROWTH_MAX: u64 = 8 << 20;

/// An open log.
#[derive(Debug)]
pub(crate) struct Wal {
    file: Arc<dyn File>,
    path: PathBuf,
    generation: Mutex<Generation>,
    durability: Mutex<Durability>,
    synced: Condvar,
    /// The end of the last complete transaction in the file.
    written: AtomicU64,
    session: u16,
    /// The memory of the last batch, for reuse: fresh memory from the system would cost more than
    /// filling it.
    memory: Mutex<Vec<u8>>,
    /// The process that opened it, as [`fork_count`] numbers it.
    process: u32,
    failpoints: Failpoints,
}

/// State that changes when the log restarts.
#[derive(Debug, Clone, Copy)]
struct Generation {
    header: LogHeader,
    /// The file's size.
    size: u64,
    /// Whether the header is certainly durable.
    is_settled: bool,
}

#[derive(Debug, Clone, Copy)]
struct Durability {
    durable: Lsn,
    is_syncing: bool,
    is_poisoned: bool,
}

impl Wal {
    /// A log whose header has been read and whose complete records end at `end`.
    pub(crate) fn new(
        file: Arc<dyn File>,
        path: PathBuf,
        header: LogHeader,
        size: u64,
        end: Lsn,
        failpoints: Failpoints,
    ) -> Self {
        // The writer of the first record made the header durable before.
        let is_settled = end > header.base;
        Self {
            file,
            path,
            generation: Mutex::new(Generation { header, size, is_settled }),
            durability: Mutex::new(Durability {
                durable: header.base,
                is_syncing: false,
                is_poisoned: false,
            }),
            synced: Condvar::new(),
            written: AtomicU64::new(end.0),
            session: draw() as u16,
            memory: Mutex::new(Vec::new()),
            process: fork_count(),
            failpoints,
        }
    }

    pub(crate) fn header(&self) -> LogHeader {
        self.generation().header
    }

    /// An empty batch for records from `position` on.
    pub(crate) fn batch(&self, position: LogPosition) -> Batch {
        let memory = std::mem::take(&mut *self.memory());
        Batch::new(position, self.header().salt, self.session, self.durable(), memory)
    }

    /// Returns a batch's memory for the next one.
    pub(crate) fn recycle(&self, batch: Batch) {
        *self.memory() = batch.into_memory();
    }

    /// Writes a batch, and begins the next one after it.
    ///
    /// # Errors
    /// As [`Wal::write`].
    pub(crate) fn write_and_go_on(&self, batch: Batch) -> Result<Batch> {
        self.write(&batch)?;
        let position = batch.position();
        self.recycle(batch);
        Ok(self.batch(position))
    }

    /// Writes a batch to the file, not durably yet.
    ///
    /// # Errors
    /// An error of the operating system: nothing of the batch counts then, and the same positions
    /// may be written again.
    pub(crate) fn write(&self, batch: &Batch) -> Result<()> {
        self.check_writable()?;
        let mut generation = self.generation();
        self.sync_found_header(&mut generation)?;
        let offset = LOG_START + batch.start().0 - generation.header.base.0;
        let end = offset + batch.bytes().len() as u64;
        let is_large = batch.bytes().len() as u64 >= GROWTH_MIN;
        if end > generation.size && !is_large {
            generation.size = self.grow(generation.size, end)?;
        }
        self.file.write_at(batch.bytes(), offset).map_err(|error| {
            self.take_back(offset);
            Error::io("write", &self.path)(error)
        })?;
        generation.size = generation.size.max(end);
        Ok(())
    }

    /// Ensures that nothing of a failed batch counts, even if all of it reached the disk. If that
    /// fails too, only reopening shows the outcome.
    fn take_back(&self, offset: u64) {
        let taken_back = self.file.stat().and_then(|stat| {
            let arrived = stat.size.saturating_sub(offset).min(RECORD_HEADER_SIZE as u64);
            self.file.write_at(&[0; RECORD_HEADER_SIZE][..arrived as usize], offset)
        });
        if taken_back.is_err() {
            self.poison();
        }
    }

    /// Makes the header found at opening durable, once.
    fn sync_found_header(&self, generation: &mut Generation) -> Result<()> {
        if !generation.is_settled {
            self.sync_header(generation.header)?;
            generation.is_settled = true;
        }
        Ok(())
    }

    /// Makes durable all that was written, also where a failed write was taken back.
    ///
    /// # Errors
    /// [`Error::Poisoned`]; an error of the device.
    pub(crate) fn sync_all(&self) -> Result<()> {
        self.check_writable()?;
        self.sync_file().inspect_err(|_| self.poison())
    }

    /// Makes a found header durable: its writer may have died before its sync, or the sync may have
    /// failed. Records that overwrite those of the previous generation must not become durable
    /// first.
    fn sync_header(&self, header: LogHeader) -> Result<()> {
        let result = self
            .file
            .write_at(&header.to_bytes(), header.offset())
            .map_err(Error::io("write", &self.path))
            .and_then(|()| self.sync_file());
        if result.is_err() {
            self.poison();
        }
        result
    }

    /// Makes found records durable. They are written again: after a failed sync, the system returns
    /// them on reads but considers them written.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(crate) fn keep(&self, from: Lsn, end: Lsn) -> Result<()> {
        let base = self.header().base;
        let mut bytes = vec![0; ((end.0 - from.0) as usize).min(GROWTH_MAX as usize)];
        let mut at = from.0;
        while at < end.0 {
            let size = bytes.len().min((end.0 - at) as usize);
            let offset = LOG_START + at - base.0;
            let count = self
                .file
                .read_at(&mut bytes[..size], offset)
                .map_err(Error::io("read", &self.path))?;
            self.file.write_at(&bytes[..count], offset).map_err(Error::io("write", &self.path))?;
            at += size as u64;
        }
        self.sync_to(end)
    }

    /// Extends the file with zeros.
    fn grow(&self, size: u64, end: u64) -> Result<u64> {
        let target =
            end.max(size + (size / 2).clamp(GROWTH_MIN, GROWTH_MAX)).next_multiple_of(4096);
        let zeros = vec![0; (target - size).min(1 << 20) as usize];
        let mut at = size;
        while at < target {
            let count = zeros.len().min((target - at) as usize);
            self.file.write_at(&zeros[..count], at).map_err(Error::io("extend", &self.path))?;
            at += count as u64;
        }
        Ok(target)
    }

    /// Notes that a transaction is complete in the file up to here: the next sync covers it.
    pub(crate) fn set_written(&self, end: Lsn) {
        self.written.store(end.0, Ordering::Release);
    }

    /// The end of the last complete transaction.
    pub(crate) fn written(&self) -> Lsn {
        Lsn(self.written.load(Ordering::Acquire))
    }

    pub(crate) fn durable(&self) -> Lsn {
        self.durability().durable
    }

    /// Returns when everything before `end` is durable. Of concurrent waiters, one syncs for all.
    ///
    /// # Errors
    /// [`Error::Io`] for the one whose sync failed, [`Error::Poisoned`] for the others and for all
    /// later calls.
    pub(crate) fn sync_to(&self, end: Lsn) -> Result<()> {
        let mut state = self.durability();
        loop {
            if state.durable >= end {
                return Ok(());
            }
            if state.is_poisoned {
                return Err(Error::Poisoned { file: LOG_NAME.to_owned() });
            }
            if state.is_syncing {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_syncing = true;
            drop(state);
            let written = self.written();
            let result = self.sync_file();
            state = self.durability();
            state.is_syncing = false;
            self.synced.notify_all();
            match result {
                Ok(()) => state.durable = state.durable.max(written),
                Err(error) => {
                    state.is_poisoned = !self.failpoints.forgive_failed_sync();
                    return Err(error);
                }
            }
        }
    }

    fn sync_file(&self) -> Result<()> {
        if self.failpoints.skip_log_sync() {
            return Ok(());
        }
        self.file.sync_data().map_err(Error::io("sync", &self.path))
    }

    /// Refuses all writes from now on: the state of the device is unknown.
    pub(crate) fn poison(&self) {
        self.durability().is_poisoned = !self.failpoints.forgive_failed_sync();
    }

    /// # Errors
    /// [`Error::Poisoned`] after a failed sync, [`Error::Locked`] in a child of the process that opened
    /// the log.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.process != fork_count() {
            return Err(LockError::Forked.into());
        }
        if self.durability().is_poisoned {
            return Err(Error::Poisoned { file: LOG_NAME.to_owned() });
        }
        Ok(())
    }

    /// Restarts the log at the file's start, once the data file has everything. Keeps `kept_size`
    /// bytes of the file for later records.
    ///
    /// # Errors
    /// An error of the device. The log is poisoned then: it is unknown which of two generations the
    /// device has.
    pub(crate) fn restart(&self, end: Lsn, salt: u64, kept_size: u64) -> Result<LogPosition> {
        let header = self.header().successor(end, salt);
        self.sync_header(header)?;
        let mut generation = self.generation();
        (generation.header, generation.is_settled) = (header, true);
        drop(generation);
        self.durability().durable = end;
        self.set_written(end);
        // Those bytes belong to no valid generation, cut off or not.
        let _ = self.cut(kept_size);
        Ok(LogPosition { end, chain: salt })
    }

    /// Cuts the file to a size. No valid record may be beyond it.
    ///
    /// # Errors
    /// An error of the device: the file may have its old size.
    pub(crate) fn cut(&self, size: u64) -> Result<()> {
        self.check_writable()?;
        let mut generation = self.generation();
        // The device may still have the header for the records that are cut off.
        self.sync_found_header(&mut generation)?;
        if generation.size > LOG_START + size {
            self.file.truncate(LOG_START + size).map_err(Error::io("cut", &self.path))?;
            generation.size = LOG_START + size;
        }
        Ok(())
    }

    /// The size of the file in bytes.
    pub(crate) fn file_size(&self) -> u64 {
        self.generation().size
    }

    /// Reads a page's image back.
    ///
    /// # Errors
    /// An error of the device, or damage.
    pub(crate) fn read_image(&self, lsn: Lsn, id: PageId, page: &mut [u8]) -> Result<()> {
        let header = self.header();
        let damaged = |problem: String| Error::Corrupted {
            file: LOG_NAME.to_owned(),
            offset: (LOG_START + lsn.0).saturating_sub(header.base.0),
            problem,
        };
        let Some(distance) = lsn.0.checked_sub(header.base.0) else {
            return Err(damaged(format!("the image of page {id} is older than the log")));
        };
        let mut bytes = vec![0; RECORD_HEADER_SIZE + page.len()];
        let count = self
            .file
            .read_at(&mut bytes, LOG_START + distance)
            .map_err(Error::io("read", &self.path))?;
        let record = Record::parse(&bytes[..count], lsn, header.salt)
            .ok_or_else(|| damaged(format!("the image of page {id} is incomplete")))?;
        record.unpack(id, page).map_err(damaged)
    }

    /// Whether another process has restarted the log since it was opened here.
    pub(crate) fn has_begun_again(&self) -> bool {
        let known = self.header();
        let newest = read_slots::<LogHeader>(&*self.file).ok().and_then(newest);
        newest.is_some_and(|header| header.generation > known.generation)
    }

    /// Whether another process has committed after the part read here.
    ///
    /// # Errors
    /// An error of the device.
    pub(crate) fn has_grown(&self, position: LogPosition) -> Result<bool> {
        let header = self.header();
        let mut bytes = [0; RECORD_HEADER_SIZE];
        let offset = LOG_START + position.end.0 - header.base.0;
        let count = self.file.read_at(&mut bytes, offset).map_err(Error::io("read", &self.path))?;
        Ok(count == bytes.len() && Record::follows(&bytes, position))
    }

    /// Bytes between the base and the end; 0 if the log was restarted after `end` was read, which
    /// can happen without the writer's lock.
    pub(crate) fn size(&self, end: Lsn) -> u64 {
        end.0.saturating_sub(self.header().base.0)
    }

    fn memory(&self) -> MutexGuard<'_, Vec<u8>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn generation(&self) -> MutexGuard<'_, Generation> {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn durability(&self) -> MutexGuard<'_, Durability> {
        self.durability.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
