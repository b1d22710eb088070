//! Copies a whole database while writers continue.
//!
//! Data files are only appended to, or replaced by rename, so a consistent copy needs no lock:
//!
//! 1. For every collection, take the data file of a read-only handle, and how far it is
//!    published: whole lines, no open batch. A later compaction does no harm: the open file does
//!    not change.
//! 2. Copy each data file up to its length from step 1. The copy shows the collections
//!    as of step 1, one after another.
//! 3. Copy all other primary data: `folio.json`, manifests, rejected
//!    lines, `zds.json`, documents in files of their own. These are only
//!    replaced as a whole, so each is from before or after a write. An unfinished
//!    batch over such files is copied before them, so that opening the copy completes it.
//! 4. Copy the tables as of one commit, see [`folio_table::Snapshot::backup`].
//! 5. Build the indexes of the copy, which reads every line once.
//!
//! Indexes, the batch record and the lock are not copied; the copy gets new ones. The target
//! appears by rename once it is durable.
//!
//! Two cases are not covered. An in-place edit of a data file during the copy is not an append, so
//! the copy may contain half of it. With one file per document, a batch that begins during the copy
//! may be in it in part, as a scan at that moment would see it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_document::{Access, Progress};
use folio_file::{File, FileKind, FileSystem, OpenMode, WriterLock};
use folio_table::{Snapshot, TableStore};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::location::{COLUMNS_FOLDER, canonical_of_missing, collection_names};
use crate::store::{LOCK_FILE_NAME, Store};
use crate::write::AtomicDirectory;

/// Bytes copied per read.
const COPY_SIZE: usize = 4 << 20;

/// The log of an unfinished batch over files with one document each.
const BATCH_LOG_NAME: &str = "folio.batch.jsonl";

/// The maximum folder depth of a database.
const DEPTH_LIMIT: usize = 16;

/// How often the copy of the tables restarts after another process's writes have overtaken it.
const TABLE_TRIES: u32 = 5;

/// Counts of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackupReport {
    /// Files copied.
    pub file_count: u64,
    /// Their bytes.
    pub size: u64,
}

/// A file to copy.
struct Piece {
    /// Relative to the database's directory.
    path: PathBuf,
    size: u64,
    /// An open data file, of which only the first `size` bytes count. Other files are opened when
    /// they are copied: there may be more than a process can have open.
    file: Option<Arc<dyn File>>,
}

/// Copies a database; see the module's documentation.
pub(crate) fn backup(
    handle: &Handle,
    target: &Path,
    progress: Progress<'_>,
) -> Result<BackupReport> {
    let store = &handle.store;
    let Store { files, root, host, .. } = &**store;
    let inside = |root: PathBuf| canonical_of_missing(&**host, target).starts_with(root);
    if host.canonical(root).is_ok_and(inside) {
        let text = format!("{target:?} is inside the database; choose a place outside of it");
        return Err(Error::Invalid(text));
    }
    if handle.is_writable() {
        store.flush()?;
    }
    let mut pieces = Vec::new();
    for name in collection_names(&**files, root)? {
        pieces.extend(data_piece(files, root, &name)?);
    }
    gather(&**files, root, Path::new(""), &mut pieces)?;
    pieces.sort_by_key(|piece| !piece.path.ends_with(BATCH_LOG_NAME)); // those first
    let tables = table_snapshot(store)?;
    let table_size = tables.as_ref().map_or(0, Snapshot::data_size);
    let copy = AtomicDirectory::create(Arc::clone(host), target)?;
    let mut copying = Copying {
        from: &**files,
        root,
        to: &**host,
        target: copy.path(),
        report: BackupReport::default(),
        total: pieces.iter().map(|piece| piece.size).sum::<u64>() + table_size,
        buffer: vec![0; COPY_SIZE],
    };
    copying.copy(&pieces, progress)?;
    if let Some(snapshot) = tables {
        copying.copy_tables(store, snapshot, progress)?;
    }
    let report = copying.report;
    let size = report.size;
    build_indexes(host, copy.path(), &mut |_, _| progress(size, size))?;
    copy.commit()?;
    Ok(report)
}

fn table_snapshot(store: &Store) -> Result<Option<Snapshot>> {
    Ok(store.tables()?.map(|tables| tables.snapshot()))
}

/// A collection's data file up to its published length; `None` when it has none.
fn data_piece(files: &Arc<dyn FileSystem>, root: &Path, name: &str) -> Result<Option<Piece>> {
    let path = Path::new("collections").join(name).join("meta").join("data.jsonl");
    // Refuses a lost data file: a copy without it would look complete.
    let data = open_core(files, root, name, Access::Read)?.data_file()?;
    Ok(data.map(|(file, size)| Piece { path, size, file: Some(file) }))
}

/// Builds the indexes of a database that was just written without them.
pub(crate) fn build_indexes(
    files: &Arc<dyn FileSystem>,
    root: &Path,
    progress: Progress<'_>,
) -> Result<()> {
    for name in collection_names(&**files, root)? {
        let collection = open_core(files, root, &name, Access::ReadWrite)?;
        collection.reindex(progress)?;
        collection.close()?;
    }
    Ok(())
}

fn open_core(
    files: &Arc<dyn FileSystem>,
    root: &Path,
    name: &str,
    access: Access,
) -> Result<folio_document::Collection> {
    let options = folio_document::CollectionOptions { access, ..Default::default() };
    let lock = Arc::new(WriterLock::new(Arc::clone(files), root.join(LOCK_FILE_NAME)));
    Ok(folio_document::Collection::open(Arc::clone(files), root, name, &options, lock)?)
}

/// Adds every other file of primary data.
fn gather(
    files: &dyn FileSystem,
    root: &Path,
    folder: &Path,
    pieces: &mut Vec<Piece>,
) -> Result<()> {
    let whole = root.join(folder);
    if folder.components().count() > DEPTH_LIMIT {
        return Err(Error::Invalid(format!(
            "{whole:?} is nested too deep to be part of a database"
        )));
    }
    for entry in files.read_directory(&whole).map_err(Error::io("list", &whole))? {
        let path = folder.join(&entry.name);
        let is_of_tables = TableStore::owns(&entry.name) || entry.name == COLUMNS_FOLDER;
        if folder.as_os_str().is_empty() && is_of_tables {
            continue;
        }
        match entry.kind {
            FileKind::Directory if is_columns(&path) => {}
            FileKind::Directory => gather(files, root, &path, pieces)?,
            FileKind::Other => {}
            FileKind::File | FileKind::Link => {
                // A file that has disappeared since the listing was not part of the snapshot.
                let Ok(stat) = files.stat(&root.join(&path)) else { continue };
                if stat.kind == FileKind::File && is_copied(&path) {
                    pieces.push(Piece { path, size: stat.size, file: None });
                }
            }
        }
    }
    Ok(())
}

/// Whether a folder has the columns of a collection, which are derived, and made behind a writer.
fn is_columns(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("columns-") && path.parent().is_some_and(|folder| folder.ends_with("meta"))
}

/// Whether a file is primary data that is not copied as a collection's data already.
fn is_copied(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_unfinished =
        name.ends_with(".tmp") || name.ends_with(".new") || name.contains(".partial-");
    if is_unfinished || name == LOCK_FILE_NAME {
        return false;
    }
    let is_index = matches!(name, "index.bin" | "folio.batch" | "folio.types");
    let is_index = is_index || name.ends_with(".idx");
    let is_in_meta = path.parent().is_some_and(|folder| folder.ends_with("meta"));
    !(is_in_meta && (is_index || name == "data.jsonl"))
}

/// A running copy.
struct Copying<'a> {
    from: &'a dyn FileSystem,
    root: &'a Path,
    to: &'a dyn FileSystem,
    target: &'a Path,
    report: BackupReport,
    total: u64,
    buffer: Vec<u8>,
}

impl Copying<'_> {
    /// Copies the files and makes each durable, then their directory entries.
    fn copy(&mut self, pieces: &[Piece], progress: Progress<'_>) -> Result<()> {
        let mut folders = BTreeSet::from([self.target.to_owned()]);
        for piece in pieces {
            let path = self.target.join(&piece.path);
            let folder = path.parent().expect("a file stands in a folder");
            if folders.insert(folder.to_owned()) {
                self.to.create_directory(folder).map_err(Error::io("create", folder))?;
                folders.extend(
                    folder.ancestors().take_while(|up| *up != self.target).map(Path::to_owned),
                );
            }
            self.copy_piece(piece, &path, progress)?;
        }
        folders.iter().try_for_each(|folder| {
            self.to.sync_directory(folder).map_err(Error::io("sync", folder))
        })
    }

    /// Copies the tables as of a snapshot. If another process has outdated the snapshot, retries
    /// with a newer one.
    fn copy_tables(
        &mut self,
        store: &Store,
        mut snapshot: Snapshot,
        progress: Progress<'_>,
    ) -> Result<()> {
        let (before, mut tries) = (self.report.size, 1);
        loop {
            let size = snapshot.data_size();
            let mut on_progress = |done: u64, _| {
                let done = before + done;
                progress(done, self.total.max(before + size))
            };
            match snapshot.backup(self.to, self.target, &mut on_progress) {
                Err(folio_table::Error::SnapshotTooOld) if tries < TABLE_TRIES => tries += 1,
                Err(folio_table::Error::Cancelled) => {
                    return Err(folio_document::Error::Cancelled.into());
                }
                result => {
                    result?;
                    self.report.size += size;
                    self.report.file_count += 2;
                    return Ok(());
                }
            }
            let Some(newer) = table_snapshot(store)? else { return Ok(()) };
            snapshot = newer;
        }
    }

    fn copy_piece(&mut self, piece: &Piece, path: &Path, progress: Progress<'_>) -> Result<()> {
        let source = self.root.join(&piece.path);
        let (file, size) = match &piece.file {
            Some(file) => (Arc::clone(file), piece.size),
            None => {
                let Ok(file) = self.from.open(&source, OpenMode::Read) else { return Ok(()) };
                let size = file.stat().map_err(Error::io("read", &source))?.size;
                (file, size)
            }
        };
        let copy = self.to.open(path, OpenMode::CreateNew).map_err(Error::io("create", path))?;
        let mut offset = 0;
        while offset < size {
            let wanted = usize::try_from(size - offset).unwrap_or(COPY_SIZE).min(COPY_SIZE);
            let read = file.read_at(&mut self.buffer[..wanted], offset);
            let read = read.map_err(Error::io("read", &source))?;
            if read == 0 {
                break; // somebody cuts it short in place
            }
            copy.write_at(&self.buffer[..read], offset).map_err(Error::io("write", path))?;
            offset += read as u64;
            self.report.size += read as u64;
            if !progress(self.report.size, self.total.max(self.report.size)) {
                return Err(folio_document::Error::Cancelled.into());
            }
        }
        copy.sync_data().map_err(Error::io("sync", path))?;
        self.report.file_count += 1;
        Ok(())
    }
}
