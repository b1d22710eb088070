//! A database, and its operations as a whole.

use folio::sqlite::{self, SqliteOptions};
use folio::{Database, PackOptions, Progress, Result};
use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Unknown};
use napi_derive::napi;

use crate::collection::NativeCollection;
use crate::error::{invalid, thrown};
use crate::function::{free_gone, is_under_way, scalar_function};
use crate::options::{NativeCollectionOptions, NativeFunctionOptions, NativeOpenOptions};
use crate::parameter::{Given, columns};
use crate::partition::{options, plan};
use crate::progress::{NativeProgress, goes_on};
use crate::report::{NativeBackupReport, NativePackReport, NativeSqliteReport, NativeUnpackReport};
use crate::session::NativeSession;
use crate::tables::NativeTables;
use crate::task::{Work, promise, promise_write};

/// An open database.
#[napi]
pub struct NativeDatabase {
    database: Database,
}

#[napi]
impl NativeDatabase {
    /// Opens a database.
    #[napi(factory)]
    pub fn open(path: String, options: NativeOpenOptions) -> napi::Result<Self> {
        let options = options.into_options()?;
        let database = Database::open_with(&path, &options).map_err(thrown)?;
        #[cfg(unix)]
        if database.is_writable() {
            crate::signal::flush_at_end();
        }
        Ok(Self { database })
    }

    /// Whether the handle takes writes.
    #[napi(getter)]
    pub fn is_writable(&self) -> bool {
        self.database.is_writable()
    }

    /// A collection by name.
    #[napi]
    pub fn collection(
        &self,
        name: String,
        options: NativeCollectionOptions,
    ) -> napi::Result<NativeCollection> {
        let options = options.into_options()?;
        let collection = self.database.collection_with(&name, &options).map_err(thrown)?;
        Ok(NativeCollection::new(collection))
    }

    /// The names of all collections, sorted.
    #[napi]
    pub fn collections(&self) -> napi::Result<Vec<String>> {
        self.database.collections().map_err(thrown)
    }

    /// A session.
    #[napi]
    pub fn session(&self) -> napi::Result<NativeSession> {
        self.database.session().map(NativeSession::new).map_err(thrown)
    }

    /// Gives the content of an Arrow file or stream a name for statements; its rows' number.
    #[napi]
    #[allow(clippy::cast_precision_loss)] // fewer rows than 2^53
    pub fn register_ipc(&self, name: String, content: &[u8]) -> napi::Result<f64> {
        self.database.register_ipc(&name, content).map(|count| count as f64).map_err(thrown)
    }

    /// The same of columns, each a list by name.
    #[napi]
    #[allow(clippy::cast_precision_loss)] // fewer rows than 2^53
    pub fn register_columns(&self, name: String, given: Given) -> napi::Result<f64> {
        let count =
            columns(given).and_then(|columns| self.database.register_columns(&name, &columns));
        count.map(|count| count as f64).map_err(thrown)
    }

    /// Forgets rows; whether there were any of this name.
    #[napi]
    pub fn unregister(&self, name: String) -> napi::Result<bool> {
        self.database.unregister(&name).map_err(thrown)
    }

    /// Gives statements a function; its types are named as in SQL.
    #[napi]
    pub fn create_function(
        &self,
        env: Env,
        name: String,
        options: NativeFunctionOptions,
        called: Unknown<'_>,
    ) -> napi::Result<()> {
        let NativeFunctionOptions { parameters, returns, is_volatile, takes_null } = options;
        let traits = (is_volatile, takes_null);
        let function = scalar_function(&env, name, (parameters, returns), traits, &called)?;
        self.database.create_function(function).map_err(thrown)
    }

    /// Forgets a function; whether there was one of this name.
    #[napi]
    pub fn drop_function(&self, name: String) -> napi::Result<bool> {
        let known = self.database.drop_function(&name).map_err(thrown);
        free_gone();
        known
    }

    /// The structs there are, as the text that declares them.
    #[napi]
    pub fn schema(&self) -> napi::Result<String> {
        self.database.schema().map_err(thrown)
    }

    /// What a schema would change, a line each.
    #[napi]
    pub fn check_schema(&self, text: String, allow_drop: bool) -> napi::Result<Vec<String>> {
        self.database.check_schema(&text, allow_drop).map_err(thrown)
    }

    /// Makes the structs a schema declares; what changed, a line each.
    #[napi]
    pub fn apply_schema(&self, text: String, allow_drop: bool) -> napi::Result<Vec<String>> {
        self.database.apply_schema(&text, allow_drop).map_err(thrown)
    }

    /// The texts of at most so many parts of a collection or a table.
    #[napi]
    pub fn partitions(
        &self,
        relation: String,
        count: u32,
        columns: Option<Vec<String>>,
        filter: Option<String>,
        since: Option<String>,
        until: Option<String>,
    ) -> napi::Result<Vec<String>> {
        let options = options(columns, filter, since, until).map_err(thrown)?;
        plan(&self.database, &relation, count, options).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn partitions_async(
        &self,
        relation: String,
        count: u32,
        columns: Option<Vec<String>>,
        filter: Option<String>,
        since: Option<String>,
        until: Option<String>,
    ) -> AsyncTask<Work<Vec<String>>> {
        let (database, options) = (self.database.clone(), options(columns, filter, since, until));
        promise(move || plan(&database, &relation, count, options?))
    }

    /// The number of parts for so many processors that divide the work.
    #[napi]
    pub fn partition_count(&self, relation: String, processors: u32) -> napi::Result<f64> {
        let count = self.database.partition_count(&relation, processors as usize);
        #[allow(clippy::cast_precision_loss)] // far fewer than 2^53
        count.map(|count| count as f64).map_err(thrown)
    }

    /// The tables, to look after them.
    #[napi]
    pub fn tables(&self) -> napi::Result<NativeTables> {
        self.database.tables().map(NativeTables::new).map_err(thrown)
    }

    /// Drops a collection.
    #[napi]
    pub fn drop_collection(&self, name: String) -> napi::Result<()> {
        self.database.drop_collection(&name).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn drop_collection_async(&self, name: String) -> AsyncTask<Work<()>> {
        let database = self.database.clone();
        promise_write("", move || database.drop_collection(&name))
    }

    /// Gives a collection another name.
    #[napi]
    pub fn rename_collection(&self, name: String, new_name: String) -> napi::Result<()> {
        self.database.rename_collection(&name, &new_name).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn rename_collection_async(&self, name: String, new_name: String) -> AsyncTask<Work<()>> {
        let database = self.database.clone();
        promise_write("", move || database.rename_collection(&name, &new_name))
    }

    /// Puts an empty database on disk.
    #[napi]
    pub fn create(&self) -> napi::Result<()> {
        self.database.create().map_err(thrown)
    }

    /// Makes every write so far durable.
    #[napi]
    pub fn flush(&self) -> napi::Result<()> {
        self.database.flush().map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn flush_async(&self) -> AsyncTask<Work<()>> {
        let database = self.database.clone();
        promise_write("", move || database.flush())
    }

    /// Copies the database while writers go on.
    #[napi]
    pub fn backup(&self, target: String) -> napi::Result<NativeBackupReport> {
        backup(&self.database, &target, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn backup_async(
        &self,
        progress: &NativeProgress,
        target: String,
    ) -> AsyncTask<Work<NativeBackupReport>> {
        let (database, mut callback) = (self.database.clone(), progress.callback());
        promise(move || backup(&database, &target, &mut callback))
    }

    /// Brings the tables of an SQLite file over; all where none is named.
    #[napi]
    pub fn import_sqlite(
        &self,
        path: String,
        tables: Vec<String>,
    ) -> napi::Result<NativeSqliteReport> {
        import_sqlite(&self.database, &path, tables, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn import_sqlite_async(
        &self,
        progress: &NativeProgress,
        path: String,
        tables: Vec<String>,
    ) -> AsyncTask<Work<NativeSqliteReport>> {
        let (database, mut callback) = (self.database.clone(), progress.callback());
        promise_write("", move || import_sqlite(&database, &path, tables, &mut callback))
    }

    /// Packs the live documents into one archive.
    #[napi]
    pub fn pack(&self, target: String, compress: bool) -> napi::Result<NativePackReport> {
        pack(&self.database, &target, compress, &mut goes_on).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn pack_async(
        &self,
        progress: &NativeProgress,
        target: String,
        compress: bool,
    ) -> AsyncTask<Work<NativePackReport>> {
        let (database, mut callback) = (self.database.clone(), progress.callback());
        promise(move || pack(&database, &target, compress, &mut callback))
    }

    /// What was noticed on opening.
    #[napi]
    pub fn take_notices(&self) -> Vec<String> {
        self.database.take_notices().into_iter().map(|notice| notice.0).collect()
    }

    /// Flushes and closes.
    #[napi]
    pub fn close(&self) -> napi::Result<()> {
        if is_under_way() {
            return Err(invalid("a statement is calling this function; close after it has ended"));
        }
        let closed = self.database.close().map_err(thrown);
        free_gone();
        closed
    }

    /// The same on another thread.
    #[napi]
    pub fn close_async(&self) -> AsyncTask<Work<()>> {
        let database = self.database.clone();
        promise_write("", move || database.close())
    }
}

/// Turns an archive into a database directory.
#[napi]
pub fn unpack(archive: String, target: String) -> napi::Result<NativeUnpackReport> {
    unpack_archive(&archive, &target, &mut goes_on).map_err(thrown)
}

/// The same on another thread.
#[napi]
pub fn unpack_async(
    progress: &NativeProgress,
    archive: String,
    target: String,
) -> AsyncTask<Work<NativeUnpackReport>> {
    let mut callback = progress.callback();
    promise(move || unpack_archive(&archive, &target, &mut callback))
}

/// Refuses what cannot be a document's id.
#[napi]
pub fn check_document_id(id: String) -> napi::Result<()> {
    folio::check_document_id(&id).map_err(invalid)
}

/// The name that was meant, if one of these is near.
#[napi]
pub fn near_match(asked: String, names: Vec<String>) -> Option<String> {
    folio::near_match(&asked, &names).map(str::to_owned)
}

/// The version of the library.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn backup(database: &Database, target: &str, progress: Progress<'_>) -> Result<NativeBackupReport> {
    database.backup(target, progress).map(Into::into)
}

fn import_sqlite(
    database: &Database,
    path: &str,
    tables: Vec<String>,
    progress: Progress<'_>,
) -> Result<NativeSqliteReport> {
    sqlite::import(database, path, &SqliteOptions { tables }, progress).map(Into::into)
}

fn pack(
    database: &Database,
    target: &str,
    compress: bool,
    progress: Progress<'_>,
) -> Result<NativePackReport> {
    let options = PackOptions { compress };
    database.pack(target, &options, progress).map(Into::into)
}

fn unpack_archive(
    archive: &str,
    target: &str,
    progress: Progress<'_>,
) -> Result<NativeUnpackReport> {
    Database::unpack(archive, target, progress).map(Into::into)
}

/// Makes every write so far durable, in all databases that this process has open; the notices.
#[napi]
pub fn flush_all() -> napi::Result<Vec<String>> {
    let notices = folio::flush_all().map_err(thrown)?;
    Ok(notices.into_iter().map(|notice| notice.0).collect())
}
