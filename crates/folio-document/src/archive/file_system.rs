//! An archive as a read-only file system, without unpacking it.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::SystemTime;

use folio_file::{DirectoryEntry, File, FileKind, FileSystem, Map, OpenMode, Stat};

use super::index::identity_of;
use super::members::{Member, Members};
use super::unpack::UnpackLimits;
use crate::error::{Error, Result};
use crate::options::Progress;

/// Memory for a whole member grows by this many bytes, as they arrive: a server may claim any size.
const MAP_PIECE: usize = 64 << 20;

/// The largest member that is unpacked into memory. A larger one must be stored uncompressed, or
/// the archive must be unpacked.
const MEMORY_LIMIT: u64 = 1 << 30;

/// A larger member on another machine is not read to verify it. What is read of it as a whole is
/// verified then, and the rest by the checksums of lines, blocks and pages.
const FAR_SIZE: u64 = 256 << 10;

/// An archive as a read-only file system.
///
/// The database's directory is the path of the archive itself: the member `collections/…` of
/// `data.zds` has the path `data.zds/collections/…`, so that paths in errors make sense. Stored
/// members are read in place. Deflated ones are unpacked into memory when opened, and cached while
/// they are open.
///
/// A file's identity is synthetic: its device is the archive, its inode is of its CRC-32, and it has
/// no times. So it changes exactly when the archive is another one, and its index, which compares no
/// devices, belongs to it in every copy of the archive.
#[derive(Debug, Clone)]
pub struct ArchiveFileSystem {
    archive: Arc<Archive>,
}

#[derive(Debug)]
struct Archive {
    below: Arc<dyn FileSystem>,
    members: Members,
    /// The start of each member's data, by number, once its CRC-32 was verified, or on another
    /// machine its header.
    starts: Vec<OnceLock<u64>>,
    /// Unpacked members that are still open, by number.
    unpacked: Mutex<HashMap<usize, Weak<Vec<u8>>>>,
}

impl ArchiveFileSystem {
    /// Opens an archive. Reads only its central directory.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Corrupted`] for a file that is not an archive or is damaged;
    /// [`Error::Invalid`] for one that is rejected (names that lead out of it, links, members that
    /// share bytes, sizes beyond the default [`UnpackLimits`]).
    pub fn open(files: Arc<dyn FileSystem>, path: &Path) -> Result<Self> {
        let members = Members::open(&*files, path, &UnpackLimits::default())?;
        let count = members.iter().map(|member| member.number + 1).max().unwrap_or(0);
        let starts = (0..count).map(|_| OnceLock::new()).collect();
        let archive =
            Archive { below: files, members, starts, unpacked: Mutex::new(HashMap::new()) };
        Ok(Self { archive: Arc::new(archive) })
    }

    /// The archive's path, which is the database's directory in this file system.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.archive.members.path
    }

    /// Verifies the CRC-32 of every member. Progress is in bytes.
    ///
    /// # Errors
    /// [`Error::Corrupted`] for the first damaged member; [`Error::Cancelled`].
    pub fn verify(&self, progress: Progress<'_>) -> Result<()> {
        let members = &self.archive.members;
        let total = members.iter().map(|member| member.size).sum();
        let mut done = 0;
        for member in members.iter() {
            members.read(member, |bytes| {
                done += bytes.len() as u64;
                if progress(done, total) { Ok(()) } else { Err(Error::Cancelled) }
            })?;
        }
        Ok(())
    }

    /// The name of a path in the archive; empty for the root.
    fn name_of(&self, path: &Path) -> io::Result<String> {
        let inside = path.strip_prefix(self.root()).map_err(|_| io::ErrorKind::NotFound)?;
        let mut steps = Vec::new();
        for step in inside.components() {
            match step {
                Component::CurDir => {}
                Component::Normal(step) => {
                    steps.push(step.to_str().ok_or(io::ErrorKind::NotFound)?);
                }
                // Such a path leads out of the archive.
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        Ok(steps.join("/"))
    }

    fn stat_name(&self, name: &str) -> io::Result<Stat> {
        let Archive { members, .. } = &*self.archive;
        // The archive's identity distinguishes members of two archives.
        let device = members.stat.device ^ members.stat.inode.rotate_left(32);
        let stat =
            |kind, inode, size| Stat { kind, device, inode, size, modified_ns: 0, changed_ns: 0 };
        if let Some(member) = members.find(name) {
            return Ok(stat(FileKind::File, identity_of(member.crc), member.size));
        }
        match name.is_empty() || members.below(name).next().is_some() {
            true => Ok(stat(FileKind::Directory, 0, 0)),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Opens and verifies a member.
    fn open_member(&self, member: &Member) -> Result<MemberFile> {
        let archive = &self.archive;
        let stat = self.stat_name(&member.name).map_err(Error::io("read", self.root()))?;
        let verified = &archive.starts[member.number];
        if member.is_stored {
            let start = match verified.get() {
                Some(start) => *start,
                None => {
                    let is_far = archive.members.file.is_remote() && member.size > FAR_SIZE;
                    let start = match is_far {
                        true => archive.members.locate(member)?,
                        false => archive.members.read(member, |_| Ok(()))?,
                    };
                    *verified.get_or_init(|| start)
                }
            };
            let file = Arc::clone(&archive.members.file);
            let within = (Arc::clone(archive), member.number);
            return Ok(MemberFile { content: Content::InPlace { file, start, within }, stat });
        }
        let mut unpacked = archive.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = unpacked.get(&member.number).and_then(Weak::upgrade) {
            return Ok(MemberFile { content: Content::InMemory(bytes), stat });
        }
        if member.size > MEMORY_LIMIT {
            return Err(Error::Invalid(format!(
                "{:?} in {:?} is compressed and too large to be read in place; unpack the archive",
                &*member.name,
                self.root()
            )));
        }
        let mut bytes = Vec::new();
        archive.members.read(member, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        let bytes = Arc::new(bytes);
        unpacked.retain(|_, bytes| bytes.strong_count() > 0);
        unpacked.insert(member.number, Arc::downgrade(&bytes));
        Ok(MemberFile { content: Content::InMemory(bytes), stat })
    }
}

/// The result of every write.
fn read_only<T>() -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::ReadOnlyFilesystem,
        "an archive is read-only; unpack it and write to the directory",
    ))
}

impl FileSystem for ArchiveFileSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode != OpenMode::Read {
            return read_only();
        }
        let name = self.name_of(path)?;
        match self.archive.members.find(&name) {
            Some(member) => match self.open_member(member) {
                Ok(file) => Ok(Arc::new(file)),
                Err(Error::Io { source, .. }) => Err(source),
                Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            },
            None => {
                self.stat_name(&name)?;
                Err(io::ErrorKind::IsADirectory.into())
            }
        }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.stat_name(&self.name_of(path)?)
    }

    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        self.stat(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        match self.stat(path) {
            Ok(stat) if stat.kind == FileKind::Directory => Ok(()),
            _ => read_only(),
        }
    }

    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let name = self.name_of(path)?;
        if self.stat_name(&name)?.kind != FileKind::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        for (_, rest) in self.archive.members.below(&name) {
            let (step, kind) = match rest.split_once('/') {
                Some((folder, _)) => (folder, FileKind::Directory),
                None => (rest, FileKind::File),
            };
            // Members of one folder are adjacent, except that `a-b` comes before `a/`.
            if kind == FileKind::File || entries.last().is_none_or(|last| last.name != step) {
                entries.push(DirectoryEntry { name: step.to_owned(), kind });
            }
        }
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        entries.dedup_by(|left, right| left.name == right.name);
        Ok(entries)
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        read_only()
    }

    fn remove_file(&self, _: &Path) -> io::Result<()> {
        read_only()
    }

    fn remove_directory(&self, _: &Path) -> io::Result<()> {
        read_only()
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        read_only()
    }

    fn is_network(&self, _: &Path) -> bool {
        self.archive.below.is_network(self.root())
    }

    fn now(&self) -> SystemTime {
        self.archive.below.now()
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let name = self.name_of(path)?;
        self.stat_name(&name)?;
        let root = self.archive.below.canonical(self.root())?;
        Ok(super::layout::path_in(&root, &name))
    }
}

/// An open member.
#[derive(Debug)]
struct MemberFile {
    content: Content,
    stat: Stat,
}

#[derive(Debug)]
enum Content {
    /// At this offset of the archive, in which it has this number.
    InPlace {
        file: Arc<dyn File>,
        start: u64,
        within: (Arc<Archive>, usize),
    },
    InMemory(Arc<Vec<u8>>),
}

impl MemberFile {
    /// Reads by a function of the archive's file, the buffer, the offset there, and the member's
    /// start.
    fn read_from(
        &self,
        buffer: &mut [u8],
        offset: u64,
        read: impl FnOnce(&dyn File, &mut [u8], u64, u64) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let left = self.stat.size.saturating_sub(offset);
        let wanted = left.min(buffer.len() as u64) as usize;
        match &self.content {
            Content::InPlace { file, start, .. } => {
                let from = start.saturating_add(offset);
                match read(&**file, &mut buffer[..wanted], from, *start)? {
                    read if read == wanted => Ok(read),
                    // The archive has been truncated since it was opened.
                    _ => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            Content::InMemory(bytes) => {
                let start = bytes.len() - left as usize;
                buffer[..wanted].copy_from_slice(&bytes[start..start + wanted]);
                Ok(wanted)
            }
        }
    }
}

impl File for MemberFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_from(buffer, offset, |file, buffer, offset, _| file.read_at(buffer, offset))
    }

    fn read_on(&self, buffer: &mut [u8], offset: u64, end: u64) -> io::Result<usize> {
        let end = end.min(self.stat.size);
        self.read_from(buffer, offset, |file, buffer, offset, start| {
            file.read_on(buffer, offset, start.saturating_add(end))
        })
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        read_only()
    }

    fn append(&self, _: &[u8]) -> io::Result<u64> {
        read_only()
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        read_only()
    }

    fn sync_data(&self) -> io::Result<()> {
        read_only()
    }

    fn start_writeback(&self, _: u64, _: u64) {}

    fn stat(&self) -> io::Result<Stat> {
        Ok(self.stat)
    }

    fn set_modified(&self, _: SystemTime) -> io::Result<()> {
        read_only()
    }

    fn map(&self) -> io::Result<Map> {
        let size = usize::try_from(self.stat.size).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        while bytes.len() < size {
            let start = bytes.len();
            bytes.resize(size.min(start + MAP_PIECE), 0);
            self.read_at(&mut bytes[start..], start as u64)?;
        }
        Ok(Map::from(bytes))
    }

    fn try_lock(&self) -> io::Result<bool> {
        read_only()
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        // No one writes to an archive, so no lock can be held.
        Ok(true)
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }

    fn read_ahead(&self, ranges: &[(u64, u64)]) -> io::Result<()> {
        let Content::InPlace { file, start, .. } = &self.content else { return Ok(()) };
        let within = ranges.iter().filter(|(offset, _)| *offset < self.stat.size);
        let moved = |&(offset, size): &(u64, u64)| {
            (start.saturating_add(offset), size.min(self.stat.size - offset))
        };
        file.read_ahead(&within.map(moved).collect::<Vec<_>>())
    }

    fn verify(&self) -> io::Result<()> {
        // What is in memory was verified when it was unpacked.
        let Content::InPlace { within: (archive, number), .. } = &self.content else {
            return Ok(());
        };
        let mut members = archive.members.iter();
        let member = members.find(|member| member.number == *number);
        match archive.members.read(member.ok_or(io::ErrorKind::NotFound)?, |_| Ok(())) {
            Ok(_) => Ok(()),
            Err(Error::Io { source, .. }) => Err(source),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }

    fn verify_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let Content::InPlace { file, within: (archive, number), .. } = &self.content else {
            return Ok(());
        };
        if !file.is_remote() || identity_of(crc32fast::hash(bytes)) == self.stat.inode {
            return Ok(());
        }
        let mut members = archive.members.iter();
        let member = members.find(|member| member.number == *number);
        let error = archive.members.refuse_bytes(member.ok_or(io::ErrorKind::NotFound)?);
        Err(io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn forget(&self, offset: u64, size: u64) {
        if let Content::InPlace { file, start, .. } = &self.content {
            let size = size.min(self.stat.size.saturating_sub(offset));
            file.forget(start.saturating_add(offset), size);
        }
    }

    fn is_remote(&self) -> bool {
        match &self.content {
            Content::InPlace { file, .. } => file.is_remote(),
            Content::InMemory(_) => false,
        }
    }
}
