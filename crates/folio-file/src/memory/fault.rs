//! Failures on request.
//!
//! A test asks for a [`Fault`] at the n-th call of some kind; the file system
//! counts calls and fails there. Counting first and failing at each count in
//! turn makes "an error at every call" a loop.

use std::io;
use std::path::Path;

/// What kind of call a fault is waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Opening a file that exists.
    Open,
    /// Creating a file or a directory.
    Create,
    /// Reading or mapping.
    Read,
    /// Writing at an offset.
    Write,
    /// Writing at the end.
    Append,
    /// Setting the size.
    Truncate,
    /// Making content durable.
    Sync,
    /// Making names durable.
    SyncDirectory,
    /// Renaming.
    Rename,
    /// Removing a file or a directory.
    Remove,
    /// Reading or setting metadata, listing a directory.
    Metadata,
    /// Taking or giving back a lock.
    Lock,
    /// Any of the above.
    Any,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The device fails, nothing is done.
    ///
    /// For [`Operation::Sync`]: of what was written since the last sync, parts
    /// may have reached the disk, and the rest never will, although reading still
    /// shows it and the next sync succeeds. That is what Linux does (Rebello et
    /// al.: "Can applications recover from fsync failures?", USENIX ATC 2020).
    Eio,
    /// No space is left, nothing is done; syncs as with `Eio`.
    Enospc,
    /// The first bytes of a write arrive, then no space is left. Calls that do
    /// not write fail as with `Enospc`.
    ShortWrite {
        /// How many bytes arrive, at most.
        bytes: usize,
    },
    /// A sync says that it succeeded and has done nothing: a device that lies,
    /// or a store that forgot to ask. Other calls are not touched.
    Ignored,
}

/// One failure to come.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Which calls count.
    pub operation: Operation,
    /// How many matching calls still succeed; 0 fails the next one.
    pub after: u64,
    /// How it fails.
    pub kind: FaultKind,
    /// Fails from then on, not only once.
    pub sticky: bool,
    /// Only calls whose path contains this text count. For calls on an open
    /// file it is the path the file was opened by.
    pub path_contains: Option<String>,
}

impl Fault {
    /// The next such call fails, once, whatever the path.
    pub fn next(operation: Operation, kind: FaultKind) -> Self {
        Self { operation, after: 0, kind, sticky: false, path_contains: None }
    }

    /// Lets `count` matching calls succeed first.
    #[must_use]
    pub fn after(mut self, count: u64) -> Self {
        self.after = count;
        self
    }

    /// Fails from then on.
    #[must_use]
    pub fn sticky(mut self) -> Self {
        self.sticky = true;
        self
    }

    /// Only where the path contains `text`.
    #[must_use]
    pub fn on(mut self, text: impl Into<String>) -> Self {
        self.path_contains = Some(text.into());
        self
    }

    fn matches(&self, operation: Operation, path: &Path) -> bool {
        (self.operation == Operation::Any || self.operation == operation)
            && self
                .path_contains
                .as_ref()
                .is_none_or(|text| path.to_string_lossy().contains(text.as_str()))
    }
}

impl FaultKind {
    /// The error that a call returns.
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Eio | Self::Ignored => io::Error::other("input/output error"),
            Self::Enospc | Self::ShortWrite { .. } => io::ErrorKind::StorageFull.into(),
        }
    }
}

/// The faults asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// Counts one call, and says how it fails if it does. Every fault that is
    /// waiting for it counts it; the first one that is due decides.
    pub(super) fn strike(&mut self, operation: Operation, path: &Path) -> Option<FaultKind> {
        let mut struck = None;
        self.0.retain_mut(|fault| {
            if !fault.matches(operation, path) {
                return true;
            }
            if fault.after > 0 {
                fault.after -= 1;
                return true;
            }
            if struck.is_some() {
                return true;
            }
            struck = Some(fault.kind);
            fault.sticky
        });
        struck
    }
}
