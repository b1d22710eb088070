//! Turns an archive into a directory.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{FileKind, FileSystem, OpenMode};

use super::layout::path_in;
use super::members::{Member, Members};
use crate::error::{Error, Result};
use crate::options::Progress;

/// Marks a directory that is being unpacked into, and may be removed when found again
/// under its first name. A crash at the very end may leave it in the finished directory,
/// where it means nothing.
const MARKER: &str = ".folio-unpacking";

/// Directories of ours nest no deeper.
const DEPTH_LIMIT: usize = 8;

/// How much an archive may unpack to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackLimits {
    /// Bytes of all files together.
    pub size: u64,
    /// Members of the archive, folders included.
    pub member_count: u64,
    /// How many times larger than in the archive a file may be, from 16 MiB on.
    pub ratio: u64,
}

impl Default for UnpackLimits {
    /// 1 TiB, 20 million members, 200 times: JSON Lines rarely exceed 30 times.
    fn default() -> Self {
        Self { size: 1 << 40, member_count: 20_000_000, ratio: 200 }
    }
}

/// What an unpacking wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnpackReport {
    /// Files written.
    pub file_count: u64,
    /// Their bytes.
    pub size: u64,
    /// Members that are no part of a database, and were left out: the first 100 names.
    pub skipped: Vec<String>,
    /// How many such members there are in all.
    pub skipped_count: u64,
}

/// The most names of skipped members that are listed.
const SKIPPED_LIMIT: usize = 100;

/// Unpacks an archive into a directory, which must be empty or missing. It appears as a
/// whole, durable, or not at all. Progress is in bytes.
///
/// # Errors
/// [`Error::Invalid`] for a target that holds something, and for an archive that is
/// refused: a member outside the target, a link, a name that comes twice, members that
/// share bytes, or more than the limits allow. [`Error::Corrupted`] for a damaged
/// archive. [`Error::Cancelled`], [`Error::Io`].
pub fn unpack(
    files: &dyn FileSystem,
    archive: &Path,
    target: &Path,
    limits: &UnpackLimits,
    progress: Progress<'_>,
) -> Result<UnpackReport> {
    check_target(files, target)?;
    let members = Members::open(files, archive, limits)?;
    if members.iter().next().is_none() {
        let text =
            format!("archive {archive:?} holds no database; check that it is the right file");
        return Err(Error::Invalid(text));
    }
    let staged = begin(files, target)?;
    let written = write_members(files, &members, &staged, progress)
        .and_then(|report| publish(files, &staged, target).map(|()| report));
    if written.is_err() {
        // Best effort: what is left over carries the marker, and goes the next time.
        let _ = remove_tree(files, &staged, 0);
    }
    let report = written?;
    Ok(UnpackReport {
        skipped: members.skipped.iter().take(SKIPPED_LIMIT).cloned().collect(),
        skipped_count: members.skipped.len() as u64,
        ..report
    })
}

/// The target must be missing, or an empty directory.
fn check_target(files: &dyn FileSystem, target: &Path) -> Result<()> {
    match files.read_directory(target) {
        Ok(entries) if entries.is_empty() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotADirectory => {
            Err(Error::io("list", target)(error))
        }
        _ => Err(Error::Invalid(format!(
            "{target:?} is there already; unpack into an empty or a new directory"
        ))),
    }
}

/// Makes the directory that is filled and then renamed; one of an interrupted
/// unpacking is removed first.
fn begin(files: &dyn FileSystem, target: &Path) -> Result<PathBuf> {
    let Some(name) = target.file_name() else {
        return Err(Error::Invalid(format!("{target:?} is no name for a new directory")));
    };
    let staged = parent_of(target).join(format!(".{}.unpacking", name.to_string_lossy()));
    match files.stat_link(&staged) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("look at", &staged)(error)),
        Ok(_) if is_left_over(files, &staged) => remove_tree(files, &staged, 0)?,
        Ok(_) => {
            let text = format!("{staged:?} is in the way; move it away and unpack again");
            return Err(Error::Invalid(text));
        }
    }
    files.create_directory(&staged).map_err(Error::io("create", &staged))?;
    let marker = staged.join(MARKER);
    files.open(&marker, OpenMode::CreateNew).map_err(Error::io("create", &marker))?;
    // Before anything else is in there, so that what a crash leaves is known as ours.
    files.sync_directory(&staged).map_err(Error::io("sync the directory", &staged))?;
    Ok(staged)
}

/// Whether a directory is what an interrupted unpacking has left.
fn is_left_over(files: &dyn FileSystem, staged: &Path) -> bool {
    files.stat_link(&staged.join(MARKER)).is_ok()
        || files.read_directory(staged).is_ok_and(|entries| entries.is_empty())
}

fn write_members(
    files: &dyn FileSystem,
    members: &Members,
    staged: &Path,
    progress: Progress<'_>,
) -> Result<UnpackReport> {
    let total = members.iter().map(|member| member.size).sum();
    let mut report = UnpackReport::default();
    let mut folders = vec![staged.to_owned()];
    for member in members.iter() {
        let path = path_in(staged, &member.name);
        let folder = parent_of(&path).to_owned();
        if folders.last() != Some(&folder) {
            files.create_directory(&folder).map_err(Error::io("create", &folder))?;
            folders.extend(folder.ancestors().take_while(|at| *at != staged).map(Path::to_owned));
            folders.push(folder);
        }
        write_member(files, members, member, &path, &mut |written| {
            report.size += written;
            progress(report.size, total)
        })?;
        report.file_count += 1;
    }
    folders.sort_unstable();
    folders.dedup();
    for folder in &folders {
        files.sync_directory(folder).map_err(Error::io("sync the directory", folder))?;
    }
    Ok(report)
}

fn write_member(
    files: &dyn FileSystem,
    members: &Members,
    member: &Member,
    path: &Path,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<()> {
    // New, so that two names which are one file here cannot overwrite each other.
    let file = files.open(path, OpenMode::CreateNew).map_err(Error::io("create", path))?;
    let mut offset = 0;
    members.read(member, |bytes| {
        file.write_at(bytes, offset).map_err(Error::io("write", path))?;
        offset += bytes.len() as u64;
        if go_on(bytes.len() as u64) { Ok(()) } else { Err(Error::Cancelled) }
    })?;
    file.sync_data().map_err(Error::io("sync", path))
}

/// Gives the filled directory its name, durably.
fn publish(files: &dyn FileSystem, staged: &Path, target: &Path) -> Result<()> {
    check_target(files, target)?;
    if files.stat_link(target).is_ok() {
        files.remove_directory(target).map_err(Error::io("replace", target))?;
    }
    files.rename(staged, target).map_err(Error::io("rename to", target))?;
    let marker = target.join(MARKER);
    files.remove_file(&marker).map_err(Error::io("remove", &marker))?;
    for folder in [target, parent_of(target)] {
        files.sync_directory(folder).map_err(Error::io("sync the directory", folder))?;
    }
    Ok(())
}

fn remove_tree(files: &dyn FileSystem, folder: &Path, depth: usize) -> Result<()> {
    if depth > DEPTH_LIMIT {
        return Err(Error::Invalid(format!("{folder:?} is nested too deep to be ours")));
    }
    // The marker goes last: until then the rest can be told to be ours.
    let mut entries = files.read_directory(folder).map_err(Error::io("list", folder))?;
    entries.sort_by_key(|entry| entry.name == MARKER);
    for entry in entries {
        let path = folder.join(&entry.name);
        match entry.kind {
            FileKind::Directory => remove_tree(files, &path, depth + 1)?,
            _ => files.remove_file(&path).map_err(Error::io("remove", &path))?,
        }
    }
    files.remove_directory(folder).map_err(Error::io("remove", folder))
}

/// The directory a path stands in.
pub(super) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
