//! The text between the values of a document with a known outline.

use super::walk::surplus;
use super::{LIST, VALUE};

/// Bytes compared at once.
const WIDTH: usize = size_of::<u128>();

/// A text, and the kind of value after it.
pub(super) struct Piece {
    text: Vec<u8>,
    /// The first bytes of the text, padded with zeros.
    start: u128,
    /// How many fewer units a string of the text has than bytes.
    pub(super) surplus: usize,
    /// `VALUE` or `LIST`, or 0 at the end.
    pub(super) after: u8,
}

impl Piece {
    /// The pieces of an outline.
    pub(super) fn all_of(outline: &[u8]) -> Vec<Self> {
        let is_end = |byte: &u8| matches!(*byte, VALUE | LIST);
        let pieces = outline.split_inclusive(is_end);
        let split = |piece: &[u8]| match piece.split_last() {
            Some((&after, text)) if is_end(&after) => Self::new(text, after),
            _ => Self::new(piece, 0),
        };
        pieces.map(split).collect()
    }

    fn new(text: &[u8], after: u8) -> Self {
        let mut start = [0; WIDTH];
        let size = text.len().min(WIDTH);
        start[..size].copy_from_slice(&text[..size]);
        let start = u128::from_le_bytes(start);
        Self { text: text.to_vec(), start, surplus: surplus(text), after }
    }

    /// The size of the piece, if the text begins with it.
    #[inline(always)]
    pub(super) fn size_in(&self, text: &[u8]) -> Option<usize> {
        let size = self.text.len();
        let begins = match text.first_chunk::<WIDTH>() {
            Some(chunk) if (1..=WIDTH).contains(&size) => {
                (u128::from_le_bytes(*chunk) ^ self.start) << (8 * (WIDTH - size)) == 0
            }
            _ => text.starts_with(&self.text),
        };
        begins.then_some(size)
    }
}
