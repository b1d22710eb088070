//! Scans of collections that have a columns index: the rows of its parts, and the lines that are in
//! none.

use std::sync::Arc;

use folio_compute::{BATCH_SIZE, Result as QueryResult};
use folio_document::{ColumnPart, ColumnParts, DocumentRange, IndexMethod, ScanPiece};
use folio_engine::source::{Relation, RowStream, ScanRequest};
use folio_json::ArrayTest;

use super::super::documents::{DocumentRows, collection_of};
use super::{InTurn, PartCounts, distributed, opening};
use crate::collection::Collection;
use crate::documents::Documents;
use crate::format::json::{path_of, tested};
use crate::format::parquet::part::{PartGroup, PartRequest, PartRows, PartTest};
use crate::handle::Handle;

/// Rows that are about as much work as this many bytes of lines: one.
const ROW_SIZE: u64 = 100;

/// The minimum number of rows of a batch, however few a statement wants.
const BATCH_SIZE_MIN: usize = 256;

/// What a scan reads, in order.
enum Unit {
    Rows(PartGroup),
    Lines(Box<Documents>),
}

impl Unit {
    /// How much work it is, in rows of a part.
    fn weight(&self) -> u64 {
        match self {
            Self::Rows(group) => group.row_count,
            Self::Lines(lines) => lines.progress().1 / ROW_SIZE,
        }
    }
}

/// A columns index, and what a request wants of it; `None` if no part can serve.
fn usable(
    collection: &Collection,
    relation: &Relation,
    request: &ScanRequest,
) -> QueryResult<Option<(ColumnParts, PartRequest)>> {
    let definitions = collection.index_definitions()?;
    let is_columns = |own: &&_| -> bool {
        let own: &folio_document::IndexDefinition = own;
        own.method == IndexMethod::Columns
    };
    let mut definitions = definitions.iter().filter(is_columns).peekable();
    let document = relation.document_column();
    if definitions.peek().is_none()
        || request.index.is_some()
        || request.columns.iter().any(|column| document == Some(*column))
    {
        return Ok(None);
    }
    let wanted = |column: &usize| {
        let (path, _) = path_of(relation, *column);
        (path, relation.column_type(*column).clone())
    };
    let tests = request.conditions.iter().filter_map(|condition| {
        let ty = relation.column_type(condition.column).clone();
        let condition = tested(relation, condition)?;
        let test = ArrayTest::new(&condition)?;
        Some(PartTest::new(condition.path, ty, test))
    });
    let among = request.among.iter().map(|own| {
        let (path, ty) = wanted(&own.column);
        PartTest::among(path, ty, own.values.clone())
    });
    let tests = PartTest::merged(tests.chain(among));
    let columns = request.columns.iter().map(wanted).collect();
    let as_stored = request.as_stored.iter().map(|column| path_of(relation, *column).0).collect();
    let request = PartRequest { columns, tests, as_stored };
    // One with few fields before one with all.
    let mut all: Vec<_> = definitions.collect();
    all.sort_by_key(|own| if own.fields.is_empty() { usize::MAX } else { own.fields.len() });
    let core = collection.reader()?;
    for definition in all {
        let Some(parts) = core.column_parts(definition) else { continue };
        let serving = parts.parts().map_err(crate::Error::from)?;
        if serving.iter().any(|part| request.is_served_by(part.columns())) {
            return Ok(Some((parts, request)));
        }
        parts.report_damage();
    }
    Ok(None)
}

/// A scan of a request in about `count` parts, of all documents or of those in a range, with a
/// columns index; `None` if there is none that serves.
pub(in crate::source) fn scan_parts(
    collection: &Collection,
    relation: &Relation,
    request: &ScanRequest,
    (range, count): (Option<&DocumentRange>, usize),
    lines: &dyn Fn(Documents) -> DocumentRows,
) -> QueryResult<Option<Vec<Box<dyn RowStream>>>> {
    let Some((parts, wanted)) = usable(collection, relation, request)? else { return Ok(None) };
    let wanted = Arc::new(wanted);
    let serving: Vec<Arc<ColumnPart>> = parts.parts().map_err(crate::Error::from)?;
    let serving: Vec<_> =
        serving.into_iter().filter(|part| wanted.is_served_by(part.columns())).collect();
    parts.report_damage();
    let accepts = |part: &Arc<ColumnPart>| serving.iter().any(|own| Arc::ptr_eq(own, part));
    let mut units = Vec::new();
    for piece in parts.pieces(&accepts, range, count).map_err(crate::Error::from)? {
        match piece {
            ScanPiece::Rows(part, dead) => {
                units.extend(
                    wanted.groups(part.columns(), &dead).groups.into_iter().map(Unit::Rows),
                );
            }
            ScanPiece::Lines(found) => units.push(Unit::Lines(Box::new(Documents::new(*found)))),
        }
    }
    if request.in_any_order {
        units = wanted.put_first(units, |unit| match unit {
            Unit::Rows(group) => Some(group),
            Unit::Lines(_) => None,
        });
    }
    // The engine wants no more of a scan with a limit; it may pass over many rows for those.
    let wanted_rows = request.wanted.map_or(BATCH_SIZE, |wanted| wanted as usize);
    let batch_size = wanted_rows.clamp(BATCH_SIZE_MIN, BATCH_SIZE);
    let open = |unit| match unit {
        Unit::Rows(group) => {
            let wanted = Arc::clone(&wanted);
            opening(move || PartRows::new(&wanted, group, batch_size))
        }
        Unit::Lines(found) => {
            let rows = lines(*found);
            opening(|| Ok(rows))
        }
    };
    let stream = |units: Vec<Unit>| {
        let openings = units.into_iter().map(open).collect();
        Box::new(InTurn::new(openings, request.limit)) as Box<dyn RowStream>
    };
    Ok(Some(distributed(units, count, Unit::weight).into_iter().map(stream).collect()))
}

/// What a scan of a request reads, for EXPLAIN; `None` without columns that serve.
pub(in crate::source) fn describe(
    handle: &Arc<Handle>,
    relation: &Relation,
    request: &ScanRequest,
) -> Option<String> {
    let collection = collection_of(handle, relation).ok()?;
    let (parts, wanted) = usable(&collection, relation, request).ok()??;
    let (mut counts, mut line_size) = (PartCounts::default(), 0);
    let accepts = |part: &Arc<ColumnPart>| wanted.is_served_by(part.columns());
    for piece in parts.pieces(&accepts, None, 1).ok()? {
        match piece {
            ScanPiece::Rows(part, dead) => {
                let found = wanted.groups(part.columns(), &dead);
                counts.add(found.groups.len(), found.skipped_count);
            }
            ScanPiece::Lines(lines) => line_size += lines.progress().1,
        }
    }
    let mut text = counts.describe(&parts.definition().name);
    if line_size > 0 {
        text.push_str(&format!(", {line_size} bytes of lines"));
    }
    Some(text)
}
