//! The buffer pool: pages of files in a fixed number of frames.
//!
//! ```text
//! pin(block) → translation[block] → frame → one atomic step on its state word → PageGuard
//!                   │ none
//!                   └→ free frame or victim → write it out if dirty → read → pinned
//! ```
//!
//! A hit is two array accesses, one compare-and-swap and the policy's mark; it takes no lock.
//! Misses take the pool's lock only to choose a frame. Reading and writing happen outside the lock,
//! concurrently for different blocks.
//!
//! The pool deals in blocks, not pages: its [`BlockStorage`] decides where a block's bytes come
//! from.

pub mod eviction;
mod frame;
mod guard;
mod pool;
mod replacement;
mod statistics;
mod translation;

pub use eviction::Policy;
pub use guard::{PageGuard, PageGuardMut};
pub(crate) use pool::DirtyPage;
pub use pool::{Access, BlockStorage, BufferPool};
pub use statistics::PoolStatistics;
