//! Progress by bytes on standard error, and signals that let work end in order.
//!
//! The first Ctrl-C, `kill` or hang-up asks the work to stop: files under construction are
//! removed and committed batches stay. A second one ends the process at once, which
//! is safe too, only less tidy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::low_level::unregister;
use signal_hook::{SigId, flag};

use crate::console::Console;
use crate::signals;

/// Exit code of a process that a second signal ended.
const INTERRUPTED: i32 = 130;

/// A progress bar, or nothing where nobody looks.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

impl Progress {
    /// Begins a bar with a word for what is done.
    pub(crate) fn begin(console: &Console, label: &str) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut handlers = Vec::new();
        for signal in signals::ENDING {
            // Where signals cannot be taken, they end the process as usual.
            let shared = || Arc::clone(&interrupted);
            handlers.extend(flag::register_conditional_shutdown(signal, INTERRUPTED, shared()));
            handlers.extend(flag::register(signal, shared()));
        }
        let bar = if console.has_progress { ProgressBar::new(0) } else { ProgressBar::hidden() };
        bar.set_style(counting_style());
        bar.set_message(label.to_owned());
        Self { bar, interrupted, handlers }
    }

    /// Changes the word.
    pub(crate) fn relabel(&self, label: &str) {
        self.bar.set_message(label.to_owned());
    }

    /// Takes a report of bytes done and in all (0: not known); `false` asks to stop.
    pub(crate) fn tell(&self, done: u64, total: u64) -> bool {
        if total > 0 && self.bar.length() != Some(total) {
            self.bar.set_style(measured_style());
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
        !self.interrupted.load(Ordering::Relaxed)
    }
}

/// A limit on the size of files (`ulimit -f`) is an error of a write, as a full disk is, and does
/// not end the process in the middle of one.
pub(crate) fn outlive_size_limit() {
    // Where the signal cannot be taken, it ends the process, which loses nothing committed.
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        // In the shell other work follows, which hears signals in its own way.
        for handler in self.handlers.drain(..) {
            unregister(handler);
        }
    }
}

fn measured_style() -> ProgressStyle {
    style("{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}  {binary_bytes_per_sec}  {eta}")
}

fn counting_style() -> ProgressStyle {
    style("{msg} {spinner} {binary_bytes}  {binary_bytes_per_sec}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates in this file are valid")
}
