//! Turns an archive into a directory.
//!
//! The members are written into a directory that the caller has created. The caller also makes it
//! appear atomically: a crash during unpacking leaves only some members.

use std::path::Path;

use folio_file::{FileSystem, OpenMode};

use super::layout::{is_derived, path_in};
use super::members::{Member, Members};
use crate::error::{Error, Result};
use crate::options::Progress;

/// Limits on what an archive may unpack to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackLimits {
    /// Total size of all files.
    pub size: u64,
    /// Members of the archive, folders included.
    pub member_count: u64,
    /// The maximum compression ratio of a file of 16 MiB or more.
    pub ratio: u64,
}

impl Default for UnpackLimits {
    /// 1 TiB, 20 million members, a ratio of 200. JSON Lines rarely exceed 30.
    fn default() -> Self {
        Self { size: 1 << 40, member_count: 20_000_000, ratio: 200 }
    }
}

/// The result of unpacking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnpackReport {
    /// Files written.
    pub file_count: u64,
    /// Their bytes.
    pub size: u64,
    /// Members that are not part of a database and were skipped: the first 100 names.
    pub skipped: Vec<String>,
    /// The number of all skipped members.
    pub skipped_count: u64,
}

/// How many skipped members are listed by name.
const SKIPPED_LIMIT: usize = 100;

/// Writes the members of an archive into an existing directory, durably. No member may exist there
/// yet. Progress is in bytes.
///
/// # Errors
/// [`Error::Invalid`] for an archive that is rejected: a member outside the target, a link, a
/// duplicate name, members that share bytes, or more than the limits allow. [`Error::Corrupted`]
/// for a damaged archive. [`Error::Cancelled`], [`Error::Io`]. Some of the members may then be in
/// the directory.
pub fn unpack(
    files: &dyn FileSystem,
    archive: &Path,
    target: &Path,
    limits: &UnpackLimits,
    progress: Progress<'_>,
) -> Result<UnpackReport> {
    let members = Members::open(files, archive, limits)?;
    if members.iter().next().is_none() {
        let text =
            format!("archive {archive:?} holds no database; check that it is the right file");
        return Err(Error::Invalid(text));
    }
    let report = write_members(files, &members, target, progress)?;
    Ok(UnpackReport {
        skipped: members.skipped.iter().take(SKIPPED_LIMIT).cloned().collect(),
        skipped_count: members.skipped.len() as u64,
        ..report
    })
}

fn write_members(
    files: &dyn FileSystem,
    members: &Members,
    target: &Path,
    progress: Progress<'_>,
) -> Result<UnpackReport> {
    let wanted = || members.iter().filter(|member| !is_derived(&member.name));
    let total = wanted().map(|member| member.size).sum();
    let mut report = UnpackReport::default();
    let mut folders = vec![target.to_owned()];
    for member in wanted() {
        let path = path_in(target, &member.name);
        let folder = parent_of(&path).to_owned();
        if folders.last() != Some(&folder) {
            files.create_directory(&folder).map_err(Error::io("create", &folder))?;
            folders.extend(folder.ancestors().take_while(|at| *at != target).map(Path::to_owned));
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
    // Must be new, so that two names which are one file on this system cannot overwrite each other.
    let file = files.open(path, OpenMode::CreateNew).map_err(Error::io("create", path))?;
    let mut offset = 0;
    members.read(member, |bytes| {
        file.write_at(bytes, offset).map_err(Error::io("write", path))?;
        offset += bytes.len() as u64;
        if go_on(bytes.len() as u64) { Ok(()) } else { Err(Error::Cancelled) }
    })?;
    file.sync_data().map_err(Error::io("sync", path))
}

/// The parent directory of a path.
pub(super) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
