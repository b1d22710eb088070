//! Waits for other machines that end early.
//!
//! A statement may be cancelled, or reach its timeout, while one of its threads waits for a server.
//! Reading goes through layers that know nothing of statements. So whoever runs one says for its
//! threads when their waits end, and whoever waits asks now and then.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// Whether waits have to end.
pub type WaitEnd = Arc<dyn Fn() -> bool + Send + Sync>;

/// How long one waits at most before it asks again.
pub const WAIT_SLICE: Duration = Duration::from_millis(200);

thread_local! {
    static WAIT_END: RefCell<Option<WaitEnd>> = const { RefCell::new(None) };
}

/// Runs `work`, whose waits on this thread end as `end` says.
pub fn with_wait_end<T>(end: Option<WaitEnd>, work: impl FnOnce() -> T) -> T {
    let _outer = Outer(WAIT_END.replace(end));
    work()
}

/// What ends the waits of this thread, for another that works for it.
#[must_use]
pub fn wait_end() -> Option<WaitEnd> {
    WAIT_END.with_borrow(Clone::clone)
}

/// Whether this thread has to stop waiting.
#[must_use]
pub fn is_wait_over() -> bool {
    wait_end().is_some_and(|is_over| is_over())
}

/// What held before, which holds again at the end.
struct Outer(Option<WaitEnd>);

impl Drop for Outer {
    fn drop(&mut self) {
        WAIT_END.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_end_holds_again_after_the_inner_one() {
        let end = |is_over: bool| -> Option<WaitEnd> { Some(Arc::new(move || is_over)) };
        assert!(!is_wait_over());
        with_wait_end(end(true), || {
            with_wait_end(end(false), || assert!(!is_wait_over()));
            assert!(is_wait_over());
        });
        assert!(!is_wait_over());
    }
}
