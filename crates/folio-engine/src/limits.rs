//! What a statement may use: stack, time and memory; and how it is cancelled.
//!
//! The limits of a statement are made when it begins. They apply while it is parsed, bound,
//! optimized and run.
//!
//! **Stack.** Parsing and binding recurse by the syntax; later steps recurse by the results of
//! binding. A level of parsing or binding takes more stack than a level of any later step, so
//! only they check the stack. The check compares an address; nothing is counted. On a thread of
//! the program, little stack is assumed to be free. A statement that needs more runs on a thread
//! made for it. A statement that needs more than that is refused.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use folio_compute::{Error, Result, Span};
use folio_types::{ErrorCode, with_wait_end};

/// When another thread sets it, the statement ends at its next batch.
pub type Interrupt = Arc<AtomicBool>;

/// Called at each batch by the threads that run a statement: whether it has to end.
pub type Watch = Arc<dyn Fn() -> bool + Send + Sync>;

/// Called now and then by long work with what it has done and what there is to do, in bytes.
pub type OnProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Stack that binding may take on a thread of the program, which may have 512 KiB in all.
const EASY_SIZE: usize = 96 << 10;

/// Levels that the parser may nest on such a thread.
const EASY_LEVELS: usize = 20;

/// Stack that a level of the parser takes at most.
const LEVEL_SIZE: usize = 16 << 10;

/// The limits of a statement.
#[derive(Clone)]
pub struct Limits {
    interrupt: Option<Interrupt>,
    watch: Option<Watch>,
    on_progress: Option<OnProgress>,
    /// When the statement has to end, and the timeout that it follows from.
    deadline: Option<(Instant, Duration)>,
    memory: Option<Arc<Memory>>,
    stack: Stack,
}

impl Default for Limits {
    /// Limits only the stack.
    fn default() -> Self {
        Self {
            interrupt: None,
            watch: None,
            on_progress: None,
            deadline: None,
            memory: None,
            stack: Stack::easy(),
        }
    }
}

impl Limits {
    /// Limits by which another thread can cancel: by setting `interrupt`, or if `watch` is true.
    #[must_use]
    pub fn new(interrupt: Interrupt, watch: Option<Watch>) -> Self {
        Self { interrupt: Some(interrupt), watch, ..Self::default() }
    }

    /// Reports what long work has done.
    #[must_use]
    pub fn with_progress(self, on_progress: Option<OnProgress>) -> Self {
        Self { on_progress, ..self }
    }

    /// Starts the timeout now.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.deadline = timeout.and_then(|timeout| {
            Instant::now().checked_add(timeout).map(|deadline| (deadline, timeout))
        });
        self
    }

    /// Limits the memory that the statement may hold, in bytes.
    #[must_use]
    pub fn with_memory(mut self, size: Option<usize>) -> Self {
        self.memory = size.map(|size| Arc::new(Memory { size, held: AtomicUsize::new(0) }));
        self
    }

    /// The same limits on a new thread with a stack of `size` bytes.
    #[must_use]
    pub fn on_stack_of(&self, size: usize) -> Self {
        Self { stack: Stack::large(size), ..self.clone() }
    }

    /// Fails if the statement has to end.
    ///
    /// # Errors
    /// `cancelled`, `timeout`.
    pub fn check(&self) -> Result<()> {
        let is_set = |interrupt: &Interrupt| interrupt.load(Ordering::Relaxed);
        if self.interrupt.as_ref().is_some_and(is_set)
            || self.watch.as_ref().is_some_and(|is_to_end| is_to_end())
        {
            return Err(Error::cancelled());
        }
        match self.deadline {
            Some((deadline, timeout)) if Instant::now() >= deadline => Err(timed_out(timeout)),
            _ => Ok(()),
        }
    }

    /// Runs `work`, whose waits for other machines end when the statement has to.
    ///
    /// # Errors
    /// Those of `work`; if one of them ended a wait, `cancelled` or `timeout`.
    pub fn over<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let limits = self.clone();
        let done = with_wait_end(Some(Arc::new(move || limits.check().is_err())), work);
        // A wait that was ended says that it was, or fails like one that failed.
        let may_be_ended = [ErrorCode::Cancelled, ErrorCode::Io];
        if done.as_ref().is_err_and(|error| may_be_ended.contains(&error.code())) {
            self.check()?;
        }
        done
    }

    /// Reports what long work has done, and fails if the statement has to end.
    ///
    /// # Errors
    /// As [`Limits::check`].
    pub(crate) fn report(&self, done: u64, total: u64) -> Result<()> {
        if let Some(on_progress) = &self.on_progress {
            on_progress(done, total);
        }
        self.check()
    }

    /// Checks that the stack has room for another level.
    ///
    /// # Errors
    /// `unsupported` if the statement nests too deep.
    #[inline]
    pub fn descend(&self, place: impl FnOnce() -> Span) -> Result<()> {
        if self.stack.used() < self.stack.size { Ok(()) } else { Err(self.too_deep(place())) }
    }

    /// The error for a statement that nests too deep.
    pub fn too_deep(&self, place: Span) -> Error {
        let error = Error::unsupported("the statement nests too deep").at(place).help("split it");
        if self.stack.is_large { error } else { error.for_larger_stack() }
    }

    /// Levels that the parser may nest.
    pub fn parser_levels(&self) -> usize {
        if self.stack.is_large { self.stack.whole / LEVEL_SIZE } else { EASY_LEVELS }
    }

    /// Whether the statement runs on a thread made for it.
    pub fn has_large_stack(&self) -> bool {
        self.stack.is_large
    }

    /// Reserves `size` more bytes for the statement.
    ///
    /// # Errors
    /// `memory_limit`.
    pub fn hold(&self, size: usize) -> Result<Held> {
        let mut held = Held::default();
        held.charge(self, size)?;
        Ok(held)
    }

    /// Whether the statement holds more than half of the memory that it may.
    pub(crate) fn is_half_used(&self) -> bool {
        let held = |memory: &Arc<Memory>| memory.held.load(Ordering::Relaxed) > memory.size / 2;
        self.memory.as_ref().is_some_and(held)
    }

    /// The timeout, in milliseconds.
    pub(crate) fn timeout_ms(&self) -> Option<usize> {
        self.deadline.map(|(_, time)| usize::try_from(time.as_millis()).unwrap_or(usize::MAX))
    }

    /// The memory limit, in bytes.
    pub(crate) fn memory(&self) -> Option<usize> {
        self.memory.as_ref().map(|memory| memory.size)
    }
}

/// The memory of a statement.
struct Memory {
    size: usize,
    held: AtomicUsize,
}

/// The memory that one holder counts, such as an operator. Released when this is dropped.
#[derive(Default)]
pub struct Held {
    memory: Option<Arc<Memory>>,
    size: usize,
}

impl Held {
    /// Counts `size` bytes in all, instead of what was counted before. Called once per batch.
    ///
    /// # Errors
    /// `memory_limit`.
    pub(crate) fn charge(&mut self, limits: &Limits, size: usize) -> Result<()> {
        if self.memory.is_none() {
            self.memory.clone_from(&limits.memory);
        }
        let before = std::mem::replace(&mut self.size, size);
        let Some(memory) = &self.memory else { return Ok(()) };
        let Some(more) = size.checked_sub(before) else {
            memory.held.fetch_sub(before - size, Ordering::Relaxed);
            return Ok(());
        };
        let held = memory.held.fetch_add(more, Ordering::Relaxed) + more;
        if held <= memory.size { Ok(()) } else { Err(out_of_memory(memory.size)) }
    }

    /// The bytes that are counted.
    pub(crate) fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            memory.held.fetch_sub(self.size, Ordering::Relaxed);
        }
    }
}

fn timed_out(timeout: Duration) -> Error {
    let text = format!("the statement took longer than {timeout:?}");
    Error::new(ErrorCode::Timeout, text)
        .help("raise the limit: SET statement_timeout, or the option that set it")
}

fn out_of_memory(size: usize) -> Error {
    let text = format!("the statement needs more than {size} bytes of memory");
    Error::new(ErrorCode::MemoryLimit, text)
        .help("raise the limit: SET memory_limit, or the option that set it")
}

/// The stack of the thread that a statement runs on.
#[derive(Clone, Copy)]
struct Stack {
    /// An address near the start of what the statement uses.
    base: usize,
    /// Bytes that binding may use from there.
    size: usize,
    /// Total size, in bytes.
    whole: usize,
    is_large: bool,
}

impl Stack {
    fn easy() -> Self {
        Self { base: here(), size: EASY_SIZE, whole: EASY_LEVELS * LEVEL_SIZE, is_large: false }
    }

    fn large(whole: usize) -> Self {
        Self { base: here(), size: whole / 2, whole, is_large: true }
    }

    /// Stacks grow down on most machines, and up on some.
    #[inline]
    fn used(&self) -> usize {
        self.base.abs_diff(here())
    }
}

/// The current address in the stack.
#[inline(always)]
fn here() -> usize {
    let place = 0u8;
    std::ptr::from_ref(black_box(&place)).addr()
}
