//! Rewrites tokens that the parser does not support into ones that it does. The rewritten text,
//! for instance of a view, can be printed and parsed again with the same meaning.
//!
//! `EXCLUDE …` of a window frame moves to the front of the window, into the name of the window that
//! it is based on:
//!
//! ```text
//! (w ORDER BY a ROWS 1 PRECEDING EXCLUDE TIES)  →  ("exclude ties of w" ORDER BY a ROWS 1 PRECEDING)
//! (t).*                                         →  (t)."*"
//! 0b101, 0o17, 0x1F                             →  numbers, as PostgreSQL reads them
//! CREATE INDEX ON t (tags[])                    →  CREATE INDEX ON t (tags[:])
//! CREATE INDEX ON t USING columns               →  CREATE INDEX ON t USING columns ("*")
//! ? … ?                                         →  ?1 … ?2
//! ```
//!
//! A `?` is numbered by its position in the text, since binding follows another order: FROM before
//! SELECT, WHERE before SET, and queries of WITH as often as they are used.

use folio_compute::{Error, Result};
use folio_engine::plan::window::Exclusion;
use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Whitespace, Word};

use crate::from_first::{self, is_space};
use crate::place::Place;

/// The clauses: the exclusion, and its text in the window name.
const CLAUSES: [(Exclusion, &str); 4] = [
    (Exclusion::CurrentRow, "exclude current row"),
    (Exclusion::Group, "exclude group"),
    (Exclusion::Ties, "exclude ties"),
    (Exclusion::Nothing, "exclude no others"),
];

/// Separates the clause from the name of another window.
const OF: &str = " of ";

/// The name that stands for all fields of a row.
pub(super) const ALL_FIELDS: &str = "*";

/// Rewrites the tokens of a text for the parser.
///
/// # Errors
/// `syntax` for an invalid EXCLUDE.
pub(super) fn adapt(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    join_numbers(&mut tokens)?;
    tokens = from_first::lead_with_select(tokens);
    fill_index(&mut tokens);
    for at in 2..tokens.len() {
        if let [Token::RParen, Token::Period, Token::Mul] =
            [2, 1, 0].map(|back| &tokens[at - back].token)
        {
            tokens[at].token = quoted(ALL_FIELDS.to_owned());
        }
    }
    carry(tokens)
}

/// Numbers each `?` that is not an operator by its position in its statement. `operators` are in
/// order.
pub(super) fn number_parameters(tokens: &mut [TokenWithSpan], operators: &[Location]) {
    let is_operator = |place: &Location| operators.binary_search(place).is_ok();
    let mut count = 0;
    for token in tokens {
        match &mut token.token {
            Token::SemiColon => count = 0,
            Token::Placeholder(name) if name == "?" && !is_operator(&token.span.start) => {
                count += 1;
                *name = format!("?{count}");
            }
            _ => {}
        }
    }
}

/// A text of the parser with each `?` as it was written.
pub(super) fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_after_mark = false;
    for character in text.chars() {
        if is_after_mark && character.is_ascii_digit() {
            continue;
        }
        is_after_mark = character == '?';
        out.push(character);
    }
    out
}

/// Joins the tokens of a number that is not decimal: the tokenizer reads `0b101` as 0 with the name
/// b101 after it, and `0x1F` as bytes.
fn join_numbers(tokens: &mut [TokenWithSpan]) -> Result<()> {
    for at in 0..tokens.len() {
        let span = tokens[at].span;
        let after = tokens.get(at + 1).filter(|next| next.span.start == span.end);
        match (&tokens[at].token, after.map(|next| &next.token)) {
            // `0x1F` is two characters longer than its digits; `X'1F'`, which is bytes, three.
            (Token::HexStringLiteral(digits), _)
                if span.end.column.saturating_sub(span.start.column)
                    == digits.chars().count() as u64 + 2 =>
            {
                tokens[at].token = Token::Number(format!("0x{digits}"), false);
            }
            (Token::Number(digits, false), Some(Token::Word(word)))
                if word.quote_style.is_none() && word.keyword == Keyword::NoKeyword =>
            {
                let whole = format!("{digits}{}", word.value);
                if digits != "0" || !word.value.starts_with(['b', 'B', 'o', 'O', 'X']) {
                    let text = format!("`{whole}` is neither a number nor a name");
                    let error = Error::syntax(text).at(span.to_span());
                    return Err(error.help("add a space after the number, or quote the name"));
                }
                let end = tokens[at + 1].span.end;
                tokens[at].token = Token::Number(whole, false);
                tokens[at].span.end = end;
                tokens[at + 1].token = Token::Whitespace(Whitespace::Space);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes `[]` in the fields of an index as a slice of everything, and columns of all fields with a
/// list: the parser needs both.
fn fill_index(tokens: &mut Vec<TokenWithSpan>) {
    // The words of a statement before its first bracket, and whether a bracket was there.
    let (mut is_index, mut words) = (false, 0);
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].token {
            Token::SemiColon => (is_index, words) = (false, 0),
            Token::Word(word) if word.keyword == Keyword::WHERE => is_index = false,
            Token::Word(word) if is_index && word.keyword == Keyword::USING => {
                fill_columns(tokens, at + 1);
            }
            Token::Word(word) => {
                words += 1;
                let is_create = word.keyword == Keyword::CREATE;
                let is_unique = word.keyword == Keyword::UNIQUE;
                is_index |= words <= 3 && word.keyword == Keyword::INDEX;
                if words == 1 && !is_create || words == 2 && !(is_unique || is_index) {
                    words = 3; // another statement
                }
            }
            Token::LBracket if is_index => {
                let next = tokens.get(at + 1).filter(|next| next.token == Token::RBracket);
                if let Some(span) = next.map(|next| next.span) {
                    tokens.insert(at + 1, TokenWithSpan::new(Token::Colon, span));
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Adds a list after the word `columns` at or after a position, unless there is one.
fn fill_columns(tokens: &mut Vec<TokenWithSpan>, from: usize) {
    let mut solid = (from..tokens.len()).filter(|at| !is_space(&tokens[*at]));
    let is_columns = |at: &usize| matches!(&tokens[*at].token, Token::Word(word) if word.value.eq_ignore_ascii_case("columns"));
    let Some(at) = solid.next().filter(is_columns) else { return };
    if solid.next().is_some_and(|next| tokens[next].token == Token::LParen) {
        return;
    }
    let span = tokens[at].span;
    let list = [Token::LParen, quoted(ALL_FIELDS.to_owned()), Token::RParen];
    let list = list.into_iter().map(|token| TokenWithSpan::new(token, span));
    tokens.splice(at + 1..at + 1, list);
}

fn quoted(value: String) -> Token {
    Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword })
}

/// Moves every EXCLUDE to the front of its window.
fn carry(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    if !tokens.iter().any(|token| is_word(token, "exclude")) {
        return Ok(tokens);
    }
    let mut open = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].token {
            Token::LParen => open.push(at),
            Token::RParen => drop(open.pop()),
            _ if is_clause(&tokens, at) => {
                if let Some(window) = open.last() {
                    carry_one(&mut tokens, *window, at)?;
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(tokens)
}

/// Whether the token is EXCLUDE at the end of a frame.
fn is_clause(tokens: &[TokenWithSpan], at: usize) -> bool {
    let ends = |token| ["row", "preceding", "following"].iter().any(|end| is_word(token, end));
    is_word(&tokens[at], "exclude") && before(tokens, at).is_some_and(ends)
}

/// Moves the clause at a position to the front of the window that opens at another one.
fn carry_one(tokens: &mut Vec<TokenWithSpan>, window: usize, at: usize) -> Result<()> {
    let found = CLAUSES.iter().find_map(|(_, name)| {
        let mut after = after(tokens, at);
        let mut words = name.split(' ').skip(1);
        let last = words.try_fold(at, |_, word| {
            after.next().filter(|(_, token)| is_word(token, word)).map(|(place, _)| place)
        })?;
        let is_end = after.next().is_some_and(|(_, token)| token.token == Token::RParen);
        is_end.then_some((*name, last))
    });
    let Some((name, last)) = found else {
        let is_window = before(tokens, window).is_some_and(|token| is_word(token, "over"));
        let Some((_, next)) = after(tokens, at).next().filter(|_| is_window) else {
            // It may be a name; the parser reports errors.
            return Ok(());
        };
        let wanted = "CURRENT ROW, GROUP, TIES or NO OTHERS";
        let text = format!("expected {wanted} after EXCLUDE, found {}", shown(&next.token));
        return Err(Error::syntax(text).at(next.span.to_span()));
    };
    let span = tokens[at].span;
    tokens.drain(at..=last);
    let base = after(tokens, window).next().and_then(|(place, token)| match &token.token {
        Token::Word(word) if word.keyword == Keyword::NoKeyword => {
            Some((place, format!("{name}{OF}{}", word.value)))
        }
        _ => None,
    });
    let named = |value| TokenWithSpan { token: quoted(value), span };
    match base {
        Some((place, value)) => tokens[place] = named(value),
        None => tokens.insert(window + 1, named(name.to_owned())),
    }
    Ok(())
}

/// The tokens after a position, with their positions.
fn after(tokens: &[TokenWithSpan], at: usize) -> impl Iterator<Item = (usize, &TokenWithSpan)> {
    tokens.iter().enumerate().skip(at + 1).filter(|(_, token)| !is_space(token))
}

/// The token before a position.
fn before(tokens: &[TokenWithSpan], at: usize) -> Option<&TokenWithSpan> {
    tokens[..at].iter().rev().find(|token| !is_space(token))
}

fn is_word(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// A token, for messages.
pub(super) fn shown(token: &Token) -> String {
    match token {
        Token::EOF => "the end".to_owned(),
        token => format!("`{}`", without_numbers(&token.to_string())),
    }
}

/// The exclusion encoded in a window's name, and the name of the window it is based on.
pub(super) fn exclusion(name: &Ident) -> (Exclusion, Option<Ident>) {
    let base = |clause: &str| match name.value.strip_prefix(clause)? {
        "" => Some(None),
        rest => {
            let value = rest.strip_prefix(OF)?.to_owned();
            Some(Some(Ident { value, ..name.clone() }))
        }
    };
    let found = CLAUSES.iter().find_map(|(exclusion, clause)| Some((*exclusion, base(clause)?)));
    found.unwrap_or_else(|| (Exclusion::Nothing, Some(name.clone())))
}
