//! Options for opening a database and its collections.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use folio_document::{Access, Durability, Layout, Strict};
use folio_file::FileSystem;
#[cfg(feature = "remote")]
use folio_remote::RemoteOptions;
use folio_table::Synchronous;
use folio_table::buffer::Policy;

/// The maximum time that puts stay in memory.
const WRITE_BEHIND: Duration = Duration::from_secs(1);

/// Options of a database. The defaults suit most users.
#[derive(Clone)]
pub struct OpenOptions {
    /// Whether the handle may write.
    pub access: Access,
    /// When a write reaches the device. Handles that share a database in one
    /// process must agree on it.
    pub durability: Durability,
    /// When a commit to the tables is durable.
    pub synchronous: Synchronous,
    /// Memory for pages of tables, in bytes, once tables are used.
    pub pool_size: usize,
    /// The page to evict when another is needed.
    pub eviction: Policy,
    /// How long a write through this handle waits for another process to release the writer's lock.
    pub lock_timeout: Duration,
    /// Unflushed puts and deletes are written to the file after this time, or after a megabyte of
    /// them; `None` leaves them to the flush. The first handle of a process on a database decides.
    pub write_behind: Option<Duration>,
    /// Bytes of recently read data kept in memory per collection.
    pub cache_size: usize,
    /// Whether a missing database is created, at the first write. Without it a
    /// missing database is an error, as it is for a read-only handle.
    pub create: bool,
    /// How other machines are asked.
    #[cfg(feature = "remote")]
    pub remote: RemoteOptions,
    /// The file system to work on; `None` is the disk.
    pub file_system: Option<Arc<dyn FileSystem>>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let collection = folio_document::CollectionOptions::default();
        Self {
            access: collection.access,
            durability: collection.durability,
            synchronous: Synchronous::default(),
            pool_size: folio_table::Options::default().pool_size,
            eviction: Policy::default(),
            lock_timeout: collection.lock_timeout.get(),
            write_behind: Some(WRITE_BEHIND),
            cache_size: collection.cache_size,
            create: true,
            #[cfg(feature = "remote")]
            remote: RemoteOptions::default(),
            file_system: None,
        }
    }
}

impl OpenOptions {
    /// A read-only handle: nothing on disk is created or changed.
    #[must_use]
    pub fn read_only() -> Self {
        Self { access: Access::Read, ..Self::default() }
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OpenOptions")
            .field("access", &self.access)
            .field("durability", &self.durability)
            .field("synchronous", &self.synchronous)
            .field("pool_size", &self.pool_size)
            .field("eviction", &self.eviction)
            .field("lock_timeout", &self.lock_timeout)
            .field("write_behind", &self.write_behind)
            .field("cache_size", &self.cache_size)
            .field("create", &self.create)
            .field("file_system", &self.file_system.is_some())
            .finish()
    }
}

/// Options of a new collection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollectionOptions {
    /// How documents are stored on disk. An existing collection keeps its layout.
    pub layout: Layout,
    /// Whether documents must follow a schema; stored with the collection.
    pub strict: Strict,
}
