//! Functions specific to Unix systems.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, chown};
use std::path::Path;

use super::kind_of;
use crate::Stat;

/// Makes opening a named pipe return at once; regular files ignore it.
pub(super) fn never_block(options: &mut OpenOptions) {
    options.custom_flags(libc::O_NONBLOCK);
}

pub(super) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Reads into the room that `bytes` has left, which is not filled with zeros first.
#[cfg(target_os = "linux")]
pub(super) fn read_more(file: &fs::File, bytes: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
    Ok(rustix::io::pread(file, rustix::buffer::spare_capacity(bytes), offset)?)
}

pub(super) fn write_all_at(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

pub(super) fn stat(metadata: &Metadata) -> Stat {
    Stat {
        kind: kind_of(metadata.file_type()),
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// Gives a file the permissions of another, such as the one that it is about to replace, and its
/// owner, or at least its group, if this process may give files away.
pub(super) fn keep_access(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(old) = fs::metadata(to) else { return Ok(()) };
    let new = fs::metadata(from)?;
    if old.file_type() != new.file_type() || !(old.is_file() || old.is_dir()) {
        return Ok(());
    }
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may do the first, and a member of the group the second.
        let _ = chown(from, Some(old.uid()), Some(old.gid()))
            .or_else(|_| chown(from, None, Some(old.gid())));
    }
    if old.mode() == new.mode() {
        return Ok(());
    }
    match fs::set_permissions(from, old.permissions()) {
        // It is another user's, who shares it as they like.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

fn nanoseconds(seconds: i64, fraction: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(fraction)
}

/// Syncs a directory's names. Some file systems (CIFS, some in user space) do not support this and
/// return an error, which is ignored because failing would not help.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path)?;
    match directory.sync_all() {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP)) => Ok(()),
        result => result,
    }
}

/// Starts writing a range out (`sync_file_range(2)`, `SYNC_FILE_RANGE_WRITE`). Spreads the work of
/// a later sync; guarantees no durability.
#[cfg(target_os = "linux")]
pub(super) fn start_writeback(file: &fs::File, offset: u64, size: u64) {
    use std::os::fd::AsRawFd;

    let (Ok(offset), Ok(size)) = (i64::try_from(offset), i64::try_from(size)) else { return };
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the call takes no
    // pointers. The result is ignored: the call is a hint.
    #[allow(unsafe_code)]
    unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset, size, libc::SYNC_FILE_RANGE_WRITE);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn start_writeback(_file: &fs::File, _offset: u64, _size: u64) {}
