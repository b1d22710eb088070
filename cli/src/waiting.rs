//! What is shown while a statement takes long: for how long, how far it is if it says so, and how to
//! end it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use folio::Session;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::Console;

/// No message is shown before that.
const PATIENCE: Duration = Duration::from_millis(700);

const TICK: Duration = Duration::from_millis(100);

const CLOCK: &str = "{spinner} {elapsed}, Ctrl-C cancels";

const BAR: &str = "{wide_bar} {binary_bytes}/{binary_total_bytes}, {elapsed}, Ctrl-C cancels";

/// A clock on standard error, or a bar, from a while after it begins until it is dropped.
pub(crate) struct Waiting {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// Begins before a statement of a session.
    pub(crate) fn begin(console: &Console, session: &mut Session) -> Self {
        if !console.has_progress {
            return Self { ended: None, thread: None };
        }
        let hidden = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(None, hidden).with_style(style(CLOCK));
        let measured = bar.clone();
        session.set_progress(Some(Arc::new(move |done, total| {
            if measured.length() != Some(total) {
                measured.set_style(style(BAR));
                measured.set_length(total);
            }
            measured.set_position(done);
        })));
        let (ended, end) = channel::<()>();
        let report = move || {
            if end.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
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

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates in this file are valid")
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
