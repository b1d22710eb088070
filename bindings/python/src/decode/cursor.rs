//! A position in JSON text.

use super::{Decoded, Fault};

/// Reads bytes in order; beyond the end it returns zeros, which are not valid JSON.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    #[inline(always)]
    pub(super) fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// The next byte that is not white space.
    #[inline(always)]
    pub(super) fn peek_token(&mut self) -> u8 {
        let byte = self.peek();
        if byte > b' ' { byte } else { self.skip_space() }
    }

    #[cold]
    fn skip_space(&mut self) -> u8 {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.peek()
    }

    /// Consumes `wanted` if it comes next.
    #[inline(always)]
    pub(super) fn take(&mut self, wanted: &[u8]) -> bool {
        let is_next = self.text[self.at..].starts_with(wanted);
        if is_next {
            self.at += wanted.len();
        }
        is_next
    }

    #[cold]
    pub(super) fn fault<T>(&self, reason: &'static str) -> Decoded<T> {
        Err(Fault::Syntax(self.at, reason).into())
    }
}
