//! Work on the parts of something large, on several threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

use folio_types::{wait_end, with_wait_end};

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
        let begin = |part| {
            let builder = thread::Builder::new().name("folio-part".to_owned());
            builder.spawn_scoped(scope, move || with_wait_end(end.clone(), || work(part))).ok()
        };
        let others: Vec<_> = parts.map(begin).collect();
        let mut results = vec![work(first)];
        for other in others {
            results.push(other?.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        Some(results)
    })
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
