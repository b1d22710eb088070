//! Work that is waited for a moment and no longer.
//!
//! `console.log` of an answer or a scan shows its first rows. Where these take their time,
//! it shows none, and goes on: whoever prints a value does not expect to wait for it. The
//! work then ends on its own thread, and until it has, nothing else is glanced at.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::function::has_functions;

thread_local! {
    /// Whether work that this thread of JavaScript began is under way.
    static UNDER_WAY: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// What a job answers, if it answers in time.
///
/// Functions of JavaScript run on this thread alone, and so does the job where there are any.
pub(crate) fn within<T: Send + 'static>(
    wait_ms: u32,
    job: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if has_functions() {
        return Some(job());
    }
    let is_under_way = UNDER_WAY.with_borrow(Arc::clone);
    if is_under_way.swap(true, Ordering::AcqRel) {
        return None;
    }
    let guard = UnderWay(is_under_way);
    let (sender, receiver) = mpsc::channel();
    let begun = thread::Builder::new().name("folio-glance".to_owned()).spawn(move || {
        let answer = job();
        drop(guard);
        // Nobody waits any more where this fails.
        let _ = sender.send(answer);
    });
    begun.ok()?;
    receiver.recv_timeout(Duration::from_millis(u64::from(wait_ms))).ok()
}

/// Says so as long as it lives, also where the job panics.
struct UnderWay(Arc<AtomicBool>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
