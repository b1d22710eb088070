//! Injected failures.
//!
//! A test injects a [`Fault`] at the n-th call of some kind; the file system counts calls and fails
//! that one. By first counting the calls, then failing at each count in turn, a test can loop over
//! an error at every call.

use std::io;
use std::path::Path;

/// The kind of call that a fault applies to.
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
    /// Taking or releasing a lock.
    Lock,
    /// Any of the above.
    Any,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The device fails and nothing is done.
    ///
    /// For [`Operation::Sync`]: parts of what was written since the last sync may have reached the
    /// disk. The rest never will, although it can still be read and the next sync succeeds. Linux
    /// behaves like this (Rebello et al.: "Can applications recover from fsync failures?", USENIX
    /// ATC 2020).
    Eio,
    /// No space is left and nothing is done. Syncs as with `Eio`.
    Enospc,
    /// The first bytes of a write are written, then no space is left. Calls that do not write fail
    /// as with `Enospc`.
    ShortWrite {
        /// The maximum number of bytes written.
        bytes: usize,
    },
    /// A sync reports success but does nothing: a device that lies, or a store that forgot to sync.
    /// Other calls are not affected.
    Ignored,
}

/// One failure to inject.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Which calls count.
    pub operation: Operation,
    /// How many matching calls succeed first; 0 fails the next one.
    pub after: u64,
    /// How it fails.
    pub kind: FaultKind,
    /// Fails all later calls too, not only one.
    pub sticky: bool,
    /// Only calls whose path contains this text count. For an open file, it is the path that it was
    /// opened with.
    pub path_contains: Option<String>,
}

impl Fault {
    /// Fails the next such call, once, for any path.
    pub fn next(operation: Operation, kind: FaultKind) -> Self {
        Self { operation, after: 0, kind, sticky: false, path_contains: None }
    }

    /// Lets `count` matching calls succeed first.
    #[must_use]
    pub fn after(mut self, count: u64) -> Self {
        self.after = count;
        self
    }

    /// Fails all later calls too.
    #[must_use]
    pub fn sticky(mut self) -> Self {
        self.sticky = true;
        self
    }

    /// Only if the path contains `text`.
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
    /// The error that the call returns.
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Eio | Self::Ignored => io::Error::other("input/output error"),
            Self::Enospc | Self::ShortWrite { .. } => io::ErrorKind::StorageFull.into(),
        }
    }
}

/// The injected faults.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// Counts one call, and returns how it fails, if it does. Every matching fault counts the call;
    /// the first one that is due decides.
    pub(super) fn fire(&mut self, operation: Operation, path: &Path) -> Option<FaultKind> {
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
