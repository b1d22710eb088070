//! A columns index: whatever happened, its parts and the lines beside them are what a scan finds,
//! and the next writer builds what is missing.
//!
//! The store does not know the format of columns. Here it is the lines themselves.

use std::sync::Arc;

use folio_document::{
    Collection, ColumnPart, ColumnParts, IndexDefinition, IndexMethod, PartDraft, Result, ScanPiece,
};

use crate::text::{Content, reported};

/// Ranges of at least as many pieces: more than one, so that parts have neighbours.
const PIECES: usize = 3;

fn definition() -> IndexDefinition {
    IndexDefinition::columns::<&str>("c", Some("cols"), &[]).expect("it is valid")
}

/// Creates the index, as the facade does: the parts, then the definition.
pub(crate) fn create(collection: &Collection) -> Result<()> {
    let definition = definition();
    collection.prepare_index(&definition)?;
    build(collection, &definition)?;
    collection.create_index(&definition, &mut |_, _| true)
}

/// Builds what is missing, as the facade does after a flush or a batch.
pub(crate) fn keep(collection: &Collection) -> Result<()> {
    match stored(collection)? {
        Some(definition) => build(collection, &definition),
        None => Ok(()),
    }
}

fn build(collection: &Collection, definition: &IndexDefinition) -> Result<()> {
    let Some(parts) = collection.column_parts(definition) else { return Ok(()) };
    if !parts.is_writable() {
        return Ok(());
    }
    let plan = parts.plan(&is_intact, true, PIECES)?;
    for range in &plan.ranges {
        if let Some(mut draft) = parts.draft(&plan, range)? {
            let columns = encode(&mut draft)?;
            parts.add(&draft, &columns)?;
        }
    }
    parts.report_damage();
    Ok(())
}

fn stored(collection: &Collection) -> Result<Option<IndexDefinition>> {
    let mut definitions = collection.indexes()?.iter().cloned().collect::<Vec<_>>().into_iter();
    Ok(definitions.find(|definition| definition.method == IndexMethod::Columns))
}

fn encode(draft: &mut PartDraft) -> Result<Vec<u8>> {
    let mut columns = Vec::new();
    while let Some(line) = draft.next_line()? {
        columns.extend_from_slice(line);
        columns.push(b'\n');
    }
    Ok(columns)
}

fn is_intact(part: &Arc<ColumnPart>) -> bool {
    let columns = part.columns();
    columns.is_intact(0..columns.bytes().len() as u64)
}

/// Compares the pieces of a scan with what a scan of the lines has found.
pub(crate) fn compare(
    collection: &Collection,
    scanned: &Content,
) -> std::result::Result<(), String> {
    let failed = |error: folio_document::Error| format!("the columns fail: {error}");
    let Some(definition) = stored(collection).map_err(failed)? else { return Ok(()) };
    let Some(parts) = collection.column_parts(&definition) else { return Ok(()) };
    let usable = parts.parts().map_err(failed)?;
    let usable: Vec<_> = usable.into_iter().filter(is_intact).collect();
    parts.report_damage();
    let accepts = |part: &Arc<ColumnPart>| usable.iter().any(|own| Arc::ptr_eq(own, part));
    let found = lines(&parts, &accepts).map_err(failed)?;
    if found.iter().eq(scanned.iter().map(|(_, line)| line)) {
        return Ok(());
    }
    let found: Content = found.into_iter().map(|line| (String::new(), line)).collect();
    Err(format!("columns give {}, a scan {}", reported(&found), reported(scanned)))
}

fn lines(parts: &ColumnParts, accepts: &dyn Fn(&Arc<ColumnPart>) -> bool) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for piece in parts.pieces(accepts, None, PIECES)? {
        match piece {
            ScanPiece::Rows(part, dead) => {
                let text = std::str::from_utf8(part.columns().bytes()).expect("it is intact");
                let rows = text.lines().enumerate();
                let is_alive = |row: &usize| dead.binary_search(&(*row as u32)).is_err();
                lines
                    .extend(rows.filter(|(row, _)| is_alive(row)).map(|(_, line)| line.to_owned()));
            }
            ScanPiece::Lines(documents) => {
                for document in *documents {
                    lines.push(document?.into_raw());
                }
            }
        }
    }
    Ok(lines)
}

/// Builds what is missing, and says if lines are in no part then, or a part is damaged.
pub(crate) fn heal(collection: &Collection) -> std::result::Result<(), String> {
    let failed = |error: folio_document::Error| format!("the columns do not heal: {error}");
    let Some(definition) = stored(collection).map_err(failed)? else { return Ok(()) };
    let Some(parts) = collection.column_parts(&definition) else { return Ok(()) };
    keep(collection).map_err(failed)?;
    let left = parts.plan(&is_intact, true, 1).map_err(failed)?.ranges;
    let check = collection.check_index(&definition.name).map_err(failed)?;
    match left.is_empty() && check.problems.is_empty() {
        true => Ok(()),
        false => Err(format!("after building, {left:?} is in no part, and {:?}", check.problems)),
    }
}
