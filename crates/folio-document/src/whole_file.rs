//! Small files that are read and replaced as a whole: the manifest, `order.ids`.
//!
//! A replacement is written to a file next to the old one, synced, and renamed over it. Readers,
//! also after a crash, find either the old bytes or the new ones. The directory is synced last;
//! only then is the new name durable.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode};

use crate::error::{Error, Result};

/// The data file of a collection, in `meta`.
pub(crate) const DATA_NAME: &str = "data.jsonl";

/// Bytes to read at once beyond the expected size.
const READ_SIZE: usize = 64 << 10;

/// The largest expected size that is trusted before reading.
const BELIEVED_SIZE: u64 = 1 << 20;

/// Reads a file; `None` if it does not exist.
///
/// # Errors
/// [`Error::Io`]; [`Error::Corrupted`] for a file of more than `limit` bytes.
pub(crate) fn read(files: &dyn FileSystem, path: &Path, limit: usize) -> Result<Option<Vec<u8>>> {
    let file = match files.open(path, OpenMode::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Error::io("open", path))?,
    };
    let mut bytes = Vec::new();
    file.stat_at_open()
        .and_then(|stat| read_open(&*file, stat.size, &mut bytes, limit))
        .map_err(Error::io("read", path))?;
    if bytes.len() > limit {
        return Err(Error::Corrupted {
            path: path.to_owned(),
            offset: limit as u64,
            reason: format!("it is longer than the {limit} bytes such a file may have"),
            repair: "move it away, or restore it from a backup".to_owned(),
        });
    }
    Ok(Some(bytes))
}

/// Appends a file's bytes to `bytes`, up to just past `limit`, and verifies them where they can be. A
/// correct `expected` size saves calls; a wrong one does no harm.
pub(crate) fn read_open(
    file: &dyn File,
    expected: u64,
    bytes: &mut Vec<u8>,
    limit: usize,
) -> io::Result<()> {
    let start = bytes.len();
    // Reading one extra byte detects the end of the file without another call.
    let mut wanted = match expected {
        0 => READ_SIZE,
        size => size.min(BELIEVED_SIZE) as usize + 1,
    };
    loop {
        let filled = bytes.len();
        bytes.resize(filled + wanted, 0);
        let read = file.read_at(&mut bytes[filled..], (filled - start) as u64)?;
        bytes.truncate(filled + read);
        if read < wanted {
            return file.verify_bytes(&bytes[start..]);
        }
        if bytes.len() - start > limit {
            return Ok(());
        }
        let read_size = bytes.len() - start;
        wanted = READ_SIZE.max(read_size).min(limit - read_size + 1);
    }
}

/// Replaces a file's bytes atomically, and durably if `synced`.
///
/// # Errors
/// [`Error::Io`]. The file is then unchanged; if only the sync of the directory failed, it may be
/// either version.
pub(crate) fn replace(
    files: &dyn FileSystem,
    path: &Path,
    bytes: &[u8],
    synced: bool,
) -> Result<()> {
    let beside = beside(path);
    let outcome = write_beside(files, &beside, bytes, synced)
        .and_then(|()| files.rename(&beside, path).map_err(Error::io("replace", path)));
    if outcome.is_err() {
        // Best effort: the next replacement overwrites the leftover file.
        let _ = files.remove_file(&beside);
    }
    outcome?;
    match path.parent() {
        Some(folder) if synced => {
            files.sync_directory(folder).map_err(Error::io("sync the directory", folder))
        }
        _ => Ok(()),
    }
}

/// Where the replacement of a file is written. There is one writer at a time, so one name is
/// enough.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Creates a file that is derived from a data file, with the access that this has. One that was left
/// there goes.
pub(crate) fn create_derived(files: &dyn FileSystem, path: &Path) -> io::Result<Arc<dyn File>> {
    match files.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = files.open(path, OpenMode::CreateNew)?;
    share_access(files, path)?;
    Ok(file)
}

/// Gives a file in `meta`, or in a folder there, the access of the data file.
pub(crate) fn share_access(files: &dyn FileSystem, path: &Path) -> io::Result<()> {
    let meta = path.ancestors().find(|folder| folder.ends_with("meta"));
    meta.map_or(Ok(()), |meta| files.keep_access(path, &meta.join(DATA_NAME)))
}

fn write_beside(files: &dyn FileSystem, path: &Path, bytes: &[u8], synced: bool) -> Result<()> {
    let file = files.open(path, OpenMode::Write).map_err(Error::io("create", path))?;
    file.truncate(0).map_err(Error::io("write", path))?;
    file.write_at(bytes, 0).map_err(Error::io("write", path))?;
    if synced {
        file.sync_data().map_err(Error::io("sync", path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::DiskFileSystem;

    #[test]
    fn reads_what_was_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(read(&DiskFileSystem, &path, 10).unwrap(), None);
        for bytes in [&b"longer"[..], b"short", b""] {
            replace(&DiskFileSystem, &path, bytes, true).unwrap();
            assert_eq!(read(&DiskFileSystem, &path, 10).unwrap().as_deref(), Some(bytes));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_left_over_replacement_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(beside(&path), "a long left-over text").unwrap();
        replace(&DiskFileSystem, &path, b"new", false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn the_limit_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes = vec![7; 3 * READ_SIZE];
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(
            read(&DiskFileSystem, &path, bytes.len() - 1),
            Err(Error::Corrupted { .. })
        ));
        assert_eq!(read(&DiskFileSystem, &path, bytes.len()).unwrap(), Some(bytes));
    }
}
