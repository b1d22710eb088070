//! All contact with the operating system.
//!
//! The stores above this crate see two traits: a [`FileSystem`] that opens,
//! renames and lists, and a [`File`] that reads at an offset, appends and
//! syncs. Two implementations stand behind them: [`DiskFileSystem`], and
//! [`MemoryFileSystem`], which remembers what would survive a power cut and
//! fails on request, so that every claim about crashes is tested rather than
//! hoped for.
//!
//! On top of them stands one thing of its own: [`WriterLock`], by which the
//! processes that share a database agree on who writes.
//!
//! The crate knows nothing of what the bytes mean. It never maps a file that
//! people edit: [`File::map`] is for index files, which are only ever replaced
//! by rename.

mod advice;
mod anonymous;
mod disk;
mod lock;
mod map;
mod memory;
mod planted;
mod prefetch;
mod stat;
mod traits;

pub use advice::advice;
pub use anonymous::AnonymousMemory;
pub use disk::DiskFileSystem;
pub use lock::{LockError, WriterGuard, WriterLock};
pub use map::Map;
pub use memory::{
    CrashPlan, CrashPoint, DataLoss, Fault, FaultKind, MemoryFileSystem, NameLoss, Operation,
    Recording,
};
pub use prefetch::{prefetch, prefetch_at, prefetch_line};
pub use stat::{DirectoryEntry, FileKind, Stat};
pub use traits::{File, FileSystem, OpenMode};
