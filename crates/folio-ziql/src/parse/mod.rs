//! From tokens to syntax, by recursive descent: a function per rule of the grammar.
//!
//! ```text
//! statement   chains, GRAB, ADD, UPDATE, DELETE, tuples
//! shape       sources, shapes, fields, orders
//! expression  one precedence grammar for values and conditions
//! schema      structs and their members
//! hint        words and signs of other languages, and what to write instead
//! ```
//!
//! Every error reports what was expected and what was found.

mod expression;
mod hint;
mod schema;
mod shape;
mod statement;

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::Limits;

use crate::ast::{Name, Script, Tuple};
use crate::lexer::Lexer;
use crate::literal_buffer::LiteralBuffer;
use crate::token::{Keyword, Lexeme, Token};
use crate::tokenize::tokenize;
pub(crate) use schema::{Declaration, LinkTarget, MemberDeclaration, MemberType, value_type};

/// The maximum nesting of brackets and operators. Any thread's stack has room for it.
const DEPTH_MAX: usize = 128;

/// Approximate memory of the syntax tree per token.
const TOKEN_SIZE: usize = 256;

/// Parses a script; with the names of its parameters.
///
/// # Errors
/// `syntax`, with the place; `unsupported` if it nests too deep.
pub(crate) fn script(text: &Arc<str>, limits: &Limits) -> Result<(Script, Vec<String>)> {
    let mut buffer = LiteralBuffer::of(text);
    let tokens = tokenize(Lexer::new(text), buffer.as_mut())?;
    let _held = limits.hold(tokens.len() * TOKEN_SIZE)?;
    let names = tokens.iter().filter_map(|lexeme| match &lexeme.token {
        Token::Parameter(name) => Some(name.clone()),
        _ => None,
    });
    let names = names.collect();
    let mut parser = Parser { limits: limits.clone(), ..Parser::new(tokens, buffer) };
    Ok((parser.script()?, names))
}

/// Parses a text that is one tuple.
///
/// # Errors
/// As [`script`].
pub(super) fn tuple(text: Lexer<'_>) -> Result<Tuple> {
    Parser::new(tokenize(text, None)?, None).tuple()
}

/// Parses a schema.
///
/// # Errors
/// As [`script`].
pub(crate) fn declarations(text: &str) -> Result<Vec<Declaration>> {
    Parser::new(tokenize(Lexer::new(text), None)?, None).declarations()
}

/// Tokens and the current position in them.
struct Parser {
    tokens: Vec<Lexeme>,
    /// The literal buffer, for tuples that have no tokens.
    buffer: Arc<LiteralBuffer>,
    at: usize,
    depth: usize,
    limits: Limits,
}

impl Parser {
    fn new(tokens: Vec<Lexeme>, buffer: Option<LiteralBuffer>) -> Self {
        let limits = Limits::default();
        Self { tokens, buffer: buffer.unwrap_or_default().into(), at: 0, depth: 0, limits }
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    /// The token `ahead` positions later, or the end.
    fn peek_at(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)].token
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span from a place to the end of the previous token.
    fn since(&self, start: Span) -> Span {
        let last = self.tokens[self.at.saturating_sub(1)].span;
        Span { end_line: last.end_line, end_column: last.end_column, ..start }
    }

    /// Takes a token. The end token is never consumed.
    fn take(&mut self) -> Lexeme {
        let lexeme = self.tokens[self.at].clone();
        if lexeme.token != Token::End {
            self.at += 1;
        }
        lexeme
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(own) if *own == sign)
    }

    fn is_sign_at(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek_at(ahead), Token::Sign(own) if *own == sign)
    }

    fn is_keyword(&self, keyword: Keyword) -> bool {
        *self.peek() == Token::Keyword(keyword)
    }

    /// Whether the token is an unreserved name equal to this word.
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_at(ahead), Token::Name(name, false) if name.eq_ignore_ascii_case(word))
    }

    fn eat_sign(&mut self, sign: &str) -> bool {
        let is_it = self.is_sign(sign);
        if is_it {
            self.at += 1;
        }
        is_it
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        let is_it = self.is_keyword(keyword);
        if is_it {
            self.at += 1;
        }
        is_it
    }

    fn expect_sign(&mut self, sign: &str, expected: &str) -> Result<Span> {
        let span = self.span();
        if self.eat_sign(sign) { Ok(span) } else { Err(self.expected(expected)) }
    }

    /// The error that reports what was expected and what was found.
    fn expected(&self, what: &str) -> Error {
        let found = self.peek();
        let error = Error::syntax(format!("expected {what}, found {found}")).at(self.span());
        match (self.hint(), found) {
            (Some(instead), _) => error.help(instead),
            (None, Token::Keyword(keyword)) if what.contains("name") || what.contains("member") => {
                error.help(format!(
                    "to use it as a name, write it in backquotes: `{}`",
                    keyword.text()
                ))
            }
            _ => error,
        }
    }

    fn name(&mut self, expected: &str) -> Result<Name> {
        match self.peek() {
            Token::Name(text, _) => {
                let name = Name { text: text.clone(), span: self.span() };
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected(expected)),
        }
    }

    /// Parses one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.too_deep());
        }
        self.limits.descend(|| self.span())?;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn too_deep(&self) -> Error {
        Error::unsupported(format!("the statement nests too deep: more than {DEPTH_MAX} levels"))
            .at(self.span())
            .help("split it")
    }

    /// Parses items separated by commas up to a closing sign, and takes the sign. A trailing comma
    /// is allowed.
    fn list_until<T>(
        &mut self,
        close: &str,
        expected: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat_sign(close) {
            items.push(item(self)?);
            if !self.eat_sign(",") && !self.is_sign(close) {
                return Err(self.expected(&format!("`,` or `{close}` after {expected}")));
            }
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests;
