//! A database, and what concerns the whole of it.

use folio::{Database, PackOptions, Result};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::collection::NativeCollection;
use crate::error::thrown;
use crate::options::{NativeCollectionOptions, NativeOpenOptions};
use crate::report::{NativeBackupReport, NativePackReport, NativeUnpackReport};
use crate::task::{Work, promise};

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
        promise(move || database.flush())
    }

    /// Copies the database while writers go on.
    #[napi]
    pub fn backup(&self, target: String) -> napi::Result<NativeBackupReport> {
        backup(&self.database, &target).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn backup_async(&self, target: String) -> AsyncTask<Work<NativeBackupReport>> {
        let database = self.database.clone();
        promise(move || backup(&database, &target))
    }

    /// Packs the live documents into one archive.
    #[napi]
    pub fn pack(&self, target: String, compress: bool) -> napi::Result<NativePackReport> {
        pack(&self.database, &target, compress).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn pack_async(&self, target: String, compress: bool) -> AsyncTask<Work<NativePackReport>> {
        let database = self.database.clone();
        promise(move || pack(&database, &target, compress))
    }

    /// What was noticed on opening.
    #[napi]
    pub fn take_notices(&self) -> Vec<String> {
        self.database.take_notices().into_iter().map(|notice| notice.0).collect()
    }

    /// Flushes and closes.
    #[napi]
    pub fn close(&self) -> napi::Result<()> {
        self.database.close().map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn close_async(&self) -> AsyncTask<Work<()>> {
        let database = self.database.clone();
        promise(move || database.close())
    }
}

/// Turns an archive into a database directory.
#[napi]
pub fn unpack(archive: String, target: String) -> napi::Result<NativeUnpackReport> {
    unpack_archive(&archive, &target).map_err(thrown)
}

/// The same on another thread.
#[napi]
pub fn unpack_async(archive: String, target: String) -> AsyncTask<Work<NativeUnpackReport>> {
    promise(move || unpack_archive(&archive, &target))
}

/// The version of the library.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn backup(database: &Database, target: &str) -> Result<NativeBackupReport> {
    database.backup(target, &mut |_, _| true).map(Into::into)
}

fn pack(database: &Database, target: &str, compress: bool) -> Result<NativePackReport> {
    let options = PackOptions { compress };
    database.pack(target, &options, &mut |_, _| true).map(Into::into)
}

fn unpack_archive(archive: &str, target: &str) -> Result<NativeUnpackReport> {
    Database::unpack(archive, target, &mut |_, _| true).map(Into::into)
}
