//! What all handles of one process on one database share.
//!
//! If two handles each had their own index and end-of-file, they would overwrite each other, and
//! each would wait for the writer's lock that the other holds. So a process has one [`Store`] per
//! database, found through a registry of weak references keyed by the canonical path. The registry
//! is the one exception to "no global mutable state": only a global can see that `open("data")` and
//! `open("./data/")` mean the same files. A store is dropped with its last handle.
//!
//!
//! Handles share as much as they can: always the writer's lock, and the open collections with every
//! handle of the same [`Access`]. A read-only handle has its own collections, which behave as in
//! another process: they never write, and follow a writer with `refresh`.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use folio_document::{Access, LockTimeout, Notice};
use folio_file::{FileSystem, WriterLock};
use folio_table::{Options, TableStore, Users};

#[cfg(feature = "sql")]
use crate::columns::{self, keeper::Keeper};
use crate::descriptor;
use crate::error::{Error, Result};
#[cfg(feature = "sql")]
use crate::known::Known;
use crate::location::{self, Found};
use crate::lock::lock;
use crate::options::{CollectionOptions, OpenOptions};
#[cfg(feature = "sql")]
use crate::row_parts::{OpenParts, PartFolder};
use crate::types::KnownTypes;
use crate::write::create_directory;
use crate::write_behind::{Pending, WriteBehind};

/// The file whose lock is the writer's lock.
pub(crate) const LOCK_FILE_NAME: &str = "folio.lock";

/// A table log up to this size, in bytes, is not checkpointed on close; the next open reads it.
const LOG_SIZE_TO_LEAVE: u64 = 1 << 20;

/// How long a process that yields leaves the lock to others, which poll every 20 ms, and how long
/// it waits for its own transaction to end.
const TURN: Duration = Duration::from_millis(100);

/// How long a yielding process waits for its flush at most.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// The open database shared by its handles.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) files: Arc<dyn FileSystem>,
    /// The file system for paths that the user names: the same as `files` except for an archive.
    pub(crate) host: Arc<dyn FileSystem>,
    /// The directory as `files` names it; for an archive, a path inside it.
    pub(crate) root: PathBuf,
    options: OpenOptions,
    lock: Arc<WriterLock>,
    /// That of the handle that wrote last. Two threads that write through two handles at the same
    /// moment wait as long as either says.
    lock_timeout: LockTimeout,
    has_descriptor: AtomicBool,
    /// Held while the database is created: the writer's lock excludes other processes, not the
    /// threads of this one.
    creation: Mutex<()>,
    collections: Mutex<OpenCollections>,
    /// The tables once they are used: one store to write and one to read.
    table_stores: Mutex<TableStores>,
    /// Held while the tables are opened to write, which may wait for another process, and while they
    /// are closed. Reading waits for neither.
    opening: Mutex<()>,
    /// Relations of tables and of collections, as SQL sees them.
    #[cfg(feature = "sql")]
    pub(crate) known: Known,
    /// Parts of columns indexes of tables.
    #[cfg(feature = "sql")]
    pub(crate) open_parts: OpenParts,
    write_behind: WriteBehind,
    /// The number of open handles. At zero the store is dead and accepts no more.
    handle_count: AtomicUsize,
}

/// The tables of a database, opened at the first statement that needs them.
#[derive(Debug, Default)]
struct TableStores {
    writing: Option<TableStore>,
    reading: Option<TableStore>,
    /// The database is closed: nothing is opened to write.
    is_closed: bool,
}

/// The open collections by name, those of read-only handles apart.
#[derive(Debug, Default)]
struct OpenCollections {
    reading: CollectionsByName,
    writing: CollectionsByName,
}

type CollectionsByName = HashMap<String, OpenCollection, RandomState>;

impl OpenCollections {
    fn of(&mut self, access: Access) -> &mut CollectionsByName {
        match access {
            Access::Read => &mut self.reading,
            Access::ReadWrite => &mut self.writing,
        }
    }
}

#[derive(Debug)]
struct OpenCollection {
    shared: SharedCollection,
    options: CollectionOptions,
}

/// A collection with its types, as all handles of one access share it.
#[derive(Debug, Clone)]
pub(crate) struct SharedCollection {
    pub(crate) core: folio_document::Collection,
    pub(crate) types: Arc<KnownTypes>,
    #[cfg(feature = "sql")]
    keeper: Arc<Keeper>,
}

impl SharedCollection {
    /// Called after a flush: keeps the types if that is worthwhile, and has columns brought up to
    /// date.
    pub(crate) fn keep(&self) {
        self.note_lines();
        self.types.keep(&self.core, false);
    }

    /// Has columns brought up to date, if much is missing, behind the caller where there is a disk.
    pub(crate) fn note_lines(&self) {
        #[cfg(feature = "sql")]
        self.keeper.note(&self.core, &self.types);
    }

    /// Brings columns up to date, if much is missing.
    pub(crate) fn keep_columns(&self) {
        let _left = self.leave_columns();
        #[cfg(feature = "sql")]
        columns::keep(&self.core, &self.types, columns::Effort::whole());
    }

    /// Makes all columns again.
    #[cfg(feature = "sql")]
    pub(crate) fn remake_columns(&self) -> Result<()> {
        let _left = self.leave_columns();
        columns::remake(&self.core, &self.types)
    }

    /// The same: this build makes no columns.
    #[cfg(not(feature = "sql"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the twin needs them")]
    pub(crate) fn remake_columns(&self) -> Result<()> {
        Ok(())
    }

    /// Waits until nothing is made of the collection behind its writer. Nothing is while the result
    /// lives.
    pub(crate) fn leave_columns(&self) -> impl Sized {
        #[cfg(feature = "sql")]
        self.keeper.leave()
    }

    /// Problems of the values in columns: of one index, or of all.
    #[cfg(feature = "sql")]
    pub(crate) fn check_columns(&self, name: Option<&str>) -> Result<Vec<String>> {
        columns::check(&self.core, &self.types, name)
    }

    /// The same: this build reads no columns.
    #[cfg(not(feature = "sql"))]
    #[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the twin needs them")]
    pub(crate) fn check_columns(&self, _: Option<&str>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Closes the collection, for every handle, and keeps its types.
    fn close(&self) -> folio_document::Result<()> {
        self.keep_columns();
        self.types.keep(&self.core, true);
        self.core.close()
    }
}

/// The key of a store in the registry.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    /// A forked child inherits the registry, but must not use its parent's stores.
    process: u32,
    /// The address of the file system; 0 for the disk.
    file_system: usize,
    path: PathBuf,
}

static STORES: Mutex<Vec<(Key, Weak<Store>)>> = Mutex::new(Vec::new());

/// Returns the store of a database: the one that this process has open, or a new one.
///
/// # Errors
/// `invalid_input` when the process has it open with another durability.
pub(crate) fn attach(
    found: Found,
    options: &OpenOptions,
    has_descriptor: bool,
) -> Result<Arc<Store>> {
    let Found { files, host, root, canonical, .. } = found;
    let address = |files: &Arc<dyn FileSystem>| Arc::as_ptr(files).cast::<()>() as usize;
    let file_system = options.file_system.as_ref().map_or(0, address);
    let key = Key { process: process::id(), file_system, path: canonical };
    let mut stores = lock(&STORES);
    stores.retain(|(_, store)| store.strong_count() > 0);
    let known =
        stores.iter().filter(|(other, _)| *other == key).find_map(|(_, store)| store.upgrade());
    if let Some(store) = known.filter(|store| store.handle_count.load(Ordering::Acquire) > 0) {
        store.check_durability(options)?;
        store.handle_count.fetch_add(1, Ordering::AcqRel);
        return Ok(store);
    }
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), root.join(LOCK_FILE_NAME)));
    let store = Arc::new(Store {
        files,
        host,
        root,
        options: options.clone(),
        lock,
        lock_timeout: options.lock_timeout.into(),
        has_descriptor: AtomicBool::new(has_descriptor),
        creation: Mutex::default(),
        collections: Mutex::default(),
        table_stores: Mutex::default(),
        opening: Mutex::default(),
        #[cfg(feature = "sql")]
        known: Known::default(),
        #[cfg(feature = "sql")]
        open_parts: OpenParts::default(),
        write_behind: WriteBehind::new(options.write_behind, options.file_system.is_none()),
        handle_count: AtomicUsize::new(1),
    });
    stores.retain(|(other, _)| *other != key);
    stores.push((key, Arc::downgrade(&store)));
    Ok(store)
}

impl Store {
    /// The same store for one more handle; `None` once it is dead.
    pub(crate) fn again(self: &Arc<Self>) -> Option<Arc<Self>> {
        let _registry = lock(&STORES);
        let count = self.handle_count.load(Ordering::Acquire);
        (count > 0).then(|| {
            self.handle_count.store(count + 1, Ordering::Release);
            Arc::clone(self)
        })
    }
}

/// Makes every write so far durable, and brings columns up to date, in all databases that this
/// process has open. Bindings call it when the process ends. Open batches are not written. A forked child flushes nothing of its
/// parent's. A database that was removed is a notice: there is nowhere to write to.
///
/// # Errors
/// The first failure; the other databases are flushed all the same.
pub fn flush_all() -> Result<Vec<Notice>> {
    let process = process::id();
    let open: Vec<Arc<Store>> = lock(&STORES)
        .iter()
        .filter(|(key, _)| key.process == process)
        .filter_map(|(_, store)| store.upgrade())
        .collect();
    let results: Vec<_> = open.iter().map(|store| store.flush_at_end()).collect();
    results.into_iter().filter_map(Result::transpose).collect()
}

/// Whether a collection exists, if only in memory.
fn is_there(collection: &folio_document::Collection) -> bool {
    collection.is_created() || collection.count().is_ok_and(|count| count > 0)
}

impl Store {
    /// Where the columns indexes of tables are.
    #[cfg(feature = "sql")]
    pub(crate) fn part_folder(&self) -> PartFolder<'_> {
        PartFolder { files: &*self.files, root: &self.root, open: &self.open_parts }
    }

    /// Refuses a second handle with another durability, which could weaken its promises.
    fn check_durability(&self, options: &OpenOptions) -> Result<()> {
        if options.access == Access::Read || options.durability == self.options.durability {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "database {:?} is open in this process with durability {:?}, not {:?}; \
             open it with the same, or close the other handle first",
            self.root, self.options.durability, options.durability
        )))
    }

    /// The collection in its current state: opened at the first call, shared and refreshed on later
    /// calls.
    pub(crate) fn current_collection(
        &self,
        name: &str,
        access: Access,
        options: &CollectionOptions,
    ) -> Result<SharedCollection> {
        let (collection, is_new) = self.shared_collection(name, access, options)?;
        if !is_new {
            collection.core.try_refresh()?;
        }
        Ok(collection)
    }

    /// The collection, opened at the first call and shared afterwards.
    #[cfg(feature = "sql")]
    pub(crate) fn collection(
        &self,
        name: &str,
        access: Access,
        options: &CollectionOptions,
    ) -> Result<SharedCollection> {
        self.shared_collection(name, access, options).map(|(collection, _)| collection)
    }

    /// The collection, and whether this call opened it.
    fn shared_collection(
        &self,
        name: &str,
        access: Access,
        options: &CollectionOptions,
    ) -> Result<(SharedCollection, bool)> {
        let mut collections = lock(&self.collections);
        let collections = collections.of(access);
        if let Some(open) = collections.get(name) {
            let settled = *options == CollectionOptions::default() || *options == open.options;
            return if settled {
                Ok((open.shared.clone(), false))
            } else {
                Err(Error::Invalid(format!(
                    "collection {name:?} is open in this process with other options; close it first"
                )))
            };
        }
        let core = folio_document::Collection::open(
            Arc::clone(&self.files),
            &self.root,
            name,
            &self.core_options(access, options),
            Arc::clone(&self.lock),
        )?;
        let shared = SharedCollection {
            core,
            types: Arc::default(),
            #[cfg(feature = "sql")]
            keeper: Arc::new(Keeper::new(self.options.file_system.is_none())),
        };
        let open = OpenCollection { shared: shared.clone(), options: options.clone() };
        collections.insert(name.to_owned(), open);
        Ok((shared, true))
    }

    // `..` fills fields that exist in test builds only.
    #[allow(clippy::needless_update)]
    fn core_options(
        &self,
        access: Access,
        options: &CollectionOptions,
    ) -> folio_document::CollectionOptions {
        folio_document::CollectionOptions {
            access,
            durability: self.options.durability,
            layout: options.layout,
            strict: options.strict.clone(),
            lock_timeout: self.lock_timeout.clone(),
            cache_size: self.options.cache_size,
            ..folio_document::CollectionOptions::default()
        }
    }

    /// Called before every write, which waits as long as its handle says. The first one makes the
    /// directory a database.
    pub(crate) fn prepare_write(&self, lock_timeout: Duration) -> Result<()> {
        self.lock_timeout.set(lock_timeout);
        if self.has_descriptor.load(Ordering::Acquire) {
            return Ok(());
        }
        self.create()
    }

    /// Writes `folio.json` under the writer's lock, unless it exists by now.
    #[cold]
    pub(crate) fn create(&self) -> Result<()> {
        let _creating = lock(&self.creation);
        create_directory(&*self.files, &self.root)?;
        let _guard = self.lock.acquire(self.lock_timeout.get()).map_err(Error::lock(&self.root))?;
        if descriptor::read(&*self.files, &self.root)?.is_none() {
            descriptor::write(&self.files, &self.root)?;
        }
        self.has_descriptor.store(true, Ordering::Release);
        Ok(())
    }

    /// The names of collections created through this process, including those still only in memory.
    pub(crate) fn open_names(&self) -> Vec<String> {
        let open = self.writers();
        let there = open.iter().map(|open| &open.core).filter(|core| is_there(core));
        there.map(|core| core.name().to_owned()).collect()
    }

    /// What was noticed of the open collections since the last call.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        let collections = lock(&self.collections);
        let mut open: Vec<_> = collections.reading.iter().chain(&collections.writing).collect();
        open.sort_by_key(|(name, _)| *name);
        open.into_iter().flat_map(|(_, open)| open.shared.core.take_notices()).collect()
    }

    /// The collection of exactly this name, if it is open and exists. Lists no folder: statements
    /// ask each time they run.
    #[cfg(feature = "sql")]
    pub(crate) fn open_collection(&self, name: &str, access: Access) -> Option<SharedCollection> {
        let mut collections = lock(&self.collections);
        let shared = collections.of(access).get(name)?.shared.clone();
        drop(collections);
        let is_there = match access {
            Access::ReadWrite => is_there(&shared.core),
            Access::Read => location::is_collection(&*self.files, &self.root, name),
        };
        is_there.then_some(shared)
    }

    /// Makes every write so far durable.
    pub(crate) fn flush(&self) -> Result<()> {
        self.flush_each(folio_document::Collection::flush)
    }

    /// Called after each write that a flush would make durable.
    #[inline]
    pub(crate) fn note_write(self: &Arc<Self>) {
        self.write_behind.note_write(self);
    }

    /// Flushes every collection, and keeps its types if that is worthwhile. Returns the first
    /// failure.
    fn flush_each(
        &self,
        flush: impl Fn(&folio_document::Collection) -> folio_document::Result<()>,
    ) -> Result<()> {
        let results: Vec<_> = self
            .writers()
            .iter()
            .map(|shared| flush(&shared.core).inspect(|()| shared.keep()))
            .collect();
        results.into_iter().try_for_each(|result| Ok(result?))
    }

    /// What is behind the writer by now ends with the process.
    fn flush_at_end(&self) -> Result<Option<Notice>> {
        let flushed = self.flush_pending().and_then(|()| self.check_lock());
        // A sync may have failed behind the program, and nobody been told.
        let flushed =
            flushed.and_then(|()| self.flush_each(folio_document::Collection::check_writable));
        let found = self.files.stat(&self.root);
        if flushed.is_err() && found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let root = &self.root;
            let text = format!(
                "the database {root:?} was removed while it was open; the last writes are lost"
            );
            return Ok(Some(Notice(text)));
        }
        self.writers().iter().for_each(SharedCollection::keep_columns);
        flushed.map(|()| None)
    }

    /// Checks the lock that a collection still holds. One that has found its database gone, behind the
    /// program, is not flushed any more, and has told nobody.
    fn check_lock(&self) -> Result<()> {
        let is_of_tables = lock(&self.table_stores).writing.is_some();
        if is_of_tables || !self.lock.is_held_here() {
            return Ok(());
        }
        let checked = self.lock.try_acquire().and_then(|guard| guard.check());
        checked.map_err(Error::lock(&self.root))
    }

    fn writers(&self) -> Vec<SharedCollection> {
        lock(&self.collections).writing.values().map(|open| open.shared.clone()).collect()
    }

    /// Closes one collection for every handle of this access; the next use opens it again.
    pub(crate) fn close_collection(&self, name: &str, access: Access) -> Result<()> {
        let open = lock(&self.collections).of(access).remove(name);
        open.map_or(Ok(()), |open| Ok(open.shared.close()?))
    }

    /// Drops a collection, for every handle.
    pub(crate) fn drop_collection(&self, name: &str) -> Result<()> {
        self.with_closed(name, || {
            Ok(folio_document::drop_collection(&*self.files, &self.root, name)?)
        })
    }

    /// Removes what a killed drop has left, unless another process writes, which may be dropping now.
    pub(crate) fn finish_drops(&self) {
        if folio_document::is_dropped_left(&*self.files, &self.root)
            && let Ok(_guard) = self.lock.try_acquire()
        {
            folio_document::remove_dropped(&*self.files, &self.root);
        }
    }

    /// Renames a collection, for every handle.
    pub(crate) fn rename_collection(&self, name: &str, new_name: &str) -> Result<()> {
        self.with_closed(name, || {
            Ok(folio_document::rename_collection(&*self.files, &self.root, name, new_name)?)
        })
    }

    /// Runs `work` on the folder of a collection while nothing has the collection open.
    fn with_closed(&self, name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let _guard = self.lock.acquire(self.lock_timeout.get()).map_err(Error::lock(&self.root))?;
        // Held to the end, so that no thread opens it in between.
        let mut collections = lock(&self.collections);
        for access in [Access::Read, Access::ReadWrite] {
            if let Some(open) = collections.of(access).remove(name) {
                let _left = open.shared.leave_columns();
                open.shared.core.close()?;
            }
        }
        let is_on_disk = location::is_collection(&*self.files, &self.root, name);
        let done = if is_on_disk { work() } else { Ok(()) };
        #[cfg(feature = "sql")]
        self.known.collections.forget(name);
        done
    }

    /// The tables to read; `None` where there are none yet. Takes no lock: until this process
    /// writes, it reads like another process and follows the writer.
    pub(crate) fn tables(&self) -> Result<Option<TableStore>> {
        let mut stores = lock(&self.table_stores);
        if let Some(store) = &stores.writing {
            return Ok(Some(store.clone()));
        }
        if let Some(store) = &stores.reading
            && !store.is_stale()?
        {
            return Ok(Some(store.clone()));
        }
        if !TableStore::exists(&*self.files, &self.root) {
            return Ok(None);
        }
        let store = TableStore::open(&self.files, &self.root, self.table_options(true))?;
        stores.reading = Some(store.clone());
        Ok(Some(store))
    }

    /// The tables to write, created if missing. The first call takes the writer's lock, after waiting
    /// up to `timeout` for another process. This one holds it until it closes the database or yields.
    pub(crate) fn tables_to_write(self: &Arc<Self>, timeout: Duration) -> Result<TableStore> {
        let start = Instant::now();
        if let Some(store) = self.open_to_write()? {
            return Ok(store);
        }
        let _opening = lock(&self.opening);
        if let Some(store) = self.open_to_write()? {
            return Ok(store);
        }
        let lock_timeout = Some(timeout.saturating_sub(start.elapsed()));
        let options = Options { lock_timeout, ..self.table_options(false) };
        let store = TableStore::open(&self.files, &self.root, options)?;
        #[cfg(feature = "sql")]
        if self.part_folder().exists() {
            // What is left there only takes space.
            let _ = crate::row_parts::remove_unused(self.part_folder(), store.snapshot().reader());
        }
        let mut stores = lock(&self.table_stores);
        self.note_write();
        (stores.writing, stores.reading) = (Some(store.clone()), None);
        Ok(store)
    }

    /// The tables to write, if they are open.
    fn open_to_write(self: &Arc<Self>) -> Result<Option<TableStore>> {
        let stores = lock(&self.table_stores);
        self.note_write();
        if stores.is_closed {
            return Err(Error::Closed { path: self.root.clone() });
        }
        Ok(stores.writing.clone())
    }

    /// Runs `work` while nothing has the tables open. The next use opens them again.
    pub(crate) fn without_tables<T>(
        &self,
        work: impl FnOnce() -> folio_table::Result<T>,
    ) -> Result<T> {
        let _opening = lock(&self.opening);
        let mut stores = lock(&self.table_stores);
        (stores.writing, stores.reading) = (None, None);
        Ok(work()?)
    }

    /// Closes the tables in a state that is quick to open.
    fn close_tables(&self) {
        let _opening = lock(&self.opening);
        let closed = TableStores { is_closed: true, ..TableStores::default() };
        let stores = std::mem::replace(&mut *lock(&self.table_stores), closed);
        stores.writing.into_iter().for_each(let_go);
    }

    /// Whether another process waits for this process's writer lock.
    pub(crate) fn is_wanted(&self) -> bool {
        self.lock.is_wanted()
    }

    /// Leaves the released writer lock to other processes for a turn.
    pub(crate) fn leave_turn(&self) {
        self.lock.yield_lock(TURN);
    }

    /// Gives the writer lock back if it was promised to another process. A thread that begins one
    /// statement after the other leaves the thread behind the writer no moment to do so.
    #[cfg(feature = "sql")]
    pub(crate) fn keep_promise(&self) {
        if self.lock.is_left() && self.lock.is_held_here() {
            let _ = self.flush_pending(); // a failure is the next write's to meet
            self.leave_turn();
        }
    }

    /// The options that the tables are opened with.
    pub(crate) fn table_options(&self, read_only: bool) -> Options {
        Options {
            synchronous: self.options.synchronous,
            pool_size: self.options.pool_size,
            policy: self.options.eviction,
            timeout: self.lock_timeout.get(),
            read_only,
            ..Options::default()
        }
    }

    /// Removes one handle; the last one closes every collection. One that took no writes has nothing to
    /// flush, and waits for no writer.
    pub(crate) fn detach(&self, access: Access) -> Result<()> {
        let is_last = {
            let _registry = lock(&STORES);
            self.handle_count.fetch_sub(1, Ordering::AcqRel) == 1
        };
        if !is_last {
            return if access == Access::Read { Ok(()) } else { self.flush() };
        }
        self.write_behind.close();
        self.close_tables();
        #[cfg(feature = "sql")]
        self.open_parts.close();
        let OpenCollections { reading, writing } = std::mem::take(&mut *lock(&self.collections));
        // Close every collection even after a failure; report the first failure.
        let open = reading.values().chain(writing.values());
        let results: Vec<_> = open.map(|open| open.shared.close()).collect();
        results.into_iter().try_for_each(|result| Ok(result?))
    }
}

impl Pending for Store {
    fn flush_pending(&self) -> Result<()> {
        self.flush_each(folio_document::Collection::flush_pending)
    }

    fn write_pending(&self) -> Result<()> {
        let results: Vec<_> =
            self.writers().iter().map(|writer| writer.core.write_pending()).collect();
        results.into_iter().try_for_each(|result| Ok(result?))
    }

    fn yield_lock(&self, is_idle: bool) -> bool {
        if self.lock.is_wanted() {
            // Before the flush, so that no put takes the lock again right after it.
            self.lock.yield_lock(FLUSH_MAX);
            let _ = self.flush_pending(); // a failure is the next write's to meet
            self.lock.yield_lock(TURN);
        }
        let mut stores = lock(&self.table_stores);
        let Some(store) = &stores.writing else { return self.lock.is_held_here() };
        let is_wanted = store.is_wanted();
        // Hold off new transactions; let a running one end. Answers that nobody has read to the end go
        // on as those of a reader, and may become too old: only where somebody waits.
        let start = Instant::now();
        loop {
            match store.users() {
                Users::Nobody if is_wanted || is_idle => break,
                Users::Readers if is_wanted => break,
                Users::Writers if is_wanted && start.elapsed() <= TURN => {
                    thread::sleep(Duration::from_micros(200));
                }
                _ => return true,
            }
        }
        stores.writing.take().into_iter().for_each(let_go);
        if is_wanted {
            thread::sleep(TURN); // the others look every few milliseconds
        }
        self.lock.is_held_here()
    }
}

/// Closes the tables in a state that is quick to open, and gives their lock back.
fn let_go(store: TableStore) {
    if store.log_file_size() > LOG_SIZE_TO_LEAVE {
        // Everything is committed; this only saves the next open from reading a long log.
        let _ = store.clone().close();
    }
    store.give_lock_back();
}

#[cfg(feature = "sql")]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;

    use folio_file::{Fault, FaultKind, MemoryFileSystem, Operation};
    use folio_types::ErrorCode;
    use serde_json::json;

    use super::*;
    use crate::Database;

    #[test]
    fn a_database_that_is_gone_at_the_end_is_a_notice_and_a_replaced_one_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for (is_replaced, is_known) in [(false, false), (false, true), (true, false), (true, true)]
        {
            let path = folder.path().join(format!("{is_replaced} {is_known}"));
            let options = OpenOptions { write_behind: None, ..OpenOptions::default() };
            let database = Database::open_with(&path, &options).unwrap();
            database.collection("docs").unwrap().put("a", &json!({})).unwrap();
            let session = database.session().unwrap();
            fs::remove_dir_all(&path).unwrap();
            if is_replaced {
                fs::create_dir(&path).unwrap();
            }
            let store = &session.handle().store;
            if is_known {
                store.write_pending().unwrap_err();
            }
            match store.flush_at_end() {
                Err(error) if is_replaced => assert_eq!(error.code(), ErrorCode::Conflict),
                ended => assert!(!is_replaced && ended.unwrap().unwrap().0.contains("removed")),
            }
            drop(session);
            // Who asks is told.
            assert!(database.flush().is_err() && database.close().is_err());
        }
    }

    #[test]
    fn a_sync_that_failed_behind_the_program_is_told_at_the_end() {
        let files = MemoryFileSystem::new();
        let file_system = Some(Arc::new(files.clone()) as Arc<dyn FileSystem>);
        let options = OpenOptions { file_system, write_behind: None, ..OpenOptions::default() };
        let database = Database::open_with("/data", &options).unwrap();
        database.collection("docs").unwrap().put("a", &json!({})).unwrap();
        let data = Some("data.jsonl".to_owned());
        files.inject(Fault { path_contains: data, ..Fault::next(Operation::Sync, FaultKind::Eio) });
        let store = &database.handle().store;
        store.flush_pending().unwrap_err();
        for _ in 0..2 {
            assert_eq!(store.flush_at_end().unwrap_err().code(), ErrorCode::Poisoned);
        }
    }

    /// The thread behind the writer holds the stores while it waits for a transaction to end.
    #[test]
    fn a_commit_keeps_columns_without_the_stores() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("data")).expect("it opens");
        let mut session = database.session().expect("a session");
        for text in [
            "create table t (a integer primary key, b integer)",
            "insert into t select value, 0 from generate_series(1, 20000) as s(value)",
            "create index p on t using columns",
            "begin",
            "update t set b = 1",
        ] {
            session.execute(text, &[]).expect(text);
        }
        let store = Arc::clone(&database.handle().store);
        let stores = lock(&store.table_stores);
        let (sender, receiver) = mpsc::channel();
        let commits = thread::spawn(move || {
            let committed = session.execute("commit", &[]).map(drop);
            sender.send(()).expect("it is waited for");
            committed
        });
        let is_done = receiver.recv_timeout(Duration::from_secs(20)).is_ok();
        drop(stores);
        commits.join().expect("no panic").expect("it commits");
        assert!(is_done, "it waited for the stores");
    }

    #[test]
    fn a_closed_database_opens_no_tables_to_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path().join("data")).expect("it opens");
        database.create().expect("it is created");
        let store = Arc::clone(&database.handle().store);
        drop(store.tables_to_write(Duration::ZERO).expect("it is open"));
        database.close().expect("it closes");
        let error = store.tables_to_write(Duration::ZERO).expect_err("it is closed");
        assert_eq!(error.code(), ErrorCode::Closed);
    }
}
