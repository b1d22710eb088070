//! Texts of which there are few different ones, as numbers: where rows are only grouped by them, a
//! number is compared in place of a text, and no text is copied.
//!
//! Only texts of less than sixteen bytes, which one comparison tells apart. A longer one, or too
//! many different ones, end this for good: [`FewTexts::take_all`] returns the texts so far.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array};
use arrow_buffer::NullBuffer;

use crate::text_array::texts;

/// A text of less than sixteen bytes: its bytes, zeros, and its size in the last byte.
pub(crate) type ShortText = u128;

/// The most bytes of a short text.
pub(crate) const SHORT_MAX: usize = 15;

/// More different texts are not few.
const COUNT_MAX: usize = 128;

/// A power of two, four times the texts: most are found where they are looked for first.
const SLOTS: usize = 4 * COUNT_MAX;

/// A short text by its bytes, of which there are less than sixteen.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn short_text(bytes: &[u8; 16], size: usize) -> ShortText {
    let own = (1 << (8 * size)) - 1;
    (u128::from_le_bytes(*bytes) & own) | (size as u128) << (8 * SHORT_MAX)
}

/// A column of few texts.
pub(crate) struct FewTexts {
    slots: Box<[(ShortText, Option<u8>); SLOTS]>,
    /// The different texts.
    bytes: Vec<u8>,
    ends: Vec<i32>,
    /// The same as an array, until another comes.
    array: Option<ArrayRef>,
    /// The number of the text of each row; of a null any.
    codes: Vec<i32>,
}

impl FewTexts {
    pub(crate) fn new() -> Self {
        let (bytes, ends, codes) = (Vec::new(), Vec::new(), Vec::new());
        Self { slots: Box::new([(0, None); SLOTS]), bytes, ends, array: None, codes }
    }

    /// Appends a text; `false` if there are too many.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn push(&mut self, text: ShortText) -> bool {
        let mut place = hash(text);
        loop {
            match self.slots[place % SLOTS] {
                (own, Some(code)) if own == text => {
                    self.codes.push(i32::from(code));
                    return true;
                }
                (_, Some(_)) => place += 1,
                (_, None) => return self.push_new(text, place % SLOTS),
            }
        }
    }

    #[cold]
    fn push_new(&mut self, text: ShortText, place: usize) -> bool {
        let code = self.ends.len();
        if code == COUNT_MAX {
            return false;
        }
        let [bytes @ .., size] = text.to_le_bytes();
        self.bytes.extend_from_slice(&bytes[..usize::from(size)]);
        self.ends.push(self.bytes.len() as i32);
        self.slots[place] = (text, Some(code as u8));
        self.array = None;
        self.codes.push(code as i32);
        true
    }

    pub(crate) fn push_null(&mut self) {
        self.codes.push(0);
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        self.codes.truncate(count);
    }

    /// The texts of all rows, one after the other, and where they end. `valid` says which rows have
    /// one.
    pub(crate) fn take_all(&mut self, valid: &[bool]) -> (Vec<u8>, Vec<i32>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(self.codes.len()));
        for (code, is_valid) in std::mem::take(&mut self.codes).into_iter().zip(valid) {
            if *is_valid {
                let code = code as usize;
                let start = if code == 0 { 0 } else { self.ends[code - 1] };
                bytes.extend_from_slice(&self.bytes[start as usize..self.ends[code] as usize]);
            }
            ends.push(bytes.len() as i32);
        }
        (bytes, ends)
    }

    /// The rows as a dictionary. Those of the next batch refer to the same texts.
    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> ArrayRef {
        let all = || texts(self.bytes.clone(), &mut self.ends.clone(), None);
        let all = Arc::clone(self.array.get_or_insert_with(all));
        let codes = Int32Array::new(std::mem::take(&mut self.codes).into(), nulls);
        Arc::new(DictionaryArray::<Int32Type>::new(codes, all))
    }
}

impl std::fmt::Debug for FewTexts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "FewTexts({} of {})", self.codes.len(), self.ends.len())
    }
}

/// Multiplication carries every bit upwards, and the topmost decide.
#[inline(always)]
#[allow(clippy::inline_always)]
fn hash(text: ShortText) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let halves = (text as u64) ^ ((text >> 64) as u64).rotate_left(32).wrapping_mul(ODD);
    (halves.wrapping_mul(ODD) >> 40) as usize
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;

    fn short(text: &str) -> ShortText {
        let mut bytes = [b'"'; 16];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        short_text(&bytes, text.len())
    }

    #[test]
    fn texts_are_told_apart_and_kept_from_batch_to_batch() {
        let all = ["", "a", "b", "ab", "\0", "fifteen letters", "a\0", "ä", "a"];
        let mut few = FewTexts::new();
        let mut arrays = Vec::new();
        for _ in 0..2 {
            assert!(all.iter().all(|text| few.push(short(text))));
            let column = few.finish(None);
            let column = column.as_dictionary::<Int32Type>();
            let texts = column.downcast_dict::<arrow_array::StringArray>().unwrap();
            assert_eq!(texts.into_iter().map(Option::unwrap).collect::<Vec<_>>(), all);
            arrays.push(Arc::clone(column.values()));
        }
        assert!(Arc::ptr_eq(&arrays[0], &arrays[1]), "one dictionary");
        assert_eq!(arrays[0].len(), 8);
    }

    #[test]
    fn too_many_are_returned_as_they_came() {
        let mut few = FewTexts::new();
        let texts: Vec<String> = (0..=COUNT_MAX).map(|number| format!("text {number}")).collect();
        let (last, all) = texts.split_last().unwrap();
        assert!(all.iter().all(|text| few.push(short(text))));
        few.push_null();
        assert!(few.push(short(&all[3])) && !few.push(short(last)));
        let mut valid = vec![true; COUNT_MAX + 2];
        valid[COUNT_MAX] = false;
        let (bytes, ends) = few.take_all(&valid);
        assert_eq!(bytes, (all.concat() + &all[3]).into_bytes());
        assert_eq!(ends.len(), COUNT_MAX + 2);
        assert_eq!(ends[COUNT_MAX - 1], ends[COUNT_MAX]);
    }
}
