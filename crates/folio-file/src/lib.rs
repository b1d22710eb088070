//! All access to the operating system.
//!
//! The stores above this crate use two traits: a [`FileSystem`] opens, renames and lists; a
//! [`File`] reads at an offset, appends and syncs. There are two implementations:
//! [`DiskFileSystem`], and [`MemoryFileSystem`], which records what would survive a power cut and
//! fails on request. So every claim about crashes is tested.
//!
//! The crate adds two things: [`WriterLock`], by which the processes that share a database agree on
//! who writes, and [`SummedMap`], a mapped file whose blocks are compared with sums before their use.
//!
//! The content of files has no meaning here. A file that people edit is never mapped: [`File::map`]
//! is for index files, which are only replaced by rename.

mod advice;
mod anonymous;
mod disk;
mod failpoint;
mod lock;
mod map;
mod memory;
mod prefetch;
mod remote_error;
mod remove_tree;
mod stat;
mod summed_map;
mod traits;
mod url;

pub use advice::advice;
pub use anonymous::AnonymousMemory;
pub use disk::{DiskFileSystem, fork_count};
pub use lock::{LOOK_EVERY, LockError, WriterGuard, WriterLock};
pub use map::Map;
pub use memory::{
    CrashPlan, CrashPoint, DataLoss, Fault, FaultKind, MemoryFileSystem, NameLoss, Operation,
    Recording,
};
pub use prefetch::{prefetch, prefetch_at, prefetch_line};
pub use remote_error::RemoteError;
pub use remove_tree::remove_tree;
pub use stat::{DirectoryEntry, FileKind, Stat};
pub use summed_map::SummedMap;
pub use traits::{File, FileSystem, OpenMode, Upload};
pub use url::{is_url, path_of_file_url};
