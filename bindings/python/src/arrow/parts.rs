//! Builds the batches of a scan with several threads.
//!
//! Each thread reads a part of the file under the suggested schema. If the schema does not fit all
//! documents, or there is another problem, nothing is built. One thread then reads all of them in
//! order, widens the schema and reports errors.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use arrow_array::RecordBatch;
use folio::Field;

use super::batches::{Documents, Source};
use super::prepare::{KEPT_SIZE_MAX, Kept};

/// The minimum number of bytes per thread, which takes some 50 microseconds to start.
const PART_SIZE_MIN: u64 = 1 << 20;

/// More threads than this would wait for memory.
const PARTS_MAX: usize = 8;

/// All batches in order; `None` if one thread must read the documents.
pub(super) fn build(source: &Source, fields: &[Field]) -> Option<Vec<RecordBatch>> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(PARTS_MAX);
    let parts = source.open_parts(threads).ok()??;
    let size: u64 = parts.iter().map(Documents::size).sum();
    if parts.len() < 2 || size < PART_SIZE_MIN * parts.len() as u64 || size > KEPT_SIZE_MAX {
        return None;
    }
    let has_failed = AtomicBool::new(false);
    let batches = thread::scope(|scope| {
        let has_failed = &has_failed;
        let mut parts = parts.into_iter();
        let own = parts.next()?;
        let others: Vec<_> = parts
            .map(|part| {
                thread::Builder::new().spawn_scoped(scope, || build_part(part, fields, has_failed))
            })
            .collect();
        let mut batches = build_part(own, fields, has_failed)?;
        for other in others {
            let part = other.ok()?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            batches.extend(part?);
        }
        Some(batches)
    });
    batches.filter(|_| !has_failed.into_inner())
}

/// The batches of one part; `None` if they cannot be used.
fn build_part(
    mut documents: Documents,
    fields: &[Field],
    has_failed: &AtomicBool,
) -> Option<Vec<RecordBatch>> {
    let mut kept = Kept::new(fields);
    while !has_failed.load(Ordering::Relaxed) {
        match documents.next_line() {
            Ok(Some(line)) if kept.push(line).is_ok() => {}
            Ok(None) => return Some(kept.finish()),
            _ => has_failed.store(true, Ordering::Relaxed),
        }
    }
    None
}
