//! FolioDB.
pub mod backup;
mod batch;
mod collection;
mod database;
mod descriptor;
mod documents;
mod error;
pub mod export;
mod handle;
pub mod import;
pub mod json;
mod location;
mod near;
mod options;
mod store;
mod write;

pub use backup::BackupReport;
pub use batch::Batch;
pub use collection::Collection;
pub use database::Database;
pub use descriptor::FORMAT_VERSION;
pub use documents::Documents;
pub use error::{Error, Result};
pub use folio_document::{
    Access, BatchCounts, CheckReport, CompactReport, Document, Durability,
    Error as CollectionError, Filter, InvalidLine, Layout, Notice, Progress, Put, Scan, Stats,
    Strict,
};
pub use folio_types::ErrorCode;
pub use options::{CollectionOptions, OpenOptions};
