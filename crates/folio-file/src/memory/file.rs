//! An open file in memory.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use super::fault::{FaultKind, Operation};
use super::lock::Handle;
use super::names::Inode;
use super::node::Times;
use super::tree::Tree;
use super::{locked, record};
use crate::{File, Map, OpenMode, Stat};

/// A handle. It keeps its file alive when another file takes the name.
#[derive(Debug)]
pub(super) struct MemoryFile {
    tree: Arc<Mutex<Tree>>,
    handle: Handle,
    inode: Inode,
    mode: OpenMode,
    /// The path it was opened with, for faults.
    path: PathBuf,
}

impl MemoryFile {
    /// A handle to an existing file.
    pub(super) fn open(
        shared: &Arc<Mutex<Tree>>,
        tree: &mut Tree,
        inode: Inode,
        mode: OpenMode,
        path: PathBuf,
    ) -> io::Result<Self> {
        tree.file_mut(inode)?.open_count += 1;
        tree.next_handle += 1;
        Ok(Self { tree: Arc::clone(shared), handle: tree.next_handle, inode, mode, path })
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        locked(&self.tree)
    }

    fn refuse_unless_writable(&self, tree: &Tree) -> io::Result<()> {
        if self.mode == OpenMode::Read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        tree.refuse_if_read_only()
    }

    /// Makes one change under the lock, between two crash points.
    fn change<T>(
        &self,
        operation: Operation,
        change: impl FnOnce(&mut Tree, Option<FaultKind>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut tree = self.tree();
        record(&mut tree, operation, &self.path, false);
        let fault = tree.call(operation, &self.path);
        let result = change(&mut tree, fault);
        record(&mut tree, operation, &self.path, true);
        result
    }

    /// Writes the bytes, or the part that a fault allows. Returns the end.
    fn write_or_fail(
        &self,
        tree: &mut Tree,
        fault: Option<FaultKind>,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<u64> {
        self.refuse_unless_writable(tree)?;
        match fault {
            None | Some(FaultKind::Ignored) => tree.write(self.inode, bytes, offset)?,
            Some(kind) => {
                if let FaultKind::ShortWrite { bytes: count } = kind {
                    tree.write(self.inode, &bytes[..count.min(bytes.len())], offset)?;
                }
                return Err(kind.error());
            }
        }
        Ok(offset + bytes.len() as u64)
    }
}

impl File for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Read, &self.path)?;
        let read = tree.file(self.inode)?.cache.read_at(buffer, offset);
        tree.read_size += read as u64;
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.mode == OpenMode::Append {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.change(Operation::Write, |tree, fault| {
            self.write_or_fail(tree, fault, bytes, offset).map(|_| ())
        })
    }

    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        self.change(Operation::Append, |tree, fault| {
            let end = tree.file(self.inode)?.cache.size();
            self.write_or_fail(tree, fault, bytes, end)
        })
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        if self.mode == OpenMode::Read {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.change(Operation::Truncate, |tree, fault| {
            tree.refuse_if_read_only()?;
            match fault {
                None | Some(FaultKind::Ignored) => tree.truncate(self.inode, size),
                Some(kind) => Err(kind.error()),
            }
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(Operation::Sync, |tree, fault| {
            tree.syncs.push(self.path.clone());
            match fault {
                None => tree.file_mut(self.inode)?.sync(),
                Some(FaultKind::Ignored) => {}
                Some(kind) => {
                    tree.fail_sync(self.inode)?;
                    return Err(kind.error());
                }
            }
            Ok(())
        })
    }

    fn start_writeback(&self, _offset: u64, _size: u64) {}

    fn stat(&self) -> io::Result<Stat> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Metadata, &self.path)?;
        Ok(tree.stat(self.inode))
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        let mut tree = self.tree();
        tree.refuse_if_read_only()?;
        tree.call_or_fail(Operation::Metadata, &self.path)?;
        let modified_ns = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |ns| -ns),
        };
        let changed_ns = tree.clock.stamp();
        tree.file_mut(self.inode)?.times = Times { modified_ns, changed_ns };
        Ok(())
    }

    fn epoch(&self) -> Option<u64> {
        self.tree().epoch
    }

    fn map(&self) -> io::Result<Map> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Read, &self.path)?;
        Ok(Map::from(tree.file(self.inode)?.cache.to_vec()))
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Lock, &self.path)?;
        Ok(tree.locks.lock(self.inode, self.handle))
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Lock, &self.path)?;
        Ok(tree.locks.lock_shared(self.inode, self.handle))
    }

    fn unlock(&self) -> io::Result<()> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Lock, &self.path)?;
        tree.locks.unlock(self.inode, self.handle);
        Ok(())
    }

    fn try_lock_byte(&self, offset: u64, is_alone: bool) -> io::Result<bool> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Lock, &self.path)?;
        Ok(tree.byte_locks.lock((self.inode, offset), self.handle, is_alone))
    }

    fn unlock_byte(&self, offset: u64) -> io::Result<()> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Lock, &self.path)?;
        tree.byte_locks.unlock((self.inode, offset), self.handle);
        Ok(())
    }

    fn has_locked_byte(&self, range: Range<u64>) -> io::Result<bool> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Lock, &self.path)?;
        Ok(tree.byte_locks.is_locked(self.inode, range, self.handle))
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut tree = self.tree();
        tree.locks.unlock(self.inode, self.handle);
        tree.byte_locks.unlock_all(self.inode, self.handle);
        if let Ok(file) = tree.file_mut(self.inode) {
            file.open_count -= 1;
        }
        tree.sweep_if_due();
    }
}
