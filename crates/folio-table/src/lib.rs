//! Typed tables in a transactional page file: the storage engine of a SQL
//! database.
//!
//! A [`TableStore`] is two files: pages, and the log of what transactions changed
//! since the last checkpoint. One [`Transaction`] writes at a time; any number of
//! [`Snapshot`]s read beside it, each the database as of one commit, blocked by
//! nobody and blocking nobody. The isolation is that of snapshots for readers,
//! and serializable for writers, who follow one another.
//!
//! How an insert and its commit go, each step in a lower or a later module:
//!
//! ```text
//! insert   encode the row (row) → seek its leaf (btree) → copy the page into this
//!          transaction's version (transaction::edit, buffer) → insert the cell
//! commit   changed pages and a commit record into the log in one write (wal) →
//!          they are the pages' newest versions now (versions) → the next writer
//!          may begin → the log is synced, for all who wait (wal) → snapshots see it
//! get      version of the page as of the snapshot (versions) → its frame (buffer) →
//!          search down to the leaf (btree) → the row, in place (row)
//! open     headers → every whole transaction of the log into the version table
//!          (recovery) → ready; nothing is written
//! ```
//!
//! `docs/formats/table-store.md` gives both files to the byte, with the argument
//! why a crash at any moment loses nothing that was acknowledged.

mod blocks;
mod btree;
pub mod buffer;
mod catalog;
mod check;
mod checkpoint;
mod data_header;
mod error;
mod growing;
mod ids;
mod options;
mod page;
#[cfg(feature = "planted-bugs")]
pub mod planted;
mod read;
mod recovery;
mod row;
mod scan;
mod shared;
mod snapshot;
mod snapshots;
mod state;
mod store;
mod transaction;
mod versions;
mod view;
mod wal;
mod writer;

pub use catalog::{Index, Table};
pub use check::{CheckReport, Problem};
pub use error::{Error, Result};
pub use ids::{BlockId, Lsn, PageId, TreeId};
pub use options::{Options, Synchronous};
pub use page::PAGE_SIZES;
pub use row::Row;
pub use scan::{Bound, ScanOptions};
pub use snapshot::Snapshot;
pub use store::TableStore;
pub use transaction::{IndexDefinition, Load, Savepoint, Transaction};
pub use view::Batches;
