//! The writer's lock of one database.
//!
//! One process at a time may write to a database; any number may read. The lock is the operating
//! system's lock on `<db>/folio.lock`, so it ends with the process, however that ends. The content
//! of the file is only informative: the holder's pid and a line feed, for processes that wait. The
//! file is never deleted, because between deleting a lock file and locking its successor two
//! processes can each hold "the" lock.
//!
//! Within a process the lock is counted. Collections and threads that write at the same time share
//! it: the first takes it from the system, the last releases it.
//!
//! A child made by `fork` must neither write under its parent's lock nor release it. Every hold
//! stores the process that took it, and does not count in another process, which loses the open file
//! too (see `disk::fork`).
//!
//! Whoever removes a database, or puts another in its place, takes the lock file along. Its holder
//! would write to files without a name, beside another writer. [`WriterGuard::check`] finds that
//! out.
//!
//! Readers check for a writer by taking the lock in shared mode for a moment. A writer that finds
//! the lock taken can tell such a check from a writer: it can take the lock in shared mode too.

use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{File, FileSystem, OpenMode, advice, fork_count};

/// The first and the longest sleep of a waiting writer between two attempts.
const FIRST_SLEEP: Duration = Duration::from_micros(500);
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// The byte of the lock file that a waiting writer locks, so that the holder can see that it waits.
/// Readers lock no byte that far out.
const WAITING: u64 = 3 << 61;

/// How often a holder looks at its path, beside writes that are not durable: a look costs as much as
/// several of them.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often to retry if only readers' checks are in the way.
const QUESTIONS_TO_OUTLAST: u32 = 100;

/// Why the writer's lock was not acquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process is writing.
    #[error(
        "the database is open for writing in another process{}; \
         open it read-only or close the other",
        .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Held {
        /// The process id, if the lock file could be read.
        pid: Option<u32>,
    },
    /// The lock file is not at its path any more.
    #[error(
        "the database {path:?} was removed or replaced while it was open, so what was written since \
         may be lost; close it, and open what is there now"
    )]
    Replaced {
        /// The database.
        path: PathBuf,
    },
    /// The lock belongs to the parent of this process.
    #[error("the database was opened before this process was forked; open it again in this one")]
    Forked,
    /// The lock file could not be opened or locked.
    #[error("cannot lock {path:?} for writing: {source}{}", advice(.source))]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The writer's lock of one database, shared by all its handles in a process.
#[derive(Debug)]
pub struct WriterLock {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    held: Mutex<Held>,
    /// Until when this process leaves the lock to others.
    left_until: Mutex<Option<Instant>>,
}

/// Which file it is, whatever its name; see [`crate::Stat::identity`].
type Identity = (u64, u64);

/// The holds of this process.
#[derive(Debug)]
struct Held {
    /// The process that the other fields belong to, as [`fork_count`] numbers it.
    process: u32,
    guards: usize,
    /// Open and locked exactly while `guards` is not 0.
    file: Option<Arc<dyn File>>,
    /// That of the file.
    identity: Identity,
    /// When the path last named it.
    looked: Instant,
}

impl Held {
    fn nothing(process: u32) -> Self {
        Self { process, guards: 0, file: None, identity: (0, 0), looked: Instant::now() }
    }
}

/// The right to write, released on drop.
#[derive(Debug)]
#[must_use = "the lock is given back when the guard is dropped"]
pub struct WriterGuard {
    lock: Arc<WriterLock>,
    process: u32,
}

impl WriterLock {
    /// The lock on the file at `path`, which is created by the first [`WriterLock::acquire`]. Two
    /// values for one path exclude each other, so a process has one per database.
    pub fn new(files: Arc<dyn FileSystem>, path: PathBuf) -> Self {
        Self {
            files,
            path,
            held: Mutex::new(Held::nothing(fork_count())),
            left_until: Mutex::default(),
        }
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the lock. Waits up to `timeout` for another process to release it.
    ///
    /// # Errors
    /// [`LockError::Held`] after the timeout; [`LockError::Io`] if the file cannot be created or
    /// locked, for example in a read-only directory.
    pub fn acquire(self: &Arc<Self>, timeout: Duration) -> Result<WriterGuard, LockError> {
        let start = Instant::now();
        let mut sleep = FIRST_SLEEP;
        let mut waiting = None;
        self.leave_to_others(timeout);
        loop {
            match self.try_acquire() {
                Err(LockError::Held { .. }) if start.elapsed() < timeout => {
                    waiting = waiting.or_else(|| self.announce());
                    thread::sleep(sleep.min(timeout.saturating_sub(start.elapsed())));
                    sleep = (sleep * 2).min(LONGEST_SLEEP);
                }
                result => return result,
            }
        }
    }

    /// Leaves the lock to waiting processes: for this duration, this process takes it only if none
    /// of them has it.
    pub fn yield_lock(&self, duration: Duration) {
        *self.left() = Some(Instant::now() + duration);
    }

    /// Whether another process waits for the lock that this process holds.
    pub fn is_wanted(&self) -> bool {
        let file = self.held_here().file.clone();
        file.is_some_and(|file| file.has_locked_byte(WAITING..WAITING + 1).unwrap_or(false))
    }

    /// Whether this process leaves the lock to others at the moment.
    pub fn is_left(&self) -> bool {
        self.left().is_some_and(|until| Instant::now() < until)
    }

    fn leave_to_others(&self, timeout: Duration) {
        let start = Instant::now();
        while self.is_left() && !self.is_held_here() && start.elapsed() < timeout {
            thread::sleep(FIRST_SLEEP);
        }
    }

    fn left(&self) -> MutexGuard<'_, Option<Instant>> {
        self.left_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the holder that this process waits, until the returned file is dropped. If that is
    /// impossible, the holder releases the lock when it has nothing to write.
    fn announce(&self) -> Option<Arc<dyn File>> {
        let file = self.files.open(&self.path, OpenMode::Read).ok()?;
        file.try_lock_byte(WAITING, false).ok()?.then_some(file)
    }

    /// Takes the lock if no other process has it.
    ///
    /// # Errors
    /// As [`WriterLock::acquire`].
    pub fn try_acquire(self: &Arc<Self>) -> Result<WriterGuard, LockError> {
        let mut held = self.held_here();
        if held.guards == 0 {
            let (file, identity) = self
                .take()
                .map_err(|source| LockError::Io { path: self.path.clone(), source })?
                .ok_or_else(|| LockError::Held { pid: self.holder() })?;
            (held.file, held.identity, held.looked) = (Some(file), identity, Instant::now());
        }
        held.guards += 1;
        Ok(WriterGuard { lock: Arc::clone(self), process: held.process })
    }

    /// Whether this process has the lock.
    pub fn is_held_here(&self) -> bool {
        self.held_here().guards > 0
    }

    /// Whether another process has the lock. Needs no right to write. `false` if it cannot be
    /// determined (no lock file, no permission).
    pub fn is_held_elsewhere(&self) -> bool {
        if self.is_held_here() {
            return false;
        }
        let Ok(file) = self.files.open(&self.path, OpenMode::Read) else { return false };
        // Closing the handle releases a shared lock.
        matches!(file.try_lock_shared(), Ok(false))
    }

    /// The holder's pid, as written in the lock file.
    pub fn holder(&self) -> Option<u32> {
        let file = self.files.open(&self.path, OpenMode::Read).ok()?;
        let mut text = [0; 16];
        let size = file.read_at(&mut text, 0).ok()?;
        let line = text[..size].split(|&byte| byte == b'\n').next()?;
        std::str::from_utf8(line).ok()?.parse().ok()
    }

    /// The holds of this process. Holds inherited from a parent process are dropped.
    fn held_here(&self) -> MutexGuard<'_, Held> {
        // A panic elsewhere leaves the fields consistent: they change together.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let process = fork_count();
        if held.process != process {
            *held = Held::nothing(process);
        }
        held
    }

    /// Opens and locks the file, and returns its identity too; `None` if another process has the
    /// lock.
    fn take(&self) -> io::Result<Option<(Arc<dyn File>, Identity)>> {
        for _ in 0..QUESTIONS_TO_OUTLAST {
            let file = self.files.open(&self.path, OpenMode::Write)?;
            if file.try_lock()? {
                let identity = file.stat()?.identity();
                if self.names(identity)? {
                    self.sign(&*file);
                    return Ok(Some((file, identity)));
                }
                // The file was replaced between opening and locking.
                continue;
            }
            if !file.try_lock_shared()? {
                return Ok(None);
            }
            // Only a reader's check holds the lock, and it ends in a moment.
            file.unlock()?;
            thread::sleep(Duration::from_micros(100));
        }
        Ok(None)
    }

    /// Whether the path names the file that was locked.
    fn names(&self, identity: Identity) -> io::Result<bool> {
        match self.files.stat(&self.path) {
            Ok(named) => Ok(named.identity() == identity),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The error of a holder whose database is gone.
    fn replaced(&self) -> LockError {
        LockError::Replaced { path: self.path.parent().unwrap_or(&self.path).to_owned() }
    }

    /// Writes the pid. The lock is valid without it, so a full disk is no error here: freeing space
    /// needs a writer.
    fn sign(&self, file: &dyn File) {
        let text = format!("{}\n", process::id());
        let _ = file.truncate(0).and_then(|()| file.write_at(text.as_bytes(), 0));
    }
}

impl WriterGuard {
    /// Checks that the lock protects the database at its path: that this process has taken it, and
    /// that nobody has removed the database since, or moved another there.
    ///
    /// # Errors
    /// [`LockError::Forked`], [`LockError::Replaced`].
    pub fn check(&self) -> Result<(), LockError> {
        self.look_after(Duration::ZERO)
    }

    /// The same, for writes that promise nothing yet: a look at the path that is younger than
    /// [`LOOK_EVERY`] is enough.
    ///
    /// # Errors
    /// As [`WriterGuard::check`].
    pub fn check_lately(&self) -> Result<(), LockError> {
        self.look_after(LOOK_EVERY)
    }

    /// Looks at the path, unless the last look was less than `age` ago.
    fn look_after(&self, age: Duration) -> Result<(), LockError> {
        if self.process != fork_count() {
            return Err(LockError::Forked);
        }
        let mut held = self.lock.held_here();
        if held.looked.elapsed() < age {
            return Ok(());
        }
        // What cannot be looked at may well be there.
        if !self.lock.names(held.identity).unwrap_or(true) {
            return Err(self.lock.replaced());
        }
        held.looked = Instant::now();
        Ok(())
    }

    /// Whether another process waits for the lock.
    pub fn is_wanted(&self) -> bool {
        self.lock.is_wanted()
    }
}

impl Drop for WriterGuard {
    fn drop(&mut self) {
        if self.process != fork_count() {
            return;
        }
        let mut held = self.lock.held_here();
        assert!(held.guards > 0, "a guard of this process is counted");
        held.guards -= 1;
        if held.guards == 0
            && let Some(file) = held.file.take()
        {
            // Unlocks before closing: a forked child may have the same open file, and closing alone
            // would leave the lock with it.
            let _ = file.truncate(0);
            let _ = file.unlock();
        }
    }
}
