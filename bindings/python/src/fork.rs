//! Handles after a fork.
//!
//! A child process inherits every handle of its parent: descriptors that share one file lock, and
//! memory that other threads may have been changing. Using a handle could release the parent's lock
//! or block forever, and dropping it would flush and unlock for the parent. So this module counts
//! forks (the interpreter calls [`forked`] in every child), and each handle stores the count of its
//! creation. A handle from before the fork is neither used nor dropped: its owner opens a new one
//! by path.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

/// The number of forks between the first process that loaded the module and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Tells the module that this process is a fork's child.
#[pyfunction]
#[pyo3(name = "_forked")]
pub(crate) fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

thread_local! {
    /// Whether this thread works without the thread pool.
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// In a child, makes this thread do all the work of the thread pool. The pool belonged to the
/// parent, and waiting for it would block forever.
pub(crate) fn use_own_threads() {
    if GENERATION.load(Ordering::Relaxed) == 0 || IS_ALONE.replace(true) {
        return;
    }
    let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    // The thread belongs to its pool until it ends. If it already belongs to one (in a child's
    // child), that one is used.
    std::mem::forget(alone);
}

/// A value owned by the process that created it.
pub(crate) struct Owned<T> {
    value: ManuallyDrop<T>,
    generation: u32,
}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        let generation = GENERATION.load(Ordering::Relaxed);
        Self { value: ManuallyDrop::new(value), generation }
    }

    /// The value, or `None` in a forked child.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.is_ours().then(|| &*self.value)
    }

    #[inline]
    fn is_ours(&self) -> bool {
        self.generation == GENERATION.load(Ordering::Relaxed)
    }

    /// The value by move, or `None` in a forked child, where it is not touched.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        let is_ours = self.is_ours();
        // A generation that is never reached: dropping `self` then leaves the value alone.
        self.generation = u32::MAX;
        // SAFETY: the value is taken once, because `self` is consumed and its drop
        // does nothing under this generation.
        is_ours.then(|| unsafe { ManuallyDrop::take(&mut self.value) })
    }

    /// The value, mutably, or `None` in a forked child.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        if self.is_ours() { Some(&mut self.value) } else { None }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: nothing uses the value after the drop of its owner.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}

/// A handle per process: the first use in a forked child opens a new one for the child, and so on
/// for the child's children.
pub(crate) struct Handle<T> {
    here: Owned<T>,
    child: OnceLock<Box<Handle<T>>>,
}

impl<T> Handle<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { here: Owned::new(value), child: OnceLock::new() }
    }

    /// This process's handle; calls `open` if there is none yet.
    ///
    /// # Errors
    /// Errors of `open`.
    #[inline]
    pub(crate) fn get<E>(&self, open: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.here.get() {
            Some(value) => Ok(value),
            None => self.get_in_child(open),
        }
    }

    /// This process's handle, if it has one.
    pub(crate) fn existing(&self) -> Option<&T> {
        self.here.get().or_else(|| self.child.get()?.existing())
    }

    #[cold]
    fn get_in_child<E>(&self, open: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        use_own_threads();
        let child = match self.child.get() {
            Some(child) => child,
            None => {
                let opened = Box::new(Self::new(open()?));
                // If two threads race, only one handle is stored.
                return Ok(&self.child.get_or_init(|| opened).here.value);
            }
        };
        child.get(open)
    }
}
