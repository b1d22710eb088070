//! Document collections: JSON objects in a JSON Lines file that people can
//! `cat`, `grep`, `jq` and edit, with an index that makes lookups and scans fast.
//!
//! The data file is authoritative. Everything else under `meta/` can be deleted and is rebuilt.

pub mod archive;
mod batch;
mod collection;
mod column_part;
mod document;
mod error;
mod failpoint;
mod fetched;
mod field_index;
mod files;
mod first_lines;
mod folder;
mod frame;
mod handle_state;
mod held;
mod index;
mod layout;
mod line;
mod manifest;
mod options;
mod range;
mod rejected;
mod report;
mod rules;
mod scan;
mod schema;
mod segment;
mod store;
mod turn;
mod version;
mod whole_file;

pub use batch::Batch;
pub use collection::Collection;
pub use column_part::ColumnPart;
pub use document::Document;
pub use error::{Error, Result};
#[cfg(feature = "planted-bugs")]
pub use failpoint::Failpoint;
pub use fetched::Fetched;
pub use field_index::{IndexDefinition, IndexField, KeyField, KeyRange};
pub use first_lines::first_lines;
pub use folder::{drop_collection, is_dropped_left, remove_dropped, rename_collection};
pub use folio_types::IndexMethod;
pub use line::{EncodedLine, Record, Records, tombstone_id};
pub use options::{
    Access, CollectionOptions, Durability, Filter, Layout, LockTimeout, Progress, Scan, Strict,
};
pub use range::{DocumentRange, Position};
pub use report::{
    BatchCounts, CheckReport, CompactReport, EarlierLine, History, IndexCheck, IndexStats,
    InvalidLine, Notice, Put, Stats,
};
pub use scan::{CopiedLines, Documents, FoundDocuments, FoundKeys, ScanPiece};
pub use store::Only;
pub use store::columns::{ColumnParts, PART_SIZE, PartDraft, PartPlan};
pub use turn::Turn;
pub use version::{Stamp, Version};
