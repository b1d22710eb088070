//! The names: which file is at a path, and what cannot be known.
//!
//! A database that was opened at a URL is seen in one state: a directory in a bucket as it was listed
//! when it was opened, with the ETags of all its files. Elsewhere, and where there are many files,
//! each is seen as it was when it was first looked at, files that are missing included: nothing is
//! asked twice. Other URLs, which statements name, are looked at anew each time; what was read of
//! them stays cached while their ETag is the same.
//!
//! Buckets and the Hugging Face Hub list names. Plain HTTP does not, nor does a bucket whose server
//! refuses to when a database is opened: a folder below such a place is never there, and listing one is
//! refused. Its files are read by their names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use folio_file::{
    DirectoryEntry, File, FileKind, FileSystem, OpenMode, RemoteError, Stat, Upload, is_url,
    path_of_file_url,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::cache::Cache;
use crate::client::Client;
use crate::disk_cache::DiskCache;
use crate::file::{Connection, RemoteFile, read_only};
use crate::listing::{files_below, list};
use crate::options::RemoteOptions;
use crate::place::Place;
use crate::reading::{Known, Wanted};
use crate::surroundings::Surroundings;
use crate::upload::BucketUpload;

/// Bytes read at the first look at a file.
const HEAD_SIZE: u64 = 64 << 10;

/// Bytes read at the first look at a file whose directory is at its end.
const TAIL_SIZE: u64 = 256 << 10;

/// The variables that name a folder for what was read, and its size.
const CACHE_FOLDER: &str = "FOLIO_CACHE_DIR";
const CACHE_SIZE: &str = "FOLIO_CACHE_SIZE";

/// Extensions of such files.
const WITH_TAIL: [&str; 2] = ["zds", "parquet"];

/// A file system whose paths may be URLs.
#[derive(Debug)]
pub struct Places {
    below: Arc<dyn FileSystem>,
    options: RemoteOptions,
    /// Made for the first URL.
    connection: OnceLock<Arc<Connection>>,
    /// Places with secrets, and the database.
    admitted: Mutex<Vec<Admitted>>,
    seen: Mutex<Seen>,
}

/// What is at the paths of the database.
#[derive(Debug, Default)]
struct Seen {
    /// `None` for nothing.
    files: BTreeMap<String, Option<Known>>,
    /// Whether nothing is at other paths.
    is_whole: bool,
    /// What tells the state of a directory from others, once it was looked at.
    state: Option<String>,
    /// What the server of the bucket answered, if it refused to list the directory.
    refusal: Option<String>,
}

impl Seen {
    /// What is at a path; `None` if that is not known, `Some(None)` if there is no file.
    fn at(&self, path: &str) -> Option<Option<Known>> {
        match self.files.get(path) {
            Some(found) => Some(found.clone()),
            None => self.is_whole.then_some(None),
        }
    }

    /// The names in a folder, if all are known, those of folders with a slash at their end.
    fn names(&self, folder: &str) -> Option<Vec<String>> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let inside =
            self.files.range(start.clone()..).map_while(|(path, _)| path.strip_prefix(&start));
        let name = |rest: &str| match rest.split_once('/') {
            Some((name, _)) => format!("{name}/"),
            None => rest.to_owned(),
        };
        self.is_whole.then(|| inside.map(name).collect())
    }
}

#[derive(Debug, Clone)]
struct Admitted {
    place: Place,
    is_database: bool,
}

/// A path at a URL.
struct Located {
    place: Place,
    /// The path within the database; `None` elsewhere.
    inside: Option<String>,
}

impl Places {
    /// URLs, and for other paths the file system below.
    #[must_use]
    pub fn new(below: Arc<dyn FileSystem>, options: RemoteOptions) -> Self {
        let (connection, admitted, seen) = (OnceLock::new(), Mutex::default(), Mutex::default());
        Self { below, options, connection, admitted, seen }
    }

    /// The place of a database, which is seen in one state from now on. Returns its path, which is
    /// the URL without a password and a query.
    ///
    /// # Errors
    /// `Unsupported` for a scheme that is not read, `InvalidInput` for a URL without a host.
    pub fn admit_database(&self, url: &str) -> io::Result<PathBuf> {
        let place = self.parse(url)?;
        let shown = PathBuf::from(&place.shown);
        self.remember(Admitted { place, is_database: true });
        Ok(shown)
    }

    fn parse(&self, url: &str) -> io::Result<Place> {
        let variable = |name: &str| std::env::var(name).ok();
        Place::parse(url, &Surroundings { files: &*self.below, variable: &variable })
    }

    fn remember(&self, new: Admitted) {
        let mut admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        admitted.retain(|known| known.place.shown != new.place.shown);
        admitted.push(new);
    }

    fn connection(&self) -> io::Result<Arc<Connection>> {
        if let Some(connection) = self.connection.get() {
            return Ok(Arc::clone(connection));
        }
        let cache = Arc::new(Cache::new(self.options.cache_size));
        let disk = self.disk_cache()?.map(Arc::new);
        let new = Connection { client: Client::new(&self.options), cache, disk };
        Ok(Arc::clone(self.connection.get_or_init(|| Arc::new(new))))
    }

    fn disk_cache(&self) -> io::Result<Option<DiskCache>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut size = self.options.disk_cache_size;
        let folder = match self.options.disk_cache_folder.clone() {
            Some(folder) => folder,
            None => {
                let Some(folder) = variable(CACHE_FOLDER) else { return Ok(None) };
                if let Some(text) = variable(CACHE_SIZE) {
                    size = text.parse().map_err(|_| {
                        let text = format!("{CACHE_SIZE} is a number of bytes, and not {text:?}");
                        RemoteError::io(ErrorKind::InvalidInput, text)
                    })?;
                }
                PathBuf::from(folder)
            }
        };
        let made = DiskCache::new(Arc::clone(&self.below), &folder, size);
        made.map(Some).map_err(|error| {
            let text = format!("the folder {folder:?} of cached files cannot be made: {error}");
            RemoteError::io(error.kind(), text)
        })
    }

    /// Where a path leads; `None` if it is not a URL.
    fn locate(&self, path: &Path) -> io::Result<Option<Located>> {
        let Some(text) = path.to_str().filter(|text| is_url(text)) else { return Ok(None) };
        // On Windows a path is joined with backslashes.
        let text: &str = &match cfg!(windows) {
            true => Cow::Owned(text.replace('\\', "/")),
            false => Cow::Borrowed(text),
        };
        let admitted = self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        let found = admitted.iter().find_map(|known| Some((known, known.place.rest(text)?)));
        if let Some((known, rest)) = found {
            let inside = known.is_database.then(|| rest.to_owned());
            return Ok(Some(Located { place: known.place.below(rest), inside }));
        }
        drop(admitted);
        Ok(Some(Located { place: self.parse(text)?, inside: None }))
    }

    /// The file at a place.
    fn file(&self, located: Located) -> io::Result<RemoteFile> {
        let Located { place, inside } = located;
        let connection = self.connection()?;
        match inside.as_deref().and_then(|inside| self.seen().at(inside)) {
            Some(Some(known)) => return Ok(RemoteFile::new(connection, place, known)),
            Some(None) => return Err(ErrorKind::NotFound.into()),
            None => {}
        }
        let looked = RemoteFile::look(connection, place.clone(), first_look(&place.shown));
        if let Some(inside) = inside {
            match &looked {
                Ok(file) => drop(self.seen().files.insert(inside, Some(file.known().clone()))),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    self.seen().files.insert(inside, None);
                }
                Err(_) => {}
            }
        }
        looked
    }

    fn stat_located(&self, located: Located) -> io::Result<Stat> {
        let Located { place, inside } = &located;
        let is_root = inside.as_deref() == Some("");
        if is_root && first_look_is_head(&place.shown) {
            return Ok(directory());
        }
        let again = Located { place: place.clone(), inside: inside.clone() };
        match self.file(located) {
            Ok(file) => file.stat(),
            Err(error)
                if error.kind() == ErrorKind::NotFound && self.check_listed(&again).is_ok() =>
            {
                match self.names(&again, 1)?.is_empty() {
                    true => Err(error),
                    false => Ok(directory()),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The names in a folder, those of folders with a slash at their end: all, or a few.
    fn names(&self, located: &Located, count: usize) -> io::Result<Vec<String>> {
        let known = located.inside.as_deref().and_then(|inside| self.seen().names(inside));
        match known {
            Some(names) => Ok(names),
            None => list(&self.connection()?.client, &located.place, count),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tells the state of the directory of a database from others. All its files are looked at
    /// once; where they are not known, it is told from all others.
    fn state_of_directory(&self, place: &Place) -> io::Result<String> {
        static UNKNOWN: AtomicU64 = AtomicU64::new(0);
        if let Some(state) = &self.seen().state {
            return Ok(state.clone());
        }
        let listed = match files_below(&self.connection()?.client, place) {
            // Who may not list may read, and some servers list for nobody.
            Err(error) if is_refusal(&error) => {
                self.seen().refusal = Some(error.to_string());
                None
            }
            listed => listed?,
        };
        let Some(mut files) = listed else {
            let state = format!("\nnot listed {}", UNKNOWN.fetch_add(1, Ordering::Relaxed));
            return Ok(self.seen().state.insert(state).clone());
        };
        // Some servers have objects that stand for folders.
        let folders = files.keys().flat_map(|path| folders_above(path)).map(str::to_owned);
        let folders: BTreeSet<String> = folders.collect();
        files.retain(|path, _| !path.ends_with('/') && !folders.contains(path));
        let state: String = files
            .iter()
            .map(|(path, Known { size, etag, .. })| format!("\n{path} {size} {etag:?}"))
            .collect();
        let files = files.into_iter().map(|(path, known)| (path, Some(known))).collect();
        *self.seen() = Seen { files, is_whole: true, state: Some(state.clone()), refusal: None };
        Ok(state)
    }

    /// Refuses a place where nobody lists names.
    fn check_listed(&self, located: &Located) -> io::Result<()> {
        let refusal = located.inside.as_ref().and_then(|_| self.seen().refusal.clone());
        let lacking = match refusal {
            Some(answer) => format!("the bucket lists no names ({answer})"),
            None if located.place.has_names() => return Ok(()),
            None => "HTTP lists no names".to_owned(),
        };
        let text = format!("{lacking}; name what is there, or open an archive");
        Err(RemoteError::io(ErrorKind::Unsupported, text))
    }

    fn list(&self, located: &Located) -> io::Result<Vec<DirectoryEntry>> {
        self.check_listed(located)?;
        let names: BTreeSet<String> = self.names(located, usize::MAX)?.into_iter().collect();
        let entry = |name: String| match name.strip_suffix('/') {
            Some(folder) => DirectoryEntry { name: folder.to_owned(), kind: FileKind::Directory },
            None => DirectoryEntry { name, kind: FileKind::File },
        };
        Ok(names.into_iter().map(entry).collect())
    }
}

/// What to read of a file at the first look.
fn first_look(path: &str) -> Wanted {
    match first_look_is_head(path) {
        true => Wanted::Range(0, HEAD_SIZE),
        false => Wanted::Last(TAIL_SIZE),
    }
}

fn first_look_is_head(path: &str) -> bool {
    let extension = Path::new(path).extension().unwrap_or_default();
    !WITH_TAIL.iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// Whether a server will not do what it was asked for, however often it is asked.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::Other)
}

/// The folders that a path is in.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn directory() -> Stat {
    Stat { kind: FileKind::Directory, device: 0, inode: 0, size: 0, modified_ns: 0, changed_ns: 0 }
}

impl FileSystem for Places {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        match self.locate(path)? {
            None => self.below.open(path, mode),
            Some(_) if mode != OpenMode::Read => read_only(),
            Some(located) => Ok(Arc::new(self.file(located)?)),
        }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        match self.locate(path)? {
            None => self.below.stat(path),
            Some(located) => self.stat_located(located),
        }
    }

    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        match self.locate(path)? {
            None => self.below.stat_link(path),
            Some(located) => self.stat_located(located),
        }
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        if self.locate(path)?.is_some() { read_only() } else { self.below.create_directory(path) }
    }

    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        match self.locate(path)? {
            None => self.below.read_directory(path),
            Some(located) => self.list(&located),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.locate(from)?.or(self.locate(to)?) {
            None => self.below.rename(from, to),
            Some(_) => read_only(),
        }
    }

    fn keep_access(&self, path: &Path, of: &Path) -> io::Result<()> {
        self.below.keep_access(path, of)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if self.locate(path)?.is_some() { read_only() } else { self.below.remove_file(path) }
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        if self.locate(path)?.is_some() { read_only() } else { self.below.remove_directory(path) }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if self.locate(path)?.is_some() { read_only() } else { self.below.sync_directory(path) }
    }

    fn is_network(&self, path: &Path) -> bool {
        match self.locate(path) {
            Ok(None) => self.below.is_network(path),
            _ => true,
        }
    }

    fn now(&self) -> SystemTime {
        self.below.now()
    }

    fn admit(&self, path: &str) -> io::Result<String> {
        if !is_url(path) || path_of_file_url(path).is_some() {
            return self.below.admit(path);
        }
        let place = self.parse(path)?;
        let shown = place.shown.clone();
        if place.has_secrets() {
            self.remember(Admitted { place, is_database: false });
        }
        Ok(shown)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let Some(Located { place, inside }) = self.locate(path)? else {
            return self.below.canonical(path);
        };
        // Two handles share what they have read only if the server would tell both the same.
        let mut text = place.secrets().join("\n");
        match inside.as_deref() {
            Some("") if first_look_is_head(&place.shown) => {
                text.push_str(&self.state_of_directory(&place)?);
            }
            Some(inside) => {
                if let Some(known) = self.seen().at(inside).flatten() {
                    text.push_str(&known.identity(&place).to_string());
                }
            }
            None => {}
        }
        let sum = xxh3_64(text.as_bytes());
        Ok(PathBuf::from(format!("{}#{sum:016x}", place.shown)))
    }
    fn upload(&self, path: &Path, size: u64) -> io::Result<Option<Arc<dyn Upload>>> {
        match self.locate(path)? {
            None => self.below.upload(path, size),
            Some(Located { place, .. }) => {
                Ok(Some(Arc::new(BucketUpload::new(self.connection()?, place, size)?)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    use folio_file::MemoryFileSystem;

    use crate::surroundings::within;

    /// The address of a bucket that has the file `db/folio.json`, and answers listings with a status.
    fn bucket(status: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut head = BufReader::new(&stream).lines().map_while(Result::ok);
                let line = head.next().unwrap_or_default();
                head.take_while(|line| !line.is_empty()).for_each(drop);
                let (status, body) = if line.contains("list-type") {
                    (status, "")
                } else if line.contains("/db/folio.json") {
                    ("206 Partial\r\nContent-Range: bytes 0-1/2", "{}")
                } else {
                    ("404 Not Found", "")
                };
                let size = body.len();
                let head = format!("{status}\r\nConnection: close\r\nContent-Length: {size}");
                let answer = format!("HTTP/1.1 {head}\r\nETag: \"e\"\r\n\r\n{body}");
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    #[test]
    fn files_of_a_bucket_that_refuses_to_list_are_read_by_their_names() {
        let open = |status: &'static str| {
            let address = bucket(status);
            let variables = [("AWS_ENDPOINT_URL", &*address)];
            let place = within(&variables, &[], |around| Place::parse("s3://b/db", around));
            let options = RemoteOptions { retry_count: 0, ..RemoteOptions::default() };
            let places = Places::new(Arc::new(MemoryFileSystem::new()), options);
            places.remember(Admitted { place: place.unwrap(), is_database: true });
            places.canonical(Path::new("s3://b/db")).map(|_| places)
        };
        for status in ["400 Bad", "401 No", "403 No", "404 None", "405 No", "501 No"] {
            let places = open(status).unwrap();
            assert!(places.open(Path::new("s3://b/db/folio.json"), OpenMode::Read).is_ok());
            let missing = places.stat(Path::new("s3://b/db/tables.folio")).unwrap_err();
            assert_eq!(missing.kind(), ErrorKind::NotFound, "{status}");
            let refused = places.read_directory(Path::new("s3://b/db/collections")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unsupported, "{status}");
            assert!(refused.to_string().contains(&status[..3]), "{refused}");
        }
        // It may list later.
        assert!(open("503 Busy").unwrap_err().to_string().contains("503"));
    }
}
