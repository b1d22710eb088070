//! Imports a pipe: data is stored soon after it arrives, however long the rest takes.
//!
//! ```text
//! thread "folio-import"   records → batch          both under one lock
//! the caller's thread     once a tick: a batch that is old enough → commit; stop?
//! ```
//!
//! A pipe can be read only once, so a stopped import discards nothing that arrived: it first
//! commits the open batch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use folio_document::Progress;
use folio_stream::Flow;

use super::run::{Access, Run, records};
use crate::error::{Error, Result};
use crate::format::Source;

/// How often the caller's thread checks.
const TICK: Duration = Duration::from_millis(50);

/// The age at which a batch is committed. With a tick, and the time that the reader takes to
/// collect the first bytes, data is visible within a second.
const AGE_MAX: Duration = Duration::from_millis(700);

impl<'a> Access<'a> for &Mutex<Run<'a>> {
    fn with<T>(&mut self, work: impl FnOnce(&mut Run<'a>) -> T) -> T {
        work(&mut lock(self))
    }
}

fn lock<'r, 'a>(run: &'r Mutex<Run<'a>>) -> MutexGuard<'r, Run<'a>> {
    run.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Imports a pipe to its end, or until `progress` answers `false`.
pub(super) fn import(
    run: &Mutex<Run<'_>>,
    source: Source,
    flow: &Flow,
    progress: Progress<'_>,
) -> Result<()> {
    let read_size = Arc::clone(&source.read_size);
    let name = source.name.clone();
    thread::scope(|scope| {
        let (ended, end) = channel::<()>();
        let work = move || {
            let _dropped_at_the_end = ended;
            let mut access = run;
            records(&mut access, source, 0, &mut |_, _| !flow.is_stopped())
        };
        let worker = thread::Builder::new().name("folio-import".to_owned());
        let worker = worker.spawn_scoped(scope, work).map_err(Error::io("read", name.as_ref()))?;
        let watched = watch(&end, run, flow, &read_size, progress);
        if watched.is_err() {
            flow.stop();
        }
        let worked = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        watched.and(worked)
    })
}

/// Watches the open batch until the worker ends.
fn watch(
    end: &Receiver<()>,
    run: &Mutex<Run<'_>>,
    flow: &Flow,
    read_size: &AtomicU64,
    progress: Progress<'_>,
) -> Result<()> {
    while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if !progress(read_size.load(Ordering::Relaxed), 0) {
            flow.stop();
            lock(run).stop()?;
            return Err(folio_document::Error::Cancelled.into());
        }
        lock(run).commit_older_than(AGE_MAX)?;
    }
    Ok(())
}
