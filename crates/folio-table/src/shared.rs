//! The state shared by all handles, snapshots and transactions of one open store.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::catalog::CatalogCache;
use crate::edit::Writer;
use crate::error::{Error, Result};
use crate::pager::Pager;
use crate::processes::Role;

/// An open store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pager: Pager,
    pub(crate) catalog: CatalogCache,
    /// The sequence number of the data file's header.
    header_sequence: Mutex<u64>,
    writer: Mutex<WriterSlot>,
    writer_is_back: Condvar,
    /// What other processes know about this one.
    pub(crate) role: Role,
}

/// The writer's state, while no transaction or checkpoint has it.
#[derive(Debug)]
struct WriterSlot {
    writer: Option<Box<Writer>>,
    /// The number of threads waiting for it.
    waiting: usize,
    /// The lock is to be given back as soon as the writer is back.
    is_leaving: bool,
}

impl Shared {
    pub(crate) fn new(pager: Pager, header_sequence: u64, writer: Writer, role: Role) -> Self {
        Self {
            pager,
            catalog: CatalogCache::default(),
            header_sequence: Mutex::new(header_sequence),
            writer: Mutex::new(WriterSlot {
                writer: Some(Box::new(writer)),
                waiting: 0,
                is_leaving: false,
            }),
            writer_is_back: Condvar::new(),
            role,
        }
    }

    /// Becomes the writer, after waiting for the previous one.
    ///
    /// # Errors
    /// [`Error::Busy`] when the previous one did not finish in time; [`Error::ReadOnly`], also after
    /// the lock was given back; those of [`Wal::check_writable`](crate::wal::Wal::check_writable).
    pub(crate) fn take_writer(&self, timeout: Duration) -> Result<Box<Writer>> {
        let start = Instant::now();
        let mut slot = self.writer_slot();
        loop {
            if let Some(writer) = slot.writer.take() {
                drop(slot);
                let checked = match self.role.is_writer() {
                    true => self.pager.blocks.wal.check_writable(),
                    false => Err(Error::ReadOnly),
                };
                if let Err(error) = checked {
                    self.give_writer_back(writer);
                    return Err(error);
                }
                return Ok(writer);
            }
            let Some(left) = timeout.checked_sub(start.elapsed()) else {
                return Err(Error::Busy { waited_ms: start.elapsed().as_millis() });
            };
            slot.waiting += 1;
            let waited = self.writer_is_back.wait_timeout(slot, left);
            slot = waited.unwrap_or_else(PoisonError::into_inner).0;
            slot.waiting -= 1;
        }
    }

    pub(crate) fn give_writer_back(&self, writer: Box<Writer>) {
        let mut slot = self.writer_slot();
        if std::mem::take(&mut slot.is_leaving) {
            self.leave_lock(&writer);
        }
        slot.writer = Some(writer);
        // A wake-up is a system call, even if no thread is asleep.
        let is_awaited = slot.waiting > 0;
        drop(slot);
        if is_awaited {
            self.writer_is_back.notify_one();
        }
    }

    /// Gives the writer's lock back, for good, at the latest when a transaction that runs now ends:
    /// nobody writes through this store any more, and open snapshots are read as those of a process
    /// that only reads.
    pub(crate) fn give_lock_back(&self) {
        let mut slot = self.writer_slot();
        match &slot.writer {
            Some(writer) => self.leave_lock(writer),
            None => slot.is_leaving = true,
        }
    }

    fn leave_lock(&self, writer: &Writer) {
        let oldest = self.pager.snapshots.read_beside_writer();
        self.pager.blocks.read_as_of(writer.position.end);
        self.role.give_lock_back(oldest);
    }

    fn writer_slot(&self) -> MutexGuard<'_, WriterSlot> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn header_sequence(&self) -> MutexGuard<'_, u64> {
        self.header_sequence.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
