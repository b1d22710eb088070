//! The state of a memory file system: files, directories, and changes that are not yet durable.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::clock::Clock;
use super::content::LARGEST_SIZE;
use super::crash::{self, CrashPlan, DataLoss};
use super::fault::{FaultKind, Faults, Operation};
use super::lock::{ByteLocks, Locks};
use super::names::{DirectoryNode, Inode, Journal, NameChange, Place};
use super::node::{FileNode, Times};
use super::points::CrashPoints;
use super::random::Random;
use crate::{FileKind, Stat};

pub(super) const ROOT: Inode = 2;

/// A file or a directory.
#[derive(Debug, Clone)]
pub(super) enum Node {
    File(FileNode),
    Directory(DirectoryNode),
}

/// Where a path leads: its last directory and name, and what is there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) inode: Option<Inode>,
}

/// The whole state.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: HashMap<Inode, Node>,
    pub(super) journal: Journal,
    pub(super) clock: Clock,
    pub(super) seed: u64,
    next_inode: Inode,
    /// Nodes left after the last sweep, to decide when the next one pays off.
    swept_count: usize,

    pub(super) faults: Faults,
    pub(super) capacity: Option<u64>,
    pub(super) is_read_only: bool,
    pub(super) is_network: bool,
    /// A different number after each crash; `None` if it is hidden.
    pub(super) epoch: Option<u64>,

    pub(super) locks: Locks,
    pub(super) byte_locks: ByteLocks,
    pub(super) next_handle: u64,
    pub(super) call_counts: HashMap<Operation, u64>,
    /// Bytes read from files, other than through maps.
    pub(super) read_size: u64,
    pub(super) syncs: Vec<PathBuf>,
    pub(super) points: CrashPoints,
}

impl Tree {
    pub(super) fn new(seed: u64) -> Self {
        let mut clock = Clock::new(seed);
        let created = clock.stamp();
        let times = Times { modified_ns: created, changed_ns: created };
        let nodes = HashMap::from([(ROOT, Node::Directory(DirectoryNode::new(times)))]);
        Self::with(nodes, clock, seed, ROOT + 1)
    }

    /// A tree without handles, locks, faults or limits.
    fn with(nodes: HashMap<Inode, Node>, clock: Clock, seed: u64, next_inode: Inode) -> Self {
        Self {
            swept_count: nodes.len(),
            nodes,
            journal: Journal::default(),
            clock,
            seed,
            next_inode,
            faults: Faults::default(),
            capacity: None,
            is_read_only: false,
            is_network: false,
            epoch: Some(1),
            locks: Locks::default(),
            byte_locks: ByteLocks::default(),
            next_handle: 0,
            call_counts: HashMap::new(),
            read_size: 0,
            syncs: Vec::new(),
            points: CrashPoints::default(),
        }
    }

    /// A tree on the same medium, with its limits and time, after the processes have ended.
    fn with_same_medium(&self, nodes: HashMap<Inode, Node>) -> Self {
        Self {
            capacity: self.capacity,
            is_read_only: self.is_read_only,
            is_network: self.is_network,
            epoch: self.epoch,
            ..Self::with(nodes, self.clock.clone(), self.seed, self.next_inode)
        }
    }

    /// The tree as another process finds it after this one was killed: content and unsynced changes
    /// remain, handles and locks are gone.
    pub(super) fn after_kill(&self) -> Self {
        let mut nodes = self.nodes.clone();
        for node in nodes.values_mut() {
            if let Node::File(file) = node {
                file.open_count = 0;
            }
        }
        let mut tree = self.with_same_medium(nodes);
        tree.journal = self.journal.clone();
        tree
    }

    /// The tree as found after a power cut.
    pub(super) fn after_crash(&self, plan: CrashPlan) -> Self {
        let mut directories: HashMap<Inode, DirectoryNode> = self
            .nodes
            .iter()
            .filter_map(|(inode, node)| match node {
                Node::Directory(directory) => Some((*inode, directory.clone())),
                Node::File(_) => None,
            })
            .collect();
        let mut random = Random::for_part(plan.seed, 0);
        for change in crash::surviving_names(&self.journal, plan.names, &mut random) {
            change.apply(|inode, edit| {
                if let Some(directory) = directories.get_mut(&inode) {
                    edit.apply(&mut directory.durable_names);
                }
            });
        }
        let mut tree = self.with_same_medium(HashMap::new());
        tree.clock.advance(Duration::from_secs(1 + random.below(60)));
        tree.epoch = tree.epoch.map(|epoch| epoch + 1);
        tree.take_survivors(self, &directories, plan);
        tree
    }

    /// Fills an empty tree with everything reachable from the root.
    fn take_survivors(
        &mut self,
        before: &Self,
        directories: &HashMap<Inode, DirectoryNode>,
        plan: CrashPlan,
    ) {
        let mut waiting = vec![ROOT];
        while let Some(inode) = waiting.pop() {
            let Some(found) = directories.get(&inode) else { continue };
            if self.nodes.contains_key(&inode) {
                continue;
            }
            let mut directory = found.clone();
            directory.names = directory.durable_names.clone();
            for &child in directory.names.values() {
                match before.nodes.get(&child) {
                    Some(Node::Directory(_)) => waiting.push(child),
                    Some(Node::File(file)) => self.take_file(child, file, plan),
                    None => unreachable!("a durable name keeps its node from being swept"),
                }
            }
            self.nodes.insert(inode, Node::Directory(directory));
        }
    }

    fn take_file(&mut self, inode: Inode, file: &FileNode, plan: CrashPlan) {
        let survivor = self.nodes.entry(inode).or_insert_with(|| {
            let mut random = Random::for_part(plan.seed, inode);
            Node::File(crash::surviving_file(file, plan.data, &mut random))
        });
        if let Node::File(file) = survivor {
            file.name_count += 1;
        }
    }

    /// Counts a call, and returns how it fails, if it does.
    pub(super) fn call(&mut self, operation: Operation, path: &Path) -> Option<FaultKind> {
        *self.call_counts.entry(operation).or_default() += 1;
        self.faults.fire(operation, path)
    }

    /// Counts a call, and returns the error if a fault makes the whole call fail.
    pub(super) fn call_or_fail(&mut self, operation: Operation, path: &Path) -> io::Result<()> {
        match self.call(operation, path) {
            Some(FaultKind::Ignored) | None => Ok(()),
            Some(kind) => Err(kind.error()),
        }
    }

    pub(super) fn refuse_if_read_only(&self) -> io::Result<()> {
        if self.is_read_only {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        Ok(())
    }

    /// Where a path leads; `None` for the root itself.
    pub(super) fn walk(&self, path: &Path) -> io::Result<Option<Found>> {
        let names = names_of(path);
        let Some((last, parents)) = names.split_last() else { return Ok(None) };
        let mut directory = ROOT;
        for name in parents {
            directory = *self
                .directory(directory)?
                .names
                .get(name)
                .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        }
        let inode = self.directory(directory)?.names.get(last).copied();
        Ok(Some(Found { place: Place { directory, name: last.clone() }, inode }))
    }

    /// The node at a path.
    pub(super) fn find(&self, path: &Path) -> io::Result<Inode> {
        match self.walk(path)? {
            None => Ok(ROOT),
            Some(found) => found.inode.ok_or_else(|| io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn directory(&self, inode: Inode) -> io::Result<&DirectoryNode> {
        match self.node(inode) {
            Node::Directory(directory) => Ok(directory),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn file(&self, inode: Inode) -> io::Result<&FileNode> {
        match self.node(inode) {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    pub(super) fn file_mut(&mut self, inode: Inode) -> io::Result<&mut FileNode> {
        match self.node_mut(inode) {
            Node::File(file) => Ok(file),
            Node::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn node(&self, inode: Inode) -> &Node {
        self.nodes.get(&inode).expect("names and handles keep their node")
    }

    pub(super) fn node_mut(&mut self, inode: Inode) -> &mut Node {
        self.nodes.get_mut(&inode).expect("names and handles keep their node")
    }

    pub(super) fn is_directory(&self, inode: Inode) -> bool {
        matches!(self.node(inode), Node::Directory(_))
    }

    pub(super) fn stat(&self, inode: Inode) -> Stat {
        let (kind, size, times) = match self.node(inode) {
            Node::File(file) => (FileKind::File, file.cache.size(), file.times),
            Node::Directory(directory) => (FileKind::Directory, 4096, directory.times),
        };
        Stat {
            kind,
            device: 1,
            inode,
            size,
            modified_ns: times.modified_ns,
            changed_ns: times.changed_ns,
        }
    }

    pub(super) fn create_file(&mut self, place: Place) -> Inode {
        let times = self.times_now();
        self.create(Node::File(FileNode::new(times)), place)
    }

    pub(super) fn make_directory(&mut self, place: Place) -> Inode {
        let times = self.times_now();
        self.create(Node::Directory(DirectoryNode::new(times)), place)
    }

    fn create(&mut self, node: Node, place: Place) -> Inode {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.nodes.insert(inode, node);
        self.change_names(NameChange::creation(inode, place));
        inode
    }

    /// Changes names: visible at once, durable after a sync.
    pub(super) fn change_names(&mut self, change: NameChange) {
        let now = self.clock.stamp();
        let replaced = change
            .to
            .as_ref()
            .and_then(|to| self.directory(to.directory).ok()?.names.get(&to.name).copied());
        change.apply(|inode, edit| {
            let directory = directory_in(&mut self.nodes, inode);
            edit.apply(&mut directory.names);
            directory.times = Times { modified_ns: now, changed_ns: now };
        });
        self.count_name(change.inode, i32::from(change.to.is_some()), now);
        self.count_name(change.inode, -i32::from(change.from.is_some()), now);
        if let Some(replaced) = replaced {
            self.count_name(replaced, -1, now);
        }
        self.journal.push(change);
    }

    fn count_name(&mut self, inode: Inode, by: i32, now: i128) {
        match self.node_mut(inode) {
            Node::File(file) => {
                file.name_count = file.name_count.saturating_add_signed(by);
                file.times.changed_ns = now;
            }
            Node::Directory(directory) => directory.times.changed_ns = now,
        }
    }

    /// Makes the names in a directory durable.
    pub(super) fn sync_names(&mut self, inode: Inode) {
        for change in self.journal.sync(inode) {
            change.apply(|inode, edit| {
                edit.apply(&mut directory_in(&mut self.nodes, inode).durable_names);
            });
        }
        self.sweep_if_due();
    }

    /// Fails a sync of content: a part of it may be on the disk, the rest is lost.
    pub(super) fn fail_sync(&mut self, inode: Inode) -> io::Result<()> {
        let mut random = Random::for_part(self.seed, self.syncs.len() as u64);
        let file = self.file_mut(inode)?;
        let written = crash::surviving_content(file, DataLoss::Mixed, &mut random);
        file.fail_sync(written);
        Ok(())
    }

    /// Writes into a file as far as there is space.
    pub(super) fn write(&mut self, inode: Inode, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= LARGEST_SIZE);
        let Some(end) = end else { return Err(io::ErrorKind::FileTooLarge.into()) };
        let room = self.room();
        let size = self.file(inode)?.cache.size();
        if end.saturating_sub(size) <= room {
            self.write_unchecked(inode, bytes, offset)?;
            return Ok(());
        }
        // What fits is written before the error is returned, as on a disk.
        let fits = (size + room).saturating_sub(offset);
        let fits = usize::try_from(fits).map_or(bytes.len(), |fits| fits.min(bytes.len()));
        self.write_unchecked(inode, &bytes[..fits], offset)?;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn write_unchecked(&mut self, inode: Inode, bytes: &[u8], offset: u64) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let now = self.times_now();
        let file = self.file_mut(inode)?;
        file.write(bytes, offset);
        file.times = now;
        Ok(())
    }

    /// Sets a file's size. Holes use no space.
    pub(super) fn truncate(&mut self, inode: Inode, size: u64) -> io::Result<()> {
        if size > LARGEST_SIZE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let now = self.times_now();
        let file = self.file_mut(inode)?;
        file.truncate(size);
        file.times = now;
        Ok(())
    }

    /// The number of bytes by which files may still grow.
    fn room(&self) -> u64 {
        let Some(capacity) = self.capacity else { return u64::MAX };
        let used: u64 = self
            .nodes
            .values()
            .map(|node| match node {
                Node::File(file) if file.name_count + file.open_count > 0 => file.cache.size(),
                _ => 0,
            })
            .sum();
        capacity.saturating_sub(used)
    }

    pub(super) fn times_now(&mut self) -> Times {
        let now = self.clock.stamp();
        Times { modified_ns: now, changed_ns: now }
    }

    /// Makes everything durable, as the system does after a while.
    pub(super) fn make_durable(&mut self) {
        self.journal.clear();
        for node in self.nodes.values_mut() {
            match node {
                Node::File(file) => file.make_durable(),
                Node::Directory(directory) => directory.durable_names = directory.names.clone(),
            }
        }
        self.sweep_if_due();
    }

    /// Removes files that have neither a name, nor a handle, nor a durable name by which they could
    /// return. Amortised: runs only once half of all nodes are new.
    pub(super) fn sweep_if_due(&mut self) {
        if self.nodes.len() < 2 * self.swept_count + 64 {
            return;
        }
        let mut wanted = HashSet::from([ROOT]);
        wanted.extend(self.journal.changes().iter().flat_map(NameChange::inodes));
        for (inode, node) in &self.nodes {
            match node {
                Node::File(file) if file.open_count > 0 => {
                    wanted.insert(*inode);
                }
                Node::File(_) => {}
                Node::Directory(directory) => {
                    wanted.extend(directory.names.values().chain(directory.durable_names.values()));
                }
            }
        }
        self.nodes.retain(|inode, _| wanted.contains(inode));
        self.swept_count = self.nodes.len();
    }
}

fn directory_in(nodes: &mut HashMap<Inode, Node>, inode: Inode) -> &mut DirectoryNode {
    match nodes.get_mut(&inode) {
        Some(Node::Directory(directory)) => directory,
        _ => unreachable!("names are changed in directories that were walked to"),
    }
}

/// The names along a path from the root, without `.` and with `..` resolved.
pub(super) fn names_of(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => {
                names.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use crate::{CrashPlan, FileSystem, MemoryFileSystem, OpenMode};
    use std::path::Path;

    /// Thousands of replaced files are removed, and so is a directory whose last changes were never
    /// synced.
    #[test]
    fn files_without_a_name_are_let_go_of() {
        let files = MemoryFileSystem::new();
        let open = |path: &str| files.open(Path::new(path), OpenMode::Append).expect("it opens");
        files.create_directory(Path::new("/d/gone")).expect("it is made");
        files.sync_directory(Path::new("/")).expect("it syncs");
        for round in 0..5000_u32 {
            open("/d/new").append(&round.to_le_bytes()).expect("it takes bytes");
            files.rename(Path::new("/d/new"), Path::new("/d/a")).expect("it is renamed");
            files.sync_directory(Path::new("/d")).expect("it syncs");
            if round == 2 {
                open("/d/gone/x");
                files.rename(Path::new("/d/gone/x"), Path::new("/x")).expect("it is renamed");
                files.remove_directory(Path::new("/d/gone")).expect("it is empty");
            }
        }
        files.sync_directory(Path::new("/")).expect("it syncs");
        let found = files.crash(CrashPlan::lose_everything());
        assert_eq!(found.paths(), [Path::new("/d/a"), Path::new("/x")]);
        let kept = files.tree().nodes.len();
        assert!(kept < 200, "{kept} nodes are kept");
    }
}
