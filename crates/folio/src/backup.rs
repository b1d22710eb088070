//! Copies a whole database while writers go on.
//!
//! Data files only ever grow at their end or are replaced by rename, so a
//! consistent copy needs no lock:
//!
//! 1. For every collection, open its data file and ask a read-only handle how
//!    far it is published: whole lines, no open batch. If the file at the path
//!    is another one by then (a compaction), do it again. From here on a
//!    compaction cannot hurt: the open file stays what it was.
//! 2. Copy each data file up to its length of step 1, so that the collections
//!    are as they were within that moment, one after another.
//! 3. Copy everything else that is truth: `folio.json`, manifests, rejected
//!    lines, `zds.json`, documents that are files of their own. Those are only
//!    replaced as a whole, so each is from before or after a write to it.
//! 4. Build the indexes of the copy, which reads every line of it once.
//!
//! Indexes, the batch record and the lock are not copied: the copy has its own.
//! The target appears by rename when all of it is durable.
//!
//! What it does not do: hold off somebody who edits a data file in place while
//! it is copied. Such an edit is no append, and the copy may have half of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_document::{Access, Progress};
use folio_file::{File, FileKind, FileSystem, OpenMode, Stat, WriterLock};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::location::{canonical_of_missing, collection_names};
use crate::store::LOCK_FILE_NAME;
use crate::write::AtomicDirectory;

/// Bytes copied at once.
const COPY_SIZE: usize = 4 << 20;

/// Folders inside folders beyond this are nobody's database.
const DEPTH_LIMIT: usize = 16;

/// What a backup copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackupReport {
    /// Files copied.
    pub file_count: u64,
    /// Their bytes.
    pub size: u64,
}

/// A file to copy: as it was opened, up to a length.
struct Piece {
    file: Arc<dyn File>,
    size: u64,
    /// From the database's directory.
    path: PathBuf,
}

/// Copies a database; see the module's documentation.
pub(crate) fn backup(
    database: &Database,
    target: &Path,
    progress: Progress<'_>,
) -> Result<BackupReport> {
    let files = database.files();
    let root = database.root();
    let host = database.host();
    let inside = |root: PathBuf| canonical_of_missing(&**host, target).starts_with(root);
    if host.canonical(root).is_ok_and(inside) {
        let text = format!("{target:?} lies inside of the database; choose a place outside of it");
        return Err(Error::Invalid(text));
    }
    if database.is_writable() {
        database.flush()?;
    }
    let mut pieces = Vec::new();
    for name in collection_names(&**files, root)? {
        pieces.extend(data_piece(files, root, &name)?);
    }
    gather(&**files, root, Path::new(""), &mut pieces)?;
    let copy = AtomicDirectory::create(Arc::clone(host), target)?;
    let report = copy_pieces(&**host, &pieces, copy.path(), progress)?;
    build_indexes(host, copy.path())?;
    copy.commit()?;
    Ok(report)
}

/// A collection's data file up to its published length; `None` when it has none.
fn data_piece(files: &Arc<dyn FileSystem>, root: &Path, name: &str) -> Result<Option<Piece>> {
    let path = Path::new("collections").join(name).join("meta").join("data.jsonl");
    let whole_path = root.join(&path);
    loop {
        let Ok(file) = files.open(&whole_path, OpenMode::Read) else { return Ok(None) };
        let opened = file.stat().map_err(Error::io("read", &whole_path))?;
        let size = open_core(files, root, name, Access::Read)?.stats()?.data_size;
        let named = files.stat(&whole_path).map_err(Error::io("read", &whole_path))?;
        if is_same_file(&opened, &named) {
            return Ok(Some(Piece { file, size: size.min(named.size), path }));
        }
    }
}

fn is_same_file(a: &Stat, b: &Stat) -> bool {
    (a.device, a.inode) == (b.device, b.inode)
}

/// Builds the indexes of a database that was just written and has none.
pub(crate) fn build_indexes(files: &Arc<dyn FileSystem>, root: &Path) -> Result<()> {
    for name in collection_names(&**files, root)? {
        let collection = open_core(files, root, &name, Access::ReadWrite)?;
        collection.reindex(&mut |_, _| true)?;
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

/// Adds every other file that is truth.
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
        match entry.kind {
            FileKind::Directory => gather(files, root, &path, pieces)?,
            FileKind::Other => {}
            FileKind::File | FileKind::Link => {
                if !is_copied(&path) {
                    continue;
                }
                // What has gone since it was listed was no part of the moment.
                let Ok(file) = files.open(&root.join(&path), OpenMode::Read) else { continue };
                let stat = file.stat().map_err(Error::io("read", &root.join(&path)))?;
                if stat.kind == FileKind::File {
                    pieces.push(Piece { file, size: stat.size, path });
                }
            }
        }
    }
    Ok(())
}

/// Whether a file is truth, and not copied as a collection's data already.
fn is_copied(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_in_meta = path.parent().is_some_and(|folder| folder.ends_with("meta"));
    let is_index = is_in_meta && (name.starts_with("folio.") || name == "index.bin");
    let is_data = is_in_meta && name == "data.jsonl";
    !(is_index || is_data || name == LOCK_FILE_NAME || name.contains(".partial-"))
}

/// Copies the pieces, each made durable.
fn copy_pieces(
    files: &dyn FileSystem,
    pieces: &[Piece],
    target: &Path,
    progress: Progress<'_>,
) -> Result<BackupReport> {
    let total = pieces.iter().map(|piece| piece.size).sum();
    let mut report = BackupReport::default();
    let mut folders = vec![target.to_owned()];
    let mut buffer = vec![0; COPY_SIZE];
    for piece in pieces {
        let path = target.join(&piece.path);
        let folder = path.parent().expect("a file stands in a folder").to_owned();
        files.create_directory(&folder).map_err(Error::io("create", &folder))?;
        let copy = files.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
        let mut offset = 0;
        while offset < piece.size {
            let wanted = usize::try_from(piece.size - offset).unwrap_or(COPY_SIZE).min(COPY_SIZE);
            let read = piece.file.read_at(&mut buffer[..wanted], offset);
            let size = read.map_err(Error::io("read", &piece.path))?;
            if size == 0 {
                break; // a small file was replaced by truncation: what is left of it
            }
            copy.write_at(&buffer[..size], offset).map_err(Error::io("write", &path))?;
            offset += size as u64;
            report.size += size as u64;
            if !progress(report.size, total) {
                return Err(folio_document::Error::Cancelled.into());
            }
        }
        copy.sync_data().map_err(Error::io("sync", &path))?;
        report.file_count += 1;
        folders
            .extend(folder.ancestors().take_while(|folder| *folder != target).map(Path::to_owned));
    }
    folders.sort_unstable();
    folders.dedup();
    folders
        .iter()
        .try_for_each(|folder| files.sync_directory(folder).map_err(Error::io("sync", folder)))?;
    Ok(report)
}
