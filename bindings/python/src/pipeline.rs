//! Fills a batch with lines while the next ones are being encoded.
//!
//! Encoding needs the interpreter's lock and the batch does not. From the second buffer on, a
//! thread fills the batch, which takes about as long as encoding. Buffers go back and forth, so
//! that memory stays bounded.

use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use folio::{Batch, EncodedLine};

/// The maximum number of waiting buffers.
const WAITING_MAX: usize = 2;

/// Bytes of lines in a buffer before it is sent.
const BUFFER_SIZE: usize = 256 << 10;

/// Space for the line that fills the buffer; most lines are shorter.
const LAST_LINE_SIZE: usize = 16 << 10;
const TYPICAL_LINE_SIZE: usize = 128;

/// Consecutive lines, and the end of each.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) text: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Lines {
    /// Records the end of the line appended to the text. Returns whether the buffer is full.
    #[inline]
    pub(crate) fn end_line(&mut self) -> bool {
        self.ends.push(self.text.len());
        self.text.len() >= BUFFER_SIZE
    }

    /// A buffer for this many lines, or for a full buffer. Growing step by step would touch new
    /// memory at each step.
    pub(crate) fn with_room_for(count: usize) -> Self {
        let size = count.saturating_mul(TYPICAL_LINE_SIZE).min(BUFFER_SIZE + LAST_LINE_SIZE);
        let ends = Vec::with_capacity(size / TYPICAL_LINE_SIZE);
        Self { text: Vec::with_capacity(size), ends }
    }

    fn drain_into(&mut self, batch: &mut Batch) -> folio::Result<()> {
        let mut start = 0;
        for &end in &self.ends {
            batch.put_encoded(EncodedLine::trust(&self.text[start..end])?)?;
            start = end;
        }
        self.text.clear();
        self.ends.clear();
        Ok(())
    }
}

/// Fills a batch. Dropping it undoes the batch.
pub(crate) struct Pipeline {
    batch: Option<Batch>,
    worker: Option<Worker>,
}

struct Worker {
    full: SyncSender<Lines>,
    empty: Receiver<Lines>,
    thread: JoinHandle<folio::Result<Batch>>,
}

impl Pipeline {
    pub(crate) fn new(batch: Batch) -> Self {
        Self { batch: Some(batch), worker: None }
    }

    /// Takes the lines and leaves an empty buffer. Called without the interpreter's lock.
    ///
    /// # Errors
    /// Errors of the batch for these lines or earlier ones.
    pub(crate) fn take(&mut self, lines: &mut Lines) -> folio::Result<()> {
        if let Some(batch) = self.batch.take() {
            self.worker = Some(Worker::start(batch));
        }
        let worker = self.worker.as_ref().expect("started with the first lines");
        let next = worker.empty.try_recv().unwrap_or_else(|_| Lines::with_room_for(usize::MAX));
        match worker.full.send(mem::replace(lines, next)) {
            Ok(()) => Ok(()),
            // The worker only stops early because of an error.
            Err(_) => self.finish().map(drop),
        }
    }

    /// Takes the last lines and makes the batch durable and visible.
    ///
    /// # Errors
    /// Errors of the batch.
    pub(crate) fn commit(&mut self, mut lines: Lines) -> folio::Result<folio::BatchCounts> {
        let mut batch = match self.batch.take() {
            Some(batch) => batch,
            None => self.finish()?,
        };
        lines.drain_into(&mut batch)?;
        batch.commit()
    }

    /// Ends the worker and returns the batch.
    fn finish(&mut self) -> folio::Result<Batch> {
        let Worker { full, empty, thread } = self.worker.take().expect("a worker is under way");
        drop((full, empty));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.worker.is_some() {
            // The batch is undone once its thread has released it.
            drop(self.finish());
        }
    }
}

impl Worker {
    fn start(batch: Batch) -> Self {
        let (full, lines) = sync_channel(WAITING_MAX);
        let (back, empty) = channel();
        let thread = thread::spawn(move || fill(batch, &lines, &back));
        Self { full, empty, thread }
    }
}

fn fill(mut batch: Batch, full: &Receiver<Lines>, empty: &Sender<Lines>) -> folio::Result<Batch> {
    while let Ok(mut lines) = full.try_recv().or_else(|_| {
        batch.work_ahead();
        full.recv()
    }) {
        lines.drain_into(&mut batch)?;
        // At the end there is no receiver for the buffer.
        let _ = empty.send(lines);
    }
    Ok(batch)
}
