//! Work on the parts of something large, on several threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
#[cfg(feature = "sql")]
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};
use std::thread;

use folio_types::{wait_end, wait_for_threads, with_wait_end};

#[cfg(feature = "sql")]
use crate::error::{Error, Result};
#[cfg(feature = "sql")]
use crate::lock::lock;

/// More threads than this would wait for memory.
const THREADS_MAX: usize = 8;

/// The number of threads worth starting. The system reads several files to know, so it is asked once.
pub(crate) fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    let ask = || thread::available_parallelism().map_or(1, NonZero::get);
    (*COUNT.get_or_init(ask)).min(THREADS_MAX)
}

/// The results of work on each part, in order. The first is done on this thread, each other on its
/// own. `None` if the system refuses a thread.
pub(crate) fn each<P: Send, T: Send>(
    parts: Vec<P>,
    work: impl Fn(P) -> T + Sync,
) -> Option<Vec<T>> {
    let (work, end) = (&work, &wait_end());
    thread::scope(|scope| {
        let mut parts = parts.into_iter();
        let first = parts.next()?;
        let (running, ended) = channel();
        let begin = |part| {
            let builder = thread::Builder::new().name("folio-part".to_owned());
            let running = running.clone();
            let work = move || {
                let _running = running;
                with_wait_end(end.clone(), || work(part))
            };
            builder.spawn_scoped(scope, work).ok()
        };
        let others: Vec<_> = parts.map(begin).collect();
        drop(running);
        let mut results = vec![work(first)];
        wait_for_threads(&ended);
        for other in others {
            results.push(other?.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        Some(results)
    })
}

/// The results of work on each item, in order, by up to `count` threads. Each takes the next item when
/// it is done with one, until one fails.
///
/// # Errors
/// The first of the work; `invalid_input` if the system refuses a thread.
#[cfg(feature = "sql")]
pub(crate) fn share<I: Send, T: Send>(
    items: Vec<I>,
    count: usize,
    work: impl Fn(I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let workers = vec![(); count.min(items.len())];
    let left = Mutex::new(items.into_iter().enumerate());
    let has_failed = AtomicBool::new(false);
    let take = |()| -> Result<Vec<(usize, T)>> {
        let mut done = Vec::new();
        while !has_failed.load(Ordering::Relaxed) {
            let next = lock(&left).next();
            let Some((place, item)) = next else { break };
            let made = work(item).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
            done.push((place, made));
        }
        Ok(done)
    };
    let refused = || Error::Invalid("the system starts no thread to build columns".to_owned());
    let done = each(workers, take).ok_or_else(refused)?;
    let mut done: Vec<_> =
        done.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, made)| made).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_the_order_of_parts() {
        let squares = super::each((0..20).collect(), |number: u64| number * number);
        assert_eq!(squares, Some((0..20).map(|number| number * number).collect()));
        assert_eq!(super::each(Vec::new(), |number: u64| number), None);
    }
}
