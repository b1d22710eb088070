//! Finds out what a path names: a database directory, an archive, or nothing.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_document::archive::ArchiveFileSystem;
use folio_file::{
    DiskFileSystem, FileKind, FileSystem, MemoryFileSystem, is_url, path_of_file_url,
};
#[cfg(feature = "remote")]
use folio_remote::Places;
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
    /// A directory at a URL.
    #[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "this build opens no URLs"))]
    Url,
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
    /// Whether the database is on another machine, at a URL.
    pub(crate) fn is_at_url(&self) -> bool {
        self.root.to_str().is_some_and(is_url)
    }

    /// In a file system that has the paths of the user too.
    fn on_host(
        kind: Location,
        files: Arc<dyn FileSystem>,
        path: &Path,
        canonical: PathBuf,
    ) -> Self {
        Self { kind, host: Arc::clone(&files), files, root: path.to_owned(), canonical }
    }
}

/// The path of a database in memory, private to its handle.
pub(crate) const IN_MEMORY: &str = ":memory:";

/// The folder of copies of tables in columns, which a database can do without.
pub(crate) const COLUMNS_FOLDER: &str = "tables.columns";

/// A database at a URL, read-only.
///
/// # Errors
/// `invalid_input` for a scheme that is not read; errors of the first request.
#[cfg(feature = "remote")]
fn at_url(url: &str, options: &OpenOptions) -> Result<Found> {
    let places = Arc::new(Places::new(Arc::new(DiskFileSystem), options.remote.clone()));
    let root = places.admit_database(url).map_err(|error| {
        // The rest of the URL may have a password.
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        let path = PathBuf::from(format!("{scheme}://"));
        Error::NotADatabase { path, reason: error.to_string() }
    })?;
    let files: Arc<dyn FileSystem> = places;
    if is_archive_name(&root) {
        return match files.stat(&root) {
            Ok(_) => find_in_archive(files, &root),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::NoArchive { path: root })
            }
            Err(error) => Err(Error::io("open", &root)(error)),
        };
    }
    let canonical = files.canonical(&root).map_err(Error::io("open", &root))?;
    Ok(Found::on_host(Location::Url, files, &root, canonical))
}

/// The same: this build opens no URLs.
#[cfg(not(feature = "remote"))]
fn at_url(url: &str, _: &OpenOptions) -> Result<Found> {
    let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
    Err(Error::NotADatabase {
        path: PathBuf::from(format!("{scheme}://")),
        reason: "this build opens no URLs; copy the database here and name its directory"
            .to_owned(),
    })
}

/// The disk, and where this build opens them, URLs that statements name.
pub(crate) fn host(options: &OpenOptions) -> Arc<dyn FileSystem> {
    #[cfg(feature = "remote")]
    return Arc::new(Places::new(Arc::new(DiskFileSystem), options.remote.clone()));
    #[cfg(not(feature = "remote"))]
    {
        let _ = options;
        Arc::new(DiskFileSystem)
    }
}

/// A new database with files in memory. Exports from it go to the disk.
fn in_memory(options: &OpenOptions) -> Found {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    // Each such database is distinct.
    let address = Arc::as_ptr(&files).cast::<()>() as usize;
    let canonical = PathBuf::from(format!("{IN_MEMORY}{address}"));
    let root = PathBuf::from("/memory");
    Found { kind: Location::Missing, files, host: host(options), root, canonical }
}

/// A path as it was given; of a `file:` URL, its path.
///
/// # Errors
/// `invalid_input` for a `file:` URL without an absolute path here, and for what a URL becomes as a
/// path: it has lost a slash.
pub(crate) fn plain<'p>(path: &'p Path, options: &OpenOptions) -> Result<Cow<'p, Path>> {
    const SCHEMES: [&str; 6] = ["http:/", "https:/", "s3:/", "gs:/", "az:/", "hf:/"];
    let refused = |reason: &str| {
        Err(Error::NotADatabase { path: path.to_owned(), reason: reason.to_owned() })
    };
    let text = path.to_str().filter(|_| options.file_system.is_none()).unwrap_or_default();
    if let Some(path) = path_of_file_url(text) {
        return path.map(Cow::Owned).or_else(refused);
    }
    if !is_url(text) && SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
        return refused("a URL is given as text, not as a path");
    }
    Ok(Cow::Borrowed(path))
}

/// Looks at a path.
///
/// # Errors
/// `invalid_input` for a file that is not an archive, `io`.
pub(crate) fn find(path: &Path, options: &OpenOptions) -> Result<Found> {
    if options.file_system.is_none() {
        if let Some(url) = path.to_str().filter(|path| is_url(path)) {
            return at_url(url, options);
        }
        if path == Path::new(IN_MEMORY) {
            return Ok(in_memory(options));
        }
    }
    match &options.file_system {
        Some(files) => find_in(Arc::clone(files), path),
        // Absolute, so that a later change of the current directory has no effect.
        None => {
            let found = find_in(Arc::new(DiskFileSystem), &absolute(path))?;
            Ok(Found { host: host(options), ..found })
        }
    }
}

fn find_in(files: Arc<dyn FileSystem>, path: &Path) -> Result<Found> {
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

/// The names of collections that are the same but for their case. Where names are not listed, the
/// name alone, if a collection has it.
#[cfg(feature = "sql")]
pub(crate) fn names_like(files: &dyn FileSystem, root: &Path, name: &str) -> Result<Vec<String>> {
    match names_where(files, root, |other| other.eq_ignore_ascii_case(name)) {
        Err(error) if is_unlisted(&error) => {
            let is_there = check_collection_name(name).is_ok() && is_collection(files, root, name);
            Ok(is_there.then(|| name.to_owned()).into_iter().collect())
        }
        names => names,
    }
}

/// Whether an error says that names are not listed.
pub(crate) fn is_unlisted(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::Unsupported)
}

/// The names of the collections of a database, sorted. Ignores folders whose name is not valid for
/// a collection.
pub(crate) fn collection_names(files: &dyn FileSystem, root: &Path) -> Result<Vec<String>> {
    names_where(files, root, |_| true)
}

/// The names of the collections that `is_wanted` takes, sorted. Only their folders are looked into.
fn names_where(
    files: &dyn FileSystem,
    root: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
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
        .filter(|name| is_wanted(name) && is_collection(files, root, name))
        .collect();
    names.sort_unstable();
    Ok(names)
}
