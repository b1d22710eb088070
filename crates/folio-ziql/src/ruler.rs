//! Where the tuples of a tape stand, and their syntax, for whoever asks.

use folio_engine::{Result, Span};

use crate::ast::Tuple;
use crate::lexer::Lexer;
use crate::parse;
use crate::tape::Tape;

impl Tape {
    /// Where a tuple stands.
    pub(crate) fn span(&self, tuple: usize) -> Span {
        self.ruler().span(tuple)
    }

    /// For asking where tuples stand, the first of them first.
    pub(crate) fn ruler(&self) -> Ruler<'_> {
        Ruler { tape: self, lexer: Lexer::new(self.text()) }
    }
}

/// Finds lines and columns of tuples, each from the one before.
pub(crate) struct Ruler<'t> {
    tape: &'t Tape,
    lexer: Lexer<'t>,
}

impl<'t> Ruler<'t> {
    /// Goes to a tuple; answers its size.
    fn go_to(&mut self, tuple: usize) -> usize {
        let place = self.tape.place(tuple);
        let at = self.tape.text().len() - self.lexer.rest().len();
        self.lexer.take(place.start - at);
        place.len()
    }

    /// Where a tuple stands.
    pub(crate) fn span(&mut self, tuple: usize) -> Span {
        let size = self.go_to(tuple);
        let mut lexer = self.lexer;
        lexer.take(size);
        lexer.since(self.lexer.position())
    }

    /// The syntax of a tuple.
    ///
    /// # Errors
    /// None for what was read as a tuple before.
    pub(crate) fn tuple(&mut self, tuple: usize) -> Result<Tuple> {
        let size = self.go_to(tuple);
        parse::tuple(self.lexer.first(size))
    }
}
