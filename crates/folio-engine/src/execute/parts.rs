//! The parts of a parallel scan: which of them a thread takes next, and how far it may run ahead.
//!
//! *Rows* are read in the order of the scan, so threads take parts in that order. A part whose rows
//! wait for the reader stays in memory, so a thread begins no further one while many wait.
//!
//! *Groups* of rows are small, and those of neighbouring parts are best made together: what both
//! have is then found once. A thread goes on with the part after its last one. If another thread
//! has begun that, it takes the middle of the longest stretch that nobody has begun, which leaves a
//! stretch before it to the thread that comes from there. Two threads that are equally fast make one
//! run of parts each. The runs are merged in the order of the scan, so neither the groups nor their
//! order depend on who made them. Where parts turn out to have a group for nearly each row, the
//! others are not tried.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// For each thread, how many parts with rows may wait for the reader.
const WAITING_PARTS: usize = 4;

/// Once so many parts have brought rows instead of groups, no other one tries to make groups.
const UNGROUPED_PARTS: usize = 2;

/// A part that a thread has taken.
pub(super) struct Taken<P> {
    pub(super) place: usize,
    pub(super) part: P,
    /// Whether its rows may be grouped.
    pub(super) makes_groups: bool,
}

/// The parts, shared by threads and their reader.
pub(super) struct Parts<P> {
    state: Mutex<State<P>>,
    /// A thread may go on, or has to end.
    changed: Condvar,
    /// So many parts with rows may wait for the reader.
    most_waiting: usize,
    has_ended: AtomicBool,
}

struct State<P> {
    /// `None` for one that a thread has begun.
    parts: Vec<Option<P>>,
    makes_groups: bool,
    /// Whether threads take parts in the order of the scan.
    in_order: bool,
    /// The part that the reader reads, or waits for.
    read: usize,
    /// Parts that have brought rows.
    with_rows: usize,
    /// Those of them that are not read to their end.
    waiting: usize,
}

impl<P> Parts<P> {
    /// Parts for so many threads. `makes_groups` says whether rows may be grouped, `in_order`
    /// whether parts are to be taken in the order of the scan all the same.
    pub(super) fn new(parts: Vec<P>, threads: usize, makes_groups: bool, in_order: bool) -> Self {
        let state = State {
            parts: parts.into_iter().map(Some).collect(),
            makes_groups,
            in_order: in_order || !makes_groups,
            read: 0,
            with_rows: 0,
            waiting: 0,
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            most_waiting: WAITING_PARTS * threads,
            has_ended: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next part for a thread, once it may begin one; `None` after the last.
    pub(super) fn take(&self) -> Option<Taken<P>> {
        let mut state = self.state();
        loop {
            let place = state.next().filter(|_| !self.has_ended())?;
            // The reader waits for the first one itself.
            if state.waiting < self.most_waiting || place <= state.read {
                return state.begin(place);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The part after a thread's last one, if its rows may be grouped with those of that one.
    pub(super) fn take_after(&self, place: usize) -> Option<Taken<P>> {
        let mut state = self.state();
        if state.makes_groups { state.begin(place + 1) } else { None }
    }

    /// Notes that a part brings rows, which the reader takes one part after the other.
    pub(super) fn note_rows(&self) {
        let mut state = self.state();
        state.with_rows += 1;
        state.waiting += 1;
        state.in_order = true;
    }

    /// Notes that the reader is done with a part, which `had_rows` or not, and goes on with another.
    pub(super) fn read_on(&self, had_rows: bool, next: usize) {
        let mut state = self.state();
        state.waiting -= usize::from(had_rows);
        state.read = next;
        self.changed.notify_all();
    }

    /// Stops grouping in parts that no thread has begun. Returns whether each has been begun; `None`
    /// if grouping has stopped before.
    pub(super) fn end_groups(&self) -> Option<Vec<bool>> {
        let mut state = self.state();
        state.in_order = true;
        std::mem::take(&mut state.makes_groups)
            .then(|| state.parts.iter().map(Option::is_none).collect())
    }

    /// Nobody reads any more: no thread begins another part.
    pub(super) fn end(&self) {
        let _state = self.state();
        self.has_ended.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Whether nobody reads any more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

impl<P> State<P> {
    /// The part to begin next.
    fn next(&self) -> Option<usize> {
        let first = self.parts.iter().position(Option::is_some)?;
        // Nobody comes to the first part from the one before.
        if self.in_order || first == 0 {
            return Some(first);
        }
        let stretches = self.parts.chunk_by(|part, next| part.is_some() == next.is_some());
        let (mut start, mut longest) = (0, (0, first));
        for stretch in stretches {
            if stretch[0].is_some() && stretch.len() > longest.0 {
                longest = (stretch.len(), start + stretch.len() / 2);
            }
            start += stretch.len();
        }
        Some(longest.1)
    }

    fn begin(&mut self, place: usize) -> Option<Taken<P>> {
        let part = self.parts.get_mut(place)?.take()?;
        let makes_groups = self.makes_groups && self.with_rows < UNGROUPED_PARTS;
        Some(Taken { place, part, makes_groups })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn grouped(count: usize) -> Parts<usize> {
        Parts::new((0..count).collect(), 2, true, false)
    }

    #[test]
    fn threads_that_are_equally_fast_make_a_run_each() {
        let parts = grouped(16);
        let mut places = [parts.take().unwrap().place, parts.take().unwrap().place];
        let mut runs = [places[0]..=places[0], places[1]..=places[1]];
        while let (Some(one), Some(two)) =
            (parts.take_after(places[0]), parts.take_after(places[1]))
        {
            places = [one.place, two.place];
            runs = [*runs[0].start()..=one.place, *runs[1].start()..=two.place];
        }
        assert_eq!(runs, [0..=7, 8..=15]);
        assert!(parts.take().is_none());
    }

    #[test]
    fn a_fast_thread_helps_with_what_is_left_of_another_run() {
        let parts = grouped(10);
        let slow = parts.take().unwrap().place;
        let mut fast = parts.take().unwrap().place;
        assert_eq!((slow, fast), (0, 5));
        while let Some(next) = parts.take_after(fast) {
            fast = next.place;
        }
        assert_eq!(fast, 9);
        // Of 1 to 4, the first two are left to the other.
        assert_eq!(parts.take().unwrap().place, 3);
        assert_eq!(parts.take_after(3).unwrap().place, 4);
        assert!(parts.take_after(4).is_none());
        assert_eq!(parts.take().unwrap().place, 2);
        assert_eq!(parts.take_after(0).unwrap().place, 1);
    }

    #[test]
    fn every_part_is_taken_once_whoever_is_how_fast() {
        let mut seed = 7_u64;
        let mut below = |count: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % count
        };
        for count in 1..40 {
            let (parts, mut taken) = (grouped(count), BTreeSet::new());
            let mut places = [None; 3];
            loop {
                let thread = below(places.len());
                let next = places[thread].and_then(|place| parts.take_after(place));
                let Some(next) = next.or_else(|| parts.take()) else { break };
                assert!(taken.insert(next.part), "part {} twice", next.part);
                places[thread] = Some(next.place);
            }
            assert_eq!(taken, (0..count).collect());
        }
    }

    #[test]
    fn rows_are_read_in_order_and_no_thread_runs_far_ahead() {
        let parts = Parts::new((0..40).collect(), 2, false, false);
        std::thread::scope(|scope| {
            let ahead = scope.spawn(|| {
                let mut places = Vec::new();
                while let Some(next) = parts.take() {
                    assert!(!next.makes_groups);
                    parts.note_rows();
                    places.push(next.place);
                }
                places
            });
            for read in 0..40 {
                while parts.state().parts[read].is_some() {
                    std::thread::yield_now();
                }
                let begun = parts.state().parts.iter().filter(|part| part.is_none()).count();
                assert!(begun <= read + WAITING_PARTS * 2, "{begun} begun, {read} read");
                // Its rows come after it has begun.
                while parts.state().waiting == 0 {
                    std::thread::yield_now();
                }
                parts.read_on(true, read + 1);
            }
            assert_eq!(ahead.join().unwrap(), (0..40).collect::<Vec<_>>());
        });
    }

    #[test]
    fn the_part_that_the_reader_waits_for_is_begun_however_many_wait() {
        let parts = grouped(12);
        let places: Vec<_> = (0..9).map(|_| parts.take().unwrap().place).collect();
        (0..8).for_each(|_| parts.note_rows());
        let left: Vec<_> = (0..12).filter(|place| !places.contains(place)).collect();
        parts.read_on(false, left[0]);
        assert_eq!(parts.take().unwrap().place, left[0]);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| parts.take().is_none());
            parts.end();
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn groups_are_not_tried_for_ever() {
        let parts = grouped(4);
        assert!(parts.take().unwrap().makes_groups);
        parts.note_rows();
        assert!(parts.take().unwrap().makes_groups);
        parts.note_rows();
        assert!(!parts.take().unwrap().makes_groups);
    }

    #[test]
    fn groups_that_end_leave_the_other_parts_in_order() {
        let parts = grouped(8);
        let places = [parts.take().unwrap().place, parts.take().unwrap().place];
        assert_eq!(places, [0, 4]);
        let begun = parts.end_groups().unwrap();
        assert_eq!(begun, [true, false, false, false, true, false, false, false]);
        assert!(parts.end_groups().is_none());
        assert!(parts.take_after(0).is_none());
        let next = parts.take().unwrap();
        assert_eq!((next.place, next.makes_groups), (1, false));
    }
}
