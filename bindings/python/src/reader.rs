//! Reads the lines of a scan in chunks, and reads ahead in a long scan.
//!
//! Creating objects needs the interpreter's lock, reading lines does not. So once a scan is known
//! to be long, a thread reads on, up to two groups of chunks ahead. Chunks are handed over in
//! groups, so that threads are rarely woken. Chunks start small, so that the first document comes
//! soon, and stay small enough for the processor's cache. Memory does not grow with the collection.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use folio::{CollectionError, Documents, WaitScope, is_wait_over};

use crate::document::Text;

/// Bytes of the first chunk, and of the largest.
const FIRST_CHUNK_SIZE: usize = 4 << 10;
const CHUNK_SIZE_MAX: usize = 64 << 10;

/// Space for the line that crosses the end of a chunk, so that the text need not grow.
const LAST_LINE_SIZE: usize = 4 << 10;

/// How long the caller waits for a group before it looks for signals.
const PATIENCE: Duration = Duration::from_millis(100);

/// Chunks handed over at once.
const GROUP: usize = 4;

/// Chunks read by the caller before the thread takes over.
const CHUNKS_HERE: usize = 6;

/// Consecutive lines, and the end of each.
#[derive(Default)]
pub(crate) struct Chunk {
    pub(crate) text: Text,
    pub(crate) ends: Vec<u32>,
    /// The progress of the scan after them.
    progress: (u64, u64),
}

impl Chunk {
    /// Refills the chunk, reusing its memory unless documents still refer to the text.
    fn fill(&mut self, documents: &mut Documents, size: usize) -> folio::Result<()> {
        let mut text = Arc::try_unwrap(std::mem::take(&mut self.text)).unwrap_or_default();
        text.clear();
        text.reserve(size + LAST_LINE_SIZE);
        self.ends.clear();
        while text.len() < size {
            let Some(line) = documents.next_line()? else { break };
            text.extend_from_slice(line);
            self.ends.push(text.len() as u32);
        }
        self.text = Arc::new(text);
        self.progress = documents.progress();
        Ok(())
    }
}

impl Chunk {
    /// The lines from one on, which starts at an offset, followed by those of another chunk.
    pub(crate) fn followed_by(&self, next: usize, start: u32, more: &Self) -> Self {
        let mut text = self.text[start as usize..].to_vec();
        let mut ends: Vec<u32> = self.ends[next..].iter().map(|end| end - start).collect();
        let offset = text.len() as u32;
        text.extend_from_slice(&more.text);
        ends.extend(more.ends.iter().map(|end| offset + end));
        Self { text: Arc::new(text), ends, progress: more.progress }
    }
}

/// Reads a scan to its end.
pub(crate) struct Reader {
    source: Source,
    chunk_size: usize,
    /// The number of reads by the caller; `None` if it always reads.
    read_here: Option<usize>,
    progress: (u64, u64),
}

enum Source {
    Here(Box<Documents>),
    Ahead(Ahead),
}

impl Reader {
    /// Use `one_by_one` if only the caller may see the documents, and not before they are wanted.
    pub(crate) fn new(documents: Documents, one_by_one: bool) -> Self {
        Self {
            progress: documents.progress(),
            source: Source::Here(Box::new(documents)),
            chunk_size: if one_by_one { 1 } else { FIRST_CHUNK_SIZE },
            read_here: (!one_by_one).then_some(0),
        }
    }

    /// Replaces a chunk with the next one, which is empty at the end. Called without the
    /// interpreter's lock.
    ///
    /// # Errors
    /// Errors of the scan.
    pub(crate) fn next(&mut self, chunk: &mut Chunk) -> folio::Result<()> {
        if self.read_here == Some(CHUNKS_HERE) {
            self.read_here = None;
            self.run_ahead();
        }
        match &mut self.source {
            Source::Here(documents) => {
                chunk.fill(documents, self.chunk_size)?;
                if let Some(count) = &mut self.read_here {
                    *count += 1;
                    self.chunk_size = (self.chunk_size * 4).min(CHUNK_SIZE_MAX);
                }
            }
            Source::Ahead(ahead) => ahead.next(chunk)?,
        }
        self.progress = chunk.progress;
        Ok(())
    }

    /// Bytes of the data processed so far, and in total.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.progress
    }

    /// Starts the thread. If that fails, the caller continues to read.
    fn run_ahead(&mut self) {
        let Ok((ahead, give)) = Ahead::start() else { return };
        let here = std::mem::replace(&mut self.source, Source::Ahead(ahead));
        if let Source::Here(documents) = here {
            give.send(*documents).expect("the thread listens until this is dropped");
        }
    }
}

/// The thread that reads ahead. It ends with the scan, or when this is dropped.
struct Ahead {
    ready: VecDeque<Chunk>,
    /// `Some` until this is dropped.
    groups: Option<Receiver<folio::Result<VecDeque<Chunk>>>>,
    /// Chunks whose memory can be reused.
    spent: Sender<Chunk>,
    thread: Option<JoinHandle<()>>,
    /// Ends the thread's waits for other machines.
    is_dropped: Arc<AtomicBool>,
}

impl Ahead {
    /// Starts the thread, and returns a channel for the scan, since the thread may fail to start.
    fn start() -> std::io::Result<(Self, Sender<Documents>)> {
        let (full, groups) = sync_channel(1);
        let (spent, empty) = channel();
        let (give, given) = channel::<Documents>();
        let is_dropped = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&is_dropped);
        let work = move || {
            let _waits = WaitScope::begin(Some(Arc::new(move || end.load(Ordering::Relaxed))));
            if let Ok(documents) = given.recv() {
                read_all(documents, &full, &empty);
            }
        };
        let thread = thread::Builder::new().name("folio-scan".to_owned()).spawn(work)?;
        let ready = VecDeque::new();
        let (groups, thread) = (Some(groups), Some(thread));
        Ok((Self { ready, groups, spent, thread, is_dropped }, give))
    }

    fn next(&mut self, chunk: &mut Chunk) -> folio::Result<()> {
        // A group without chunks comes before an error, or the end.
        while self.ready.is_empty() {
            let groups = self.groups.as_ref().expect("here until this is dropped");
            match groups.recv_timeout(PATIENCE) {
                Ok(group) => self.ready = group?,
                Err(RecvTimeoutError::Timeout) if is_wait_over() => {
                    return Err(CollectionError::Cancelled.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The thread has ended, as it does after the last group.
                Err(RecvTimeoutError::Disconnected) => {
                    self.join().unwrap_or_else(|panic| resume_unwind(panic));
                    break;
                }
            }
        }
        let progress = chunk.progress;
        let next = self.ready.pop_front().unwrap_or(Chunk { progress, ..Chunk::default() });
        // At the end there is no receiver.
        let _ = self.spent.send(std::mem::replace(chunk, next));
        Ok(())
    }

    fn join(&mut self) -> thread::Result<()> {
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The thread stops at the first group without a receiver, and needs no interpreter to get
        // there.
        self.groups = None;
        self.is_dropped.store(true, Ordering::Relaxed);
        let _ = self.join();
    }
}

fn read_all(
    mut documents: Documents,
    full: &SyncSender<folio::Result<VecDeque<Chunk>>>,
    empty: &Receiver<Chunk>,
) {
    loop {
        let (group, failed) = read_group(&mut documents, empty);
        let is_last = group.len() < GROUP;
        let is_unwanted = full.send(Ok(group)).is_err();
        if let Err(error) = failed {
            let _ = full.send(Err(error));
        }
        if is_last || is_unwanted {
            return;
        }
    }
}

/// The next chunks; fewer than a group at the end or before an error.
fn read_group(
    documents: &mut Documents,
    empty: &Receiver<Chunk>,
) -> (VecDeque<Chunk>, folio::Result<()>) {
    let mut group = VecDeque::with_capacity(GROUP);
    while group.len() < GROUP {
        let mut chunk = empty.try_recv().unwrap_or_default();
        match chunk.fill(documents, CHUNK_SIZE_MAX) {
            Ok(()) if chunk.ends.is_empty() => break,
            Ok(()) => group.push_back(chunk),
            Err(error) => return (group, Err(error)),
        }
    }
    (group, Ok(()))
}
