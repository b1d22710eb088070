//! Places and syntax of tuples in the literal buffer, computed on demand.

use folio_compute::{Result, Span};

use crate::ast::Tuple;
use crate::lexer::Lexer;
use crate::literal_buffer::LiteralBuffer;
use crate::parse;

impl LiteralBuffer {
    /// The place of a tuple.
    pub(crate) fn span(&self, tuple: usize) -> Span {
        self.tuple_places().span(tuple)
    }

    /// A ruler for asking for the places of tuples in ascending order.
    pub(crate) fn tuple_places(&self) -> TuplePlaces<'_> {
        TuplePlaces { buffer: self, lexer: Lexer::new(self.text()) }
    }
}

/// Computes lines and columns of tuples, continuing from the previous one.
pub(crate) struct TuplePlaces<'t> {
    buffer: &'t LiteralBuffer,
    lexer: Lexer<'t>,
}

impl<'t> TuplePlaces<'t> {
    /// Moves to a tuple and returns its size in bytes.
    fn go_to(&mut self, tuple: usize) -> usize {
        let place = self.buffer.place(tuple);
        let at = self.buffer.text().len() - self.lexer.rest().len();
        self.lexer.take(place.start - at);
        place.len()
    }

    /// The place of a tuple.
    pub(crate) fn span(&mut self, tuple: usize) -> Span {
        let size = self.go_to(tuple);
        let mut lexer = self.lexer;
        lexer.take(size);
        lexer.since(self.lexer.position())
    }

    /// Parses a tuple.
    ///
    /// # Errors
    /// None: it was read as a tuple before.
    pub(crate) fn tuple(&mut self, tuple: usize) -> Result<Tuple> {
        let size = self.go_to(tuple);
        parse::tuple(self.lexer.first(size))
    }
}
