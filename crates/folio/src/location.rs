//! Finds out what a path names: a database directory, an archive, or nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_document::archive::ArchiveFileSystem;
use folio_file::{DiskFileSystem, FileKind, FileSystem, MemoryFileSystem};
use folio_types::check_collection_name;

use crate::error::{Error, Result};
use crate::options::OpenOptions;
use crate::write::parent_of;

/// The extension of archives.
const ARCHIVE_EXTENSION: &str = "zds";

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// A directory, of a database or not.
    Directory,
    /// A `.zds` file.
    Archive,
    /// Nothing yet.
    Missing,
}

/// Where a database is and how to reach its files.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) kind: Location,
    pub(crate) files: Arc<dyn FileSystem>,
    /// The file system in which the path was looked up.
    pub(crate) host: Arc<dyn FileSystem>,
    /// The database's directory, as `files` names it.
    pub(crate) root: PathBuf,
    /// The path with links resolved, which identifies the database.
    pub(crate) canonical: PathBuf,
}

impl Found {
    fn on_host(kind: Location, host: Arc<dyn FileSystem>, path: &Path, canonical: PathBuf) -> Self {
        Self { kind, files: Arc::clone(&host), host, root: path.to_owned(), canonical }
    }
}

/// The path of a database in memory, private to its handle.
pub(crate) const IN_MEMORY: &str = ":memory:";

/// The folder of copies of tables in columns, which a database can do without.
pub(crate) const COLUMNS_FOLDER: &str = "tables.columns";

/// Refuses a URL of another machine.
fn check_scheme(path: &Path) -> Result<()> {
    let Some((scheme, _)) = path.to_str().and_then(|path| path.split_once("://")) else {
        return Ok(());
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|next| next.is_ascii_alphanumeric() || "+-.".contains(next));
    if !is_scheme {
        return Ok(());
    }
    Err(Error::NotADatabase {
        path: path.to_owned(),
        reason: format!(
            "{scheme}:// is not opened yet; copy the database here and name its directory"
        ),
    })
}

/// A new database with files in memory. Exports from it go to the disk.
fn in_memory() -> Found {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    // Each such database is distinct.
    let address = Arc::as_ptr(&files).cast::<()>() as usize;
    let canonical = PathBuf::from(format!("{IN_MEMORY}{address}"));
    let root = PathBuf::from("/memory");
    Found { kind: Location::Missing, files, host: Arc::new(DiskFileSystem), root, canonical }
}

/// Looks at a path.
///
/// # Errors
/// `invalid_input` for a file that is not an archive, `io`.
pub(crate) fn find(path: &Path, options: &OpenOptions) -> Result<Found> {
    if options.file_system.is_none() {
        check_scheme(path)?;
        if path == Path::new(IN_MEMORY) {
            return Ok(in_memory());
        }
    }
    // Absolute, so that a later change of the current directory has no effect.
    let (files, path): (Arc<dyn FileSystem>, &Path) = match &options.file_system {
        Some(files) => (Arc::clone(files), path),
        None => (Arc::new(DiskFileSystem), &absolute(path)),
    };
    match files.stat(path) {
        Ok(stat) if stat.kind == FileKind::Directory => {
            let canonical = files.canonical(path).map_err(Error::io("open", path))?;
            Ok(Found::on_host(Location::Directory, files, path, canonical))
        }
        Ok(_) if is_archive_name(path) => find_in_archive(files, path),
        Ok(_) => Err(Error::NotADatabase { path: path.to_owned(), reason: what_file_is(path) }),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_archive_name(path) => {
            Err(Error::NoArchive { path: path.to_owned() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let canonical = canonical_of_missing(&*files, path);
            Ok(Found::on_host(Location::Missing, files, path, canonical))
        }
        Err(error) => Err(Error::io("open", path)(error)),
    }
}

fn find_in_archive(files: Arc<dyn FileSystem>, path: &Path) -> Result<Found> {
    let canonical = files.canonical(path).map_err(Error::io("open", path))?;
    let archive = ArchiveFileSystem::open(Arc::clone(&files), path)?;
    let root = archive.root().to_owned();
    Ok(Found { kind: Location::Archive, files: Arc::new(archive), host: files, root, canonical })
}

fn is_archive_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ARCHIVE_EXTENSION))
}

fn what_file_is(path: &Path) -> String {
    const IMPORTED: [&str; 8] = ["json", "jsonl", "ndjson", "csv", "tsv", "txt", "gz", "zst"];
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if IMPORTED.contains(&extension) {
        "it is a file; name the database's directory, and import the file into it".to_owned()
    } else {
        "it is a file; a database is a directory or a .zds archive".to_owned()
    }
}

/// The canonical path that a database will have once it is created.
pub(crate) fn canonical_of_missing(files: &dyn FileSystem, path: &Path) -> PathBuf {
    match (files.canonical(parent_of(path)), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => absolute(path),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Reports why a directory without `folio.json` is not a database.
///
/// # Errors
/// `not_found` when nothing is there, `invalid_input` when it holds no collections.
pub(crate) fn check_is_database(files: &dyn FileSystem, path: &Path, root: &Path) -> Result<()> {
    if files.stat(root).is_err() {
        return Err(Error::NoDatabase { path: path.to_owned() });
    }
    if files.stat(&root.join("collections")).is_err() {
        let reason = "it has neither folio.json nor collections/; check the path".to_owned();
        return Err(Error::NotADatabase { path: path.to_owned(), reason });
    }
    Ok(())
}

/// Whether a collection has this name. An empty folder is not a collection: a full disk may leave
/// one when a collection is created. An unreadable folder counts as a collection, so that opening
/// it reports the error.
pub(crate) fn is_collection(files: &dyn FileSystem, root: &Path, name: &str) -> bool {
    let folder = root.join("collections").join(name);
    ["meta/data.jsonl", "meta/manifest.json", "docs"].iter().any(|inside| {
        match files.stat(&folder.join(inside)) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        }
    })
}

/// The names of the collections of a database, sorted. Ignores folders whose name is not valid for
/// a collection.
pub(crate) fn collection_names(files: &dyn FileSystem, root: &Path) -> Result<Vec<String>> {
    let folder = root.join("collections");
    let entries = match files.read_directory(&folder) {
        Ok(entries) => entries,
        // A dangling link counts: its disk may not be mounted yet.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && files.stat_link(&folder).is_err() =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(Error::io("list", &folder)(error)),
    };
    let mut names: Vec<String> = entries
        .into_iter()
        .filter(|entry| entry.kind != FileKind::File && check_collection_name(&entry.name).is_ok())
        .map(|entry| entry.name)
        .filter(|name| is_collection(files, root, name))
        .collect();
    names.sort_unstable();
    Ok(names)
}
