//! Keeps the columns of one collection up to date behind its writer.
//!
//! A batch or a flush says that there is more, and goes on. One thread makes parts of it, and lives
//! while there is something to make:
//!
//! ```text
//! as many lines as one part has      become parts at once
//! fewer, and more come               wait: a small part would soon be made again
//! fewer, and none came for a while   become a part
//! more than `BEHIND_MAX`             the writer waits until some are made
//! ```
//!
//! Lines without a part are read as lines, so nobody waits for the thread to be right. Closing,
//! compacting and dropping wait until it has left the collection alone ([`Keeper::leave`]), and none
//! starts until they are done.
//!
//! A store without a disk has no thread: a test's file system sees only the calls that the test
//! makes.

use std::process;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use folio_document::{Collection, PART_SIZE};

use super::{Effort, keep, missing_size};
use crate::lock::lock;
use crate::types::KnownTypes;

/// A writer that was silent for so long has written all there is, for now.
const QUIET: Duration = Duration::from_millis(200);

/// With more bytes of lines than this without a part, a writer waits. Two threads read them in
/// about as much time as a person takes for an instant.
const BEHIND_MAX: u64 = 4 * PART_SIZE;

/// The thread of one collection, and what it has to do.
#[derive(Debug)]
pub(crate) struct Keeper {
    is_on_disk: bool,
    /// A forked child has no thread, whatever the state says.
    process: u32,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_thread: bool,
    /// When lines were last added that the thread has not looked at.
    added: Option<Instant>,
    /// How many want no thread.
    leaving_count: usize,
    round_count: u64,
}

impl Keeper {
    pub(crate) fn new(is_on_disk: bool) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { is_on_disk, process: process::id(), state, changed }
    }

    /// Called after a batch or a flush: has parts made of what was added, if it is much.
    pub(crate) fn note(self: &Arc<Self>, core: &Collection, types: &Arc<KnownTypes>) {
        let missing = missing_size(core);
        if missing == 0 {
            return;
        }
        if !self.begin(core, types) {
            keep(core, types, Effort::whole());
        } else if missing > BEHIND_MAX {
            self.wait_for_round();
        }
    }

    /// Wakes the thread, or starts it, unless somebody wants none. `false` if there can be none.
    fn begin(self: &Arc<Self>, core: &Collection, types: &Arc<KnownTypes>) -> bool {
        if !self.is_on_disk || self.process != process::id() {
            return false;
        }
        let mut state = self.state();
        state.added = Some(Instant::now());
        self.changed.notify_all();
        if !state.has_thread && state.leaving_count == 0 {
            let (own, core, types) = (Arc::clone(self), core.clone(), Arc::clone(types));
            let thread = thread::Builder::new().name("folio-columns".to_owned());
            state.has_thread = thread.spawn(move || Work(&own).run(&core, &types)).is_ok();
        }
        state.has_thread || state.leaving_count > 0
    }

    /// Waits until the thread has made some parts, or ended.
    fn wait_for_round(&self) {
        let mut state = self.state();
        let round = state.round_count;
        while state.has_thread && state.round_count == round {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the thread has ended, which takes no longer than the parts that it is at. None
    /// starts while the result lives.
    pub(crate) fn leave(&self) -> Left<'_> {
        if self.process != process::id() {
            return Left(None);
        }
        let mut state = self.state();
        state.leaving_count += 1;
        self.changed.notify_all();
        while state.has_thread {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Left(Some(self))
    }

    fn end(&self, state: &mut State) {
        state.has_thread = false;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// There is no thread.
#[derive(Debug)]
pub(crate) struct Left<'k>(Option<&'k Keeper>);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        if let Some(keeper) = self.0 {
            keeper.state().leaving_count -= 1;
        }
    }
}

/// The thread. If it panics, nobody waits for it.
struct Work<'a>(&'a Keeper);

impl Work<'_> {
    fn run(self, core: &Collection, types: &KnownTypes) {
        while self.wait_for_enough(core) {
            let has_more = keep(core, types, Effort::behind());
            let mut state = self.0.state();
            state.round_count += 1;
            if has_more {
                state.added.get_or_insert_with(Instant::now);
            }
            self.0.changed.notify_all();
        }
    }

    /// Sleeps until there is enough for a part, or nothing more comes. `false` once all is made.
    fn wait_for_enough(&self, core: &Collection) -> bool {
        let mut state = self.0.state();
        while let Some(added) = state.added.filter(|_| state.leaving_count == 0) {
            let left = QUIET.saturating_sub(added.elapsed());
            if left.is_zero() || missing_size(core) >= PART_SIZE {
                state.added = None;
                return true;
            }
            let changed = self.0.changed.wait_timeout(state, left);
            state = changed.unwrap_or_else(PoisonError::into_inner).0;
        }
        // Here, so that what is added from now on starts another one.
        self.0.end(&mut state);
        false
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end(&mut self.0.state());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_goes_on_after_a_round_or_at_the_end() {
        let keeper = Arc::new(Keeper::new(true));
        for is_end in [false, true] {
            keeper.state().has_thread = true;
            let own = Arc::clone(&keeper);
            let waiting = thread::spawn(move || own.wait_for_round());
            thread::sleep(Duration::from_millis(30));
            assert!(!waiting.is_finished());
            match is_end {
                true => keeper.end(&mut keeper.state()),
                false => keeper.state().round_count += 1,
            }
            keeper.changed.notify_all();
            waiting.join().expect("it does not panic");
        }
        drop(keeper.leave()); // there is no thread
        assert_eq!(keeper.state().leaving_count, 0);
    }
}
