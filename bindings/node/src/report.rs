//! What operations tell about their work, as plain objects.

use folio::export::ExportReport;
use folio::import::ImportReport;
use folio::sqlite::SqliteReport;
use folio::{
    BackupReport, BatchCounts, CheckReport, CompactReport, IndexCheck, IndexStats, InvalidLine,
    PackReport, Stats, UnpackReport,
};
use napi_derive::napi;

/// What a batch did.
#[napi(object)]
pub struct NativeCounts {
    /// Documents under new ids.
    pub inserted: f64,
    /// Documents that replaced another.
    pub replaced: f64,
    /// Documents deleted.
    pub deleted: f64,
}

impl From<BatchCounts> for NativeCounts {
    fn from(counts: BatchCounts) -> Self {
        Self {
            inserted: counts.inserted as f64,
            replaced: counts.replaced as f64,
            deleted: counts.deleted as f64,
        }
    }
}

/// Sizes and counts of a collection.
#[napi(object)]
pub struct NativeStats {
    /// Live documents.
    pub document_count: f64,
    /// Lines that are superseded, tombstones, blank or not valid.
    pub dead_count: f64,
    /// Bytes of the live lines.
    pub live_size: f64,
    /// Bytes of the data file.
    pub data_size: f64,
    /// Bytes of the index files.
    pub index_size: f64,
}

impl From<Stats> for NativeStats {
    fn from(stats: Stats) -> Self {
        Self {
            document_count: stats.document_count as f64,
            dead_count: stats.dead_count as f64,
            live_size: stats.live_size as f64,
            data_size: stats.data_size as f64,
            index_size: stats.index_size as f64,
        }
    }
}

/// One line that is not a document.
#[napi(object)]
pub struct NativeInvalidLine {
    /// The file.
    pub path: String,
    /// Its number, from 1.
    pub line: f64,
    /// Where it starts, in bytes.
    pub offset: f64,
    /// What is wrong with it.
    pub reason: String,
}

impl From<InvalidLine> for NativeInvalidLine {
    fn from(line: InvalidLine) -> Self {
        Self {
            path: line.path.display().to_string(),
            line: line.line as f64,
            offset: line.offset as f64,
            reason: line.reason,
        }
    }
}

/// What `check` found.
#[napi(object)]
pub struct NativeCheckReport {
    /// Whether everything is as it should be.
    pub is_clean: bool,
    /// Live documents, counted line by line.
    pub document_count: f64,
    /// Lines whose id has a later line.
    pub superseded_count: f64,
    /// Delete markers.
    pub tombstone_count: f64,
    /// The first lines that are not documents.
    pub invalid: Vec<NativeInvalidLine>,
    /// How many such lines there are in all.
    pub invalid_count: f64,
    /// The first documents that do not follow the schema of a strict collection.
    pub mismatches: Vec<NativeInvalidLine>,
    /// How many such documents there are in all.
    pub mismatch_count: f64,
    /// Damage elsewhere, a sentence each.
    pub problems: Vec<String>,
}

impl From<CheckReport> for NativeCheckReport {
    fn from(report: CheckReport) -> Self {
        Self {
            is_clean: report.is_clean(),
            document_count: report.document_count as f64,
            superseded_count: report.superseded_count as f64,
            tombstone_count: report.tombstone_count as f64,
            invalid: report.invalid.into_iter().map(Into::into).collect(),
            invalid_count: report.invalid_count as f64,
            mismatches: report.mismatches.into_iter().map(Into::into).collect(),
            mismatch_count: report.mismatch_count as f64,
            problems: report.problems,
        }
    }
}

/// An index of a collection or a table.
#[napi(object)]
pub struct NativeIndexStats {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<String>,
    /// Whether two documents may not have the same values.
    pub unique: bool,
    /// The condition of documents that have entries, in SQL.
    pub condition: Option<String>,
    /// Its entries.
    pub entry_count: f64,
    /// Bytes of its files.
    pub size: f64,
    /// Whether lookups use it.
    pub is_ready: bool,
}

impl From<IndexStats> for NativeIndexStats {
    fn from(index: IndexStats) -> Self {
        Self {
            fields: index.definition.field_texts(),
            condition: index.definition.condition_text(),
            name: index.definition.name,
            unique: index.definition.unique,
            entry_count: index.entry_count as f64,
            size: index.size as f64,
            is_ready: index.is_ready,
        }
    }
}

/// What the check of an index on fields found.
#[napi(object)]
pub struct NativeIndexCheck {
    /// Entries: one per document, or per distinct element of its list.
    pub entry_count: f64,
    /// Damage, differences and equal documents, a sentence each.
    pub problems: Vec<String>,
    /// Documents have the same values, although the index is unique.
    pub is_not_unique: bool,
    /// Its files do not fit the data.
    pub is_behind: bool,
}

impl From<IndexCheck> for NativeIndexCheck {
    fn from(check: IndexCheck) -> Self {
        Self {
            entry_count: check.entry_count as f64,
            problems: check.problems,
            is_not_unique: check.is_not_unique,
            is_behind: check.is_behind,
        }
    }
}

/// What a compaction did.
#[napi(object)]
pub struct NativeCompactReport {
    /// Live documents.
    pub document_count: f64,
    /// Bytes of the data before.
    pub size_before: f64,
    /// Bytes of the data after.
    pub size_after: f64,
    /// Lines that were not valid and were set aside.
    pub rejected_count: f64,
    /// The file with them.
    pub rejected_path: Option<String>,
}

impl From<CompactReport> for NativeCompactReport {
    fn from(report: CompactReport) -> Self {
        Self {
            document_count: report.document_count as f64,
            size_before: report.size_before as f64,
            size_after: report.size_after as f64,
            rejected_count: report.rejected_count as f64,
            rejected_path: report.rejected_path.map(|path| path.display().to_string()),
        }
    }
}

/// What a backup copied.
#[napi(object)]
pub struct NativeBackupReport {
    /// Files copied.
    pub file_count: f64,
    /// Their bytes.
    pub size: f64,
}

impl From<BackupReport> for NativeBackupReport {
    fn from(report: BackupReport) -> Self {
        Self { file_count: report.file_count as f64, size: report.size as f64 }
    }
}

/// A table that came over.
#[napi(object)]
pub struct NativeImportedTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub row_count: f64,
}

/// What came over from an SQLite file.
#[napi(object)]
pub struct NativeSqliteReport {
    /// The tables.
    pub tables: Vec<NativeImportedTable>,
    /// The rows of all of them.
    pub row_count: f64,
    /// The names of the views.
    pub views: Vec<String>,
    /// Secondary indexes.
    pub index_count: f64,
    /// What is not as it was, a sentence each.
    pub notes: Vec<String>,
}

impl From<SqliteReport> for NativeSqliteReport {
    fn from(report: SqliteReport) -> Self {
        let row_count = report.row_count() as f64;
        let tables = report.tables.into_iter().map(|table| NativeImportedTable {
            name: table.name,
            row_count: table.row_count as f64,
        });
        Self {
            tables: tables.collect(),
            row_count,
            views: report.views,
            index_count: report.index_count as f64,
            notes: report.notes.iter().map(|note| note.text().to_owned()).collect(),
        }
    }
}

/// What a packing wrote.
#[napi(object)]
pub struct NativePackReport {
    /// Collections packed.
    pub collection_count: f64,
    /// Documents packed.
    pub document_count: f64,
    /// Bytes of the archive.
    pub size: f64,
    /// What was noticed about the collections.
    pub notices: Vec<String>,
}

impl From<PackReport> for NativePackReport {
    fn from(report: PackReport) -> Self {
        Self {
            collection_count: report.collection_count as f64,
            document_count: report.document_count as f64,
            size: report.size as f64,
            notices: report.notices.into_iter().map(|notice| notice.0).collect(),
        }
    }
}

/// What an unpacking wrote.
#[napi(object)]
pub struct NativeUnpackReport {
    /// Files written.
    pub file_count: f64,
    /// Their bytes.
    pub size: f64,
    /// The first members that were left out.
    pub skipped: Vec<String>,
    /// How many were left out in all.
    pub skipped_count: f64,
}

impl From<UnpackReport> for NativeUnpackReport {
    fn from(report: UnpackReport) -> Self {
        Self {
            file_count: report.file_count as f64,
            size: report.size as f64,
            skipped: report.skipped,
            skipped_count: report.skipped_count as f64,
        }
    }
}

/// What an import did.
#[napi(object)]
pub struct NativeImportReport {
    /// Documents under new ids.
    pub inserted: f64,
    /// Documents that replaced another.
    pub replaced: f64,
    /// Records that a later one of the same batch replaced or deleted.
    pub superseded: f64,
    /// Documents deleted, by tombstones in the source.
    pub deleted: f64,
    /// Records passed over because their id had a document.
    pub skipped: f64,
    /// Records that could not become documents.
    pub rejected_count: f64,
    /// The first of them: file, line and reason.
    pub rejected: Vec<String>,
    /// Documents whose id was derived from text that is not a valid id.
    pub derived_id_count: f64,
    /// Where in the source, in bytes, an earlier import had come to.
    pub resumed_at: Option<f64>,
    /// Bytes of the source read.
    pub size: f64,
}

impl From<ImportReport> for NativeImportReport {
    fn from(report: ImportReport) -> Self {
        Self {
            inserted: report.inserted as f64,
            replaced: report.replaced as f64,
            superseded: report.superseded as f64,
            deleted: report.deleted as f64,
            skipped: report.skipped as f64,
            rejected_count: report.rejected_count as f64,
            rejected: report.rejected.iter().map(ToString::to_string).collect(),
            derived_id_count: report.derived_id_count as f64,
            resumed_at: report.resumed_at.map(|offset| offset as f64),
            size: report.size as f64,
        }
    }
}

/// What was exported.
#[napi(object)]
pub struct NativeExportReport {
    /// Documents written.
    pub document_count: f64,
    /// Bytes written.
    pub size: f64,
}

impl From<ExportReport> for NativeExportReport {
    fn from(report: ExportReport) -> Self {
        Self { document_count: report.document_count as f64, size: report.size as f64 }
    }
}
