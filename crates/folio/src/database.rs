//! A database: a directory of collections, or a `.zds` archive of one.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use folio_document::archive::{self, PackOptions, PackReport, UnpackReport};
use folio_document::{Access, Notice, Progress, Stamp, Version};
use folio_file::FileSystem;
use folio_json::Tree;
use folio_types::{check_collection_name, near_match};

use crate::backup::{BackupReport, backup};
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::location::{self, Found, Location};
use crate::options::{CollectionOptions, OpenOptions};
use crate::unpack::unpack;
use crate::write::{admitted, check_finished, upload_target};
use crate::{descriptor, store, types};

/// An open database. Cheap to clone. It closes when the last clone and everything opened from it
/// are dropped.
#[derive(Debug, Clone)]
pub struct Database {
    handle: Arc<Handle>,
}

impl Database {
    /// Opens a database for reading and writing; a missing one is created at the first write. A
    /// `.zds` archive opens read-only, and so does a database at a URL (`https://…`, `s3://…`).
    /// `:memory:` is a new database in memory, which is gone when
    /// its handle is dropped.
    ///
    /// # Errors
    /// `unsupported` for a newer format version, `invalid_input` when something
    /// else is at the path, `io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a database with options.
    ///
    /// # Errors
    /// As [`Database::open`], and `not_found` when the database is missing and
    /// the options do not create it.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = &*location::plain(path.as_ref(), options)?;
        let found = location::find(path, options)?;
        if found.is_at_url() {
            let path = found.root.clone(); // without the secrets of the URL
            return Self::open_found(&path, found, options);
        }
        check_finished(&*found.files, &found.root)?;
        Self::open_found(path, found, options)
    }

    /// Opens a directory that this process is still building.
    #[cfg(feature = "sql")]
    pub(crate) fn open_unfinished(path: &Path) -> Result<Self> {
        let options = OpenOptions::default();
        Self::open_found(path, location::find(path, &options)?, &options)
    }

    fn open_found(path: &Path, found: Found, options: &OpenOptions) -> Result<Self> {
        let (access, is_archive) = match found.kind {
            Location::Archive => (Access::Read, true),
            Location::Url => (Access::Read, false),
            Location::Directory | Location::Missing => (options.access, false),
        };
        let descriptor = descriptor::read(&*found.files, &found.root)?;
        let may_create = access == Access::ReadWrite && options.create;
        if descriptor.is_none() && !is_archive && !may_create {
            location::check_is_database(&*found.files, path, &found.root)?;
        }
        let store = store::attach(found, options, descriptor.is_some())?;
        if access == Access::ReadWrite {
            store.finish_drops();
        }
        let how = (access, options.lock_timeout);
        Ok(Self { handle: Arc::new(Handle::new(store, how, path.to_owned(), is_archive)) })
    }

    /// Another handle on the same database that takes no writes, and sees what is flushed, like one
    /// in another process. Also of a database in memory.
    ///
    /// # Errors
    /// `closed`.
    pub fn read_only(&self) -> Result<Self> {
        self.handle.check_open()?;
        let path = self.path().to_owned();
        let Some(store) = self.handle.store.again() else { return Err(Error::Closed { path }) };
        let is_archive = self.handle.is_archive;
        let how = (Access::Read, self.handle.lock_timeout);
        Ok(Self { handle: Arc::new(Handle::new(store, how, path, is_archive)) })
    }

    #[cfg(feature = "sql")]
    pub(crate) fn of(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    /// The path as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.handle.path
    }

    /// Whether the handle takes writes.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.handle.is_writable()
    }

    /// A collection by name. On a writable handle it need not exist yet: the first write creates
    /// it. The file is checked for changes, even if the process has the collection open, unless it
    /// is writing to it.
    ///
    /// # Errors
    /// `invalid_input` for a bad name; `not_found` for the name of a table. On a read-only handle,
    /// `not_found` with the nearest existing name.
    pub fn collection(&self, name: &str) -> Result<Collection> {
        self.collection_with(name, &CollectionOptions::default())
    }

    /// A collection with its own layout or schema.
    ///
    /// # Errors
    /// As [`Database::collection`], and `invalid_input` when the process has it open with other
    /// options.
    pub fn collection_with(&self, name: &str, options: &CollectionOptions) -> Result<Collection> {
        self.handle.check_open()?;
        check_collection_name(name)?;
        let store = &self.handle.store;
        let is_new = !location::is_collection(&*store.files, &store.root, name);
        // SQL would show the table, and hide a collection of its name.
        if is_new && (!self.is_writable() || self.has_table(name).unwrap_or(false)) {
            return Err(self.no_collection(name));
        }
        let shared = store.current_collection(name, self.handle.access, options)?;
        Ok(Collection::new(shared, Arc::clone(&self.handle)))
    }

    /// An existing collection by name, even on a writable handle.
    ///
    /// # Errors
    /// As [`Database::collection`] on a read-only handle.
    pub fn existing_collection(&self, name: &str) -> Result<Collection> {
        let collection = self.collection(name)?;
        let is_on_disk = || location::is_collection(&**self.files(), self.root(), name);
        if !collection.is_created() && !is_on_disk() {
            return Err(self.no_collection(name));
        }
        Ok(collection)
    }

    /// Drops a collection with all its documents. Its handles report `closed` from now on.
    ///
    /// # Errors
    /// `not_found`, with the nearest existing name; `invalid_input` while this thread has a batch
    /// open on it; `locked`, `read_only`, `io`.
    pub fn drop_collection(&self, name: &str) -> Result<()> {
        self.handle.check_writable()?;
        check_collection_name(name)?;
        self.check_exists(name)?;
        self.handle.store.drop_collection(name)
    }

    /// Renames a collection. Its handles report `closed` from now on.
    ///
    /// # Errors
    /// As [`Database::drop_collection`]; `invalid_input` for a bad name, `conflict` when a
    /// collection or a table has the name.
    pub fn rename_collection(&self, name: &str, new_name: &str) -> Result<()> {
        self.handle.check_writable()?;
        check_collection_name(name)?;
        check_collection_name(new_name)?;
        self.check_exists(name)?;
        if name == new_name {
            return Ok(());
        }
        if self.collections()?.iter().any(|other| other == new_name) || self.has_table(new_name)? {
            return Err(Error::NameTaken { name: new_name.to_owned() });
        }
        self.handle.store.rename_collection(name, new_name)
    }

    /// The names of all collections, sorted.
    ///
    /// # Errors
    /// `io`.
    pub fn collections(&self) -> Result<Vec<String>> {
        self.handle.check_open()?;
        let mut names = location::collection_names(&**self.files(), self.root())?;
        if self.is_writable() {
            names.extend(self.handle.store.open_names());
            names.sort_unstable();
            names.dedup();
        }
        Ok(names)
    }

    /// Creates an empty database on disk. The first write does this automatically.
    ///
    /// # Errors
    /// `locked`, `read_only`, `io`.
    pub fn create(&self) -> Result<()> {
        self.handle.check_writable()
    }

    /// Makes every write so far durable, in all collections.
    ///
    /// # Errors
    /// An error of the device.
    pub fn flush(&self) -> Result<()> {
        self.handle.check_open()?;
        self.handle.store.flush()
    }

    /// Flushes and closes. Everything opened from this handle reports `closed` from now on; other
    /// handles of the process on the same database stay open.
    ///
    /// # Errors
    /// An error of the device; the handle is closed all the same.
    pub fn close(&self) -> Result<()> {
        self.handle.close()
    }

    /// Copies the whole database to a new directory, while writers continue: each collection, and
    /// the tables together, as of one moment each, one after the other. See [`crate::backup`].
    ///
    /// # Errors
    /// `conflict` when the target exists, `io`; `cancelled` when `progress` answers `false`. No
    /// target is left then.
    pub fn backup(&self, target: impl AsRef<Path>, progress: Progress<'_>) -> Result<BackupReport> {
        self.handle.check_open()?;
        backup(&self.handle, target.as_ref(), progress)
    }

    /// Packs the live documents of all collections into one `.zds` archive, which replaces an
    /// existing file. The target may be in a bucket, `s3://`, `gs://` or `az://`: the archive is
    /// sent in parts while it is packed, and appears when all have arrived.
    ///
    /// # Errors
    /// `invalid_input` for a database that is already an archive, or a target that is not a file;
    /// `unsupported` for a URL that takes no files; `io`; `cancelled` when `progress` answers
    /// `false`. The target is unchanged then.
    pub fn pack(
        &self,
        target: impl AsRef<Path>,
        options: &PackOptions,
        progress: Progress<'_>,
    ) -> Result<PackReport> {
        self.handle.check_open()?;
        if self.handle.is_archive {
            let path = self.path();
            return Err(Error::Invalid(format!("{path:?} is already an archive; copy the file")));
        }
        if self.is_writable() {
            self.flush()?;
        }
        let target = upload_target(&**self.host(), target.as_ref())?;
        let known = self.known_types()?;
        let types = |name: &str, stamp: &Stamp| {
            let (types, version) = known.get(name)?;
            // What was packed is of this version if the collection still is.
            let is_same = self.collection(name).ok()?.version().ok()? == *version;
            is_same.then(|| types::file_for(stamp, types))?
        };
        let (files, host) = (self.files(), &**self.host());
        let mut report =
            archive::pack(files, self.root(), host, &target, options, &types, progress)?;
        if self.tables()?.exist() {
            let text = "the archive has no tables, only collections; `folio backup` copies both";
            report.notices.push(Notice(text.to_owned()));
        }
        Ok(report)
    }

    /// The types of all collections, and of which versions they are.
    fn known_types(&self) -> Result<HashMap<String, (Arc<Tree>, Version)>> {
        let names = self.collections()?.into_iter();
        // An archive can do without those that cannot be read now.
        let known = names.filter_map(|name| {
            let types = self.collection(&name).and_then(|found| found.types_of_version()).ok()?;
            Some((name, types))
        });
        Ok(known.collect())
    }

    /// Unpacks a `.zds` archive, a file or at a URL, into a database directory, which must be missing
    /// or empty. The directory appears once it is complete, indexed and durable.
    ///
    /// # Errors
    /// `corrupted` for a damaged archive; `invalid_input` for one that is refused (names that lead
    /// out of it, links, too much content); `conflict` for a target that is not empty; `io`;
    /// `cancelled` when `progress` answers `false`. No target is left then.
    pub fn unpack(
        archive: impl AsRef<Path>,
        target: impl AsRef<Path>,
        progress: Progress<'_>,
    ) -> Result<UnpackReport> {
        let files = location::host(&OpenOptions::default());
        let archive = admitted(&*files, archive.as_ref(), "read")?;
        unpack(&files, &archive, target.as_ref(), progress)
    }

    /// What was noticed since the last call: of the place at the first one, then of the open
    /// collections, as [`Collection::take_notices`] has it. Statements open collections too.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        let Handle { store, has_told_network, .. } = &*self.handle;
        let mut notices = store.take_notices();
        self.handle.retain_telling(&mut notices);
        let has_told = has_told_network.swap(true, Ordering::Relaxed);
        if !has_told && self.is_writable() && store.files.is_network(&store.root) {
            let text = format!(
                "database {:?} is on a network file system, where locks and syncs may be \
                 unreliable; use one writer, and make backups",
                self.path()
            );
            notices.insert(0, Notice(text));
        }
        notices
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    pub(crate) fn files(&self) -> &Arc<dyn FileSystem> {
        &self.handle.store.files
    }

    pub(crate) fn host(&self) -> &Arc<dyn FileSystem> {
        &self.handle.store.host
    }

    pub(crate) fn root(&self) -> &Path {
        &self.handle.store.root
    }

    /// Checks without opening, so that a mistyped name creates no collection.
    fn check_exists(&self, name: &str) -> Result<()> {
        let is_there = self.collections()?.iter().any(|other| other == name);
        if is_there { Ok(()) } else { Err(self.no_collection(name)) }
    }

    /// Whether a table or a view has the name.
    pub(crate) fn has_table(&self, name: &str) -> Result<bool> {
        let tables = self.tables()?.list()?;
        Ok(tables.iter().any(|table| table.name.eq_ignore_ascii_case(name)))
    }

    fn no_collection(&self, name: &str) -> Error {
        let hint = match self.collections() {
            Ok(_) if self.has_table(name).unwrap_or(false) => {
                "that is a table, which SQL reads and changes".to_owned()
            }
            Ok(names) => near_or_all(name, &names)
                .unwrap_or_else(|| "the database has no collections yet".to_owned()),
            Err(error) if location::is_unlisted(&error) => {
                "check the name, which HTTP does not list".to_owned()
            }
            Err(error) => return error,
        };
        Error::NoCollection { name: name.to_owned(), database: self.path().to_owned(), hint }
    }
}

/// Suggests the nearest existing name, or lists them; `None` when there are none.
pub(crate) fn near_or_all(name: &str, names: &[String]) -> Option<String> {
    match near_match(name, names) {
        Some(near) => Some(format!("did you mean {near:?}?")),
        None if names.is_empty() => None,
        None => Some(format!("available: {}", quoted_list(names))),
    }
}

/// `"a", "b" and "c"`, truncated after a few.
fn quoted_list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match (names.len().saturating_sub(SHOWN), quoted.split_last()) {
        (0, Some((last, first))) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (0, _) => quoted.concat(),
        (more, _) => format!("{} and {more} more", quoted.join(", ")),
    }
}
