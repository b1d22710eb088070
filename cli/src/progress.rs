//! Progress in bytes on standard error, and signals that end work cleanly.
//!
//! The first Ctrl-C, `kill` or hang-up asks the work to stop: files under construction are removed
//! and committed batches stay. A second one ends the process at once, which is also safe but leaves
//! temporary files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use folio::WaitScope;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::low_level::unregister;
use signal_hook::{SigId, flag};

use crate::console::Console;
use crate::signals;

/// The exit code of a process ended by a second signal.
const INTERRUPTED: i32 = 130;

/// A progress bar, or nothing without a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    handlers: Vec<SigId>,
    /// Waits for other machines end with the first signal.
    _waits: WaitScope,
}

impl Progress {
    /// Begins a bar with a label.
    pub(crate) fn begin(console: &Console, label: &str) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut handlers = Vec::new();
        for signal in signals::ENDING {
            // If signals cannot be handled, they end the process as usual.
            let shared = || Arc::clone(&interrupted);
            handlers.extend(flag::register_conditional_shutdown(signal, INTERRUPTED, shared()));
            handlers.extend(flag::register(signal, shared()));
        }
        let bar = if console.has_progress { ProgressBar::new(0) } else { ProgressBar::hidden() };
        bar.set_style(counting_style());
        bar.set_message(label.to_owned());
        let ended = Arc::clone(&interrupted);
        let waits = WaitScope::begin(Some(Arc::new(move || ended.load(Ordering::Relaxed))));
        Self { bar, interrupted, handlers, _waits: waits }
    }

    /// Changes the label.
    pub(crate) fn relabel(&self, label: &str) {
        self.bar.set_message(label.to_owned());
    }

    /// Reports the bytes done and in total (0 if unknown); `false` asks to stop.
    pub(crate) fn report(&self, done: u64, total: u64) -> bool {
        if total > 0 && self.bar.length() != Some(total) {
            self.bar.set_style(measured_style());
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
        !self.interrupted.load(Ordering::Relaxed)
    }

    /// Reports steps done of all; `false` asks to stop.
    pub(crate) fn count(&self, done: u64, total: u64) -> bool {
        self.bar.set_style(stepping_style());
        self.bar.set_length(total);
        self.bar.set_position(done);
        self.bar.tick();
        !self.interrupted.load(Ordering::Relaxed)
    }

    /// Does what prints, above the bar.
    pub(crate) fn above<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

/// Makes the file size limit (`ulimit -f`) an error of a write, like a full disk, instead of a
/// signal that ends the process.
pub(crate) fn outlive_size_limit() {
    // If the signal cannot be handled, it ends the process, which loses nothing committed.
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        // In the shell other work follows, which handles signals in its own way.
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

fn stepping_style() -> ProgressStyle {
    style("{msg} {wide_bar} {pos}/{len}")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates in this file are valid")
}
