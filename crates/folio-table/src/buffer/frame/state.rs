//! The one word that says who may touch a frame.
//!
//! ```text
//! bit  63                      20 19 18    17 16   15            0
//!     | hits since it was loaded | - | dirty | - | open | pins |
//! ```
//!
//! - `pins > 0`: readers; the bytes do not change.
//! - not `open`: one thread owns the frame, to load, write out, change or empty it.
//!   Nobody pins it, and since every transition starts from the word it has
//!   read, nobody but the owner changes the word.
//! - `dirty`: the bytes differ from what the storage has.
//!
//! A word of zeros is that of a new frame, which is owned and counts nothing: so the
//! words of a great pool are memory that nobody has touched.
//!
//! Pinning counts the hit in the same step, so statistics cost nothing.
//! The file is compiled a second time by the test that runs it under a model
//! of the memory order; that is why it names its atomics through `sync`.

use super::sync::{AtomicU64, Ordering};

const PIN: u64 = 1;
const PINS: u64 = (1 << 16) - 1;
const OPEN: u64 = 1 << 16;
const DIRTY: u64 = 1 << 18;
const HIT_SHIFT: u32 = 20;
const HIT: u64 = 1 << HIT_SHIFT;
const HITS: u64 = !(HIT - 1);

/// The state of one frame; a new one is owned by whoever made it.
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
            // Acquire: what the owner wrote before it let go is seen.
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

    /// Takes a pin back that found something else than it looked for.
    pub(crate) fn unpin_uncounted(&self) {
        self.0.fetch_sub(PIN | HIT, Ordering::Release);
    }

    /// Removes a reader.
    #[inline]
    pub(crate) fn unpin(&self) {
        // Release: the reads are over before an owner may write.
        self.0.fetch_sub(PIN, Ordering::Release);
    }

    /// Becomes the owner, if there are neither readers nor an owner.
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

    /// The owner lets go.
    pub(crate) fn release(&self) {
        self.0.fetch_or(OPEN, Ordering::Release);
    }

    /// The owner becomes a reader.
    pub(crate) fn release_to_pin(&self) {
        self.0.fetch_add(OPEN | PIN, Ordering::Release);
    }

    /// The owner says whether the bytes differ from the storage's.
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

    /// Readers now.
    pub(crate) fn pins(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & PINS
    }

    /// Hits counted since the owner last took them.
    pub(crate) fn hits(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> HIT_SHIFT
    }

    /// The owner takes the hits counted so far.
    pub(crate) fn take_hits(&self) -> u64 {
        self.0.fetch_and(!HITS, Ordering::Relaxed) >> HIT_SHIFT
    }
}
