//! What a test does besides: looks, counts, breaks, and edits as other
//! programs would.

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
    /// Makes a call fail that is yet to come.
    pub fn inject(&self, fault: Fault) {
        self.tree().faults.push(fault);
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.tree().faults = Faults::default();
    }

    /// Limits the sizes of all files together, in bytes: what would go beyond is
    /// written as far as it fits, then refused with `StorageFull`. Space comes
    /// back when files shrink or lose their last name and handle.
    pub fn set_capacity(&self, capacity: Option<u64>) {
        self.tree().capacity = capacity;
    }

    /// Refuses every change with `ReadOnlyFilesystem`, as a tree mounted so.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.tree().is_read_only = is_read_only;
    }

    /// From now on [`File::epoch`](crate::File::epoch) tells nothing.
    pub fn hide_epoch(&self) {
        self.tree().epoch = None;
    }

    /// What [`FileSystem::is_network`] says.
    pub fn set_network(&self, is_network: bool) {
        self.tree().is_network = is_network;
    }
}

/// Time.
impl MemoryFileSystem {
    /// Lets time pass.
    pub fn advance(&self, duration: Duration) {
        self.tree().clock.advance(duration);
    }

    /// Rounds the times of files down, as systems do that look at the clock once
    /// per timer tick: two changes soon after each other then have the same time.
    /// 1 ns at first.
    pub fn set_time_granularity(&self, granularity: Duration) {
        self.tree().clock.set_granularity(granularity);
    }

    /// The logical clock, which moves on by asking.
    pub fn now(&self) -> SystemTime {
        FileSystem::now(self)
    }
}

/// Counts and crash points.
impl MemoryFileSystem {
    /// How many calls of a kind there were; [`Operation::Any`] for all.
    pub fn call_count(&self, operation: Operation) -> u64 {
        let tree = self.tree();
        match operation {
            Operation::Any => tree.call_counts.values().sum(),
            one => tree.call_counts.get(&one).copied().unwrap_or(0),
        }
    }

    /// How many syncs of files and directories were asked for.
    pub fn sync_count(&self) -> u64 {
        self.tree().syncs.len() as u64
    }

    /// The paths of all syncs asked for, in order.
    pub fn syncs(&self) -> Vec<PathBuf> {
        self.tree().syncs.clone()
    }

    /// Keeps an image of the tree at every such moment from now on. The points
    /// recorded so far stay.
    pub fn record_crash_points(&self, recording: Recording) {
        self.tree().points.recording = recording;
    }

    /// How many crash points there are. A test notes it with every promise it
    /// is given: the promise binds all points from that number on.
    pub fn crash_point_count(&self) -> usize {
        self.tree().points.points.len()
    }

    /// The crash points, oldest first.
    pub fn crash_points(&self) -> Vec<CrashPoint> {
        self.tree().points.points.clone()
    }

    /// Makes everything durable, as the system does by itself after a while.
    pub fn settle(&self) {
        self.tree().settle();
    }
}

/// Direct access, which neither faults nor limits stop and no counter sees.
impl MemoryFileSystem {
    /// A file's content; `None` when there is no such file.
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

    /// Another program writes a file: the content is replaced in place, the
    /// inode stays, the times change. Created when missing, with its parents.
    ///
    /// # Errors
    /// As [`FileSystem::open`] and [`FileSystem::create_directory`].
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let mut tree = self.tree();
        let inode = find_or_create(&mut tree, path.as_ref())?;
        tree.truncate(inode, 0)?;
        without_limit(&mut tree, |tree| tree.write(inode, bytes, 0))
    }

    /// Another program appends to a file, as `echo >>` does. Created when
    /// missing, with its parents.
    ///
    /// # Errors
    /// As [`MemoryFileSystem::write`].
    pub fn append(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let mut tree = self.tree();
        let inode = find_or_create(&mut tree, path.as_ref())?;
        let end = tree.file(inode)?.cache.size();
        without_limit(&mut tree, |tree| tree.write(inode, bytes, end))
    }

    /// Another program writes a new file and renames it over this one, as
    /// `sed -i` and many editors do: a new inode stands under the name.
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

    /// The medium decays: one bit of a file changes, no time does. Bits count
    /// from the lowest of the first byte. What was unsynced in the file counts
    /// as written out before.
    ///
    /// # Errors
    /// `NotFound`; `UnexpectedEof` when the file is shorter.
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

    /// A repair tool or a broken copy leaves a file at another size; no time
    /// changes. What was unsynced in the file counts as written out before.
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
        file.settle();
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

/// The file at a path, made with its parents when missing.
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
