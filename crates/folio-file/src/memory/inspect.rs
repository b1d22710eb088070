//! Functions for tests only: inspect, count, damage, and edit as other programs would.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::content::Content;
use super::fault::{Fault, Faults, Operation};
use super::names::{Inode, NameChange};
use super::points::{CrashPoint, Recording};
use super::tree::{Found, Node, ROOT, Tree, names_of};
use super::{MemoryFileSystem, named, not_found};
use crate::FileSystem;

/// Failures and limits.
impl MemoryFileSystem {
    /// Injects a failure of a later call.
    pub fn inject(&self, fault: Fault) {
        self.tree().faults.push(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.tree().faults = Faults::default();
    }

    /// Limits the total size of all files, in bytes. A write beyond the limit is done as far as it
    /// fits, then fails with `StorageFull`. Space is freed when files shrink or lose their last
    /// name and handle.
    pub fn set_capacity(&self, capacity: Option<u64>) {
        self.tree().capacity = capacity;
    }

    /// Rejects every change with `ReadOnlyFilesystem`, like a read-only mount.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.tree().is_read_only = is_read_only;
    }

    /// From now on [`File::epoch`](crate::File::epoch) returns `None`.
    pub fn hide_epoch(&self) {
        self.tree().epoch = None;
    }

    /// Sets the result of [`FileSystem::is_network`].
    pub fn set_network(&self, is_network: bool) {
        self.tree().is_network = is_network;
    }
}

/// Time.
impl MemoryFileSystem {
    /// Advances the clock.
    pub fn advance(&self, duration: Duration) {
        self.tree().clock.advance(duration);
    }

    /// Rounds the times of files down, like systems that read the clock once per timer tick. Two
    /// changes in quick succession then have the same time. Initially 1 ns.
    pub fn set_time_granularity(&self, granularity: Duration) {
        self.tree().clock.set_granularity(granularity);
    }

    /// The logical clock. Reading it advances it.
    pub fn now(&self) -> SystemTime {
        FileSystem::now(self)
    }
}

/// Counts and crash points.
impl MemoryFileSystem {
    /// The number of calls of a kind; [`Operation::Any`] for all.
    pub fn call_count(&self, operation: Operation) -> u64 {
        let tree = self.tree();
        match operation {
            Operation::Any => tree.call_counts.values().sum(),
            one => tree.call_counts.get(&one).copied().unwrap_or(0),
        }
    }

    /// Bytes read from files so far, other than through maps.
    pub fn read_size(&self) -> u64 {
        self.tree().read_size
    }

    /// The number of requested syncs of files and directories.
    pub fn sync_count(&self) -> u64 {
        self.tree().syncs.len() as u64
    }

    /// The paths of all requested syncs, in order.
    pub fn syncs(&self) -> Vec<PathBuf> {
        self.tree().syncs.clone()
    }

    /// Records an image of the tree at every such moment from now on. Earlier crash points remain.
    pub fn record_crash_points(&self, recording: Recording) {
        self.tree().points.recording = recording;
    }

    /// The number of crash points. A test notes it with every promise that it receives: the promise
    /// must hold at all points from that number on.
    pub fn crash_point_count(&self) -> usize {
        self.tree().points.points.len()
    }

    /// The crash points, oldest first.
    pub fn crash_points(&self) -> Vec<CrashPoint> {
        self.tree().points.points.clone()
    }

    /// Makes everything durable, as the system does after a while.
    pub fn make_durable(&self) {
        self.tree().make_durable();
    }
}

/// Direct access, which ignores faults and limits and is not counted.
impl MemoryFileSystem {
    /// A file's content; `None` if there is no such file.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let tree = self.tree();
        let inode = tree.find(path.as_ref()).ok()?;
        Some(tree.file(inode).ok()?.cache.to_vec())
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        collect_paths(&self.tree(), ROOT, Path::new("/"), &mut paths);
        paths.sort();
        paths
    }

    /// Simulates another program that writes a file: the content is replaced in place, the inode
    /// stays, the times change. The file and its parents are created if missing.
    ///
    /// # Errors
    /// As [`FileSystem::open`] and [`FileSystem::create_directory`].
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let mut tree = self.tree();
        let inode = find_or_create(&mut tree, path.as_ref())?;
        tree.truncate(inode, 0)?;
        without_limit(&mut tree, |tree| tree.write(inode, bytes, 0))
    }

    /// Simulates another program that appends to a file, as `echo >>` does. The file and its
    /// parents are created if missing.
    ///
    /// # Errors
    /// As [`MemoryFileSystem::write`].
    pub fn append(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let mut tree = self.tree();
        let inode = find_or_create(&mut tree, path.as_ref())?;
        let end = tree.file(inode)?.cache.size();
        without_limit(&mut tree, |tree| tree.write(inode, bytes, end))
    }

    /// Simulates another program that writes a new file and renames it over this one, as `sed -i`
    /// and many editors do. The name then has a new inode.
    ///
    /// # Errors
    /// As [`MemoryFileSystem::write`].
    pub fn replace(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let path = path.as_ref();
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".edited");
        let temporary = path.with_file_name(name);
        self.write(&temporary, bytes)?;
        let mut tree = self.tree();
        let source = named(tree.walk(&temporary)?)?;
        let target = named(tree.walk(path)?)?;
        let inode = source.inode.ok_or_else(not_found)?;
        tree.change_names(NameChange::renaming(inode, source.place, target.place));
        Ok(())
    }

    /// Simulates decay of the medium: one bit of a file changes, but no time does. Bits count from
    /// the lowest of the first byte. Unsynced content of the file counts as written out before.
    ///
    /// # Errors
    /// `NotFound`; `UnexpectedEof` if the file is shorter.
    pub fn flip_bit(&self, path: impl AsRef<Path>, bit: u64) -> io::Result<()> {
        self.decay(path.as_ref(), |content| {
            let mut byte = [0];
            if content.read_at(&mut byte, bit / 8) == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            content.write_at(&[byte[0] ^ (1 << (bit % 8))], bit / 8);
            Ok(())
        })
    }

    /// Simulates a repair tool or an incomplete copy: the file gets another size, but no time
    /// changes. Unsynced content of the file counts as written out before.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn truncate_silently(&self, path: impl AsRef<Path>, size: u64) -> io::Result<()> {
        self.decay(path.as_ref(), |content| {
            content.resize(size);
            Ok(())
        })
    }

    fn decay(
        &self,
        path: &Path,
        damage: impl FnOnce(&mut Content) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut tree = self.tree();
        let inode = tree.find(path)?;
        let file = tree.file_mut(inode)?;
        damage(&mut file.cache)?;
        file.make_durable();
        Ok(())
    }
}

fn collect_paths(tree: &Tree, inode: Inode, path: &Path, paths: &mut Vec<PathBuf>) {
    match tree.nodes.get(&inode) {
        Some(Node::Directory(directory)) => {
            for (name, &child) in directory.names.iter() {
                collect_paths(tree, child, &path.join(name), paths);
            }
        }
        Some(Node::File(_)) => paths.push(path.to_owned()),
        None => {}
    }
}

/// The file at a path. It and its parents are created if missing.
fn find_or_create(tree: &mut Tree, path: &Path) -> io::Result<Inode> {
    let mut parent = PathBuf::from("/");
    let names = names_of(path);
    let Some((_, parents)) = names.split_last() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    for name in parents {
        parent.push(name);
        if let Some(Found { place, inode: None }) = tree.walk(&parent)? {
            tree.make_directory(place);
        }
    }
    let Found { place, inode } = named(tree.walk(path)?)?;
    Ok(inode.unwrap_or_else(|| tree.create_file(place)))
}

fn without_limit<T>(tree: &mut Tree, write: impl FnOnce(&mut Tree) -> T) -> T {
    let capacity = tree.capacity.take();
    let result = write(tree);
    tree.capacity = capacity;
    result
}
