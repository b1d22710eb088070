//! The schema of a scan, and its batches where they fit into memory.
//!
//! Documents are built into batches right away, under the schema that the first of
//! them suggest. Mostly that is the schema of all, and the work is done in one
//! pass. A document that does not fit widens the schema, as do all behind it, and
//! the batches are built anew; a scan that outgrows the memory set aside is only
//! looked through, and built as it is asked for. Either way the schema has seen
//! every document.

use arrow_array::RecordBatch;
use arrow_schema::Fields;

use super::batches::Source;
use super::column::Rows;
use super::kind::Members;
use super::token::Tokens;

/// Documents that suggest the first schema.
const SAMPLE_COUNT: u64 = 1_000;

/// Bytes of lines whose batches are kept.
const KEPT_SIZE_MAX: u64 = 256 << 20;

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
    let mut rows = Some(Rows::new(members));
    let mut batches = Vec::new();
    let suggested = members.clone();
    let (mut size, mut batch_size) = (0, 0);
    while let Some(line) = documents.next_line()? {
        let Some(building) = &mut rows else {
            observe(members, line)?;
            continue;
        };
        if building.push(&mut Tokens::new(line)).is_err() {
            rows = None;
            observe(members, line)?;
            continue;
        }
        size += line.len() as u64;
        batch_size += line.len();
        if building.count() >= BATCH_ROWS || batch_size >= BATCH_SIZE {
            batches.push(RecordBatch::from(building.finish(None)));
            batch_size = 0;
        }
        if size > KEPT_SIZE_MAX {
            rows = None;
        }
    }
    let Some(mut building) = rows else { return Ok((None, *members == suggested)) };
    if building.count() > 0 {
        batches.push(RecordBatch::from(building.finish(None)));
    }
    Ok((Some(batches), true))
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
