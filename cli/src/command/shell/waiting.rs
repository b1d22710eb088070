//! What is shown while a statement takes long: for how long, and how to end it.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::console::Console;

/// No message is shown before that.
const PATIENCE: Duration = Duration::from_millis(700);

const TICK: Duration = Duration::from_millis(100);

/// A clock on standard error, from a while after it begins until it is dropped.
pub(super) struct Waiting {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    pub(super) fn begin(console: &Console) -> Self {
        if !console.has_progress {
            return Self { ended: None, thread: None };
        }
        let (ended, end) = channel::<()>();
        let report = move || {
            if end.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {elapsed}, Ctrl-C cancels")
                .expect("the template in this line is valid");
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.set_elapsed(PATIENCE);
            bar.enable_steady_tick(TICK);
            // Only the other end's being dropped ends this.
            let _ = end.recv();
            bar.finish_and_clear();
        };
        // Without a thread there is no clock, and the statement runs all the same.
        let thread = thread::Builder::new().name("clock".to_owned()).spawn(report).ok();
        Self { ended: Some(ended), thread }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.ended.take();
        if let Some(thread) = self.thread.take() {
            // It has nothing to say but what it drew.
            let _ = thread.join();
        }
    }
}
