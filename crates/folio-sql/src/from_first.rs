//! Rewrites queries that begin with FROM or TABLE, as in DuckDB and PostgreSQL, to begin with
//! SELECT:
//!
//! ```text
//! TABLE t ORDER BY a       →  SELECT * FROM t ORDER BY a
//! FROM t WHERE a = 1       →  SELECT * FROM t WHERE a = 1
//! FROM t SELECT a          →  unchanged, the parser supports it
//! ```
//!
//! A query begins at the beginning of a statement, after an opening bracket, after UNION and other
//! set operators, and after the first part of WITH, INSERT, CREATE … AS and EXPLAIN.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What waits for its query at one level of brackets.
#[derive(Clone, Copy, Default, PartialEq)]
enum Expects {
    #[default]
    Nothing,
    With,
    Insert,
    Create,
    Explain,
}

/// Rewrites the tokens so that every query begins with SELECT, or with FROM … SELECT.
pub(super) fn lead_with_select(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let openings = openings(&tokens);
    if openings.is_empty() {
        return tokens;
    }
    let mut led = Vec::with_capacity(tokens.len() + 2 * openings.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        if openings.contains(&at) {
            let select = Token::make_keyword("SELECT");
            led.extend([select, Token::Mul].map(|token| TokenWithSpan { token, span }));
            led.push(TokenWithSpan { token: Token::make_keyword("FROM"), span });
        } else {
            led.push(token);
        }
    }
    led
}

/// The positions of FROM and TABLE that begin a query without SELECT.
fn openings(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let mut levels = vec![Expects::Nothing];
    let (mut found, mut before) = (Vec::new(), [None, None]);
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| !is_space(token)) {
        let waits = levels.last().copied().unwrap_or_default();
        let word = word_of(token);
        let begins = begins_query(waits, before);
        let is_opening = match word {
            Some(Keyword::TABLE) => begins && name_follows(tokens, at),
            Some(Keyword::FROM) => begins && !has_select(tokens, at),
            _ => false,
        };
        if is_opening {
            found.push(at);
        }
        follow(&mut levels, token, begins);
        before = [Some(token), before[0]];
    }
    found
}

/// The keyword of a token.
fn word_of(token: &TokenWithSpan) -> Option<Keyword> {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether a query begins after these tokens, the nearest first.
fn begins_query(waits: Expects, [before, earlier]: [Option<&TokenWithSpan>; 2]) -> bool {
    use Keyword as Word;
    let Some(before) = before else { return true };
    let earlier = earlier.and_then(word_of);
    match (&before.token, word_of(before)) {
        (Token::SemiColon, _) => true,
        // `trim(FROM a)` is a call.
        (Token::LParen, _) => earlier != Some(Word::TRIM),
        (Token::RParen, _) => matches!(waits, Expects::With | Expects::Insert | Expects::Explain),
        (_, Some(Word::ALL | Word::DISTINCT)) => {
            matches!(earlier, Some(Word::UNION | Word::INTERSECT | Word::EXCEPT))
        }
        (_, Some(Word::UNION | Word::INTERSECT | Word::EXCEPT)) => true,
        (_, Some(Word::AS)) if waits == Expects::Create => true,
        (_, Some(Word::EXPLAIN | Word::ANALYZE)) if waits == Expects::Explain => true,
        (_, Some(Word::INSERT | Word::INTO)) => false,
        (Token::Word(_), _) => waits == Expects::Insert,
        _ => false,
    }
}

/// Updates what waits for its query at each level of brackets.
fn follow(levels: &mut Vec<Expects>, token: &TokenWithSpan, begins: bool) {
    use Keyword as Word;
    match (&token.token, word_of(token)) {
        (Token::LParen, _) => levels.push(Expects::Nothing),
        (Token::RParen, _) if levels.len() > 1 => drop(levels.pop()),
        (Token::SemiColon, _) => *levels = vec![Expects::Nothing],
        (_, Some(word)) => {
            let Some(waits) = levels.last_mut() else { return };
            *waits = match word {
                Word::WITH if begins => Expects::With,
                Word::INSERT if begins => Expects::Insert,
                Word::CREATE if begins => Expects::Create,
                Word::EXPLAIN if begins => Expects::Explain,
                Word::FROM | Word::TABLE if begins => Expects::Nothing,
                Word::SELECT | Word::VALUES | Word::UPDATE | Word::DELETE | Word::MERGE => {
                    Expects::Nothing
                }
                _ => *waits,
            };
        }
        _ => {}
    }
}

/// Whether a name follows a position.
fn name_follows(tokens: &[TokenWithSpan], at: usize) -> bool {
    let next = tokens[at + 1..].iter().find(|token| !is_space(token));
    next.is_some_and(|next| matches!(next.token, Token::Word(_)))
}

/// Whether the query that begins with FROM at a position has a SELECT.
fn has_select(tokens: &[TokenWithSpan], at: usize) -> bool {
    use Keyword as Word;
    let mut depth = 0usize;
    for token in &tokens[at + 1..] {
        match (&token.token, word_of(token)) {
            (Token::LParen, _) => depth += 1,
            (Token::RParen, _) if depth == 0 => return false,
            (Token::RParen, _) => depth -= 1,
            (Token::SemiColon, _) => return false,
            (_, Some(Word::SELECT)) if depth == 0 => return true,
            (_, Some(Word::UNION | Word::INTERSECT | Word::EXCEPT)) if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

pub(super) fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}
