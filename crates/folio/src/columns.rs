//! Builds columns indexes of collections, and keeps them up to date.
//!
//! ```text
//! create   the parts of all lines, then the definition
//! remake   the same for all indexes, part by part: an old one stays until the new one is there
//! keep     after a flush or a batch: parts of what was added since, if it is much, and of what was
//!          edited; parts that have other types than the documents by now are made again
//! keeper   the thread that does so behind the writer
//! check    whether parts have the values of their lines
//! ```
//!
//! The store says which ranges of lines lack a part, reads them, and places what is made of them
//! ([`folio_document::ColumnParts`]); `format/parquet/part/` makes it. Each thread makes one part
//! at a time. No lock is held meanwhile.

pub(crate) mod keeper;

use std::ops::Range;
use std::sync::Arc;

use folio_document::{
    Collection, ColumnPart, ColumnParts, IndexDefinition, IndexMethod, Notice, PartPlan, Progress,
};

use crate::error::Result;
use crate::format::parquet::part::PartLayout;
use crate::threads;
use crate::types::KnownTypes;

/// How many parts are made at a time at most, where somebody waits for them. The next flush goes on.
const PARTS_AT_ONCE: usize = 8;

/// How much is made at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    threads: usize,
    part_count: usize,
}

impl Effort {
    /// With all cores, for a caller that waits.
    pub(crate) fn whole() -> Self {
        Self { threads: threads::count(), part_count: PARTS_AT_ONCE }
    }

    /// With all cores but the writer's, and soon to be interrupted.
    fn behind() -> Self {
        let threads = threads::count().saturating_sub(1).max(1);
        Self { threads, part_count: threads }
    }
}

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
        make(&parts, &layout, &plan, some, threads::count())?;
        let done = some.last().map_or(0, |range| range.end);
        if !progress(done, plan.data_size) {
            return Err(folio_document::Error::Cancelled.into());
        }
    }
    Ok(())
}

/// Makes the parts of all columns indexes again. What they replace stays until they are written.
///
/// # Errors
/// Errors of the scan and of the files.
pub(crate) fn remake(core: &Collection, types: &KnownTypes) -> Result<()> {
    for (definition, parts) in kept(core) {
        let layout = PartLayout::new(&types.of(core)?.0, &definition);
        let plan = parts.plan(&|_| false, true, threads::count())?;
        let made = make(&parts, &layout, &plan, &plan.ranges, threads::count());
        parts.remove_unfit()?;
        made?;
    }
    Ok(())
}

/// Brings all columns indexes up to date, if much is missing. Returns whether there is more to make.
/// An error costs only time, later.
pub(crate) fn keep(core: &Collection, types: &KnownTypes, effort: Effort) -> bool {
    let mut has_more = false;
    for (definition, parts) in kept(core) {
        match keep_one(core, types, &definition, &parts, effort) {
            Ok(more) => has_more |= more,
            // The collection was closed meanwhile.
            Err(_) if !parts.is_writable() => {}
            Err(error) => {
                let name = &definition.name;
                core.notice(Notice(format!("index {name:?} is not up to date: {error}")));
            }
        }
    }
    has_more
}

/// The columns indexes that this process keeps up to date.
fn kept(core: &Collection) -> Vec<(IndexDefinition, ColumnParts)> {
    let Ok(definitions) = core.indexes() else { return Vec::new() };
    let of_columns = definitions.iter().filter(|own| own.method == IndexMethod::Columns);
    let with_parts = |own: &IndexDefinition| Some((own.clone(), core.column_parts(own)?));
    of_columns.filter_map(with_parts).filter(|(_, parts)| parts.is_writable()).collect()
}

/// The most bytes of lines that a columns index has no part of.
fn missing_size(core: &Collection) -> u64 {
    kept(core).iter().map(|(_, parts)| parts.missing_size()).max().unwrap_or(0)
}

fn keep_one(
    core: &Collection,
    types: &KnownTypes,
    definition: &IndexDefinition,
    parts: &ColumnParts,
    effort: Effort,
) -> Result<bool> {
    let layout = PartLayout::new(&types.of(core)?.0, definition);
    let serves = |part: &Arc<ColumnPart>| layout.is_served_by(part.columns());
    let plan = parts.plan(&serves, false, effort.threads)?;
    let some = &plan.ranges[..plan.ranges.len().min(effort.part_count)];
    let made = make(parts, &layout, &plan, some, effort.threads);
    parts.report_damage();
    // Where none could be placed, as while another process writes, the next round places none either.
    made.map(|count| count > 0 && some.len() < plan.ranges.len())
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

/// Makes the parts of some ranges. Returns how many were placed.
fn make(
    parts: &ColumnParts,
    layout: &PartLayout,
    plan: &PartPlan,
    ranges: &[Range<u64>],
    threads: usize,
) -> Result<usize> {
    let place = |range: &Range<u64>| -> Result<bool> {
        let Some(mut draft) = parts.draft(plan, range)? else { return Ok(false) };
        let columns: Option<Vec<u8>> = layout.encode(&mut draft)?;
        columns.map_or(Ok(false), |columns| Ok(parts.add(&draft, &columns)?))
    };
    let placed = threads::share(ranges.iter().collect(), threads, place)?;
    Ok(placed.into_iter().filter(|is_placed| *is_placed).count())
}
