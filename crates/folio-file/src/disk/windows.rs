//! Functions specific to Windows.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::kind_of;
use crate::Stat;

/// Does nothing: named pipes have a separate name space on Windows.
pub(super) fn never_block(_options: &mut OpenOptions) {}

pub(super) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

pub(super) fn write_all_at(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() {
        match file.seek_write(&bytes[written..], offset + written as u64) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A file that replaces another has the permissions of its folder, as that had.
pub(super) fn keep_access(_from: &Path, _to: &Path) -> io::Result<()> {
    Ok(())
}

/// The identity is 0: the standard library does not expose the file index.
pub(super) fn stat(metadata: &Metadata) -> Stat {
    let modified_ns = nanoseconds(metadata.last_write_time());
    Stat {
        kind: kind_of(metadata.file_type()),
        device: 0,
        inode: 0,
        size: metadata.file_size(),
        modified_ns,
        changed_ns: modified_ns,
    }
}

/// From 100 ns units since 1601-01-01 to nanoseconds since 1970-01-01.
fn nanoseconds(file_time: u64) -> i128 {
    const UNIX_EPOCH_IN_FILE_TIME: i128 = 116_444_736_000_000_000;
    (i128::from(file_time) - UNIX_EPOCH_IN_FILE_TIME) * 100
}

/// Directories cannot be synced by name; NTFS journals its names in order.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    fs::metadata(path).map(|_| ())
}

pub(super) fn start_writeback(_file: &fs::File, _offset: u64, _size: u64) {}
