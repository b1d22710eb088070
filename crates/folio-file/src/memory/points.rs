//! Moments at which a test may cut the power.

use std::path::PathBuf;

use super::MemoryFileSystem;
use super::fault::Operation;

/// Which moments are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recording {
    /// None.
    #[default]
    Nothing,
    /// Before and after each sync of a file or directory.
    Syncs,
    /// Before and after each call that changes anything, syncs included.
    Changes,
}

/// The file system at one moment of a run.
#[derive(Debug, Clone)]
pub struct CrashPoint {
    /// The call before or after this moment.
    pub operation: Operation,
    /// The path of that call.
    pub path: PathBuf,
    /// Whether the call had taken effect.
    pub is_after: bool,
    /// The state at that moment; unsynced changes are still unsynced. [`MemoryFileSystem::crash`]
    /// with different plans gives the different disks that may result, and
    /// [`MemoryFileSystem::kill`] gives what the next process would find.
    pub image: MemoryFileSystem,
}

/// The crash points recorded so far.
#[derive(Debug, Default)]
pub(super) struct CrashPoints {
    pub(super) recording: Recording,
    pub(super) points: Vec<CrashPoint>,
}

impl CrashPoints {
    pub(super) fn wants(&self, operation: Operation) -> bool {
        match self.recording {
            Recording::Nothing => false,
            Recording::Syncs => matches!(operation, Operation::Sync | Operation::SyncDirectory),
            Recording::Changes => !matches!(
                operation,
                Operation::Open | Operation::Read | Operation::Metadata | Operation::Lock
            ),
        }
    }
}
