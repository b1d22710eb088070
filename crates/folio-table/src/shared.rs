//! What all handles, snapshots and transactions of one open store share.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::blocks::Blocks;
use crate::buffer::{BufferPool, PageGuard};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::ids::{BlockId, Lsn, PageId};
use crate::options::Options;
use crate::processes::Role;
use crate::snapshots::Snapshots;
use crate::writer::Writer;

/// An open store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) page_size: usize,
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) pool: BufferPool,
    pub(crate) snapshots: Snapshots,
    /// The catalog read last, with its version.
    pub(crate) catalog: Mutex<Option<Arc<Catalog>>>,
    /// Sequence number of the data file's header.
    header_sequence: Mutex<u64>,
    writer: Mutex<WriterSlot>,
    writer_is_back: Condvar,
    /// What other processes know of this one.
    pub(crate) role: Role,
}

/// The writer, while nobody is it.
#[derive(Debug)]
struct WriterSlot {
    writer: Option<Box<Writer>>,
    /// Threads that wait for it.
    waiting: usize,
}

impl Shared {
    #[allow(clippy::too_many_arguments, reason = "one call, in `open`")]
    pub(crate) fn new(
        options: Options,
        page_size: usize,
        blocks: Arc<Blocks>,
        snapshots: Snapshots,
        header_sequence: u64,
        writer: Writer,
        role: Role,
    ) -> Self {
        let frame_count = (options.pool_size / page_size).max(6);
        let storage = Arc::clone(&blocks);
        Self {
            pool: BufferPool::new(frame_count, page_size, options.policy, storage),
            options,
            page_size,
            blocks,
            snapshots,
            catalog: Mutex::new(None),
            header_sequence: Mutex::new(header_sequence),
            writer: Mutex::new(WriterSlot { writer: Some(Box::new(writer)), waiting: 0 }),
            writer_is_back: Condvar::new(),
            role,
        }
    }

    /// Becomes the writer, waiting for the one before.
    ///
    /// # Errors
    /// [`Error::Busy`] when it did not finish in time; [`Error::ReadOnly`];
    /// [`Error::Poisoned`].
    pub(crate) fn take_writer(&self, timeout: Duration) -> Result<Box<Writer>> {
        if self.options.read_only {
            return Err(Error::ReadOnly);
        }
        let start = Instant::now();
        let mut slot = self.writer_slot();
        loop {
            if let Some(writer) = slot.writer.take() {
                drop(slot);
                if let Err(error) = self.blocks.wal.refuse_if_poisoned() {
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
        slot.writer = Some(writer);
        // To wake somebody is a call of the system, also where nobody sleeps.
        let is_awaited = slot.waiting > 0;
        drop(slot);
        if is_awaited {
            self.writer_is_back.notify_one();
        }
    }

    fn writer_slot(&self) -> MutexGuard<'_, WriterSlot> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn header_sequence(&self) -> MutexGuard<'_, u64> {
        self.header_sequence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The block with a page as of a position.
    #[inline]
    pub(crate) fn block(&self, page: PageId, at: Lsn) -> BlockId {
        self.blocks.versions.block(page, at)
    }
}

/// Where an operation's pages come from. `'s` is the open store.
pub(crate) trait Pages<'s> {
    /// A page to read.
    fn pin(&self, page: PageId) -> Result<PageGuard<'s>>;

    /// The same for one of many pages passed over once.
    fn pin_for_scan(&self, page: PageId) -> Result<PageGuard<'s>>;

    /// Where the page is in memory, if it is: for a hint to the processor.
    fn address(&self, page: PageId) -> Option<usize>;

    /// How many pages there are: no valid number is greater.
    fn page_count(&self) -> u32;
}
