//! Locks between handles, as in `flock(2)`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::names::Inode;

/// The number of an open handle.
pub(super) type Handle = u64;

/// The locks on whole files.
#[derive(Debug, Default)]
pub(super) struct Locks(HashMap<Inode, Lock>);

/// The locks on bytes of files, as open-file-description locks.
#[derive(Debug, Default)]
pub(super) struct ByteLocks(BTreeMap<(Inode, u64), Lock>);

impl ByteLocks {
    /// Takes the lock on a byte, or changes the mode of a lock that the handle has. On a conflict
    /// it stays as it was.
    pub(super) fn lock(&mut self, at: (Inode, u64), handle: Handle, is_alone: bool) -> bool {
        if self.0.get(&at).is_some_and(|lock| lock.refuses(handle, is_alone)) {
            return false;
        }
        self.unlock(at, handle);
        if is_alone {
            self.0.insert(at, Lock::Exclusive(handle));
        } else if let Lock::Shared(handles) =
            self.0.entry(at).or_insert_with(|| Lock::Shared(BTreeSet::new()))
        {
            handles.insert(handle);
        }
        true
    }

    /// Releases the lock on a byte.
    pub(super) fn unlock(&mut self, at: (Inode, u64), handle: Handle) {
        if self.0.get_mut(&at).is_some_and(|lock| lock.leave(handle)) {
            self.0.remove(&at);
        }
    }

    /// Releases all locks of a handle.
    pub(super) fn unlock_all(&mut self, inode: Inode, handle: Handle) {
        self.0.retain(|at, lock| at.0 != inode || !lock.leave(handle));
    }

    /// Whether another handle has locked a byte of the range.
    pub(super) fn is_locked(&self, inode: Inode, range: Range<u64>, handle: Handle) -> bool {
        if range.is_empty() {
            return false;
        }
        let mut locks = self.0.range((inode, range.start)..(inode, range.end));
        locks.any(|(_, lock)| lock.refuses(handle, true))
    }
}

impl Lock {
    /// Whether this lock conflicts with a handle's request.
    fn refuses(&self, handle: Handle, is_alone: bool) -> bool {
        match self {
            Self::Exclusive(holder) => *holder != handle,
            Self::Shared(handles) => is_alone && handles.iter().any(|other| *other != handle),
        }
    }

    /// Removes a handle. Returns `true` if none is left.
    fn leave(&mut self, handle: Handle) -> bool {
        match self {
            Self::Exclusive(holder) => *holder == handle,
            Self::Shared(handles) => {
                handles.remove(&handle);
                handles.is_empty()
            }
        }
    }
}

#[derive(Debug)]
enum Lock {
    Exclusive(Handle),
    Shared(BTreeSet<Handle>),
}

impl Locks {
    /// Takes the exclusive lock. On a conflict, a shared lock of the handle is lost: changing a
    /// lock releases it and takes another.
    pub(super) fn lock(&mut self, inode: Inode, handle: Handle) -> bool {
        self.unlock(inode, handle);
        if self.0.contains_key(&inode) {
            return false;
        }
        self.0.insert(inode, Lock::Exclusive(handle));
        true
    }

    /// Takes the lock in shared mode.
    pub(super) fn lock_shared(&mut self, inode: Inode, handle: Handle) -> bool {
        self.unlock(inode, handle);
        match self.0.entry(inode).or_insert_with(|| Lock::Shared(BTreeSet::new())) {
            Lock::Exclusive(_) => false,
            Lock::Shared(handles) => {
                handles.insert(handle);
                true
            }
        }
    }

    /// Releases the lock of the handle, if it has one.
    pub(super) fn unlock(&mut self, inode: Inode, handle: Handle) {
        if self.0.get_mut(&inode).is_some_and(|lock| lock.leave(handle)) {
            self.0.remove(&inode);
        }
    }
}
