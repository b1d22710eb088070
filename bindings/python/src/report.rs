//! Reports of operations, as Python objects with attributes.
//!
//! Each mirrors the facade's type of the same name, field by field.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A frozen class with the given fields, its conversion and its `repr`.
macro_rules! report {
    ($(#[$doc:meta])* $name:ident from $core:ty { $($(#[$field_doc:meta])* $field:ident: $kind:ty = $convert:expr),+ $(,)? }) => {
        $(#[$doc])*
        #[pyclass(frozen, get_all, eq, from_py_object, module = "foliodb._foliodb")]
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $name {
            $($(#[$field_doc])* $field: $kind,)+
        }

        impl From<$core> for $name {
            fn from(core: $core) -> Self {
                $(let $field = { let convert: fn(&$core) -> $kind = $convert; convert(&core) };)+
                Self { $($field),+ }
            }
        }

        #[pymethods]
        impl $name {
            fn __repr__(&self) -> String {
                let fields = [$(format!("{}={:?}", stringify!($field), self.$field)),+];
                format!("{}({})", stringify!($name), fields.join(", "))
            }

            /// For `pickle`.
            fn __reduce__<'py>(
                slf: &Bound<'py, Self>,
            ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
                let (report, py) = (slf.get().clone(), slf.py());
                let fields = [$(report.$field.into_bound_py_any(py)?),+];
                Ok((slf.get_type().getattr("_of")?, PyTuple::new(py, fields)?))
            }

            #[staticmethod]
            #[allow(clippy::too_many_arguments)] // its fields
            fn _of($($field: $kind),+) -> Self {
                Self { $($field),+ }
            }
        }
    };
}

report! {
    /// The counts of a batch.
    BatchCounts from folio::BatchCounts {
        /// Documents under new ids.
        inserted: u64 = |core| core.inserted,
        /// Documents that replaced another.
        replaced: u64 = |core| core.replaced,
        /// Documents deleted.
        deleted: u64 = |core| core.deleted,
    }
}

report! {
    /// Sizes and counts of a collection.
    Stats from folio::Stats {
        /// Live documents.
        document_count: u64 = |core| core.document_count,
        /// Lines that are superseded, tombstones, blank or invalid.
        dead_count: u64 = |core| core.dead_count,
        /// Bytes of the live lines.
        live_size: u64 = |core| core.live_size,
        /// Bytes of the data file, or of all document files.
        data_size: u64 = |core| core.data_size,
        /// Bytes of the index and the other derived files.
        index_size: u64 = |core| core.index_size,
    }
}

report! {
    /// One line that is not a document, or not one that the schema allows.
    InvalidLine from folio::InvalidLine {
        /// The file.
        path: PathBuf = |core| core.path.clone(),
        /// Its number, from 1.
        line: u64 = |core| core.line,
        /// Where it starts, in bytes.
        offset: u64 = |core| core.offset,
        /// What is wrong with it.
        reason: String = |core| core.reason.clone(),
    }
}

report! {
    /// The result of a check.
    CheckReport from folio::CheckReport {
        /// Live documents, counted line by line.
        document_count: u64 = |core| core.document_count,
        /// Lines whose id has a later line.
        superseded_count: u64 = |core| core.superseded_count,
        /// Delete markers.
        tombstone_count: u64 = |core| core.tombstone_count,
        /// The first thousand lines that are not documents.
        invalid: Vec<InvalidLine> = |core| core.invalid.iter().cloned().map(Into::into).collect(),
        /// The total number of such lines.
        invalid_count: u64 = |core| core.invalid_count,
        /// The first thousand documents that do not follow the schema of a strict collection. The
        /// reason begins with the path of the value.
        mismatches: Vec<InvalidLine> = |core| core.mismatches.iter().cloned().map(Into::into).collect(),
        /// The total number of such documents.
        mismatch_count: u64 = |core| core.mismatch_count,
        /// Damage to the index, the manifest or the batch record, a sentence each.
        problems: Vec<String> = |core| core.problems.clone(),
        /// Whether there is no damage.
        is_clean: bool = folio::CheckReport::is_clean,
    }
}

report! {
    /// An index of a collection or a table, with its size and state.
    IndexStats from folio::IndexStats {
        /// Its name.
        name: String = |core| core.definition.name.clone(),
        /// Its fields: dotted paths, with `[]` for the elements of a list and ` desc` after descending
        /// ones.
        fields: Vec<String> = |core| core.definition.field_texts(),
        /// Whether two documents may not have the same values.
        unique: bool = |core| core.definition.unique,
        /// The condition of documents that have entries, in SQL.
        condition: Option<String> = |core| core.definition.condition_text(),
        /// Its entries, those of superseded lines included; of columns, the documents or rows in them.
        entry_count: u64 = |core| core.entry_count,
        /// Bytes of its files.
        size: u64 = |core| core.size,
        /// Whether lookups use it. Otherwise they read all documents until a writer has built it.
        is_ready: bool = |core| core.is_ready,
    }
}

report! {
    /// What the check of an index on fields found.
    IndexCheck from folio::IndexCheck {
        /// Entries: one per document, or per distinct element of its list.
        entry_count: u64 = |core| core.entry_count,
        /// Damage, differences from the documents, and equal documents, one sentence each.
        problems: Vec<String> = |core| core.problems.clone(),
        /// Documents have the same values, although the index is unique.
        is_not_unique: bool = |core| core.is_not_unique,
        /// Its files do not fit the data. The next write builds them again.
        is_behind: bool = |core| core.is_behind,
    }
}

report! {
    /// The result of a compaction.
    CompactReport from folio::CompactReport {
        /// Live documents.
        document_count: u64 = |core| core.document_count,
        /// Size of the data before, in bytes.
        size_before: u64 = |core| core.size_before,
        /// Size of the data after, in bytes.
        size_after: u64 = |core| core.size_after,
        /// Invalid lines, which were moved to `rejected_path`.
        rejected_count: u64 = |core| core.rejected_count,
        /// The file with the invalid lines.
        rejected_path: Option<PathBuf> = |core| core.rejected_path.clone(),
    }
}

report! {
    /// The result of an import. The counts are of committed documents.
    ImportReport from folio::import::ImportReport {
        /// Documents under new ids.
        inserted: u64 = |core| core.inserted,
        /// Documents that replaced another.
        replaced: u64 = |core| core.replaced,
        /// Records that a later one of the same batch replaced or deleted.
        superseded: u64 = |core| core.superseded,
        /// Documents deleted, by tombstones in a data file.
        deleted: u64 = |core| core.deleted,
        /// Records skipped because their id had a document.
        skipped: u64 = |core| core.skipped,
        /// Records that could not become documents.
        rejected_count: u64 = |core| core.rejected_count,
        /// The first of them: `file:line: reason`.
        rejected: Vec<String> = |core| core.rejected.iter().map(ToString::to_string).collect(),
        /// Documents whose id was derived from text that is not a valid id.
        derived_id_count: u64 = |core| core.derived_id_count,
        /// The offset in the source, in bytes, where an earlier import had stopped.
        resumed_at: Option<u64> = |core| core.resumed_at,
        /// Bytes of the source read, as stored.
        size: u64 = |core| core.size,
    }
}

report! {
    /// The result of an export.
    ExportReport from folio::export::ExportReport {
        /// Documents written.
        document_count: u64 = |core| core.document_count,
        /// Bytes written.
        size: u64 = |core| core.size,
    }
}

report! {
    /// The result of a backup.
    BackupReport from folio::BackupReport {
        /// Files copied.
        file_count: u64 = |core| core.file_count,
        /// Their bytes.
        size: u64 = |core| core.size,
    }
}

report! {
    /// The result of packing.
    PackReport from folio::PackReport {
        /// Collections packed.
        collection_count: u64 = |core| core.collection_count,
        /// Documents packed.
        document_count: u64 = |core| core.document_count,
        /// Bytes of the archive.
        size: u64 = |core| core.size,
        /// Notices about the collections, a sentence each.
        notices: Vec<String> = |core| core.notices.iter().map(ToString::to_string).collect(),
    }
}

report! {
    /// The result of unpacking.
    UnpackReport from folio::UnpackReport {
        /// Files written.
        file_count: u64 = |core| core.file_count,
        /// Their bytes.
        size: u64 = |core| core.size,
        /// The first names of members that are not part of a database and were left out.
        skipped: Vec<String> = |core| core.skipped.clone(),
        /// The total number of such members.
        skipped_count: u64 = |core| core.skipped_count,
    }
}

report! {
    /// One table.
    TableSummary from folio::TableSummary {
        /// Its name.
        name: String = |core| core.name.clone(),
        /// Its rows.
        row_count: u64 = |core| core.row_count,
        /// The names of its columns.
        columns: Vec<String> = |core| core.columns.clone(),
        /// The names of its secondary indexes.
        indexes: Vec<String> = |core| core.indexes.clone(),
    }
}

report! {
    /// Sizes of the tables' files, and statistics of the buffer pool.
    TableStatistics from folio::TableStatistics {
        /// Bytes of a page.
        page_size: usize = |core| core.page_size,
        /// Bytes of the data file, including the log.
        data_size: u64 = |core| core.data_size,
        /// Bytes of the log that the next checkpoint copies.
        log_size: u64 = |core| core.log_size,
        /// Requests that found their page in memory.
        hits: u64 = |core| core.pool.hits,
        /// Requests that loaded or created it.
        misses: u64 = |core| core.pool.misses,
        /// Evicted pages.
        evictions: u64 = |core| core.pool.evictions,
    }
}

report! {
    /// The result of checking every page of the tables.
    TableCheckReport from folio::TableCheckReport {
        /// Pages of the data file.
        page_count: u32 = |core| core.pages,
        /// Of those, pages that are free.
        free_page_count: u32 = |core| core.free_pages,
        /// Tables.
        table_count: usize = |core| core.tables,
        /// Rows in all tables.
        row_count: u64 = |core| core.rows,
        /// Entries in all secondary indexes.
        index_entry_count: u64 = |core| core.index_entries,
        /// Problems, with their pages or files; empty if there are none.
        problems: Vec<String> = |core| core.problems.iter().map(ToString::to_string).collect(),
        /// Whether there are no problems.
        is_clean: bool = |core| core.problems.is_empty(),
    }
}

report! {
    /// One page of the tables' data file.
    PageInspection from folio::PageInspection {
        /// Its number.
        page: u32 = |core| core.page.0,
        /// Its offset in the data file, in bytes.
        offset: u64 = |core| core.offset,
        /// `leaf`, `inner node`, `overflow`, `free list` or `unknown`.
        kind: String = |core| core.kind.to_owned(),
        /// Its level, 0 for a leaf.
        level: u8 = |core| core.level,
        /// Cells, bytes of overflow, or free pages.
        count: usize = |core| core.count,
        /// Bytes in use, the header's not counted.
        used_size: usize = |core| core.used_size,
        /// What is wrong with it, if anything.
        problem: Option<String> = |core| core.problem.clone(),
    }
}

report! {
    /// What giving space back did.
    VacuumReport from folio::VacuumReport {
        /// Bytes of the data file before.
        size_before: u64 = |core| core.size_before,
        /// And after.
        size_after: u64 = |core| core.size_after,
    }
}

report! {
    /// What was saved of a table.
    SalvagedTable from folio::SalvagedTable {
        /// Its name.
        name: String = |core| core.name.clone(),
        /// Rows that are in the new database.
        row_count: u64 = |core| core.rows,
        /// How many there were, if that can be read.
        expected_count: Option<u64> = |core| core.expected,
        /// Rows that were found but are not whole.
        broken_count: u64 = |core| core.broken,
    }
}

report! {
    /// What was saved of damaged tables.
    SalvageReport from folio::SalvageReport {
        /// The tables, by name.
        tables: Vec<SalvagedTable> = |core| core.tables.iter().cloned().map(Into::into).collect(),
        /// Views saved.
        view_count: usize = |core| core.views,
        /// Pages that could not be read where something led to them.
        damaged_page_count: u64 = |core| core.damaged_pages,
        /// Problems of the files, and objects that could not be recreated.
        problems: Vec<String> = |core| core.problems.clone(),
    }
}

report! {
    /// What came over from an SQLite file.
    SqliteReport from folio::sqlite::SqliteReport {
        /// The rows of each table.
        tables: BTreeMap<String, u64> = |core| {
            core.tables.iter().map(|table| (table.name.clone(), table.row_count)).collect()
        },
        /// The rows of all tables.
        row_count: u64 = folio::sqlite::SqliteReport::row_count,
        /// The names of the views.
        views: Vec<String> = |core| core.views.clone(),
        /// Secondary indexes.
        index_count: u64 = |core| core.index_count,
        /// What is not as it was, a sentence each.
        notes: Vec<String> = |core| core.notes.iter().map(|note| note.text().to_owned()).collect(),
    }
}
