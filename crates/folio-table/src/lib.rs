//! Typed tables in a transactional page file: the storage engine of an SQL database.
//!
//! A [`TableStore`] is two files: the pages, and a write-ahead log of changes since the last
//! checkpoint. One [`Transaction`] writes at a time. Any number of
//! [`Snapshot`]s can read, each as of one commit; readers and writers do not block each other.
//! Readers have snapshot isolation. Writers are serializable, because they run one after another.
//!
//! # Using it
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//! use folio_file::{FileSystem, MemoryFileSystem};
//! use folio_table::{Bound, IndexDefinition, Options, ScanOptions, TableStore};
//! use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef};
//!
//! # fn main() -> folio_table::Result<()> {
//! let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
//! # files.create_directory(Path::new("db")).unwrap();
//! let store = TableStore::open(&files, Path::new("db"), Options::default())?;
//!
//! // Definitions and rows change in transactions.
//! let mut transaction = store.begin()?;
//! let columns = vec![
//!     Column::required("id", ColumnType::Int64),
//!     Column::optional("city", ColumnType::Text),
//! ];
//! transaction.create_table(&TableSchema::new("people", columns, vec![0]))?;
//! let by_city =
//!     IndexDefinition { name: "by_city".into(), columns: vec![(1, false)], unique: false };
//! let people = transaction.create_index("people", &by_city)?;
//! transaction.insert(&people, &[ValueRef::Integer(1), ValueRef::Text("Oslo")])?;
//! let savepoint = transaction.savepoint();
//! transaction.insert(&people, &[ValueRef::Integer(2), ValueRef::Text("Lima")])?;
//! transaction.rollback_to(savepoint)?;
//! transaction.commit()?;
//!
//! // A snapshot stays as it is, whatever is committed meanwhile.
//! let snapshot = store.snapshot();
//! let row = snapshot.get(&people, &[ValueRef::Integer(1)])?.expect("it was inserted");
//! assert_eq!(row.get(1)?, Value::from("Oslo"));
//!
//! // Many rows come as Arrow record batches: a range of an index, two columns.
//! let from = [ValueRef::Text("M")];
//! let options = ScanOptions {
//!     projection: Some(&[0, 1]),
//!     index: people.index("by_city"),
//!     from: Bound::Included(&from),
//!     ..ScanOptions::default()
//! };
//! for batch in snapshot.scan(&people, &options)? {
//!     assert_eq!(batch?.num_rows(), 1);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | to | call |
//! |---|---|
//! | open, begin, look | [`TableStore::open`], [`TableStore::begin`], [`TableStore::snapshot`] |
//! | read, in a snapshot or a transaction alike | [`Snapshot::reader`], [`Transaction::reader`]: a [`Reader`] |
//! | find definitions | [`Reader::table`], [`Reader::tables`], [`Reader::views`], [`Reader::catalog_version`] |
//! | read by key, one or many | [`Reader::get`], [`Reader::lookup`] |
//! | walk rows in the order of a key or an index | [`Reader::scan`], [`Reader::begin_scan`] |
//! | walk on several threads | [`Reader::begin_parts`] |
//! | filter where rows stand; filter first, fetch the other columns late | [`Condition`]; [`Scan::columns`] |
//! | plan | [`Reader::row_count`], [`Reader::estimate`] |
//! | change rows | [`Transaction::insert`], [`Transaction::update`], [`Transaction::delete`] |
//! | bring in many | [`Transaction::load`] |
//! | define | [`Transaction::create_table`], [`Transaction::alter_table`], [`Transaction::truncate_table`], [`Transaction::drop_table`], [`Transaction::create_index`], [`Transaction::drop_index`], [`Transaction::create_view`], [`Transaction::drop_view`] |
//! | number rows | [`Transaction::take_identities`]; [`ROW_NUMBER`] for tables without a key |
//! | copy rows in columns | [`Transaction::create_columns_index`], [`Transaction::set_row_parts`], [`Reader::row_parts`], [`Reader::changed_keys`] |
//! | copy, check, salvage, shrink | [`Snapshot::check`], [`Snapshot::backup`], [`tools`] |
//! | take back in part | [`Transaction::savepoint`], [`Transaction::rollback_to`], [`Transaction::release`] |
//!
//! Three rules are worth knowing. First, an [`Arc<Table>`](Table) may be held for as long as you
//! like: every call checks whether it is still current, by comparing two numbers. Second,
//! properties that only the layers above understand (defaults, checks, references) go into
//! [`TableSchema::properties`](folio_types::TableSchema), a text that the store does not interpret.
//! Third, a refusal (a conflict, a wrong type) changes nothing, so the transaction can continue.
//! After any other error it must be rolled back, wholly or to a savepoint.
//!
//! # How it works
//!
//! The steps of an insert and its commit, each in a lower or a later module:
//!
//! ```text
//! insert   encode the row (layout, row) → seek its leaf (btree) → copy the page into
//!          this transaction's version (edit, buffer) → insert the cell
//! commit   changed pages and a commit record into the log in one write (wal) →
//!          they are the pages' newest versions now (pager) → the next writer
//!          may begin → the log is synced, for all who wait (wal) → snapshots see it
//! get      version of the page as of the snapshot (pager) → its frame (buffer) →
//!          search down to the leaf (btree) → the row, in place (row)
//! open     headers → every whole transaction of the log into the version table
//!          (recovery) → ready; nothing is changed
//! ```
//!
//! `docs/formats/table-store.md` specifies both files to the byte, and argues why a crash at any
//! moment loses nothing that was acknowledged.

mod btree;
pub mod buffer;
mod catalog;
mod check;
mod checkpoint;
mod chunked_array;
mod creation;
mod data_header;
mod edit;
mod error;
mod failpoint;
#[cfg(test)]
mod golden;
mod header_slot;
mod ids;
mod layout;
mod options;
mod overflow;
mod page;
mod pager;
mod processes;
mod recovery;
mod row;
mod row_parts;
mod scan;
mod shared;
mod snapshot;
mod state;
mod statistics;
mod store;
pub mod tools;
mod transaction;
mod wal;

pub use catalog::{ColumnsIndex, Index, Table, ViewDefinition};
pub use check::{CheckReport, Problem};
pub use error::{Error, Result};
#[cfg(feature = "planted-bugs")]
pub use failpoint::Failpoint;
pub use ids::{BlockId, Lsn, PageId, TreeId};
pub use layout::ROW_NUMBER;
pub use options::{Options, Synchronous};
pub use page::PAGE_SIZES;
pub use row::Row;
pub use row_parts::RowPart;
pub use scan::{Batches, Bound, Condition, Lookup, RowRange, Scan, ScanOptions};
pub use snapshot::{Reader, Snapshot};
pub use store::{TableStore, Users};
pub use transaction::{IndexDefinition, Load, Savepoint, Transaction};
