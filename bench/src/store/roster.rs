//! The systems that take part, and what each run says of them.

use std::path::Path;

use folio_bench_report::OURS;

use super::{DurableStore, Handle, Store, fjall, lmdb, redb, sled, sqlite};
use crate::Result;

/// One system under test.
#[derive(Debug, Clone, Copy)]
pub struct System {
    /// The name in every table.
    pub name: &'static str,
    /// The crate whose version is quoted.
    pub package: &'static str,
    /// How it is configured, in one line.
    pub settings: &'static str,
    /// How the bulk load becomes durable.
    pub bulk_durability: &'static str,
    /// How a single put becomes durable.
    pub put_durability: &'static str,
    /// Creates an empty store in an empty directory.
    pub create: fn(&Path) -> Result<Box<dyn Handle>>,
    /// Opens a store that was closed properly.
    pub open: fn(&Path) -> Result<Box<dyn Handle>>,
    /// Creates a store on which every put is durable when it returns.
    pub create_durable: fn(&Path) -> Result<Box<dyn DurableStore>>,
}

impl System {
    /// Whether it is the system this repository builds.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.name == OURS
    }
}

/// The [`System::create`] of a store.
pub(super) fn create<S: Store>(directory: &Path) -> Result<Box<dyn Handle>> {
    Ok(Box::new(S::create(directory)?))
}

/// The [`System::open`] of a store.
pub(super) fn open<S: Store>(directory: &Path) -> Result<Box<dyn Handle>> {
    Ok(Box::new(S::open(directory)?))
}

/// Every system, ours first.
///
/// RocksDB is not among them: its Rust binding generates code with libclang at
/// build time, and the library itself is about twenty minutes of C++ on two
/// cores; fjall stands for log-structured merge trees.
#[must_use]
pub fn roster() -> Vec<System> {
    let mut systems = Vec::new();
    #[cfg(feature = "folio")]
    systems.push(super::folio::SYSTEM);
    systems.extend([
        sqlite::SYSTEM,
        sqlite::CACHED_SYSTEM,
        lmdb::SYSTEM,
        redb::SYSTEM,
        fjall::SYSTEM,
        sled::SYSTEM,
    ]);
    systems
}

/// The system of this name.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<System> {
    let found = roster().into_iter().find(|system| system.name == name);
    found.ok_or_else(|| format!("there is no system {name:?}").into())
}
