//! Turns a text into tokens, and its tuples of literals into the literal buffer.

use std::sync::Arc;

use folio_compute::{Result, Span};

use crate::lexer::Lexer;
use crate::literal_buffer::LiteralBuffer;
use crate::token::{Lexeme, Token};
use crate::tuples::{Reader, Tuples};

/// The tokens of a text, including the end. If there is a literal buffer, tuples of literals
/// after the first tuple of an ADD go there. Each run of them is one token.
///
/// # Errors
/// `syntax`, with the place.
pub(crate) fn tokenize(
    mut lexer: Lexer<'_>,
    mut buffer: Option<&mut LiteralBuffer>,
) -> Result<Vec<Lexeme>> {
    let (mut tokens, mut tuples) = (Vec::new(), Tuples::default());
    loop {
        lexer.skip_blank();
        if let Some(buffer) = buffer.as_deref_mut().filter(|_| tuples.may_begin())
            && let Some(lexeme) = literals(&mut lexer, buffer)
        {
            tokens.push(lexeme);
        }
        let mut lexeme = lexer.next()?;
        tuples.see(&lexeme.token);
        let is_end = lexeme.token == Token::End;
        if let (true, Some(Lexeme { span, .. })) = (is_end, tokens.last()) {
            // Errors at the end point right after the last word, not at blank lines below.
            lexeme.span = Span::at(span.end_line, span.end_column);
        }
        tokens.push(lexeme);
        if is_end {
            return Ok(tokens);
        }
    }
}

/// Reads the run of literal tuples that begins here, if there is one.
fn literals(lexer: &mut Lexer<'_>, buffer: &mut LiteralBuffer) -> Option<Lexeme> {
    let (start, first) = (lexer.position(), buffer.len());
    let text = Arc::clone(buffer.text());
    let at = text.len() - lexer.rest().len();
    if first == 0 {
        buffer.reserve(lexer.rest().len());
    }
    let end = Reader::new(&text).tuples(at, buffer)?;
    lexer.take(end - at);
    let token = Token::Tuples(first..buffer.len());
    Some(Lexeme { token, span: lexer.since(start) })
}
