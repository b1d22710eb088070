//! A cache of short repeated texts: one `str` for all occurrences.
//!
//! Most documents contain some of a few texts: kinds, tags, sources. A separate `str` for each
//! takes fifty bytes or more, and creating it takes longer than finding the previous one. A text
//! enters the table when it is seen twice without another text for the same slot in between. So
//! unique texts, such as ids, displace nothing.

use pyo3::ffi;
use pyo3::prelude::*;

use super::Decoded;
use super::string::make;

/// Longer texts are not cached. The interpreter itself caches single characters.
const SIZES: std::ops::RangeInclusive<usize> = 2..=16;

/// The number of slots, as a power of two.
const SLOT_BITS: u32 = 7;

/// The number of texts before the table is created, so that one document need not pay for it.
const FIRST_TEXTS: u32 = 32;

/// A text of up to sixteen bytes: its first and last eight, which may overlap, and its size.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Short {
    first: u64,
    last: u64,
    size: usize,
}

impl Short {
    /// `None` if the text is too long or too short.
    #[inline(always)]
    fn of(text: &[u8]) -> Option<Self> {
        if !SIZES.contains(&text.len()) {
            return None;
        }
        let (first, last) = if let (Some(first), Some(last)) =
            (text.first_chunk::<8>(), text.last_chunk::<8>())
        {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>())
        {
            (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
        } else {
            let (first, last) = (text.first_chunk::<2>()?, text.last_chunk::<2>()?);
            (u16::from_le_bytes(*first).into(), u16::from_le_bytes(*last).into())
        };
        Some(Self { first, last, size: text.len() })
    }

    /// Multiplicative hashing (Knuth, volume 3, 6.4) of both halves.
    #[inline(always)]
    fn hash(self) -> u64 {
        let word = self.first ^ self.last.rotate_left(32) ^ self.size as u64;
        (word ^ word >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The slot of a text, from its hash.
#[inline(always)]
fn slot_of(hash: u64) -> usize {
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

#[derive(Default)]
struct Slot {
    text: Short,
    object: Option<Py<PyAny>>,
    /// The hash of the last text for this slot that was not in it.
    passed: u64,
}

/// The table.
#[derive(Default)]
pub(super) struct Texts {
    /// Empty before the first texts.
    slots: Vec<Slot>,
    first_texts: u32,
}

impl Texts {
    /// The `str` of a text without escapes, as an owned object.
    #[inline(always)]
    pub(super) fn get(&mut self, text: &[u8]) -> Decoded<*mut ffi::PyObject> {
        let Some(short) = Short::of(text) else { return make(text) };
        let hash = short.hash();
        match self.slots.get(slot_of(hash)) {
            Some(Slot { text: known, object: Some(object), .. }) if *known == short => {
                // SAFETY: a live object, and the interpreter's lock is held throughout
                // the decoder.
                unsafe { ffi::Py_IncRef(object.as_ptr()) };
                Ok(object.as_ptr())
            }
            _ => self.pass(text, short, hash),
        }
    }

    /// Creates a text that is not in the table, and adds it if it was seen just before.
    fn pass(&mut self, text: &[u8], short: Short, hash: u64) -> Decoded<*mut ffi::PyObject> {
        let object = make(text)?;
        let Some(slot) = self.slots.get_mut(slot_of(hash)) else {
            self.first_texts += 1;
            if self.first_texts == FIRST_TEXTS {
                self.slots.resize_with(1 << SLOT_BITS, Slot::default);
            }
            return Ok(object);
        };
        if slot.passed == hash {
            // SAFETY: a live object, whose reference count is taken up by one with the
            // interpreter's lock held.
            let kept = unsafe {
                let py = Python::assume_attached();
                Bound::from_borrowed_ptr(py, object).unbind()
            };
            (slot.text, slot.object) = (short, Some(kept));
        }
        slot.passed = hash;
        Ok(object)
    }
}
