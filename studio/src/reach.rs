//! Rows far from the start of a grid, without reading those before them.
//!
//! The facade divides a relation into partitions and knows how many rows each has. So a position is
//! in one of them, and only that one is read. The division is kept while its partitions can be read;
//! one that has changed since says so, and the relation is divided again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use folio::{Database, Error, ErrorCode, Partition, PartitionOptions, Rows, Session};

/// About so many rows are read for one.
const PART_ROWS: u64 = 2_000;

const PARTS_MAX: u64 = 10_000;

/// The divisions of relations.
#[derive(Default)]
pub(crate) struct Reach(Mutex<HashMap<String, Arc<[Partition]>>>);

/// The rows of one partition that are wanted.
pub(crate) struct Piece {
    pub(crate) rows: Rows,
    pub(crate) skip: u64,
    pub(crate) take: u64,
}

impl Reach {
    /// The rows from a position on, as far as there are; `None` where the relation has no partitions.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn rows_at(
        &self,
        database: &Database,
        session: &mut Session,
        (relation, offset, limit): (&str, u64, u64),
    ) -> Result<Option<Vec<Piece>>, Error> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(relation).cloned();
        if let Some(parts) = known {
            match pieces(session, &parts, offset, limit) {
                // Less than is wanted may be the end of then, and rows have been added.
                Ok(pieces) if pieces.iter().map(|piece| piece.take).sum::<u64>() == limit => {
                    return Ok(Some(pieces));
                }
                Err(error) if error.code() != ErrorCode::Conflict => return Err(error),
                _ => {}
            }
        }
        let Some(parts) = self.divide(database, session, relation)? else { return Ok(None) };
        pieces(session, &parts, offset, limit).map(Some)
    }

    /// Divides a relation, so that the first rows far from the start wait for it no longer; `None`
    /// where it has no partitions.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn divide(
        &self,
        database: &Database,
        session: &mut Session,
        relation: &str,
    ) -> Result<Option<Arc<[Partition]>>, Error> {
        let Some(parts) = divided(database, session, relation)? else { return Ok(None) };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(relation.to_owned(), Arc::clone(&parts));
        Ok(Some(parts))
    }
}

fn divided(
    database: &Database,
    session: &mut Session,
    relation: &str,
) -> Result<Option<Arc<[Partition]>>, Error> {
    let summary = session.relations()?.into_iter().find(|one| one.name == relation);
    let Some(row_count) = summary.and_then(|one| one.row_count) else { return Ok(None) };
    let count = (row_count / PART_ROWS).clamp(1, PARTS_MAX);
    let count = usize::try_from(count).unwrap_or(1);
    let parts = database.partitions(relation, count, &PartitionOptions::default())?;
    Ok(Some(parts.into()))
}

fn pieces(
    session: &mut Session,
    parts: &[Partition],
    offset: u64,
    limit: u64,
) -> Result<Vec<Piece>, Error> {
    let (mut found, mut start, mut left) = (Vec::new(), 0, limit);
    for part in parts {
        let end = start + part.row_count();
        if left > 0 && offset + (limit - left) < end {
            let skip = (offset + (limit - left)).saturating_sub(start);
            let take = left.min(part.row_count() - skip);
            found.push(Piece { rows: session.read_partition(part)?, skip, take });
            left -= take;
        }
        start = end;
    }
    Ok(found)
}
