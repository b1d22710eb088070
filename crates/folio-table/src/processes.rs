//! Coordination of processes on one store: which one writes, and the positions of readers.
//!
//! The writing process holds the writer's lock. A read-only process writes nothing, but it can lock
//! bytes of `tables.folio-lock`; the system releases these locks however it ends. While it has
//! snapshots it locks the byte `1 + position` of what they see. A checkpoint checks whether any
//! byte before its own position is locked, and waits as it does for readers of its own process.
//! Byte 0 is the gate: an opening reader holds it until it has announced itself, and a checkpoint
//! holds it exclusively, so neither misses the other.
//!
//! A process that has written and gives the lock back becomes a reader as of its oldest snapshot, if
//! it has one. No gate is needed then: until the lock is free, nobody makes a checkpoint.
//!
//! All this is advisory. A reader that could not announce itself, or was not waited for because the
//! log has outgrown its limit, detects that its pages are gone, and reports it; it never sees other
//! pages. See `Blocks`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use folio_file::{File, FileSystem, OpenMode, WriterGuard, WriterLock};

use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::options::Options;

/// The name of the lock file.
pub(crate) const LOCK_NAME: &str = "tables.folio-lock";

const GATE: u64 = 0;

/// How long an opening reader waits for a checkpoint.
const GATE_TIMEOUT: Duration = Duration::from_secs(2);

/// The first pause between two attempts, and the longest.
const FIRST_REST: Duration = Duration::from_micros(200);
const LONGEST_REST: Duration = Duration::from_millis(5);

/// The role of this process while it has the store open.
#[derive(Debug)]
pub(crate) enum Role {
    Writer {
        reader_watch: ReaderWatch,
        /// `None` once it was given back.
        lock: Mutex<Option<WriterGuard>>,
    },
    /// `None` if it could not be announced.
    Reader(Option<Announcement>),
}

/// A process that is opening the store.
#[derive(Debug)]
pub(crate) enum Entering {
    Writer(WriterGuard),
    /// With the gate held, if possible, so that no checkpoint begins meanwhile.
    Reader(Option<Arc<dyn File>>),
}

impl Entering {
    /// Takes the writer's lock, or begins to open for reading.
    ///
    /// # Errors
    /// [`Error::Locked`].
    pub(crate) fn begin(
        files: &Arc<dyn FileSystem>,
        directory: &Path,
        options: &Options,
    ) -> Result<Self> {
        let path = directory.join(LOCK_NAME);
        if !options.read_only {
            let lock = Arc::new(WriterLock::new(Arc::clone(files), path));
            let timeout = options.lock_timeout.unwrap_or(options.timeout);
            return Ok(Self::Writer(lock.acquire(timeout)?));
        }
        let gate = files.open(&path, OpenMode::Read).ok().filter(|file| {
            let hold = || file.try_lock_byte(GATE, false).ok()?.then_some(());
            patiently(GATE_TIMEOUT, hold).is_some()
        });
        Ok(Self::Reader(gate))
    }

    /// Takes on the role. A reader announces its position, and opens the gate again.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(crate) fn into_role(
        self,
        files: &dyn FileSystem,
        directory: &Path,
        position: Lsn,
    ) -> Result<Role> {
        match self {
            Self::Writer(lock) => {
                let path = directory.join(LOCK_NAME);
                let file = files.open(&path, OpenMode::Write).map_err(Error::io("open", &path))?;
                Ok(Role::Writer {
                    reader_watch: ReaderWatch { file, path },
                    lock: Mutex::new(Some(lock)),
                })
            }
            Self::Reader(gate) => {
                Ok(Role::Reader(gate.and_then(|file| Announcement::make(file, position))))
            }
        }
    }
}

impl Role {
    /// Notes that a snapshot begins.
    #[inline]
    pub(crate) fn enter(&self) {
        if let Self::Reader(Some(announcement)) = self {
            announcement.enter();
        }
    }

    /// Notes that a snapshot ends.
    #[inline]
    pub(crate) fn leave(&self) {
        if let Self::Reader(Some(announcement)) = self {
            announcement.leave();
        }
    }

    /// Whether another process waits to write.
    pub(crate) fn is_wanted(&self) -> bool {
        self.with_lock(WriterGuard::is_wanted) == Some(true)
    }

    /// Whether this process has the writer's lock.
    pub(crate) fn is_writer(&self) -> bool {
        self.with_lock(|_| ()).is_some()
    }

    /// Checks that the lock still protects the files at their paths: now, or, where nothing durable is
    /// promised, lately.
    ///
    /// # Errors
    /// [`Error::Locked`] if not: the database was removed or replaced.
    pub(crate) fn check_lock(&self, is_durable: bool) -> Result<()> {
        let check = if is_durable { WriterGuard::check } else { WriterGuard::check_lately };
        let checked = self.with_lock(check);
        checked.map_or(Ok(()), |checked| Ok(checked?))
    }

    fn with_lock<T>(&self, work: impl FnOnce(&WriterGuard) -> T) -> Option<T> {
        let Self::Writer { lock, .. } = self else { return None };
        lock.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(work)
    }

    /// Gives the writer's lock back, and announces the position of the oldest snapshot until the file
    /// is closed.
    pub(crate) fn give_lock_back(&self, oldest: Option<Lsn>) {
        let Self::Writer { reader_watch, lock } = self else { return };
        if let Some(oldest) = oldest {
            // If it fails, the snapshot may become too old, and will report that.
            let _ = reader_watch.file.try_lock_byte(1 + oldest.0, false);
        }
        *lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// See [`ReaderWatch::close_gate`].
    ///
    /// # Errors
    /// An error of the operating system.
    pub(crate) fn close_gate(
        &self,
        end: Lsn,
        patience: Duration,
    ) -> Result<Option<ClosedGate<'_>>> {
        match self {
            Self::Writer { reader_watch, .. } => reader_watch.close_gate(end, patience),
            Self::Reader(_) => Err(Error::ReadOnly),
        }
    }
}

/// What a read-only process announces to the writing one.
#[derive(Debug)]
pub(crate) struct Announcement {
    file: Arc<dyn File>,
    place: u64,
    holds: Mutex<Holds>,
}

#[derive(Debug)]
struct Holds {
    /// The number of open snapshots.
    count: usize,
    /// From opening until the first snapshot takes over the lock.
    is_fresh: bool,
}

impl Announcement {
    fn make(file: Arc<dyn File>, position: Lsn) -> Option<Self> {
        let place = 1 + position.0;
        let is_reported = file.try_lock_byte(place, false).unwrap_or(false);
        let is_open = file.unlock_byte(GATE).is_ok();
        // If the gate cannot be released, closing the file releases everything.
        let holds = Mutex::new(Holds { count: 0, is_fresh: true });
        (is_reported && is_open).then_some(Self { file, place, holds })
    }

    fn enter(&self) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        if holds.count == 0 && !holds.is_fresh {
            // If the lock fails, the snapshot may become too old, and will report that.
            let _ = self.file.try_lock_byte(self.place, false);
        }
        holds.is_fresh = false;
        holds.count += 1;
    }

    fn leave(&self) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.count -= 1;
        if holds.count == 0 {
            // A remaining lock only delays checkpoints, and is released with the store.
            let _ = self.file.unlock_byte(self.place);
        }
    }
}

/// How the writing process finds readers in others.
#[derive(Debug)]
pub(crate) struct ReaderWatch {
    file: Arc<dyn File>,
    path: PathBuf,
}

/// While this is held, no reader can open the store.
#[derive(Debug)]
pub(crate) struct ClosedGate<'l> {
    file: &'l dyn File,
}

impl ReaderWatch {
    /// Closes the gate once no reader is before `end`; `None` if that takes too long.
    ///
    /// # Errors
    /// An error of the operating system.
    fn close_gate(&self, end: Lsn, patience: Duration) -> Result<Option<ClosedGate<'_>>> {
        let gate = patiently(patience, || self.try_close(end).transpose());
        gate.transpose().map_err(Error::io("lock", &self.path))
    }

    fn try_close(&self, end: Lsn) -> io::Result<Option<ClosedGate<'_>>> {
        if !self.file.try_lock_byte(GATE, true)? {
            return Ok(None);
        }
        let gate = ClosedGate { file: &*self.file };
        Ok((!self.file.has_locked_byte(1..1 + end.0)?).then_some(gate))
    }
}

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        // Readers that find the gate closed continue unannounced.
        let _ = self.file.unlock_byte(GATE);
    }
}

/// Retries until there is a result or the time is over.
fn patiently<T>(patience: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let mut rest = FIRST_REST;
    loop {
        let found = attempt();
        if found.is_some() || start.elapsed() >= patience {
            return found;
        }
        thread::sleep(rest);
        rest = (rest * 2).min(LONGEST_REST);
    }
}
