//! Tests of the files layout, on a file system in memory.

mod crash;
mod edits;
mod store;
mod zds;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_file::{FileSystem, MemoryFileSystem, WriterLock};

use super::{FileBatch, FilePaths, FileScan, FileStore};
use crate::error::Result;
use crate::line::{self, EncodedLine};
use crate::manifest::Manifest;
use crate::{Access, BatchCounts, CollectionOptions, Durability, Layout, Put};

const DATABASE: &str = "/db";
const FOLDER: &str = "/db/collections/c";

/// A path in the collection's folder.
fn at(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// A collection opened as the options say.
fn open_with(files: &dyn Files, options: &CollectionOptions) -> Result<Arc<FileStore>> {
    let files = files.shared();
    let lock =
        Arc::new(WriterLock::new(Arc::clone(&files), Path::new(DATABASE).join("folio.lock")));
    let manifest = match Manifest::load(&*files, Path::new(FOLDER))? {
        manifest if manifest.is_stored => manifest,
        _ => Manifest::new("c", Layout::Files, files.now()),
    };
    let paths = FilePaths::new(Path::new(DATABASE), "c");
    FileStore::open(files, paths, "c", options, lock, manifest)
}

/// A file system that the test can inspect.
trait Files {
    fn shared(&self) -> Arc<dyn FileSystem>;
}

impl Files for MemoryFileSystem {
    fn shared(&self) -> Arc<dyn FileSystem> {
        Arc::new(self.clone())
    }
}

/// A disk with a durable directory for the database.
fn new_disk() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new(DATABASE)).unwrap();
    files.make_durable();
    files
}

fn options(durability: Durability) -> CollectionOptions {
    CollectionOptions {
        durability,
        lock_timeout: std::time::Duration::ZERO.into(),
        ..CollectionOptions::default()
    }
}

/// Opens for reading and writing.
fn open(files: &dyn Files) -> Arc<FileStore> {
    open_with(files, &options(Durability::OnFlush)).unwrap()
}

/// Opens for reading.
fn open_to_read(files: &dyn Files) -> Arc<FileStore> {
    let options = CollectionOptions { access: Access::Read, ..options(Durability::OnFlush) };
    open_with(files, &options).unwrap()
}

fn put(store: &FileStore, id: &str, json: &str) -> Result<Put> {
    let (id, line) = line::normalize(Some(id), json)?;
    store.put_line(EncodedLine::new(&id, &line)?)
}

fn get(store: &FileStore, id: &str) -> Option<String> {
    let mut line = Vec::new();
    let found = store.get(id, &mut line).unwrap();
    found.then(|| String::from_utf8(line).unwrap())
}

fn scan(store: &Arc<FileStore>) -> Vec<String> {
    let mut scan = FileScan::new(store).unwrap();
    let mut lines = Vec::new();
    while let Some(line) = scan.next().unwrap() {
        lines.push(String::from_utf8(line.to_vec()).unwrap());
    }
    lines
}

/// The ids, in order.
fn ids(store: &FileStore) -> Vec<String> {
    store.ids().unwrap().iter().map(|id| id.to_string()).collect()
}

/// A change of one id in a batch: the document's JSON, or `None` for a delete.
type BatchChange<'a> = (&'a str, Option<&'a str>);

fn push(batch: &mut FileBatch, (id, json): BatchChange<'_>) -> Result<()> {
    match json {
        Some(json) => {
            let (id, line) = line::normalize(Some(id), json)?;
            batch.push(&id, &line, false)
        }
        None => batch.push(id, &line::tombstone(id), true),
    }
}

fn commit(store: &Arc<FileStore>, changes: &[BatchChange<'_>]) -> Result<BatchCounts> {
    let mut batch = FileBatch::begin(store)?;
    changes.iter().try_for_each(|&change| push(&mut batch, change))?;
    batch.commit()
}
