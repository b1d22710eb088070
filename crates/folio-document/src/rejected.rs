//! `meta/rejected-<time>.jsonl`: bytes that were moved out of the data, unchanged.
//!
//! Nothing that people or a crash left in a collection is thrown away: lines that are not
//! documents, the rest of an interrupted batch, an edit that a batch has superseded. They move to a
//! separate file, which is never read again.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{File, FileSystem, OpenMode};

use crate::error::{Error, Result};

/// An unused name in `meta`. The order of names is the order of time.
pub(crate) fn rejected_path(files: &dyn FileSystem, meta: &Path) -> PathBuf {
    let now = jiff::Timestamp::try_from(files.now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let time = now.strftime("%Y%m%dT%H%M%S%.6f").to_string();
    let mut path = meta.join(format!("rejected-{time}.jsonl"));
    let mut number = 1;
    while files.stat(&path).is_ok() {
        number += 1;
        path = meta.join(format!("rejected-{time}-{number}.jsonl"));
    }
    path
}

/// Writes bytes to a new rejected file, durably. Returns its path.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn write_rejected(files: &dyn FileSystem, meta: &Path, bytes: &[u8]) -> Result<PathBuf> {
    create_rejected(files, meta, |file| file.write_at(bytes, 0).map(|()| bytes.len() as u64))
}

/// The same for what `write` writes to the file, and returns the size of.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn create_rejected(
    files: &dyn FileSystem,
    meta: &Path,
    write: impl FnOnce(&dyn File) -> io::Result<u64>,
) -> Result<PathBuf> {
    let path = rejected_path(files, meta);
    let file = files.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
    let written = write(&*file).and_then(|size| end_line(&*file, size));
    if let Err(error) = written {
        let _ = files.remove_file(&path); // it may be what fills the disk
        return Err(Error::io("write", &path)(error));
    }
    file.sync_data().map_err(Error::io("sync", &path))?;
    files.sync_directory(meta).map_err(Error::io("sync the directory", meta))?;
    Ok(path)
}

fn end_line(file: &dyn File, size: u64) -> io::Result<()> {
    let mut last = [b'\n'];
    file.read_at(&mut last, size.saturating_sub(1))?;
    if last == *b"\n" { Ok(()) } else { file.write_at(b"\n", size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folio_file::MemoryFileSystem;

    #[test]
    fn every_rejection_has_a_file_of_its_own() {
        let files = MemoryFileSystem::new();
        files.write("/meta/x", b"").unwrap();
        files.set_time_granularity(std::time::Duration::from_secs(1));
        let mut paths: Vec<_> = ["a", "b\n", "c"]
            .map(|text| write_rejected(&files, Path::new("/meta"), text.as_bytes()).unwrap())
            .to_vec();
        let texts: Vec<_> = paths.iter().map(|path| files.read(path).unwrap()).collect();
        assert_eq!(texts, [b"a\n", b"b\n", b"c\n"]);
        paths.dedup();
        assert_eq!(paths.len(), 3);
    }
}
