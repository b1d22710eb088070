//! Archives: round trips, hostile ones, damaged ones.

mod damage;
mod hostile;
mod round_trip;
mod zip_bytes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{FileSystem, MemoryFileSystem, WriterLock};

use super::*;
use crate::error::Result;
use crate::{Access, Collection, CollectionOptions, Stamp};

const DATABASE: &str = "/db";
const ARCHIVE: &str = "/a.zds";

fn shared(files: &MemoryFileSystem) -> Arc<dyn FileSystem> {
    Arc::new(files.clone())
}

fn no_progress(_: u64, _: u64) -> bool {
    true
}

fn no_types(_: &str, _: &Stamp) -> Option<Vec<u8>> {
    None
}

fn pack_at(files: &MemoryFileSystem, compress: bool) -> PackReport {
    let options = PackOptions { compress };
    pack(
        &shared(files),
        Path::new(DATABASE),
        files,
        Path::new(ARCHIVE),
        &options,
        &no_types,
        &mut no_progress,
    )
    .unwrap()
}

/// Unpacks into a new directory, which is removed on failure.
fn unpack_to(files: &MemoryFileSystem, target: &str) -> Result<UnpackReport> {
    let (limits, target) = (UnpackLimits::default(), Path::new(target));
    files.create_directory(target).unwrap();
    let report = unpack(files, Path::new(ARCHIVE), target, &limits, &mut no_progress);
    if report.is_err() {
        remove(files, target);
    }
    report
}

fn remove(files: &MemoryFileSystem, folder: &Path) {
    for entry in files.read_directory(folder).unwrap() {
        let path = folder.join(&entry.name);
        match entry.kind {
            folio_file::FileKind::Directory => remove(files, &path),
            _ => files.remove_file(&path).unwrap(),
        }
    }
    files.remove_directory(folder).unwrap();
}

fn open_archive(files: &MemoryFileSystem) -> Result<ArchiveFileSystem> {
    ArchiveFileSystem::open(shared(files), Path::new(ARCHIVE))
}

/// Every file with its content, below a directory.
fn tree(files: &dyn FileSystem, folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in files.read_directory(folder).unwrap() {
        let path = folder.join(&entry.name);
        match entry.kind {
            folio_file::FileKind::Directory => found.extend(tree(files, &path)),
            _ => found.push((path.clone(), content(files, &path).unwrap())),
        }
    }
    found.sort();
    found
}

/// A file's content, by way of `open`.
fn content(files: &dyn FileSystem, path: &Path) -> std::io::Result<Vec<u8>> {
    let file = files.open(path, folio_file::OpenMode::Read)?;
    let mut bytes = vec![0; file.stat()?.size as usize];
    let read = file.read_at(&mut bytes, 0)?;
    assert_eq!(read, bytes.len());
    Ok(bytes)
}

/// A collection in a directory or an archive.
fn open_collection(
    files: Arc<dyn FileSystem>,
    database: &Path,
    name: &str,
    access: Access,
) -> Collection {
    let options = CollectionOptions { access, ..CollectionOptions::default() };
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), database.join("folio.lock")));
    Collection::open(files, database, name, &options, lock).unwrap()
}

/// The lines of a collection, in order.
fn lines(collection: &Collection) -> Vec<String> {
    collection.scan(crate::Scan::new()).unwrap().map(|found| found.unwrap().into_raw()).collect()
}
