//! The word that controls access to a frame.
//!
//! ```text
//! bit  63                      20 19 18    17 16   15            0
//!     | hits since it was loaded | - | dirty | - | open | pins |
//! ```
//!
//! - `pins > 0`: readers; the bytes do not change.
//! - not `open`: one thread owns the frame, to load, write out, change or empty it.
//!   No thread can pin it. Every transition starts from the word it has
//!   read, so only the owner changes the word.
//! - `dirty`: the bytes differ from those in the storage.
//!
//! A zero word is a new frame, which is owned and has no counts. So the words of a large pool are
//! untouched memory.
//!
//! Pinning counts the hit in the same step, so statistics are free. A test compiles this file a
//! second time to run it under a model of the memory order, which is why atomics are imported
//! through `sync`.

use super::sync::{AtomicU64, Ordering};

const PIN: u64 = 1;
const PINS: u64 = (1 << 16) - 1;
const OPEN: u64 = 1 << 16;
const DIRTY: u64 = 1 << 18;
const HIT_SHIFT: u32 = 20;
const HIT: u64 = 1 << HIT_SHIFT;
const HITS: u64 = !(HIT - 1);

/// The state of one frame; a new one is owned by its creator.
#[derive(Debug, Default)]
pub(crate) struct State(AtomicU64);

impl State {
    /// Adds a reader and counts a hit; `false` when the frame is owned.
    #[inline]
    pub(crate) fn try_pin(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & OPEN == 0 || seen & PINS == PINS {
                return false;
            }
            // Acquire: see what the owner wrote before its release.
            match self.0.compare_exchange_weak(
                seen,
                seen.wrapping_add(PIN | HIT),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Undoes a pin of a frame that holds another block.
    pub(crate) fn unpin_uncounted(&self) {
        self.0.fetch_sub(PIN | HIT, Ordering::Release);
    }

    /// Removes a reader.
    #[inline]
    pub(crate) fn unpin(&self) {
        // Release: reads end before an owner may write.
        self.0.fetch_sub(PIN, Ordering::Release);
    }

    /// Becomes the owner, if there are no readers and no owner.
    pub(crate) fn try_own(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            if seen & (OPEN | PINS) != OPEN {
                return false;
            }
            match self.0.compare_exchange_weak(
                seen,
                seen & !OPEN,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Ends the ownership.
    pub(crate) fn release(&self) {
        self.0.fetch_or(OPEN, Ordering::Release);
    }

    /// Turns the owner into a reader.
    pub(crate) fn release_to_pin(&self) {
        self.0.fetch_add(OPEN | PIN, Ordering::Release);
    }

    /// Sets whether the bytes differ from the storage's. For the owner.
    pub(crate) fn set_dirty(&self, is_dirty: bool) {
        if is_dirty {
            self.0.fetch_or(DIRTY, Ordering::Relaxed);
        } else {
            self.0.fetch_and(!DIRTY, Ordering::Relaxed);
        }
    }

    /// Whether the bytes differ from the storage's.
    pub(crate) fn is_dirty(&self) -> bool {
        self.0.load(Ordering::Relaxed) & DIRTY != 0
    }

    /// Whether there are readers or an owner.
    pub(crate) fn is_held(&self) -> bool {
        self.0.load(Ordering::Relaxed) & (OPEN | PINS) != OPEN
    }

    /// The current number of readers.
    pub(crate) fn pins(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & PINS
    }

    /// Hits counted since the owner last took them.
    pub(crate) fn hits(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> HIT_SHIFT
    }

    /// Takes the hits counted so far. For the owner.
    pub(crate) fn take_hits(&self) -> u64 {
        self.0.fetch_and(!HITS, Ordering::Relaxed) >> HIT_SHIFT
    }
}
