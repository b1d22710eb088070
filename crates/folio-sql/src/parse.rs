//! From text to syntax. Errors of the parser are reworded and get a place.

use folio_compute::{Error, Result, Span, lower_first};
use folio_engine::Limits;
use folio_types::near_match;
use sqlparser::ast::Statement;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span as Range, Token, TokenWithSpan, Tokenizer};

use crate::dialect::FolioDialect;
use crate::place::Place;
use crate::tokens;

/// Maximum nesting of operators and brackets in one statement.
const DEPTH_MAX: usize = 40_000;

/// Nesting that fits on any thread's stack.
pub(crate) const DEPTH_EASY: usize = 200;

/// Nesting that a query named by WITH counts as.
const NAMED_DEPTH: usize = 4;

/// Maximum nesting of WITH clauses: binding copies the queries of each.
pub(crate) const WITH_DEPTH_MAX: usize = 32;

/// Approximate memory of the syntax tree per token.
const TOKEN_SIZE: usize = 512;

/// A parsed text.
pub(crate) struct Parsed {
    pub(crate) statements: Vec<Statement>,
}

/// Parses all statements of a text.
///
/// # Errors
/// `syntax`, with the place; errors of the limits.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Parsed> {
    // Chains of operators nest in the syntax tree, though the parser does not recurse for them.
    if !limits.has_large_stack() && depth(text)? > DEPTH_EASY {
        return Err(limits.too_deep(Span::of_first_word(text).unwrap_or_default()));
    }
    let (parsed, operators) = parse_with(text, limits, &[])?;
    // Only the parser can tell an operator `?` from a parameter. If there is one, the parameters
    // are numbered again without it.
    if operators.is_empty() {
        return Ok(parsed);
    }
    parse_with(text, limits, &operators).map(|(parsed, _)| parsed)
}

/// Parses with known positions of the operators `?`. Returns where it found them.
fn parse_with(
    text: &str,
    limits: &Limits,
    operators: &[Location],
) -> Result<(Parsed, Vec<Location>)> {
    let mut tokens = tokens::adapt(tokenize(text)?)?;
    tokens::number_parameters(&mut tokens, operators);
    let _held = limits.hold(tokens.len() * TOKEN_SIZE)?;
    limits.check()?;
    let dialect = FolioDialect::limited(limits, tokens.len());
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(limits.parser_levels())
        .with_tokens_with_locations(tokens);
    let mut statements = Vec::new();
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        let next = parser.peek_token();
        if next.token == Token::EOF {
            drop(parser);
            return Ok((Parsed { statements }, dialect.into_operators()));
        }
        limits.check()?;
        let statement = parser.parse_statement().map_err(|error| match error {
            ParserError::RecursionLimitExceeded => {
                dialect.take_stopped().unwrap_or_else(|| limits.too_deep(next.span.to_span()))
            }
            error => explain(&error, text, &next),
        })?;
        statements.push(statement);
        let after = parser.peek_token();
        if !matches!(after.token, Token::SemiColon | Token::EOF) {
            return Err(trailing(&after));
        }
    }
}

/// Checks that a text is one expression, so that it means the same within a statement.
///
/// # Errors
/// `syntax`, with the place; errors of the limits.
pub fn check_condition(text: &str, limits: &Limits) -> Result<()> {
    if !limits.has_large_stack() && depth(text)? > DEPTH_EASY {
        return Err(limits.too_deep(Span::of_first_word(text).unwrap_or_default()));
    }
    expression(text, limits).map_err(|error| error.in_statement(text))
}

fn expression(text: &str, limits: &Limits) -> Result<()> {
    let mut tokens = tokens::adapt(tokenize(text)?)?;
    tokens::number_parameters(&mut tokens, &[]);
    let _held = limits.hold(tokens.len() * TOKEN_SIZE)?;
    let dialect = FolioDialect::limited(limits, tokens.len());
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(limits.parser_levels())
        .with_tokens_with_locations(tokens);
    let first = parser.peek_token();
    parser.parse_expr().map_err(|error| match error {
        ParserError::RecursionLimitExceeded => {
            dialect.take_stopped().unwrap_or_else(|| limits.too_deep(first.span.to_span()))
        }
        error => explain(&error, text, &first),
    })?;
    let after = parser.peek_token();
    if after.token == Token::EOF {
        return Ok(());
    }
    let found = tokens::shown(&after.token);
    let error = Error::syntax(format!("expected the end of the condition, found {found}"));
    Err(error.at(after.span.to_span()))
}

fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>> {
    let dialect = FolioDialect::default();
    let mut tokens = Vec::new();
    let (mut rest, mut start) = (text, Location::of(1, 1));
    loop {
        let place = |location| moved(location, start);
        let shift = |mut token: TokenWithSpan| {
            token.span = Range::new(place(token.span.start), place(token.span.end));
            token
        };
        let mut tokenizer = Tokenizer::new(&dialect, rest);
        match tokenizer.tokenize_with_location_into_buf_with_mapper(&mut tokens, shift) {
            Ok(()) => return Ok(tokens),
            // The tokenizer takes a period before `_` only after a name: `tags[1]._id`.
            Err(error) => match after_period(rest, error.location) {
                Some(after) => {
                    let period = place(error.location);
                    start = Location::of(period.line, period.column + 1);
                    tokens.push(TokenWithSpan::at(Token::Period, period, start));
                    rest = after;
                }
                None => return Err(invalid(&error.message, place(error.location))),
            },
        }
    }
}

/// A place in a text that begins at another one.
fn moved(location: Location, start: Location) -> Location {
    let column = if location.line == 1 { start.column - 1 } else { 0 };
    Location::of(start.line + location.line - 1, location.column + column)
}

/// What follows the period at a place, if a name that begins with `_` does.
fn after_period(text: &str, place: Location) -> Option<&str> {
    let (mut line, mut column) = (1, 1);
    for (at, character) in text.char_indices() {
        if (line, column) == (place.line, place.column) {
            return text[at..].strip_prefix('.').filter(|after| after.starts_with('_'));
        }
        (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    None
}

/// The error about a text that the tokenizer does not take.
fn invalid(message: &str, place: Location) -> Error {
    let span = Span::at(narrow(place.line), narrow(place.column));
    // The tokenizer stops within such a literal, and does not say why.
    if message.contains("nterminated encoded") {
        return Error::syntax("the literal E'…' does not end, or has an escape of no character")
            .at(span)
            .help("close the quote; \\u0000 and \\0 are not characters of text");
    }
    let message = lower_first(message.trim_end_matches('.'));
    let is_open = ["nterminated", "EOF"].iter().any(|sign| message.contains(sign));
    let error = Error::syntax(message).at(span);
    if is_open { error.help("close the open quote or comment") } else { error }
}

/// A cheap upper bound for the nesting of expressions in a text. Chained operators count, since
/// they nest in the syntax tree.
///
/// # Errors
/// `unsupported` if no stack can hold it.
pub(crate) fn depth(text: &str) -> Result<usize> {
    // Each level needs a word, a bracket or an operator; most texts have too few.
    let is_level = |byte: &u8| byte.is_ascii_whitespace() || b"([-+~!@#|/*%^&<>=:".contains(byte);
    if text.bytes().filter(|byte| is_level(byte)).take(DEPTH_EASY).count() < DEPTH_EASY {
        return Ok(0);
    }
    let (mut deepest, mut levels) = (0, vec![0usize]);
    let (mut sum, mut is_after_value) = (0, false);
    let (mut is_as, mut named_count) = (false, 0);
    // For each open bracket, whether WITH follows it.
    let (mut withs, mut with_depth, mut is_open) = (vec![false], 0, true);
    for token in tokenize(text)? {
        // A query named by WITH may read the one before it.
        match &token.token {
            Token::Whitespace(_) => {}
            Token::Word(word) => is_as = word.keyword == Keyword::AS,
            Token::LParen => named_count += usize::from(std::mem::take(&mut is_as)),
            _ => is_as = false,
        }
        match &token.token {
            Token::Whitespace(_) => {}
            Token::Word(word) if word.keyword == Keyword::WITH && is_open => {
                if let Some(is_with) = withs.last_mut() {
                    with_depth += usize::from(!std::mem::replace(is_with, true));
                }
                if with_depth > WITH_DEPTH_MAX {
                    return Err(withs_too_deep(token.span.to_span()));
                }
                is_open = false;
            }
            Token::LParen => {
                withs.push(false);
                is_open = true;
            }
            Token::RParen if withs.len() > 1 => {
                with_depth -= usize::from(withs.pop() == Some(true));
                is_open = false;
            }
            other => is_open = *other == Token::SemiColon,
        }
        let is_value = match &token.token {
            Token::Word(_) | Token::Number(..) | Token::SingleQuotedString(_) => Some(true),
            Token::RParen | Token::RBracket | Token::Placeholder(_) => Some(true),
            Token::Whitespace(_) => None,
            _ => Some(false),
        };
        // A sign before a value nests; a sign between two values adds no further level.
        let is_between = is_after_value && is_value == Some(false);
        is_after_value = is_value.unwrap_or(is_after_value);
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen | Token::LBracket => {
                levels.push(1);
                sum += 1;
            }
            // Whatever follows brackets may apply to everything before them: `[][]…`.
            Token::RParen | Token::RBracket if levels.len() > 1 => {
                sum -= levels.pop().unwrap_or(0);
                if let Some(level) = levels.last_mut() {
                    *level += 1;
                    sum += 1;
                }
            }
            Token::Comma | Token::SemiColon => {
                if let Some(level) = levels.last_mut() {
                    sum -= *level;
                    *level = 0;
                }
            }
            _ if is_between => {}
            // A word, a value or a sign.
            _ => {
                if let Some(level) = levels.last_mut() {
                    *level += 1;
                    sum += 1;
                }
            }
        }
        deepest = deepest.max(sum);
        if deepest + NAMED_DEPTH * named_count > DEPTH_MAX {
            return Err(too_deep(token.span.to_span()));
        }
    }
    Ok(deepest + NAMED_DEPTH * named_count)
}

/// The error for too many WITH clauses within each other.
pub(crate) fn withs_too_deep(place: Span) -> Error {
    Error::unsupported("the statement nests too deep: WITH within queries of WITH")
        .at(place)
        .help("name them side by side")
}

fn too_deep(place: Span) -> Error {
    Error::unsupported("the statement nests too deep").at(place).help("split it")
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn trailing(token: &TokenWithSpan) -> Error {
    Error::syntax(format!(
        "expected the end of the statement, found {}",
        tokens::shown(&token.token)
    ))
    .at(token.span.to_span())
    .help("separate statements with a semicolon")
}

/// Rewords an error such as `Expected: an SELECT, found: x at Line: 1, Column: 5`.
fn explain(error: &ParserError, text: &str, first: &TokenWithSpan) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => return too_deep(first.span.to_span()),
    };
    let (message, span) = match message.rsplit_once(" at Line: ") {
        Some((message, place)) => (message, place_of(place, text)),
        None => (&**message, first.span.to_span()),
    };
    if let Some((clause, place)) = clause_without_columns(message, text, span) {
        return Error::syntax(format!("expected an expression or `*`, found `{clause}`"))
            .at(place)
            .help("name the columns to select; `*` is all columns");
    }
    if let Some(found) = message.strip_prefix("Expect a char, found ") {
        let found = found.trim_matches('"');
        return Error::syntax(format!("expected one ASCII character, found '{found}'"))
            .at(span)
            .help("a tab is E'\\t'");
    }
    if let Some((statement, help)) = foreign_statement(&first.token) {
        return Error::unsupported(format!("the statement {statement} is not supported"))
            .at(first.span.to_span())
            .help(help);
    }
    if message.starts_with("No infix parser for token") {
        let word = word_at(text, span);
        let error = Error::syntax(format!("expected an operator, found `{word}`")).at(span);
        return match word.eq_ignore_ascii_case("glob") {
            true => error.help("write LIKE 'a%', or ~ '^a'"),
            false => error,
        };
    }
    let Some(rest) = message.strip_prefix("Expected: ") else {
        return Error::syntax(lower_first(message)).at(span);
    };
    let (expected, found) = rest.rsplit_once(", found: ").unwrap_or((rest, "EOF"));
    if found == "EOF" {
        let message = format!("expected {}, found the end", lower_first(expected));
        return Error::syntax(message).at(Span::after(text));
    }
    let found = format!("`{}`", tokens::without_numbers(found));
    let error =
        Error::syntax(format!("expected {}, found {found}", lower_first(expected))).at(span);
    match keyword_near(&found, expected) {
        Some(keyword) => error.help(format!("did you mean {keyword}?")),
        None => error,
    }
}

/// A statement of other systems, and what to write here instead.
fn foreign_statement(first: &Token) -> Option<(&'static str, &'static str)> {
    const FOREIGN: [(&str, &str); 2] = [
        ("PRAGMA", "DESCRIBE t shows columns, SHOW and SET are for settings"),
        ("REPLACE", "write INSERT … ON CONFLICT (…) DO UPDATE SET …"),
    ];
    let Token::Word(word) = first else { return None };
    FOREIGN.into_iter().find(|(name, _)| word.value.eq_ignore_ascii_case(name))
}

/// The word or character at a place.
fn word_at(text: &str, place: Span) -> String {
    let line = text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or_default();
    let size = place.end_column.saturating_sub(place.column) as usize;
    line.chars().skip(place.column.saturating_sub(1) as usize).take(size).collect()
}

/// The clause found in place of the SELECT list, and its place. The parser reports the place of
/// the clause, or of the token after it.
fn clause_without_columns(message: &str, text: &str, place: Span) -> Option<(String, Span)> {
    const CLAUSES: [&str; 6] = ["from", "where", "group", "having", "order", "limit"];
    let found = message.rsplit_once(", found: ")?.1.to_lowercase();
    let is_clause = CLAUSES.contains(&&*found);
    if !is_clause && found != "distinct" {
        return None;
    }
    let clause = if is_clause { found } else { "from".to_owned() };
    let is_word = |token: &TokenWithSpan, word: &str| match &token.token {
        Token::Word(own) => own.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    let mut tokens = tokenize(text).ok()?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    let pairs = tokens.windows(2).filter(|pair| {
        let is_list = ["select", "distinct", "all"].iter().any(|word| is_word(&pair[0], word));
        (is_list || pair[0].token == Token::Comma) && is_word(&pair[1], &clause)
    });
    let begin = |span: Span| (span.line, span.column);
    let mut spans: Vec<(Span, Span)> =
        pairs.map(|pair| (pair[0].span.to_span(), pair[1].span.to_span())).collect();
    if !is_clause {
        spans.retain(|(before, _)| begin(*before) == begin(place));
    }
    let last = spans.iter().rev().find(|(_, from)| begin(*from) <= begin(place));
    let found = last.or(spans.first()).map(|(_, place)| *place)?;
    Some((clause, found))
}

fn keyword_near(found: &str, expected: &str) -> Option<&'static str> {
    const STATEMENTS: [&str; 18] = [
        "select", "insert", "update", "delete", "create", "drop", "alter", "begin", "commit",
        "rollback", "explain", "with", "values", "truncate", "describe", "show", "set", "reset",
    ];
    const CLAUSES: [&str; 11] = [
        "from", "where", "group", "order", "having", "limit", "join", "values", "into", "set",
        "table",
    ];
    let word = found.trim_matches('`');
    let words: &[&'static str] =
        if expected.contains("SQL statement") { &STATEMENTS } else { &CLAUSES };
    near_match(word, words.iter().copied())
        .and_then(|near| words.iter().copied().find(|word| *word == near))
        .filter(|near| !near.eq_ignore_ascii_case(word))
}

/// The span of the word at a place like `1, Column: 5`.
fn place_of(place: &str, text: &str) -> Span {
    let mut numbers = place.split(", Column: ").map(|number| number.trim().parse().unwrap_or(0));
    let (line, column) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if line == 0 {
        return Span::NONE;
    }
    let start = text.lines().nth(line as usize - 1).unwrap_or_default().chars();
    let word =
        start.skip(column as usize - 1).take_while(|next| next.is_alphanumeric() || *next == '_');
    let length = u32::try_from(word.count()).unwrap_or(0).max(1);
    Span { line, column, end_line: line, end_column: column + length }
}
