//! Waits for other machines that end early.
//!
//! A statement may be cancelled, or reach its timeout, while one of its threads waits for a server.
//! Reading goes through layers that know nothing of statements. So whoever runs one says for its
//! threads when their waits end, and whoever waits asks now and then. Once an end has come it stays:
//! what failed because of it may be tried again.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Whether waits have to end.
pub type WaitEnd = Arc<dyn Fn() -> bool + Send + Sync>;

/// How long one waits at most before it asks again.
pub const WAIT_SLICE: Duration = Duration::from_millis(100);

thread_local! {
    static WAIT_END: RefCell<Option<WaitEnd>> = const { RefCell::new(None) };
}

/// Runs `work`, whose waits on this thread end as `end` says.
pub fn with_wait_end<T>(end: Option<WaitEnd>, work: impl FnOnce() -> T) -> T {
    let _scope = WaitScope::begin(end);
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

/// Waits for threads: until nobody can send any more. Asks meanwhile whether waits have to end, as
/// this thread may be the only one that learns it, by a signal.
pub fn wait_for_threads(ended: &Receiver<Infallible>) {
    while ended.recv_timeout(WAIT_SLICE) == Err(RecvTimeoutError::Timeout) {
        let _ = is_wait_over();
    }
}

/// As long as it lives, the waits of the thread that began it end as was said.
pub struct WaitScope(Option<WaitEnd>);

impl WaitScope {
    /// Begins one. Scopes end in the opposite order.
    #[must_use]
    pub fn begin(end: Option<WaitEnd>) -> Self {
        Self(WAIT_END.replace(end))
    }
}

impl fmt::Debug for WaitScope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("WaitScope")
    }
}

impl Drop for WaitScope {
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
