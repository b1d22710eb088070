//! The schema of a scan, and its batches where they fit into memory.
//!
//! Documents are built into batches right away, under the schema that the first of
//! them suggest. Mostly that is the schema of all, and the work is done in one
//! pass, by several threads where there is enough of it ([`super::parts`]). A document
//! that does not fit widens the schema, as do all behind it, and the batches are built
//! anew; a scan that outgrows the memory set aside is only looked through, and built as
//! it is asked for. Either way the schema has seen every document.

use arrow_array::RecordBatch;
use arrow_schema::Fields;

use super::batches::Source;
use super::column::{Misfit, Rows};
use super::kind::Members;
use super::parts;
use super::token::Tokens;

/// Documents that suggest the first schema.
const SAMPLE_COUNT: u64 = 1_000;

/// Bytes of lines whose batches are kept.
pub(super) const KEPT_SIZE_MAX: u64 = 256 << 20;

/// Rows of a batch, and bytes of lines after which it ends before that.
pub(super) const BATCH_ROWS: usize = 32 << 10;
pub(super) const BATCH_SIZE: usize = 64 << 20;

/// A settled schema with what is needed to go on.
pub(super) struct Prepared {
    pub(super) members: Members,
    /// All batches, or none: then the source is scanned again.
    pub(super) batches: Option<Vec<RecordBatch>>,
    pub(super) source: Source,
}

/// Settles the schema of a source.
///
/// # Errors
/// What the scan says.
pub(super) fn prepare(source: Source) -> folio::Result<Prepared> {
    let mut members = Members::default();
    let mut documents = source.open(Some(SAMPLE_COUNT))?;
    while let Some(line) = documents.next_line()? {
        observe(&mut members, line)?;
    }
    // The second pass, if any, has a schema that fits everything.
    for _ in 0..2 {
        if let Some(batches) = parts::build(&source, &members) {
            return Ok(Prepared { members, batches: Some(batches), source });
        }
        let (batches, is_settled) = build(&source, &mut members)?;
        if is_settled {
            return Ok(Prepared { members, batches, source });
        }
    }
    Err(changed())
}

/// The columns of a source, settled by a look at every document.
///
/// # Errors
/// What the scan says.
pub(super) fn fields(source: &Source) -> folio::Result<Fields> {
    let mut members = Members::default();
    let mut documents = source.open(None)?;
    while let Some(line) = documents.next_line()? {
        observe(&mut members, line)?;
    }
    Ok(members.fields())
}

/// Builds all batches under a schema, which becomes wider where it does not fit.
/// Answers the batches, if all are kept, and whether the schema fitted.
fn build(
    source: &Source,
    members: &mut Members,
) -> folio::Result<(Option<Vec<RecordBatch>>, bool)> {
    let mut documents = source.open(None)?;
    let mut kept = Some(Kept::new(members));
    let suggested = members.clone();
    while let Some(line) = documents.next_line()? {
        let is_in = kept.as_mut().is_some_and(|kept| kept.push(line).is_ok());
        if !is_in {
            kept = None;
            observe(members, line)?;
        }
        if kept.as_ref().is_some_and(|kept| kept.size > KEPT_SIZE_MAX) {
            kept = None;
        }
    }
    match kept {
        Some(kept) => Ok((Some(kept.finish()), true)),
        None => Ok((None, *members == suggested)),
    }
}

/// Batches that are kept as they fill.
pub(super) struct Kept {
    rows: Rows,
    batches: Vec<RecordBatch>,
    /// Bytes of lines in all, and of those of finished batches.
    size: u64,
    finished_size: u64,
}

impl Kept {
    pub(super) fn new(members: &Members) -> Self {
        Self { rows: Rows::new(members), batches: Vec::new(), size: 0, finished_size: 0 }
    }

    /// Appends a document. After a misfit the batches are of no use.
    #[inline]
    pub(super) fn push(&mut self, line: &[u8]) -> Result<(), Misfit> {
        self.rows.push(&mut Tokens::new(line))?;
        self.size += line.len() as u64;
        if self.rows.count() >= BATCH_ROWS || self.size - self.finished_size >= BATCH_SIZE as u64 {
            self.batches.push(RecordBatch::from(self.rows.finish(None)));
            self.finished_size = self.size;
        }
        Ok(())
    }

    /// All batches.
    pub(super) fn finish(mut self) -> Vec<RecordBatch> {
        if self.rows.count() > 0 {
            self.batches.push(RecordBatch::from(self.rows.finish(None)));
        }
        self.batches
    }
}

/// Widens the schema by a line.
fn observe(members: &mut Members, line: &[u8]) -> folio::Result<()> {
    members.observe(&mut Tokens::new(line)).map_err(|_| changed())
}

/// Documents that do not fit what all of them suggested were written meanwhile.
#[cold]
pub(super) fn changed() -> folio::Error {
    folio::Error::Invalid(
        "the collection was changed while it was read into columns; read it again".to_owned(),
    )
}
