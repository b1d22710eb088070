//! Places and syntax of tuples in the literal buffer, computed on demand.

use folio_engine::{Result, Span};

use crate::ast::Tuple;
use crate::lexer::Lexer;
use crate::parse;
use crate::tape::Tape;

impl Tape {
    /// The place of a tuple.
    pub(crate) fn span(&self, tuple: usize) -> Span {
        self.ruler().span(tuple)
    }

    /// A ruler for asking for the places of tuples in ascending order.
    pub(crate) fn ruler(&self) -> Ruler<'_> {
        Ruler { tape: self, lexer: Lexer::new(self.text()) }
    }
}

/// Computes lines and columns of tuples, continuing from the previous one.
pub(crate) struct Ruler<'t> {
    tape: &'t Tape,
    lexer: Lexer<'t>,
}

impl<'t> Ruler<'t> {
    /// Moves to a tuple and returns its size in bytes.
    fn go_to(&mut self, tuple: usize) -> usize {
        let place = self.tape.place(tuple);
        let at = self.tape.text().len() - self.lexer.rest().len();
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
