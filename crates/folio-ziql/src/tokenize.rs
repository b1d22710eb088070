//! A whole text to tokens, and its tuples of literals to the tape.

use std::sync::Arc;

use folio_engine::{Result, Span};

use crate::lexer::Lexer;
use crate::tape::Tape;
use crate::token::{Lexeme, Token};
use crate::tuples::{Reader, Tuples};

/// The tokens of a text, the end among them. Tuples of literals behind the first of an
/// ADD go to the tape, if there is one, and are one token for as many as stand together.
///
/// # Errors
/// `syntax`, with the place.
pub(crate) fn tokenize(mut lexer: Lexer<'_>, mut tape: Option<&mut Tape>) -> Result<Vec<Lexeme>> {
    let (mut tokens, mut tuples) = (Vec::new(), Tuples::default());
    loop {
        lexer.skip_blank();
        if let Some(tape) = tape.as_deref_mut().filter(|_| tuples.may_begin())
            && let Some(lexeme) = literals(&mut lexer, tape)
        {
            tokens.push(lexeme);
        }
        let mut lexeme = lexer.next()?;
        tuples.see(&lexeme.token);
        let is_end = lexeme.token == Token::End;
        if let (true, Some(Lexeme { span, .. })) = (is_end, tokens.last()) {
            // The end is missed where the last word ends, not lines below.
            lexeme.span = Span::at(span.end_line, span.end_column);
        }
        tokens.push(lexeme);
        if is_end {
            return Ok(tokens);
        }
    }
}

/// The tuples of literals that stand here, if there are any.
fn literals(lexer: &mut Lexer<'_>, tape: &mut Tape) -> Option<Lexeme> {
    let (start, first) = (lexer.position(), tape.len());
    let text = Arc::clone(tape.text());
    let at = text.len() - lexer.rest().len();
    if first == 0 {
        tape.reserve(lexer.rest().len());
    }
    let end = Reader::new(&text, at).tuples(tape)?;
    lexer.take(end - at);
    let token = Token::Tuples(first..tape.len());
    Some(Lexeme { token, span: lexer.since(start) })
}
