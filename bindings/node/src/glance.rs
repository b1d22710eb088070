//! Work with a short time limit.
//!
//! `console.log` of a result or a scan shows its first rows. If these take too long, it shows none,
//! because printing a value must not block. The work then ends on its own thread, and until it has,
//! no other preview starts.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::function::has_functions;

thread_local! {
    /// Whether work started by this JavaScript thread is still running.
    static UNDER_WAY: RefCell<Arc<AtomicBool>> = RefCell::default();
}

/// The result of a job, if it is ready in time.
///
/// JavaScript functions can only run on this thread, and so does the job if there are any.
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
        // If this fails, the receiver has stopped waiting.
        let _ = sender.send(answer);
    });
    begun.ok()?;
    receiver.recv_timeout(Duration::from_millis(u64::from(wait_ms))).ok()
}

/// Marks work as running until it is dropped, even if the job panics.
struct UnderWay(Arc<AtomicBool>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
