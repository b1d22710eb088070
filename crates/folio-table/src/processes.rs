//! What processes on one store tell each other: who writes, and who reads as of when.
//!
//! One process writes, and holds the writer's lock for that. A process that only reads writes nothing, but it can hold locks on bytes of
//! `tables.folio-lock`, which go with it however it ends. While it has snapshots it
//! holds the byte `1 + position` of what they see; a checkpoint looks whether any
//! byte before its own position is held, and waits as it does for readers of its
//! own process. Byte 0 is the gate: an opening reader holds it until it has
//! announced itself, a checkpoint holds it alone, so neither misses the other.
//!
//! All this is a courtesy. A reader that could not announce itself, or was not waited
//! for because the log has outgrown its limit, notices that its pages are gone, and
//! says so; it never sees others. See `Blocks`.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use folio_file::{File, FileSystem, OpenMode, WriterGuard, WriterLock};

use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::options::Options;

/// The name of the file by which processes agree on who writes.
pub(crate) const LOCK_NAME: &str = "tables.folio-lock";

const GATE: u64 = 0;

/// How long an opening reader waits for a checkpoint.
const GATE_TIMEOUT: Duration = Duration::from_secs(2);

/// The first pause between two looks, and the longest.
const FIRST_REST: Duration = Duration::from_micros(200);
const LONGEST_REST: Duration = Duration::from_millis(5);

/// What this process is to the others, while it has the store open.
#[derive(Debug)]
pub(crate) enum Role {
    Writer {
        lookout: Lookout,
        lock: WriterGuard,
    },
    /// Without an announcement where none could be made.
    Reader(Option<Announcement>),
}

/// A process on its way in.
#[derive(Debug)]
pub(crate) enum Entering {
    Writer(WriterGuard),
    /// With the gate held, if it could be: no checkpoint begins meanwhile.
    Reader(Option<Arc<dyn File>>),
}

impl Entering {
    /// Takes the writer's lock, or comes in to read.
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
            return Ok(Self::Writer(lock.acquire(options.timeout)?));
        }
        let gate = files.open(&path, OpenMode::Read).ok().filter(|file| {
            let hold = || file.try_lock_byte(GATE, false).ok()?.then_some(());
            patiently(GATE_TIMEOUT, hold).is_some()
        });
        Ok(Self::Reader(gate))
    }

    /// The role from here on. A reader announces what it reads as of, and opens the
    /// gate again.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn into_role(
        self,
        files: &dyn FileSystem,
        directory: &Path,
        position: Lsn,
    ) -> Result<Role> {
        match self {
            Self::Writer(lock) => {
                let file = files.open(&directory.join(LOCK_NAME), OpenMode::Write);
                let file = file.map_err(Error::io("open", LOCK_NAME))?;
                Ok(Role::Writer { lookout: Lookout { file }, lock })
            }
            Self::Reader(gate) => {
                Ok(Role::Reader(gate.and_then(|file| Announcement::make(file, position))))
            }
        }
    }
}

impl Role {
    /// A snapshot begins.
    #[inline]
    pub(crate) fn enter(&self) {
        if let Self::Reader(Some(announcement)) = self {
            announcement.enter();
        }
    }

    /// A snapshot ends.
    #[inline]
    pub(crate) fn leave(&self) {
        if let Self::Reader(Some(announcement)) = self {
            announcement.leave();
        }
    }

    /// Whether another process waits to write.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(self, Self::Writer { lock, .. } if lock.is_wanted())
    }

    /// See [`Lookout::close_gate`].
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn close_gate(
        &self,
        end: Lsn,
        patience: Duration,
    ) -> Result<Option<ClosedGate<'_>>> {
        match self {
            Self::Writer { lookout, .. } => lookout.close_gate(end, patience),
            Self::Reader(_) => Err(Error::ReadOnly),
        }
    }
}

/// What a process that only reads tells the writer's.
#[derive(Debug)]
pub(crate) struct Announcement {
    file: Arc<dyn File>,
    place: u64,
    holds: Mutex<Holds>,
}

#[derive(Debug)]
struct Holds {
    /// Snapshots under way.
    count: usize,
    /// From opening until the first snapshot takes it over.
    is_fresh: bool,
}

impl Announcement {
    fn make(file: Arc<dyn File>, position: Lsn) -> Option<Self> {
        let place = 1 + position.0;
        let is_told = file.try_lock_byte(place, false).unwrap_or(false);
        let is_open = file.unlock_byte(GATE).is_ok();
        // Whoever cannot give the gate back gives all back, by closing the file.
        let holds = Mutex::new(Holds { count: 0, is_fresh: true });
        (is_told && is_open).then_some(Self { file, place, holds })
    }

    fn enter(&self) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        if holds.count == 0 && !holds.is_fresh {
            // If it cannot be had the snapshot may become too old, and will say so.
            let _ = self.file.try_lock_byte(self.place, false);
        }
        holds.is_fresh = false;
        holds.count += 1;
    }

    fn leave(&self) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        holds.count -= 1;
        if holds.count == 0 {
            // A lock that stays makes a checkpoint wait, and goes with the store.
            let _ = self.file.unlock_byte(self.place);
        }
    }
}

/// How the process that writes looks for readers in others.
#[derive(Debug)]
pub(crate) struct Lookout {
    file: Arc<dyn File>,
}

/// No reader comes in while this is held.
#[derive(Debug)]
pub(crate) struct ClosedGate<'l> {
    file: &'l dyn File,
}

impl Lookout {
    /// Closes the gate when nobody reads as of before `end`, or has not for a moment.
    ///
    /// # Errors
    /// The system's refusal.
    fn close_gate(&self, end: Lsn, patience: Duration) -> Result<Option<ClosedGate<'_>>> {
        let gate = patiently(patience, || self.try_close(end).transpose());
        gate.transpose().map_err(Error::io("lock", LOCK_NAME))
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
        // Readers that find it closed go on unannounced.
        let _ = self.file.unlock_byte(GATE);
    }
}

/// Tries until something is there or the time is over.
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
