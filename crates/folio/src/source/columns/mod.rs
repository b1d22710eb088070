//! Scans that read the row groups of a columns index, and what is in none of them from where it is.

pub(super) mod documents;
pub(super) mod tables;

use std::vec::IntoIter;

use folio_compute::{Batch, Result as QueryResult};
use folio_engine::source::RowStream;

/// Begins to read rows.
type Opening = Box<dyn FnOnce() -> QueryResult<Box<dyn RowStream>> + Send>;

fn opening<R: RowStream + 'static>(
    open: impl FnOnce() -> QueryResult<R> + Send + 'static,
) -> Opening {
    Box::new(|| Ok(Box::new(open()?)))
}

/// The rows of several openings, one after another. Each is opened when its turn comes.
struct InTurn {
    openings: IntoIter<Opening>,
    current: Option<Box<dyn RowStream>>,
    /// How many more rows are wanted.
    left: u64,
}

impl InTurn {
    fn new(openings: Vec<Opening>, limit: Option<u64>) -> Self {
        let left = limit.unwrap_or(u64::MAX);
        Self { openings: openings.into_iter(), current: None, left }
    }
}

impl RowStream for InTurn {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        while self.left > 0 {
            let Some(rows) = &mut self.current else {
                let Some(open) = self.openings.next() else { return Ok(None) };
                self.current = Some(open()?);
                continue;
            };
            match rows.next()? {
                None => self.current = None,
                Some(batch) if batch.row_count == 0 => {}
                Some(batch) => {
                    let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                    let wanted = left.min(batch.row_count);
                    self.left -= wanted as u64;
                    let is_whole = wanted == batch.row_count;
                    return Ok(Some(if is_whole { batch } else { batch.slice(0, wanted) }));
                }
            }
        }
        Ok(None)
    }
}

/// Units as up to `count` runs of about the same work, in order; at least one.
fn distributed<U>(units: Vec<U>, count: usize, weight: impl Fn(&U) -> u64) -> Vec<Vec<U>> {
    let total: u64 = units.iter().map(&weight).sum();
    let mut runs: Vec<(u64, Vec<U>)> = Vec::new();
    let mut before = 0;
    for unit in units {
        // What weighs nothing may come after everything.
        let number = (before * count as u64 / total.max(1)).min(count as u64 - 1);
        before += weight(&unit);
        match runs.last_mut() {
            Some((own, run)) if *own == number => run.push(unit),
            _ => runs.push((number, vec![unit])),
        }
    }
    let runs: Vec<Vec<U>> = runs.into_iter().map(|(_, run)| run).collect();
    if runs.is_empty() { vec![Vec::new()] } else { runs }
}

/// The parts of an index that a scan reads, and their row groups, for EXPLAIN.
#[derive(Default)]
struct PartCounts {
    parts: usize,
    groups: usize,
    skipped: usize,
}

impl PartCounts {
    /// Adds a part, with the row groups that are read of it, and those that are skipped.
    fn add(&mut self, read: usize, skipped: usize) {
        self.parts += 1;
        self.groups += read + skipped;
        self.skipped += skipped;
    }

    fn describe(&self, index: &str) -> String {
        let Self { parts, groups, skipped } = self;
        let noun = if *parts == 1 { "part" } else { "parts" };
        let mut text = format!("columns {index}: {parts} {noun}");
        if *skipped > 0 {
            text.push_str(&format!(", {skipped} of {groups} row groups skipped"));
        }
        text
    }
}
