//! FolioDB is an embedded database with readable data. Documents are stored in JSON Lines files
//! that people can `cat`, `grep` and edit, with the lookups and scans of a database.
//!
//! ```
//! use folio::{Database, Scan};
//! use serde_json::json;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("mydata");
//! let database = Database::open(&path)?; // created at the first write
//! let users = database.collection("users")?;
//! users.put("u1", &json!({"name": "Ann", "age": 34}))?;
//! users.put_raw("u2", r#"{"name": "Bob", "score": 1.10}"#)?; // digits survive
//!
//! let ann = users.get("u1")?.expect("just put");
//! assert_eq!(ann.field("name")?, Some(json!("Ann")));
//! assert_eq!(ann.raw(), r#"{"_id":"u1","name":"Ann","age":34}"#);
//!
//! for document in users.scan(Scan::new().fields(["name"]).limit(10))? {
//!     println!("{}", document?.raw());
//! }
//! database.close()?; // durable from here on
//!
//! // The file is the truth, and yours to edit.
//! let file = path.join("collections/users/meta/data.jsonl");
//! assert!(std::fs::read_to_string(file)?.starts_with(r#"{"_id":"u1","name":"Ann""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! [`Database`] is a directory (or a `.zds` archive of one). [`Collection`] is a folder of
//! documents in it. Typed [`Tables`] live next to the collections. A
//! [`Session`] runs SQL over both. [`import`] and [`export`] read and write JSON Lines, JSON, CSV
//! and Amazon Ion. [`ion`] reads Ion files without a database.
//! [`backup`] copies a database while it is written to. [`json`] reads documents without parsing
//! their numbers. Every error has a stable [`Error::code`]. `sqlite` imports the tables of SQLite
//! files.
//!
//! The feature `sql` is on by default. Without it there are collections and tables but no query
//! engine, for programs that embed only the stores. A [`Table`] is then read as Arrow record
//! batches, and [`Database::relation`] says what a name refers to.
//!
//! # The paths of the data
//!
//! This crate finds the database, holds one store per process and database, and delegates the rest
//! to `folio-document` and `folio-table`. Those reach the disk only through `folio-file`.
//!
//! ```text
//! open      Database::open_with: location::find (a directory, an archive, or nothing yet)
//!           → descriptor::read (folio.json; a newer format is refused)
//!           → store::attach (the store this process has open, or a new one)
//! collection  Database::collection: check the name → Store::collection
//!           → folio_document::Collection::open: manifest → is the index right for the
//!             data file? use it, extend it, or build it again
//! put       Collection::put: Handle::check_writable (the first write: folio.json)
//!           → folio_document::Collection::put: check the id → encode one line
//!           → append to what is pending → sync if asked → index
//! get       Collection::get: index → location → line of the data file
//!           → verify its checksum and id → Document
//! scan      Collection::scan: Documents::next_line: large reads → verify block checksums
//!           → split lines → skip what is superseded → narrow to the fields asked for
//! first     Database::first_rows: the lines that the file begins with → their types → Rows,
//!           without opening the collection
//! import    import::import: Source → decompress → lines, values or CSV rows
//!           → identify → Batch → commit with the position in the source
//! sqlite    sqlite::import: pages and log → rows, twice → CREATE TABLE → Session::fill → indexes,
//!           constraints, views → commit
//! export    export::export: Documents::next_line → a temporary name → sync → rename
//! unpack    Database::unpack: the members next to the target → indexes → rename
//! dump      Database::dump, Database::restore: text next to the target, or a database → rename
//! backup    Database::backup: published length of every data file → copy → index the copy;
//!           tables: Snapshot::backup, every page as of one commit
//! tables    Database::tables: Store::tables: the store that writes, or one that reads and
//!           follows other processes → folio_table::TableStore
//! table     Tables::table → Table::scan: a snapshot → folio_table::Scan → record batches
//! SELECT    Session::sql, Session::ziql: the cached statement, or parse → bind (folio-sql,
//!           folio-ziql) → folio_engine::Statement → operators → Rows, which read the stores
//!           through `source`
//! partition Database::partitions: ranges of the index or of keys → text → Session::read_partition
//!           in another process: unchanged? → SELECT over the range, through source::part
//! INSERT    the same, in the open transaction or one of its own → checks → the table, or the
//!           collection's batch → commit
//! close     Database::close: the last handle of the process flushes and closes all
//! ```

pub mod backup;
mod batch;
mod collection;
#[cfg(feature = "sql")]
mod columns;
#[cfg(feature = "sql")]
mod condition;
#[cfg(feature = "sql")]
mod condition_cache;
mod database;
mod descriptor;
mod documents;
#[cfg(feature = "sql")]
pub mod dump;
mod error;
pub mod export;
#[cfg(feature = "sql")]
mod first_rows;
pub mod format;
mod handle;
mod identity;
pub mod import;
mod index;
pub mod ion;
pub mod json;
#[cfg(feature = "sql")]
mod known;
mod location;
mod lock;
mod options;
#[cfg(feature = "sql")]
mod partition;
#[cfg(feature = "sql")]
mod registered;
#[cfg(feature = "sql")]
mod registration;
mod relation;
#[cfg(feature = "sql")]
mod row_parts;
mod saved;
#[cfg(feature = "sql")]
mod session;
#[cfg(feature = "sql")]
mod source;
#[cfg(feature = "sql")]
pub mod sqlite;
mod store;
mod table;
mod tables;
#[cfg(feature = "sql")]
mod temporary;
mod threads;
mod types;
mod unpack;
mod write;
mod write_behind;

pub use backup::BackupReport;
pub use batch::Batch;
pub use collection::Collection;
pub use database::Database;
pub use descriptor::FORMAT_VERSION;
pub use documents::Documents;
pub use error::{Error, Result};
#[cfg(feature = "sql")]
pub use folio_compute::array::value_at;
#[cfg(feature = "sql")]
pub use folio_compute::cast::json::{members_of, write_json, write_string as write_json_string};
#[cfg(feature = "sql")]
pub use folio_compute::cast::{format as format_value, parse as parse_value, returned_value};
#[cfg(feature = "sql")]
pub use folio_compute::{Batch as ColumnBatch, JsonRows, type_name};
pub use folio_document::IndexMethod;
pub use folio_document::archive::{PackOptions, PackReport, UnpackReport};
pub use folio_document::{
    Access, BatchCounts, CheckReport, CompactReport, Document, Durability, EarlierLine,
    EncodedLine, Error as CollectionError, Fetched, Filter, History, IndexCheck, IndexDefinition,
    IndexField, IndexStats, InvalidLine, Layout, Notice, Position, Progress, Put, Scan, Stats,
    Strict,
};
#[cfg(feature = "sql")]
pub use folio_engine::{
    Interrupt, Level, OnProgress, Rows, ScalarBody, ScalarFunction, Watch, function_names,
};
pub use folio_json::{
    Counts as TypeCounts, Field, Node as TypeNode, PathSummary, Tree as Types, Type,
    push_json_number, push_json_string,
};
#[cfg(feature = "remote")]
pub use folio_remote::RemoteOptions;
#[cfg(feature = "sql")]
pub use folio_sql::parse_type;
pub use folio_table::buffer::{Policy as EvictionPolicy, PoolStatistics};
pub use folio_table::tools::{
    CellContent, PageInspection, SalvageReport, SalvagedTable, VacuumReport,
};
pub use folio_table::{
    CheckReport as TableCheckReport, PageId, Problem as TableProblem, Synchronous,
};
pub use folio_types::{Column, ColumnType, Interval, Value, WaitEnd, WaitScope, is_wait_over};
pub use folio_types::{ErrorCode, check_collection_name, check_document_id, near_match};
pub use index::IndexOptions;
pub use options::{CollectionOptions, OpenOptions};
#[cfg(feature = "sql")]
pub use partition::{PartWriter, Partition, PartitionOptions, PartitionedWriter, WrittenPart};
pub use relation::Relation;
pub use saved::{SavedStatement, StatementLanguage};
#[cfg(feature = "sql")]
pub use session::{
    Answer, Facet, Histogram, Many, Parameters, Prepared, RelationKind, RelationLink,
    RelationSummary, Session, Window, WindowOrder, WindowTest, check_schema_syntax, check_syntax,
    column_path, list_of,
};
pub use store::flush_all;
pub use table::{Table, TableScan};
pub use tables::{TableStatistics, TableSummary, Tables};
pub use types::TypeLanguage;
