//! The parser's dialect: PostgreSQL's grammar with `?` as a parameter.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Debug, Formatter};

use folio_compute::Error;
use folio_engine::Limits;
use sqlparser::ast::{BinaryOperator, ColumnOption, Expr, Ident, UnaryOperator};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token};

use crate::place::Place;

/// `a ISNULL`, which is missing in the parser's keywords.
fn is_isnull(token: &Token) -> bool {
    is_word(token, "isnull")
}

fn is_word(token: &Token, wanted: &str) -> bool {
    matches!(token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// Whether a word begins a clause, or connects two conditions or queries.
fn is_clause(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    word.quote_style.is_none()
        && matches!(
            word.keyword,
            Keyword::WHERE
                | Keyword::GROUP
                | Keyword::HAVING
                | Keyword::ORDER
                | Keyword::LIMIT
                | Keyword::UNION
                | Keyword::INTERSECT
                | Keyword::EXCEPT
                | Keyword::AND
                | Keyword::OR
        )
}

/// Marks the lower bound of `BETWEEN SYMMETRIC a AND b`, for which the syntax tree has no field.
pub(super) const SYMMETRIC: &str = "SYMMETRIC";

/// Parses `BETWEEN [A]SYMMETRIC a AND b`, if it comes next.
fn between(
    dialect: &FolioDialect,
    parser: &mut Parser<'_>,
    left: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let negated = usize::from(is_word(&parser.peek_token_ref().token, "not"));
    let [between, symmetric] =
        [0, 1].map(|place| &parser.peek_nth_token_ref(negated + place).token);
    let is_symmetric = is_word(symmetric, SYMMETRIC);
    if !is_word(between, "between") || !(is_symmetric || is_word(symmetric, "asymmetric")) {
        return None;
    }
    let prefix = Ident::with_span(parser.peek_nth_token_ref(negated + 1).span, SYMMETRIC);
    (0..negated + 2).for_each(|_| parser.advance_token());
    let precedence = POSTGRES.prec_value(Precedence::Between);
    let mut bounds = || {
        let low = parser.parse_subexpr(precedence)?;
        parser.expect_keyword_is(Keyword::AND)?;
        Ok((low, parser.parse_subexpr(precedence)?))
    };
    let bounds = bounds().and_then(|bounds| Ok((dialect.copied(left)?, bounds)));
    Some(bounds.map(|(expr, (low, high))| Expr::Between {
        expr,
        negated: negated == 1,
        low: Box::new(match is_symmetric {
            true => Expr::Prefixed { prefix, value: Box::new(low) },
            false => low,
        }),
        high: Box::new(high),
    }))
}

/// Parses `LIKE ANY (…)` and other pattern matches, if they come next. They become the operator
/// with the same meaning (`~~`), which the parser accepts before ANY.
fn like_any(
    dialect: &FolioDialect,
    parser: &mut Parser<'_>,
    left: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let negated = usize::from(is_word(&parser.peek_token_ref().token, "not"));
    let [like, quantifier, open] =
        [0, 1, 2].map(|place| &parser.peek_nth_token_ref(negated + place).token);
    let compare_op = match (is_word(like, "like"), is_word(like, "ilike"), negated == 1) {
        (true, _, false) => BinaryOperator::PGLikeMatch,
        (true, _, true) => BinaryOperator::PGNotLikeMatch,
        (_, true, false) => BinaryOperator::PGILikeMatch,
        (_, true, true) => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    };
    let (is_all, is_some) = (is_word(quantifier, "all"), is_word(quantifier, "some"));
    if !(is_all || is_some || is_word(quantifier, "any")) || *open != Token::LParen {
        return None;
    }
    (0..negated + 2).for_each(|_| parser.advance_token());
    // The brackets contain a query or a value, as without ANY.
    let operands = dialect.copied(left).and_then(|left| Ok((left, parser.parse_prefix()?)));
    Some(operands.map(|(left, right)| match is_all {
        true => Expr::AllOp { left, compare_op, right: Box::new(right) },
        false => Expr::AnyOp { left, compare_op, right: Box::new(right), is_some },
    }))
}

/// Parses `IN ((SELECT …), …)`, if it comes next: a list that begins with a subquery. The parser
/// takes the first one for the subquery of IN, as it is where nothing follows in the brackets.
fn in_list(
    dialect: &FolioDialect,
    parser: &mut Parser<'_>,
    left: &Expr,
) -> Option<Result<Expr, ParserError>> {
    let negated = usize::from(is_word(&parser.peek_token_ref().token, "not"));
    let [word, open, inner] =
        [0, 1, 2].map(|place| &parser.peek_nth_token_ref(negated + place).token);
    if !is_word(word, "in") || [open, inner].iter().any(|token| **token != Token::LParen) {
        return None;
    }
    let list = parser.maybe_parse(|parser| {
        (0..negated + 2).for_each(|_| parser.advance_token());
        let list = parser.parse_comma_separated(Parser::parse_expr)?;
        parser.expect_token(&Token::RParen)?;
        match &list[..] {
            [Expr::Subquery(_) | Expr::Nested(_)] => {
                parser.expected_ref("a list", parser.peek_token_ref())
            }
            _ => Ok(list),
        }
    });
    list.transpose().map(|list| {
        let (expr, list) = (dialect.copied(left)?, list?);
        Ok(Expr::InList { expr, list, negated: negated == 1 })
    })
}

/// Parses `NOT EXISTS (…)`. The parser takes both words for one operator that binds closer than
/// `IS NULL` and others after the brackets; NOT binds less close than those.
fn not_exists(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    Ok(match parser.parse_subexpr(POSTGRES.prec_value(Precedence::UnaryNot))? {
        Expr::Exists { subquery, negated } => Expr::Exists { subquery, negated: !negated },
        operand => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(operand) },
    })
}

/// Parses `GROUPING SETS (…)`. What the parser has for it does not nest, and takes the first bracket of
/// an element for that of a list: `(x)::text`. ROLLUP and CUBE are calls, which binding knows.
fn grouping_sets(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    (0..3).for_each(|_| parser.advance_token());
    let sets = parser.parse_comma_separated(|parser| {
        Ok(match parser.parse_expr()? {
            Expr::Tuple(keys) => keys,
            Expr::Nested(key) => vec![*key],
            key => vec![key],
        })
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::GroupingSets(sets))
}

/// Whether `()` comes next, where GROUP BY may have it: as one of several or in brackets.
fn is_empty_list(parser: &Parser<'_>) -> bool {
    let is_after = match &parser.get_current_token().token {
        Token::LParen | Token::Comma => true,
        word => is_word(word, "by"),
    };
    is_after && parser.peek_nth_token_ref(1).token == Token::RParen
}

/// Parses a sign and its operand. The parser lets `^` bind closer.
fn signed(op: UnaryOperator, parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.advance_token();
    let expr = Box::new(parser.parse_subexpr(POSTGRES.prec_value(Precedence::Caret))?);
    Ok(Expr::UnaryOp { op, expr })
}

const POSTGRES: PostgreSqlDialect = PostgreSqlDialect {};

/// Steps between two checks of the limits.
const STEPS: usize = 1024;

/// The steps that any text may take, and those of each of its tokens. The parser tries several
/// forms of what stands in brackets; where brackets nest, each try repeats those within.
const EASY_STEPS: usize = 100_000;
const TOKEN_STEPS: usize = 8;

/// Levels of a left operand that is copied at little cost, and how many others may be copied.
const COPIED_LEVELS: usize = 64;
const DEEP_COPIES_MAX: usize = 100;

/// PostgreSQL's dialect, with extensions.
#[derive(Default)]
pub(super) struct FolioDialect {
    /// Places where `?` was parsed as an operator.
    operators: RefCell<Vec<Location>>,
    limits: Limits,
    /// Expressions begun, and how many may be.
    step_count: Cell<usize>,
    step_max: usize,
    /// Deep operands copied.
    copy_count: Cell<usize>,
    /// Why parsing was stopped. The parser's own error for that passes all its tries.
    stopped: RefCell<Option<Error>>,
}

impl Debug for FolioDialect {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.debug_struct("FolioDialect").finish_non_exhaustive()
    }
}

impl FolioDialect {
    /// A dialect for a text of so many tokens, which ends when the limits say so.
    pub(super) fn limited(limits: &Limits, token_count: usize) -> Self {
        let step_max = EASY_STEPS + TOKEN_STEPS * token_count;
        Self { limits: limits.clone(), step_max, ..Self::default() }
    }

    /// Why parsing was stopped, if this dialect stopped it.
    pub(super) fn take_stopped(&self) -> Option<Error> {
        self.stopped.take()
    }

    /// Counts an expression; an error if parsing has to stop there.
    fn step(&self, parser: &Parser<'_>) -> Result<(), ParserError> {
        let count = self.step_count.get() + 1;
        self.step_count.set(count);
        let checked = match count {
            _ if count > self.step_max => {
                Err(self.limits.too_deep(parser.peek_token_ref().span.to_span()))
            }
            _ if count.is_multiple_of(STEPS) => self.limits.check(),
            _ => return Ok(()),
        };
        checked.map_err(|error| {
            self.stopped.replace(Some(error));
            ParserError::RecursionLimitExceeded
        })
    }

    /// A copy of the left operand of an operator that the parser does not know. Copies in a chain
    /// take quadratic time, so few are made of deep operands.
    fn copied(&self, left: &Expr) -> Result<Box<Expr>, ParserError> {
        let mut inner = left;
        for _ in 0..COPIED_LEVELS {
            inner = match inner {
                Expr::BinaryOp { left, .. } => left,
                Expr::IsNull(inner) | Expr::Nested(inner) => inner,
                Expr::Cast { expr, .. } | Expr::Between { expr, .. } => expr,
                Expr::AnyOp { left, .. } | Expr::AllOp { left, .. } => left,
                _ => return Ok(Box::new(left.clone())),
            };
        }
        self.copy_count.set(self.copy_count.get() + 1);
        match self.copy_count.get() <= DEEP_COPIES_MAX {
            true => Ok(Box::new(left.clone())),
            false => Err(ParserError::RecursionLimitExceeded),
        }
    }

    /// The places where `?` was parsed as an operator, in order.
    pub(super) fn into_operators(self) -> Vec<Location> {
        let mut operators = self.operators.into_inner();
        operators.sort_unstable();
        operators
    }
}

impl Dialect for FolioDialect {
    /// Passes for PostgreSQL where the parser asks.
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRES.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        POSTGRES.is_delimited_identifier_start(character)
    }

    fn is_identifier_start(&self, character: char) -> bool {
        POSTGRES.is_identifier_start(character)
    }

    fn is_identifier_part(&self, character: char) -> bool {
        POSTGRES.is_identifier_part(character)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        POSTGRES.is_reserved_for_identifier(keyword)
    }

    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        POSTGRES.is_table_alias(keyword, parser)
    }

    /// Refuses words as columns that PostgreSQL reserves and the parser accepts. Parses NOT EXISTS,
    /// `(VALUES …)` as a value, and GROUPING SETS.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if let Err(error) = self.step(parser) {
            return Some(Err(error));
        }
        let next = parser.peek_token_ref();
        if is_clause(&next.token) {
            return Some(parser.expected_ref("an expression", next));
        }
        match next.token {
            Token::Minus => return Some(signed(UnaryOperator::Minus, parser)),
            Token::Plus => return Some(signed(UnaryOperator::Plus, parser)),
            Token::LParen if is_empty_list(parser) => {
                (0..2).for_each(|_| parser.advance_token());
                return Some(Ok(Expr::Tuple(Vec::new())));
            }
            _ => {}
        }
        let after = &parser.peek_nth_token_ref(1).token;
        if *after == Token::LParen && is_word(&next.token, "values") {
            let is_query = parser.get_current_token().token == Token::LParen;
            return is_query.then(|| parser.parse_query().map(Expr::Subquery));
        }
        if is_word(&next.token, "grouping") && is_word(after, "sets") {
            let is_list = parser.peek_nth_token_ref(2).token == Token::LParen;
            return is_list.then(|| grouping_sets(parser));
        }
        (is_word(&next.token, "not") && is_word(after, "exists")).then(|| not_exists(parser))
    }

    /// The keywords of SQLite and MySQL for identity columns, which the parser would ignore.
    fn parse_column_option(
        &self,
        parser: &mut Parser<'_>,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        let words = [Keyword::AUTOINCREMENT, Keyword::AUTO_INCREMENT];
        Ok(parser.parse_one_of_keywords(&words).map(|_| {
            let word = Token::make_keyword("AUTOINCREMENT");
            Ok(Some(ColumnOption::DialectSpecific(vec![word])))
        }))
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        // In the place of an operator, `?` is an operator and not a parameter.
        match &parser.peek_token_ref().token {
            Token::Placeholder(name) if name.starts_with('?') => {
                Some(Ok(self.prec_value(Precedence::PgOther)))
            }
            token if is_isnull(token) => Some(Ok(self.prec_value(Precedence::Is))),
            _ => POSTGRES.get_next_precedence(parser),
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::Placeholder(name) if name.starts_with('?') => {
                self.operators.borrow_mut().push(parser.peek_token_ref().span.start);
                parser.advance_token();
                Some(self.copied(left).and_then(|left| {
                    let right = Box::new(parser.parse_subexpr(precedence)?);
                    Ok(Expr::BinaryOp { left, op: BinaryOperator::Question, right })
                }))
            }
            token if is_isnull(token) => {
                parser.advance_token();
                Some(self.copied(left).map(Expr::IsNull))
            }
            Token::Word(_) => between(self, parser, left)
                .or_else(|| like_any(self, parser, left))
                .or_else(|| in_list(self, parser, left)),
            _ => None,
        }
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRES.prec_value(precedence)
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_comment_on(&self) -> bool {
        true
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    fn supports_string_escape_constant(&self) -> bool {
        true
    }

    fn supports_unicode_string_literal(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    fn supports_alter_column_type_using(&self) -> bool {
        true
    }

    fn supports_notnull_operator(&self) -> bool {
        true
    }

    fn supports_insert_table_alias(&self) -> bool {
        true
    }

    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }

    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }

    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }

    fn supports_comma_separated_trim(&self) -> bool {
        true
    }

    fn supports_window_clause_named_window_reference(&self) -> bool {
        true
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_in_empty_list(&self) -> bool {
        true
    }

    fn supports_explain_with_utility_options(&self) -> bool {
        true
    }
}
