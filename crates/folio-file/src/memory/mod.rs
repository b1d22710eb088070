//! A file system in memory that loses data on purpose.
//!
//! Testing what a store promises about crashes needs a disk that behaves like the worst legal one,
//! thousands of times a second, and repeatably. That is [`MemoryFileSystem`]:
//!
//! - a write is visible at once, and durable after [`File::sync_data`]. A creation, rename or
//!   removal is durable after [`FileSystem::sync_directory`] on the directory; a new directory also
//!   needs a sync of its parent. Syncing a file does not make its name durable;
//! - [`MemoryFileSystem::crash`] gives the tree after a power cut, a different one for each seed
//!   (the rules are in `crash`). [`MemoryFileSystem::kill`] gives the tree after the process died;
//! - [`MemoryFileSystem::record_crash_points`] records an image of every moment worth a crash while
//!   a test runs its workload once;
//! - [`MemoryFileSystem::inject`] makes calls fail. [`MemoryFileSystem::set_capacity`] fills the
//!   disk. The capacity survives a crash, faults do not;
//! - [`MemoryFileSystem::write`], [`MemoryFileSystem::flip_bit`] and similar calls simulate other
//!   people's editors and decay of the medium.
//!
//! Copies of a tree share all unchanged content, so an image costs about as much as a list of its
//! files.
//!
//! It has no symbolic links, no hard links, no permissions of single files, and no threads that see
//! each other's unfinished calls.

mod clock;
mod content;
mod crash;
mod fault;
mod file;
mod inspect;
mod lock;
mod names;
mod node;
mod points;
mod random;
mod tree;

pub use crash::{CrashPlan, DataLoss, NameLoss};
pub use fault::{Fault, FaultKind, Operation};
pub use points::{CrashPoint, Recording};

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::{DirectoryEntry, File, FileKind, FileSystem, OpenMode, Stat};
use file::MemoryFile;
use names::{Inode, NameChange, Place};
use tree::{Found, Tree};

/// A tree of files in memory. Clones refer to the same tree.
#[derive(Clone)]
pub struct MemoryFileSystem {
    tree: Arc<Mutex<Tree>>,
}

impl MemoryFileSystem {
    /// An empty tree.
    pub fn new() -> Self {
        Self::with_seed(0)
    }

    /// An empty tree whose clock and failed syncs depend on a seed.
    pub fn with_seed(seed: u64) -> Self {
        Self::of(Tree::new(seed))
    }

    /// The tree as found after a power failure now. This tree and its handles continue unaffected.
    #[must_use]
    pub fn crash(&self, plan: CrashPlan) -> Self {
        Self::of(self.tree().after_crash(plan))
    }

    /// The tree as another process finds it if this one is killed now: everything written is there,
    /// unsynced parts are still unsynced, the locks are gone.
    #[must_use]
    pub fn kill(&self) -> Self {
        Self::of(self.tree().after_kill())
    }

    fn of(tree: Tree) -> Self {
        Self { tree: Arc::new(Mutex::new(tree)) }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        locked(&self.tree)
    }

    /// Makes one change of names, between two crash points.
    fn change<T>(
        &self,
        operation: Operation,
        path: &Path,
        change: impl FnOnce(&mut Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut tree = self.tree();
        Self::change_in(&mut tree, operation, path, change)
    }

    fn change_in<T>(
        tree: &mut Tree,
        operation: Operation,
        path: &Path,
        change: impl FnOnce(&mut Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        record(tree, operation, path, false);
        tree.call_or_fail(operation, path)?;
        tree.refuse_if_read_only()?;
        let result = change(tree);
        record(tree, operation, path, true);
        result
    }
}

impl Default for MemoryFileSystem {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryFileSystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryFileSystem").finish_non_exhaustive()
    }
}

fn locked(tree: &Mutex<Tree>) -> MutexGuard<'_, Tree> {
    // A test may still inspect its files after a panic elsewhere.
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records an image of this moment, if the test has asked for it.
fn record(tree: &mut Tree, operation: Operation, path: &Path, is_after: bool) {
    if tree.points.wants(operation) {
        let image = MemoryFileSystem::of(tree.after_kill());
        tree.points.points.push(CrashPoint { operation, path: path.into(), is_after, image });
    }
}

/// Returns the error for a call on the root that needs a name.
fn named(found: Option<Found>) -> io::Result<Found> {
    found.ok_or_else(|| io::ErrorKind::ResourceBusy.into())
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl FileSystem for MemoryFileSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut tree = self.tree();
        let Some(Found { place, inode }) = tree.walk(path)? else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let inode = match (inode, mode) {
            (None, OpenMode::Read) => return Err(not_found()),
            (None, _) => Self::change_in(&mut tree, Operation::Create, path, |tree| {
                Ok(tree.create_file(place))
            })?,
            (Some(_), OpenMode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(inode), _) => {
                tree.call_or_fail(Operation::Open, path)?;
                tree.file(inode)?;
                if mode != OpenMode::Read {
                    tree.refuse_if_read_only()?;
                }
                inode
            }
        };
        Ok(Arc::new(MemoryFile::open(&self.tree, &mut tree, inode, mode, path.into())?))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Metadata, path)?;
        let inode = tree.find(path)?;
        Ok(tree.stat(inode))
    }

    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        self.stat(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        let mut parent = PathBuf::from("/");
        for name in tree::names_of(path) {
            parent.push(name);
            let Some(Found { place, inode }) = tree.walk(&parent)? else { continue };
            // A file in the way is an error of the next step, or of the last one below.
            if inode.is_none() {
                Self::change_in(&mut tree, Operation::Create, &parent, |tree| {
                    tree.make_directory(place);
                    Ok(())
                })?;
            }
        }
        let inode = tree.find(&parent)?;
        if tree.is_directory(inode) { Ok(()) } else { Err(io::ErrorKind::AlreadyExists.into()) }
    }

    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Metadata, path)?;
        let inode = tree.find(path)?;
        let entries = tree.directory(inode)?.names.iter().map(|(name, &inode)| DirectoryEntry {
            name: name.clone(),
            kind: if tree.is_directory(inode) { FileKind::Directory } else { FileKind::File },
        });
        Ok(entries.collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Operation::Rename, to, |tree| {
            let source = named(tree.walk(from)?)?;
            let target = named(tree.walk(to)?)?;
            let inode = source.inode.ok_or_else(not_found)?;
            if target.inode == Some(inode) {
                return Ok(());
            }
            check_replacement(tree, inode, &source.place, &target)?;
            tree.change_names(NameChange::renaming(inode, source.place, target.place));
            Ok(())
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.change(Operation::Remove, path, |tree| {
            let found = named(tree.walk(path)?)?;
            let inode = found.inode.ok_or_else(not_found)?;
            tree.file(inode)?;
            tree.change_names(NameChange::removal(inode, found.place));
            Ok(())
        })
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.change(Operation::Remove, path, |tree| {
            let found = named(tree.walk(path)?)?;
            let inode = found.inode.ok_or_else(not_found)?;
            if !tree.directory(inode)?.names.is_empty() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            tree.change_names(NameChange::removal(inode, found.place));
            Ok(())
        })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut tree = self.tree();
        record(&mut tree, Operation::SyncDirectory, path, false);
        let fault = tree.call(Operation::SyncDirectory, path);
        tree.syncs.push(path.into());
        let inode = tree.find(path)?;
        tree.directory(inode)?;
        match fault {
            None => tree.sync_names(inode),
            Some(FaultKind::Ignored) => {}
            Some(kind) => return Err(kind.error()),
        }
        record(&mut tree, Operation::SyncDirectory, path, true);
        Ok(())
    }

    fn is_network(&self, _path: &Path) -> bool {
        self.tree().is_network
    }

    fn now(&self) -> SystemTime {
        self.tree().clock.tick()
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let mut tree = self.tree();
        tree.call_or_fail(Operation::Metadata, path)?;
        tree.find(path)?;
        Ok(Path::new("/").join(tree::names_of(path).iter().collect::<PathBuf>()))
    }
}

/// Rejects what `rename(2)` does not replace.
fn check_replacement(tree: &Tree, inode: Inode, source: &Place, target: &Found) -> io::Result<()> {
    let is_directory = tree.is_directory(inode);
    if is_directory && is_within(tree, target.place.directory, inode) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let Some(replaced) = target.inode else { return Ok(()) };
    if is_within(tree, source.directory, replaced) {
        return Err(io::ErrorKind::DirectoryNotEmpty.into());
    }
    debug_assert_ne!(*source, target.place, "a file renamed to itself was seen before");
    match (is_directory, tree.is_directory(replaced)) {
        (false, false) => Ok(()),
        (false, true) => Err(io::ErrorKind::IsADirectory.into()),
        (true, false) => Err(io::ErrorKind::NotADirectory.into()),
        (true, true) if tree.directory(replaced)?.names.is_empty() => Ok(()),
        (true, true) => Err(io::ErrorKind::DirectoryNotEmpty.into()),
    }
}

/// Whether `inside` is `outside` or in it.
fn is_within(tree: &Tree, inside: Inode, outside: Inode) -> bool {
    inside == outside
        || tree.directory(outside).is_ok_and(|directory| {
            directory
                .names
                .values()
                .any(|&child| tree.is_directory(child) && is_within(tree, inside, child))
        })
}
