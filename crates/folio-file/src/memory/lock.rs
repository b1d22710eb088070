//! Locks between handles, as `flock(2)` has them.

use std::collections::{BTreeSet, HashMap};

use super::names::Inode;

/// Number of an open handle.
pub(super) type Handle = u64;

/// Who has which file locked.
#[derive(Debug, Default)]
pub(super) struct Locks(HashMap<Inode, Lock>);

#[derive(Debug)]
enum Lock {
    Exclusive(Handle),
    Shared(BTreeSet<Handle>),
}

impl Locks {
    /// Takes the exclusive lock. On refusal a shared lock that the handle had is
    /// gone: changing a lock is giving one back and taking another.
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

    /// Gives back what the handle has, if anything.
    pub(super) fn unlock(&mut self, inode: Inode, handle: Handle) {
        let is_free = match self.0.get_mut(&inode) {
            None => false,
            Some(Lock::Exclusive(holder)) => *holder == handle,
            Some(Lock::Shared(handles)) => {
                handles.remove(&handle);
                handles.is_empty()
            }
        };
        if is_free {
            self.0.remove(&inode);
        }
    }
}
