//! The native half of the Python package `foliodb`: it converts and delegates.
//!
//! ```text
//! users.put_many(docs)   put_many: encode straight from Python objects into lines, a buffer at
//!                        a time → Batch::put_encoded, without the interpreter's lock
//! users.get("u1")        Collection::try_get_raw, or get_raw without the lock → decode: the line
//!                        into a dict
//! users.scan()           reader: a chunk of lines without the lock → scan: a dict per `next`
//! ```
//!
//! `encode` and `decode` deal with JSON and Python objects, not with databases. The classes deal
//! with the facade, not with JSON. The public Python package, with the parts that need no speed, is
//! in `python/foliodb`.

// Conversions speak to the interpreter through its C interface; each block argues.
#![allow(unsafe_code)]

use mimalloc::MiMalloc;

// Every scan allocates and frees buffers. This allocator keeps their memory. The system's returns
// it, and clearing and mapping it again takes longer than reading does. Huge pages are disabled
// (feature `no_thp`): this allocator places sizes far from each other, and the first byte of each
// would clear two megabytes.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

mod arrow;
mod batch;
mod collection;
mod command;
mod count;
mod database;
mod decode;
mod document;
mod encode;
mod error;
mod fork;
mod id;
mod partition;
mod pipeline;
mod progress;
mod put_many;
mod reader;
mod report;
mod request;
mod scan;
mod sql;
mod studio;
mod tables;
mod transfer;
mod watcher;

use pyo3::prelude::*;

/// The native half of `foliodb`.
#[pymodule]
mod _foliodb {
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::collection::Collection;
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::database::{Database, flush_all, unpack};
    #[pymodule_export]
    use super::document::Document;
    #[pymodule_export]
    use super::fork::forked;
    #[pymodule_export]
    use super::partition::{PartWriter, Partition, PartitionedWriter, WrittenPart};
    #[pymodule_export]
    use super::report::{
        BackupReport, BatchCounts, CheckReport, CompactReport, ExportReport, ImportReport,
        IndexCheck, IndexStats, InvalidLine, PackReport, PageInspection, SalvageReport,
        SalvagedTable, SqliteReport, Stats, TableCheckReport, TableStatistics, TableSummary,
        UnpackReport, VacuumReport,
    };
    #[pymodule_export]
    use super::scan::Scan;
    #[pymodule_export]
    use super::sql::{Answer, Prepared, Session};
    #[pymodule_export]
    use super::studio::Studio;
    #[pymodule_export]
    use super::tables::{Tables, salvage};
    #[pymodule_export]
    use super::transfer::{
        check_document_id, derived_id, export_file, generated_id, import_file, near_match,
    };

    #[allow(non_upper_case_globals)] // Python's name for it
    #[pymodule_export]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
