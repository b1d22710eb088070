//! The frame's state word under every order of steps and every view of memory that the model allows
//! (loom, after "CDSChecker", Norris and Demsky, OOPSLA 2013).
//!
//! The file with the word is compiled here a second time, with loom's atomics. A cell next to the
//! word represents the frame's memory. Loom watches it: an access concurrent with a write, or not
//! ordered after it, is an error. The content of the memory is a separate number, read and written
//! without any order.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[allow(dead_code, reason = "the pool uses all of it, a model a part")]
#[path = "../src/buffer/frame/state.rs"]
mod state;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use state::State;

/// A frame: the word, and the memory it guards.
struct Frame {
    state: State,
    memory: UnsafeCell<()>,
    bytes: AtomicU64,
}

impl Frame {
    /// A frame that its creator has filled and released.
    fn filled(bytes: u64) -> Arc<Self> {
        let frame = Self::owned(bytes);
        frame.state.release();
        Arc::new(frame)
    }

    /// A frame that is still being filled.
    fn owned(bytes: u64) -> Self {
        Self { state: State::default(), memory: UnsafeCell::new(()), bytes: AtomicU64::new(bytes) }
    }

    /// What a reader does with the memory.
    fn look(&self) -> u64 {
        self.memory.with(|_| self.bytes.load(Ordering::Relaxed))
    }

    /// What an owner does with it.
    fn fill(&self, bytes: u64) {
        self.memory.with_mut(|_| self.bytes.store(bytes, Ordering::Relaxed));
    }

    /// Reads while others may not write; `None` if another thread owns the frame.
    fn read(&self) -> Option<u64> {
        if !self.state.try_pin() {
            return None;
        }
        let bytes = self.look();
        self.state.unpin();
        Some(bytes)
    }

    /// Writes with exclusive access; `false` if another thread has access.
    fn write(&self, bytes: u64) -> bool {
        if !self.state.try_own() {
            return false;
        }
        self.fill(bytes);
        self.state.set_dirty(true);
        self.state.release();
        true
    }
}

/// Runs a model of three threads: with up to three preemptions, or any number of them in deep runs.
fn model(steps: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = std::env::var_os("FOLIO_DEEP").is_none().then_some(3);
    builder.check(steps);
}

#[test]
fn readers_never_meet_a_writer() {
    loom::model(|| {
        let frame = Frame::filled(1);
        let reader = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || frame.read())
        };
        let has_written = frame.write(2);
        let seen = reader.join().expect("no panic");
        assert!(matches!(seen, None | Some(1 | 2)));
        assert_eq!(frame.read(), Some(if has_written { 2 } else { 1 }));
        assert_eq!(frame.state.is_dirty(), has_written);
        assert!(!frame.state.is_held());
    });
}

#[test]
fn of_two_who_want_to_own_it_one_waits() {
    loom::model(|| {
        let frame = Frame::filled(0);
        let other = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || frame.write(1))
        };
        let own = frame.write(2);
        let other = other.join().expect("no panic");
        assert!(own || other, "somebody gets it");
        assert!(frame.read() != Some(0));
    });
}

/// A miss: the owner fills the frame and continues as a reader, while another thread that has found
/// the frame tries to pin it and a third to evict it.
#[test]
fn who_pins_a_frame_being_loaded_sees_all_of_it() {
    model(|| {
        let frame = Arc::new(Frame::owned(0));
        let reader = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || frame.read())
        };
        let evictor = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || frame.write(9))
        };
        frame.fill(7);
        frame.state.release_to_pin();
        assert_eq!(frame.look(), 7, "the loader has a pin");
        frame.state.unpin();
        assert!(matches!(reader.join().expect("no panic"), None | Some(7 | 9)));
        evictor.join().expect("no panic");
    });
}

/// Hits are counted by pinning, and taken by the owner: none twice, none lost.
#[test]
fn every_hit_is_counted_once() {
    model(|| {
        let frame = Frame::filled(0);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let frame = Arc::clone(&frame);
                thread::spawn(move || u64::from(frame.read().is_some()))
            })
            .collect();
        let mut taken = 0;
        if frame.state.try_own() {
            taken = frame.state.take_hits();
            frame.state.release();
        }
        let hits: u64 = readers.into_iter().map(|reader| reader.join().expect("no panic")).sum();
        assert_eq!(taken + frame.state.hits(), hits);
        assert_eq!(frame.state.pins(), 0);
    });
}

/// A pin on a frame that meanwhile holds another block is undone, with its hit.
#[test]
fn a_pin_taken_back_leaves_nothing() {
    loom::model(|| {
        let frame = Frame::filled(0);
        let mistaken = {
            let frame = Arc::clone(&frame);
            thread::spawn(move || {
                if frame.state.try_pin() {
                    frame.state.unpin_uncounted();
                }
            })
        };
        let hits = u64::from(frame.read().is_some());
        mistaken.join().expect("no panic");
        assert_eq!((frame.state.hits(), frame.state.pins()), (hits, 0));
        assert!(!frame.state.is_held());
    });
}
