//! Builds columns indexes of collections, and keeps them up to date.
//!
//! ```text
//! create   the parts of all lines, then the definition
//! keep     after a flush or a batch: parts of what was added since, if it is much, and of what was
//!          edited; parts that have other types than the documents by now are made again
//! check    whether parts have the values of their lines
//! ```
//!
//! The store says which ranges of lines lack a part, reads them, and places what is made of them
//! ([`folio_document::ColumnParts`]); `format/parquet/part/` makes it. Each thread makes one part
//! at a time. No lock is held meanwhile.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use folio_document::{
    Collection, ColumnPart, ColumnParts, IndexDefinition, IndexMethod, Notice, PartPlan, Progress,
};

use crate::error::{Error, Result};
use crate::format::parquet::part::PartLayout;
use crate::threads;
use crate::types::KnownTypes;

/// How many parts a flush makes at most. The next one goes on.
const PARTS_PER_FLUSH: usize = 8;

/// Makes the parts of all lines for a new index.
///
/// # Errors
/// `cancelled`, after which another call continues; errors of the scan and of the files.
pub(crate) fn create(
    core: &Collection,
    types: &KnownTypes,
    definition: &IndexDefinition,
    progress: Progress<'_>,
) -> Result<()> {
    core.prepare_index(definition)?;
    let Some(parts) = core.column_parts(definition) else { return Ok(()) };
    let layout = PartLayout::new(&types.of(core)?.0, definition);
    let serves = |part: &Arc<ColumnPart>| layout.is_served_by(part.columns());
    let plan = parts.plan(&serves, true, threads::count())?;
    // A few parts at a time, so that it can be interrupted.
    for some in plan.ranges.chunks(threads::count()) {
        make(&parts, &layout, &plan, some)?;
        let done = some.last().map_or(0, |range| range.end);
        if !progress(done, plan.data_size) {
            return Err(folio_document::Error::Cancelled.into());
        }
    }
    Ok(())
}

/// Brings all columns indexes up to date, if much is missing. An error costs only time, later.
pub(crate) fn keep(core: &Collection, types: &KnownTypes) {
    let Ok(definitions) = core.indexes() else { return };
    for definition in definitions.iter().filter(|own| own.method == IndexMethod::Columns) {
        if let Err(error) = keep_one(core, types, definition) {
            let name = &definition.name;
            core.notice(Notice(format!("index {name:?} is not up to date: {error}")));
        }
    }
}

fn keep_one(core: &Collection, types: &KnownTypes, definition: &IndexDefinition) -> Result<()> {
    let Some(parts) = core.column_parts(definition).filter(ColumnParts::is_writable) else {
        return Ok(());
    };
    let layout = PartLayout::new(&types.of(core)?.0, definition);
    let serves = |part: &Arc<ColumnPart>| layout.is_served_by(part.columns());
    let plan = parts.plan(&serves, false, threads::count())?;
    let some = plan.ranges.len().min(PARTS_PER_FLUSH);
    let made = make(&parts, &layout, &plan, &plan.ranges[..some]);
    parts.report_damage();
    made
}

/// Compares the parts of all columns indexes, or of the one of a name, with the lines. Returns a
/// problem for each that has other values.
///
/// # Errors
/// Errors of the scan.
pub(crate) fn check(
    core: &Collection,
    types: &KnownTypes,
    name: Option<&str>,
) -> Result<Vec<String>> {
    let definitions = core.indexes()?;
    let is_wanted = |own: &&IndexDefinition| {
        own.method == IndexMethod::Columns && name.is_none_or(|name| own.name == name)
    };
    let mut problems = Vec::new();
    for definition in definitions.iter().filter(is_wanted) {
        let Some(parts) = core.column_parts(definition) else { continue };
        let layout = PartLayout::new(&types.of(core)?.0, definition);
        for mut copied in parts.copied()? {
            if !layout.is_copied(&mut copied)? {
                problems.push(format!(
                    "index {:?}: {} has other values than the lines; run `folio reindex`",
                    definition.name,
                    copied.part.file_name()
                ));
            }
        }
    }
    Ok(problems)
}

/// Makes the parts of some ranges, with all cores.
fn make(
    parts: &ColumnParts,
    layout: &PartLayout,
    plan: &PartPlan,
    ranges: &[Range<u64>],
) -> Result<()> {
    let left = Mutex::new(ranges.iter());
    let work = |()| -> Result<()> {
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(range) = next else { return Ok(()) };
            let Some(mut draft) = parts.draft(plan, range)? else { continue };
            let columns: Option<Vec<u8>> = layout.encode(&mut draft)?;
            if let Some(columns) = columns {
                parts.add(&draft, &columns)?;
            }
        }
    };
    let workers = vec![(); threads::count().min(ranges.len())];
    let refused = || Error::Invalid("the system starts no thread to build columns".to_owned());
    let results = if workers.is_empty() { Some(Vec::new()) } else { threads::each(workers, work) };
    results.ok_or_else(refused)?.into_iter().collect()
}
