//! The schema of a scan, and its batches where they fit into memory.
//!
//! Documents are built into batches right away, under the schema that the first of
//! them suggest. Mostly that is the schema of all, and the work is done in one
//! pass, by several threads where there is enough of it ([`super::parts`]). Where a document
//! does not fit, all of them are looked at, and the batches are built anew under
//! the types of all; a scan that outgrows the memory set aside is only looked through, and
//! built as it is asked for. Either way the schema is that of every document.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Fields;
use folio::json::{Columns, Misfit, Others};
use folio::{Field, Types};

use super::batches::Source;
use super::parts;

/// Documents that suggest the first schema.
const SAMPLE_COUNT: u64 = 1_000;

/// Bytes of lines whose batches are kept.
pub(super) const KEPT_SIZE_MAX: u64 = 256 << 20;

/// Schemas of all documents that are tried.
const ATTEMPTS: usize = 3;

/// Rows of a batch, and bytes of lines after which it ends before that.
pub(super) const BATCH_ROWS: usize = 32 << 10;
pub(super) const BATCH_SIZE: usize = 64 << 20;

/// A settled schema with what is needed to go on.
pub(super) struct Prepared {
    pub(super) fields: Vec<Field>,
    /// All batches, or none: then the source is scanned again.
    pub(super) batches: Option<Vec<RecordBatch>>,
    pub(super) source: Source,
}

/// Settles the schema of a source.
///
/// # Errors
/// What the scan says.
pub(super) fn prepare(source: Source) -> folio::Result<Prepared> {
    let suggested = observe(&source, Some(SAMPLE_COUNT))?.fields();
    if let Built::All(batches) = build(&source, &suggested)? {
        return Ok(Prepared { fields: suggested, batches: Some(batches), source });
    }
    // What is written meanwhile may not fit either.
    for _ in 0..ATTEMPTS {
        let fields = settled(&source)?;
        match build(&source, &fields)? {
            Built::All(batches) => return Ok(Prepared { fields, batches: Some(batches), source }),
            Built::TooLarge => return Ok(Prepared { fields, batches: None, source }),
            Built::Misfit => {}
        }
    }
    Err(changed())
}

/// The columns of a source, settled by a look at every document.
///
/// # Errors
/// What the scan says.
pub(super) fn fields(source: &Source) -> folio::Result<Fields> {
    Ok(to_arrow(&settled(source)?))
}

/// Fields as Arrow has them.
pub(super) fn to_arrow(fields: &[Field]) -> Fields {
    fields.iter().map(|field| Arc::new(field.to_arrow())).collect()
}

/// The types of all documents of a source.
fn settled(source: &Source) -> folio::Result<Vec<Field>> {
    match source.types()? {
        Some(types) => Ok(types.fields()),
        None => Ok(observe(source, None)?.fields()),
    }
}

/// Looks at documents, at most `limit` of them.
fn observe(source: &Source, limit: Option<u64>) -> folio::Result<Types> {
    let mut types = Types::default();
    let mut documents = source.open(limit)?;
    while let Some(line) = documents.next_line()? {
        types.observe(line).map_err(|_| changed())?;
    }
    Ok(types)
}

/// What became of batches under a schema.
enum Built {
    All(Vec<RecordBatch>),
    /// A document does not fit.
    Misfit,
    /// They are more than is kept.
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
            return Ok(Built::Misfit);
        }
        if kept.size > KEPT_SIZE_MAX {
            return Ok(Built::TooLarge);
        }
    }
    Ok(Built::All(kept.finish()))
}

/// Batches that are kept as they fill.
pub(super) struct Kept {
    rows: Columns,
    batches: Vec<RecordBatch>,
    /// Bytes of lines in all, and of those of finished batches.
    size: u64,
    finished_size: u64,
}

impl Kept {
    pub(super) fn new(fields: &[Field]) -> Self {
        let rows = Columns::new(fields, Others::Refuse);
        Self { rows, batches: Vec::new(), size: 0, finished_size: 0 }
    }

    /// Appends a document. After a misfit the batches are of no use.
    #[inline]
    pub(super) fn push(&mut self, line: &[u8]) -> Result<(), Misfit> {
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

/// Documents that do not fit what all of them suggested were written meanwhile.
#[cold]
pub(super) fn changed() -> folio::Error {
    folio::Error::Invalid(
        "the collection was changed while it was read into columns; read it again".to_owned(),
    )
}
