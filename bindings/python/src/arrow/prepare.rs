//! Determines the schema of a scan, and its batches if they fit into memory.
//!
//! Documents are built into batches at once, under the schema suggested by the first ones. Usually
//! that is the schema of all, and one pass is enough, with several threads if there are many
//! documents ([`super::parts`]). If a document does not fit, all of them are read, and the batches
//! are rebuilt under the types of all. A scan that exceeds the memory limit is only read, and built
//! on demand. Either way the schema is that of every document.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Fields;
use folio::json::{Columns, Mismatch, Others};
use folio::{Field, Types};

use super::batches::Source;
use super::parts;

/// The number of documents for the first schema.
const SAMPLE_COUNT: u64 = 1_000;

/// The maximum size of lines whose batches are held in memory.
pub(super) const KEPT_SIZE_MAX: u64 = 256 << 20;

/// The maximum number of schemas tried.
const ATTEMPTS: usize = 3;

/// Rows of a batch, and bytes of lines after which it ends earlier.
pub(super) const BATCH_ROWS: usize = 32 << 10;
pub(super) const BATCH_SIZE: usize = 64 << 20;

/// A final schema and the state to continue.
pub(super) struct Prepared {
    pub(super) fields: Vec<Field>,
    /// All batches, or none: then the source is scanned again.
    pub(super) batches: Option<Vec<RecordBatch>>,
    pub(super) source: Source,
}

/// Determines the schema of a source.
///
/// # Errors
/// Errors of the scan.
pub(super) fn prepare(source: Source) -> folio::Result<Prepared> {
    let suggested = observe(&source, Some(SAMPLE_COUNT))?.fields();
    if let Built::All(batches) = build(&source, &suggested)? {
        return Ok(Prepared { fields: suggested, batches: Some(batches), source });
    }
    // Documents written meanwhile may not fit either.
    for _ in 0..ATTEMPTS {
        let fields = final_types(&source)?;
        match build(&source, &fields)? {
            Built::All(batches) => return Ok(Prepared { fields, batches: Some(batches), source }),
            Built::TooLarge => return Ok(Prepared { fields, batches: None, source }),
            Built::Mismatch => {}
        }
    }
    Err(changed())
}

/// The columns of a source, from all its documents.
///
/// # Errors
/// Errors of the scan.
pub(super) fn fields(source: &Source) -> folio::Result<Fields> {
    Ok(to_arrow(&final_types(source)?))
}

/// Converts fields to Arrow.
pub(super) fn to_arrow(fields: &[Field]) -> Fields {
    fields.iter().map(|field| Arc::new(field.to_arrow())).collect()
}

/// The types of all documents of a source.
fn final_types(source: &Source) -> folio::Result<Vec<Field>> {
    match source.types()? {
        Some(types) => Ok(types.fields()),
        None => Ok(observe(source, None)?.fields()),
    }
}

/// Finds the types of at most `limit` documents.
fn observe(source: &Source, limit: Option<u64>) -> folio::Result<Types> {
    let mut types = Types::default();
    let mut documents = source.open(limit)?;
    while let Some(line) = documents.next_line()? {
        types.observe(line).map_err(|_| changed())?;
    }
    Ok(types)
}

/// The result of building batches under a schema.
enum Built {
    All(Vec<RecordBatch>),
    /// A document does not fit.
    Mismatch,
    /// They exceed the memory limit.
    TooLarge,
}

/// Builds all batches under a schema.
fn build(source: &Source, fields: &[Field]) -> folio::Result<Built> {
    if let Some(batches) = parts::build(source, fields) {
        return Ok(Built::All(batches));
    }
    let mut documents = source.open(None)?;
    let mut kept = Kept::new(fields);
    while let Some(line) = documents.next_line()? {
        if kept.push(line).is_err() {
            return Ok(Built::Mismatch);
        }
        if kept.size > KEPT_SIZE_MAX {
            return Ok(Built::TooLarge);
        }
    }
    Ok(Built::All(kept.finish()))
}

/// Batches held in memory as they fill.
pub(super) struct Kept {
    rows: Columns,
    batches: Vec<RecordBatch>,
    /// Bytes of lines in total, and in finished batches.
    size: u64,
    finished_size: u64,
}

impl Kept {
    pub(super) fn new(fields: &[Field]) -> Self {
        let rows = Columns::new(fields, Others::Refuse);
        Self { rows, batches: Vec::new(), size: 0, finished_size: 0 }
    }

    /// Appends a document. After a misfit the batches must not be used.
    #[inline]
    pub(super) fn push(&mut self, line: &[u8]) -> Result<(), Mismatch> {
        self.rows.push(line)?;
        self.size += line.len() as u64;
        if self.rows.row_count() >= BATCH_ROWS
            || self.size - self.finished_size >= BATCH_SIZE as u64
        {
            self.batches.push(RecordBatch::from(self.rows.finish()));
            self.finished_size = self.size;
        }
        Ok(())
    }

    /// All batches.
    pub(super) fn finish(mut self) -> Vec<RecordBatch> {
        if self.rows.row_count() > 0 {
            self.batches.push(RecordBatch::from(self.rows.finish()));
        }
        self.batches
    }
}

/// The error for documents that were written meanwhile and do not fit.
#[cold]
pub(super) fn changed() -> folio::Error {
    folio::Error::Invalid(
        "the collection was changed while it was read into columns; read it again".to_owned(),
    )
}
