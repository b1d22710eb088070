//! Files that appear whole or not at all.
//!
//! Exports, packed copies and `folio.json` are written next to their target under a temporary name,
//! synced, and renamed. A reader sees either the old file or the new one. A file left by a crash
//! ends in `.partial-<pid>` and is safe to delete.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use folio_file::{File, FileKind, FileSystem, OpenMode, is_url, path_of_file_url, remove_tree};

use crate::error::{Error, Result};

/// Bytes buffered before a write to the file.
const BUFFER_SIZE: usize = 1 << 20;

/// Marks a directory under construction; locked by the process that builds it.
const MARKER: &str = ".folio-partial";

/// Refuses an unfinished directory, whose builder is still running or has died.
///
/// # Errors
/// [`Error::Unfinished`].
pub(crate) fn check_finished(files: &dyn FileSystem, path: &Path) -> Result<()> {
    match files.stat_link(&path.join(MARKER)) {
        Ok(_) => Err(Error::Unfinished { path: path.to_owned() }),
        Err(_) => Ok(()),
    }
}

/// The bytes of a small file, at most `size_max`.
///
/// # Errors
/// `not_found`, `io`.
pub(crate) fn read_small(files: &dyn FileSystem, path: &Path, size_max: u64) -> Result<Vec<u8>> {
    let io = |error| Error::io("read", path)(error);
    let file = files.open(path, OpenMode::Read).map_err(io)?;
    let size = file.stat().map_err(io)?.size.min(size_max);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    let filled = file.read_at(&mut bytes, 0).map_err(io)?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// A file under construction; dropping it without [`AtomicFile::commit`] removes it.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    files: Arc<dyn FileSystem>,
    file: Arc<dyn File>,
    temporary: PathBuf,
    target: PathBuf,
    buffer: Vec<u8>,
    size: u64,
    committed: bool,
}

impl AtomicFile {
    /// Begins a file that will appear at `target`, replacing an existing file.
    ///
    /// # Errors
    /// `invalid_input` when something other than a file is there, `io`.
    pub(crate) fn create(files: Arc<dyn FileSystem>, target: &Path) -> Result<Self> {
        let target = file_target(&*files, target)?;
        let temporary = temporary_path(&target);
        remove_leftovers(&*files, &target);
        let file =
            files.open(&temporary, OpenMode::CreateNew).map_err(Error::io("create", &target))?;
        // Without lock support, a leftover stays until somebody deletes it.
        let _ = file.try_lock();
        Ok(Self { files, file, temporary, target, buffer: Vec::new(), size: 0, committed: false })
    }

    /// Makes a file with this content, durably.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub(crate) fn write_whole(
        files: &Arc<dyn FileSystem>,
        path: &Path,
        bytes: &[u8],
    ) -> Result<()> {
        let mut file = Self::create(Arc::clone(files), path)?;
        file.write_all(bytes).map_err(Error::io("write", path))?;
        file.commit().map(drop)
    }

    /// Renames the file to its target, durably. Returns its size in bytes.
    pub(crate) fn commit(mut self) -> Result<u64> {
        self.flush().map_err(Error::io("write", &self.temporary))?;
        self.file.sync_data().map_err(Error::io("sync", &self.temporary))?;
        self.files
            .rename(&self.temporary, &self.target)
            .map_err(Error::io("rename", &self.target))?;
        self.committed = true;
        let folder = parent_of(&self.target);
        self.files.sync_directory(folder).map_err(Error::io("sync", folder))?;
        Ok(self.size)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER_SIZE {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(&self.buffer, self.size)?;
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // The error that led here matters more than this one.
            let _ = self.files.remove_file(&self.temporary);
        }
    }
}

/// An append-only list of lines, useful even if a crash cuts it short.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: Arc<dyn File>,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl AppendFile {
    /// Opens the file; empties it unless `keeps` is set.
    pub(crate) fn open(files: &dyn FileSystem, path: &Path, keeps: bool) -> Result<Self> {
        let file = files.open(path, OpenMode::Append).map_err(Error::io("create", path))?;
        if !keeps {
            file.truncate(0).map_err(Error::io("empty", path))?;
        }
        Ok(Self { file, path: path.to_owned(), buffer: Vec::new() })
    }

    /// Adds a line.
    pub(crate) fn write_line(&mut self, line: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(line);
        self.buffer.push(b'\n');
        if self.buffer.len() > BUFFER_SIZE { self.finish() } else { Ok(()) }
    }

    /// Writes the buffered lines to the file.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let written = self.file.append(&self.buffer).map(|_| ());
        self.buffer.clear();
        written.map_err(Error::io("write", &self.path))
    }
}

/// A directory under construction; dropping it without `commit` removes it.
#[derive(Debug)]
pub(crate) struct AtomicDirectory {
    files: Arc<dyn FileSystem>,
    marker: Option<Arc<dyn File>>,
    temporary: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl AtomicDirectory {
    /// Begins a directory that will appear at `target`, where only an empty directory may be.
    pub(crate) fn create(files: Arc<dyn FileSystem>, target: &Path) -> Result<Self> {
        if target.file_name().is_none() || is_in_the_way(&*files, target) {
            return Err(Error::Exists { path: target.to_owned() });
        }
        let temporary = temporary_path(target);
        if let Some(parent) = target.parent() {
            create_directory(&*files, parent)?;
        }
        remove_leftovers(&*files, target);
        files.create_directory(&temporary).map_err(Error::io("create", target))?;
        let target = target.to_owned();
        let mut directory = Self { files, marker: None, temporary, target, committed: false };
        let path = directory.temporary.join(MARKER);
        let marker = directory.files.open(&path, OpenMode::CreateNew);
        let marker = marker.map_err(Error::io("create", &path))?;
        let _ = marker.try_lock();
        directory.marker = Some(marker);
        Ok(directory)
    }

    /// Where to write until the commit.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Renames the directory to its target, durably.
    pub(crate) fn commit(mut self) -> Result<()> {
        let marker = self.temporary.join(MARKER);
        self.files.remove_file(&marker).map_err(Error::io("remove", &marker))?;
        self.files.sync_directory(&self.temporary).map_err(Error::io("sync", &self.temporary))?;
        if is_in_the_way(&*self.files, &self.target) {
            return Err(Error::Exists { path: self.target.clone() });
        }
        // Remove an empty directory first: not every system renames over one.
        let _ = self.files.remove_directory(&self.target);
        self.files
            .rename(&self.temporary, &self.target)
            .map_err(Error::io("rename", &self.target))?;
        self.committed = true;
        let folder = parent_of(&self.target);
        self.files.sync_directory(folder).map_err(Error::io("sync", folder))
    }
}

impl Drop for AtomicDirectory {
    fn drop(&mut self) {
        if !self.committed {
            let _ = remove_unfinished(&*self.files, &self.temporary);
        }
    }
}

/// Whether something other than an empty directory is at the path.
fn is_in_the_way(files: &dyn FileSystem, path: &Path) -> bool {
    match files.stat_link(path) {
        Ok(stat) if stat.kind == FileKind::Directory => {
            !files.read_directory(path).is_ok_and(|entries| entries.is_empty())
        }
        found => found.is_ok(),
    }
}

/// The path for one that a user has given for an action: without the secrets of a URL, which the file
/// system remembers; of a `file:` URL, its path.
///
/// # Errors
/// `unsupported` for a scheme that is not read; `invalid_input` for a `file:` URL without a path here.
pub(crate) fn admitted(
    files: &dyn FileSystem,
    path: &Path,
    action: &'static str,
) -> Result<PathBuf> {
    let Some(text) = path.to_str() else { return Ok(path.to_owned()) };
    let admitted = files.admit(text).map_err(|error| match text.split_once("://") {
        _ if path_of_file_url(text).is_some() => Error::Invalid(format!("{text:?}: {error}")),
        // The rest of the URL may have a password.
        Some((scheme, _)) => Error::io(action, Path::new(&format!("{scheme}://")))(error),
        None => Error::io(action, path)(error),
    })?;
    Ok(PathBuf::from(admitted))
}

/// Resolves the target of a file that may be at a URL, in a bucket.
///
/// # Errors
/// As [`file_target`]; `unsupported` for a URL that takes no files.
pub(crate) fn upload_target(files: &dyn FileSystem, path: &Path) -> Result<PathBuf> {
    let (given, path) = (path, admitted(files, path, "write to")?);
    if !path.to_str().is_some_and(is_url) {
        return file_target(files, &path);
    }
    if given.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let text = format!("{path:?} is a directory, not a file; name a file to write to");
        return Err(Error::Invalid(text));
    }
    // What is refused is refused before anything is packed.
    match files.upload(&path, 0) {
        Ok(Some(_)) => Ok(path),
        Ok(None) => {
            let text = "nothing is sent to URLs by this build; name a path";
            Err(Error::io("write to", &path)(io::Error::new(io::ErrorKind::Unsupported, text)))
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Error::Invalid(format!("cannot write to {path:?}: {error}")))
        }
        Err(error) => Err(Error::io("write to", &path)(error)),
    }
}

/// Resolves the target of an output file. Follows links, so that a link stays a link.
///
/// # Errors
/// `invalid_input` for what a rename would destroy: a directory, a device, a pipe; as [`admitted`].
pub(crate) fn file_target(files: &dyn FileSystem, path: &Path) -> Result<PathBuf> {
    let path = &admitted(files, path, "create")?;
    let what = match files.stat(path).map(|stat| stat.kind) {
        Ok(FileKind::Directory) => "a directory",
        Ok(FileKind::Other) => "a device or a pipe",
        Ok(FileKind::File | FileKind::Link) if is_link(files, path) => {
            return files.canonical(path).map_err(Error::io("create", path));
        }
        _ => return Ok(path.to_owned()),
    };
    Err(Error::Invalid(format!("{path:?} is {what}, not a file; name a file to write to")))
}

fn is_link(files: &dyn FileSystem, path: &Path) -> bool {
    files.stat_link(path).is_ok_and(|stat| stat.kind == FileKind::Link)
}

/// The prefix of all temporary names for `target`.
fn temporary_prefix(target: &Path) -> OsString {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".partial-");
    name
}

/// `x.csv` is built as `x.csv.partial-<pid>`, in the same folder.
fn temporary_path(target: &Path) -> PathBuf {
    let mut name = temporary_prefix(target);
    name.push(process::id().to_string());
    target.with_file_name(name)
}

/// Removes leftovers of dead processes for the same target. Best effort: the caller's work does not
/// depend on it.
fn remove_leftovers(files: &dyn FileSystem, target: &Path) {
    let prefix = temporary_prefix(target);
    let Some(prefix) = prefix.to_str() else { return };
    let Ok(entries) = files.read_directory(parent_of(target)) else { return };
    for entry in entries {
        let pid = entry.name.strip_prefix(prefix).unwrap_or_default();
        if pid.is_empty() || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let path = target.with_file_name(&entry.name);
        let locked = match entry.kind {
            FileKind::Directory => path.join(MARKER),
            _ => path.clone(),
        };
        let is_left = match files.open(&locked, OpenMode::Read) {
            Ok(file) => file.try_lock().unwrap_or(false),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_left {
            let _ = match entry.kind {
                FileKind::Directory => remove_unfinished(files, &path),
                _ => files.remove_file(&path),
            };
        }
    }
}

/// Removes a directory under construction, its mark last: what a kill leaves of it is no database.
fn remove_unfinished(files: &dyn FileSystem, path: &Path) -> io::Result<()> {
    // One that was about to get its name has lost its mark.
    let _ = files.open(&path.join(MARKER), OpenMode::CreateNew);
    for entry in files.read_directory(path)? {
        if entry.name != MARKER {
            remove_tree(files, &path.join(&entry.name))?;
        }
    }
    remove_tree(files, path)
}

/// Creates a directory and its parents, each durably.
pub(crate) fn create_directory(files: &dyn FileSystem, path: &Path) -> Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && files.stat(folder).is_err())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    files.create_directory(path).map_err(Error::io("create", path))?;
    missing.iter().try_for_each(|folder| {
        let parent = parent_of(folder);
        files.sync_directory(parent).map_err(Error::io("sync", parent))
    })
}

/// The folder of a file; for a bare name, the current one.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::{Fault, FaultKind, MemoryFileSystem, Operation};

    #[test]
    fn what_is_left_of_a_removal_is_unfinished() {
        for after in 0..6 {
            let files = MemoryFileSystem::new();
            let host: Arc<dyn FileSystem> = Arc::new(files.clone());
            let copy = AtomicDirectory::create(host, Path::new("/copy")).unwrap();
            let path = copy.path().to_owned();
            for name in ["a", "b", "c"] {
                files.create_directory(&path.join(name)).unwrap();
                files.write(path.join(name).join("file"), b"x").unwrap();
            }
            files.inject(Fault::next(Operation::Remove, FaultKind::Eio).after(after).sticky());
            drop(copy);
            assert!(check_finished(&files, &path).is_err(), "after {after} removals");
        }
    }
}
