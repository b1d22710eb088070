//! Opens an archive and decides which of its members are accepted.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode, RemoteError, Stat};
use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive, ZipReadOptions};

use super::layout::{check_name, is_part, root_of};
use super::stream::FileStream;
use super::unpack::UnpackLimits;
use crate::error::{Error, Result};

/// Members up to this size may have any compression ratio: they cannot fill a disk.
const SMALL_SIZE: u64 = 16 << 20;

/// The bytes of a local header before its name (APPNOTE 4.3.7).
const LOCAL_HEADER_SIZE: u64 = 30;

/// The file-type bits of a Unix mode, and their values.
const KIND_BITS: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_DIRECTORY: u32 = 0o040_000;

/// An open archive that was accepted.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    pub(super) file: Arc<dyn File>,
    archive: ZipArchive<FileStream>,
    /// The members of the database, sorted by name.
    members: Vec<Member>,
    /// Names that are not part of a database.
    pub(super) skipped: Vec<String>,
}

/// A file of the database in the archive.
#[derive(Debug)]
pub(super) struct Member {
    /// Relative to the folder of the database.
    pub(super) name: Box<str>,
    /// Its number in the archive.
    pub(super) number: usize,
    /// Its uncompressed size.
    pub(super) size: u64,
    pub(super) is_stored: bool,
    /// Its CRC-32, as the central directory has it.
    pub(super) crc: u32,
    /// The offset before which its data must end.
    bound: u64,
}

impl Members {
    /// Opens an archive.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Corrupted`] for a file that is not an archive or is damaged;
    /// [`Error::Invalid`] for one that is rejected.
    pub(super) fn open(files: &dyn FileSystem, path: &Path, limits: &UnpackLimits) -> Result<Self> {
        let file = files.open(path, OpenMode::Read).map_err(Error::io("open", path))?;
        let stat = file.stat().map_err(Error::io("read", path))?;
        let stream = FileStream::new(Arc::clone(&file), stat.size);
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let archive = ZipArchive::with_config(config, stream)
            .map_err(|error| damaged(path, error))
            .inspect_err(|error| forget_damaged(&*file, error, 0..stat.size))?;
        if archive.has_duplicate_names() {
            return Err(refused(path, "a name", "it appears twice"));
        }
        if archive.len() as u64 > limits.member_count {
            let reason =
                format!("{} are more than the limit {}", archive.len(), limits.member_count);
            return Err(refused(path, "the number of members", &reason));
        }
        let mut members = Self {
            path: path.to_owned(),
            stat,
            file,
            archive,
            members: Vec::new(),
            skipped: Vec::new(),
        };
        members.admit(limits)?;
        Ok(members)
    }

    /// Checks every entry of the central directory.
    fn admit(&mut self, limits: &UnpackLimits) -> Result<()> {
        let metadata = self.archive.metadata();
        let mut names = Vec::with_capacity(metadata.len());
        for number in 0..metadata.len() {
            let entry = metadata.entry(number).map_err(|error| damaged(&self.path, error))?;
            let shown = String::from_utf8_lossy(entry.name_raw()).into_owned();
            let name =
                check_name(entry.name_raw()).map_err(|why| refused(&self.path, &shown, why))?;
            let kind = entry.unix_mode().map_or(0, |mode| mode & KIND_BITS);
            if !matches!(kind, 0 | KIND_FILE | KIND_DIRECTORY) {
                return Err(refused(&self.path, &shown, "it is a link or a device"));
            }
            if kind == KIND_DIRECTORY && !entry.is_dir() {
                return Err(refused(&self.path, &shown, "it is a folder with the name of a file"));
            }
            names.push((name.to_owned(), number, entry.is_dir()));
        }
        let files = || names.iter().filter(|(_, _, is_folder)| !is_folder);
        let Some(root) = root_of(files().map(|(name, ..)| name.as_str())) else {
            return Err(refused(&self.path, "the archive", "it holds several databases"));
        };
        // A damaged name must not count as one outside the database. On another machine, each
        // header would be a request.
        let is_outside =
            |(name, _, is_folder): &&(String, _, bool)| *is_folder || !is_in(&root, name);
        let checked = if self.file.is_remote() { &[][..] } else { &names[..] };
        for (name, number, _) in checked.iter().filter(is_outside) {
            self.check_header(name, *number)?;
        }
        for (name, number, _) in files() {
            match name.strip_prefix(&root).filter(|name| is_part(name)) {
                Some(part) => self.members.push(Member {
                    name: part.into(),
                    number: *number,
                    size: 0,
                    is_stored: false,
                    crc: 0,
                    bound: 0,
                }),
                None => self.skipped.push(name.clone()),
            }
        }
        self.check_sizes(limits)?;
        self.members.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(())
    }

    /// Compares the local header of a skipped member with the central directory.
    fn check_header(&self, name: &str, number: usize) -> Result<()> {
        let options = ZipReadOptions::new().enforce_header_consistency(true);
        match self.archive.clone().by_index_with_options(number, options) {
            // The headers agree, and the member is not read.
            Ok(_)
            | Err(ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_)) => {
                Ok(())
            }
            Err(ZipError::Io(error)) if is_of_device(&error) => {
                Err(Error::io("read", &self.path)(error))
            }
            Err(error) => Err(Error::Corrupted {
                path: self.path.clone(),
                offset: self.archive.by_index_data(number).map_or(0, |entry| entry.header_start()),
                reason: format!("member {name:?}: {error}"),
                repair: REPAIR.to_owned(),
            }),
        }
    }

    /// Reads methods and sizes, and checks them against the limits and each other.
    fn check_sizes(&mut self, limits: &UnpackLimits) -> Result<()> {
        let metadata = self.archive.metadata();
        let path = &self.path;
        let mut total = 0u64;
        // The start of each member's header, and the earliest possible end of its data.
        let mut extents = Vec::with_capacity(self.members.len());
        for (at, member) in self.members.iter_mut().enumerate() {
            let entry = metadata.entry(member.number).map_err(|error| damaged(path, error))?;
            let refuse = |reason: &str| Err(refused(path, &member.name, reason));
            member.size = entry.size();
            member.crc = entry.crc32();
            member.is_stored = match entry.compression() {
                CompressionMethod::Stored => true,
                CompressionMethod::Deflated => false,
                _ => return refuse("it is compressed by a method other than deflate"),
            };
            if entry.encrypted() {
                return refuse("it is encrypted");
            }
            let packed = entry.compressed_size();
            if member.is_stored && packed != member.size {
                return refuse("it is stored, but its two sizes differ");
            }
            if member.size > SMALL_SIZE && member.size / limits.ratio.max(1) > packed {
                let reason = format!("it grows more than {} times when unpacked", limits.ratio);
                return refuse(&reason);
            }
            total = total.saturating_add(member.size);
            let start = entry.header_start();
            let head = LOCAL_HEADER_SIZE + entry.name_raw().len() as u64;
            let end = start.checked_add(head).and_then(|end| end.checked_add(packed));
            extents.push((start, end.unwrap_or(u64::MAX), at));
        }
        if total > limits.size {
            let reason = format!("{total} bytes are more than the limit {}", limits.size);
            return Err(refused(path, "the size when unpacked", &reason));
        }
        extents.sort_unstable();
        let starts = extents.iter().skip(1).map(|extent| extent.0);
        let bounds = starts.chain([self.archive.central_directory_start()]);
        for (&(_, end, at), bound) in extents.iter().zip(bounds) {
            if end > bound {
                let name = &self.members[at].name;
                return Err(refused(path, name, "its bytes overlap those of another member"));
            }
            self.members[at].bound = bound;
        }
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.members.iter()
    }

    /// The member with this name.
    pub(super) fn find(&self, name: &str) -> Option<&Member> {
        let at = self.members.binary_search_by(|member| (*member.name).cmp(name)).ok()?;
        Some(&self.members[at])
    }

    /// The members in a folder, whose name has no trailing slash; all members for "".
    pub(super) fn below<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a Member, &'a str)> {
        // "a/" sorts before everything in it, and "a0" after: a slash is one less than 0.
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let first = self.members.partition_point(|member| *member.name < *prefix);
        self.members[first..]
            .iter()
            .map_while(move |member| Some((member, member.name.strip_prefix(prefix.as_str())?)))
    }

    /// Where the data of a stored member starts in the archive. Compares its local header with the
    /// central directory, and reads no more.
    ///
    /// # Errors
    /// As [`Members::read`].
    pub(super) fn locate(&self, member: &Member) -> Result<u64> {
        let mut archive = self.archive.clone();
        let options = ZipReadOptions::new().enforce_header_consistency(true);
        let opened = archive.by_index_with_options(member.number, options);
        let start = opened.map_err(|error| self.error_of(member, error));
        let located = start.and_then(|found| {
            self.check_extent(member, found.data_start().unwrap_or(u64::MAX), member.size)
        });
        located.inspect_err(|error| forget_damaged(&*self.file, error, self.extent(member)))
    }

    /// Returns where data of this size starts, if it ends before the next member.
    fn check_extent(&self, member: &Member, start: u64, size: u64) -> Result<u64> {
        match start.checked_add(size).filter(|end| *end <= member.bound) {
            Some(_) => Ok(start),
            None => Err(self.damaged_member(member, "its bytes overlap those of another member")),
        }
    }

    fn error_of(&self, member: &Member, error: ZipError) -> Error {
        match error {
            ZipError::Io(error) if is_of_device(&error) => Error::io("read", &self.path)(error),
            // The parser's own message may be empty.
            ZipError::InvalidArchive(_) => {
                self.damaged_member(member, "its header is not what the archive says")
            }
            error => self.damaged_member(member, &error.to_string()),
        }
    }

    /// Reads a member in full, which verifies its CRC-32. Returns where its data starts in the
    /// archive.
    ///
    /// # Errors
    /// [`Error::Corrupted`] for a member that differs from what the archive says, of which nothing
    /// stays cached; any error of `take`.
    pub(super) fn read(
        &self,
        member: &Member,
        take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        let read = self.read_once(member, take);
        read.inspect_err(|error| forget_damaged(&*self.file, error, self.extent(member)))
    }

    /// The bytes from the header of a member to the next one.
    fn extent(&self, member: &Member) -> Range<u64> {
        let entry = self.archive.by_index_data(member.number);
        entry.map_or(0, |entry| entry.header_start())..member.bound
    }

    /// The error of a member on another machine that was read and has another CRC-32.
    pub(super) fn refuse_bytes(&self, member: &Member) -> Error {
        let error = self.damaged_member(member, "its checksum is not what the archive says");
        forget_damaged(&*self.file, &error, self.extent(member));
        error
    }

    fn read_once(&self, member: &Member, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let wrong = |error: ZipError| self.error_of(member, error);
        let mut archive = self.archive.clone();
        let options = ZipReadOptions::new().enforce_header_consistency(true);
        let mut reader = archive.by_index_with_options(member.number, options).map_err(wrong)?;
        let start = reader.data_start().unwrap_or(u64::MAX);
        self.check_extent(member, start, reader.compressed_size())?;
        let mut buffer = vec![0; (1 << 20).min(member.size as usize + 1)];
        let mut size = 0;
        loop {
            let read = std::io::Read::read(&mut reader, &mut buffer)
                .map_err(|error| wrong(ZipError::Io(error)))?;
            if read == 0 {
                break;
            }
            size += read as u64;
            if size > member.size {
                return Err(self.damaged_member(member, "it is longer than the archive says"));
            }
            take(&buffer[..read])?;
        }
        match size == member.size {
            true => Ok(start),
            false => Err(self.damaged_member(member, "it is shorter than the archive says")),
        }
    }

    fn damaged_member(&self, member: &Member, reason: &str) -> Error {
        Error::Corrupted {
            path: self.path.clone(),
            offset: self.extent(member).start,
            reason: format!("member {:?}: {reason}", &*member.name),
            repair: REPAIR.to_owned(),
        }
    }
}

/// Whether a name is in the folder of the database and part of it.
fn is_in(root: &str, name: &str) -> bool {
    name.strip_prefix(root).is_some_and(is_part)
}

const REPAIR: &str = "fetch the archive again";

/// After damage, what is cached of it is not read again.
fn forget_damaged(file: &dyn File, error: &Error, range: Range<u64>) {
    if matches!(error, Error::Corrupted { .. }) {
        file.forget(range.start, range.end.saturating_sub(range.start));
    }
}

/// Whether an error comes from the device, not from the content of the archive.
fn is_of_device(error: &std::io::Error) -> bool {
    use std::io::ErrorKind as Kind;
    let is_of_system = error.get_ref().is_none()
        && !matches!(error.kind(), Kind::UnexpectedEof | Kind::InvalidData);
    is_of_system || RemoteError::is(error)
}

fn damaged(path: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(error) if is_of_device(&error) => Error::io("read", path)(error),
        error => Error::Corrupted {
            path: path.to_owned(),
            offset: 0,
            reason: match error {
                // The parser's own message would not help the user.
                ZipError::InvalidArchive(_) => "not a ZIP archive, or an incomplete one".to_owned(),
                error => format!("not a ZIP archive that can be read: {error}"),
            },
            repair: REPAIR.to_owned(),
        },
    }
}

fn refused(path: &Path, what: &str, reason: &str) -> Error {
    Error::Invalid(format!("archive {path:?} is refused because of {what:?}: {reason}"))
}
