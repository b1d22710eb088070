//! Chains, statements and the tuples of new data.

use std::sync::Arc;

use folio_types::Value;

use super::super::ast::{
    Add, Chain, Change, Delete, Expr, Given, Grab, Item, Literal, Name, OnConflict, Script,
    Statement, Step, Target, Tuple, Update,
};
use super::super::token::{Keyword, Token};
use super::Parser;
use crate::error::{Error, Result};
use crate::expression::Arithmetic;
use crate::span::Span;

/// The words that change a member, and where they stand.
const CHANGES: [&str; 5] = ["APPEND", "REMOVE", "REMOVEAT", "POP", "CLEAR"];

impl Parser {
    /// `chain { ";" chain } [";"]`
    pub(super) fn script(&mut self) -> Result<Script> {
        let mut chains = Vec::new();
        loop {
            while self.eat_sign(";") {}
            if *self.peek() == Token::End {
                return Ok(Script { chains });
            }
            chains.push(self.chain()?);
            if !self.is_sign(";") && *self.peek() != Token::End {
                return Err(self.trailing());
            }
        }
    }

    fn trailing(&self) -> Error {
        let error = self.expected("the end of the statement");
        match self.peek() {
            Token::Sign("[") => error.help("the shape stands right behind the struct"),
            Token::Keyword(
                Keyword::Grab | Keyword::Add | Keyword::Update | Keyword::Delete | Keyword::Explain,
            ) => error.help("separate statements with `;` or `=>`"),
            _ => error,
        }
    }

    /// `stmt { "=>" [name "=>"] stmt }`
    fn chain(&mut self) -> Result<Chain> {
        let mut steps = vec![self.step()?];
        while self.eat_sign("=>") {
            if matches!(self.peek(), Token::Name(..)) && self.is_sign_at(1, "=>") {
                let name = self.name("a name")?;
                self.expect_sign("=>", "`=>`")?;
                if let Some(last) = steps.last_mut() {
                    last.name = Some(name);
                }
            }
            steps.push(self.step()?);
        }
        Ok(Chain { steps })
    }

    fn step(&mut self) -> Result<Step> {
        let explain = self.eat_keyword(Keyword::Explain);
        let statement = match self.peek() {
            Token::Keyword(Keyword::Grab) => Statement::Grab(self.grab()?),
            Token::Keyword(Keyword::Add) => Statement::Add(self.add()?),
            Token::Keyword(Keyword::Update) => Statement::Update(self.update()?),
            Token::Keyword(Keyword::Delete) => {
                self.at += 1;
                Statement::Delete(Delete { target: self.target("DELETE")? })
            }
            _ => return Err(self.expected("GRAB, ADD, UPDATE or DELETE")),
        };
        Ok(Step { explain, statement, name: None })
    }

    /// `"GRAB" source [shape] [where] ["BY" path { "," path }] [order]`, where the
    /// condition may also follow the rest.
    fn grab(&mut self) -> Result<Grab> {
        self.at += 1;
        let (source, mut filter) = self.source()?;
        let shape = if filter.is_none() && self.is_sign("[") { Some(self.shape()?) } else { None };
        let (mut by, mut order) = (Vec::new(), Vec::new());
        loop {
            if filter.is_none() && self.is_sign("{") {
                filter = Some(self.filter()?);
            } else if by.is_empty() && order.is_empty() && self.eat_keyword(Keyword::By) {
                by.push(self.path()?);
                while self.eat_sign(",") {
                    by.push(self.path()?);
                }
            } else if order.is_empty() && self.is_sign("|") {
                order = self.order()?;
            } else {
                return Ok(Grab { source, shape, filter, by, order });
            }
        }
    }

    /// `"ADD" struct tuple { [","] tuple } ["OR" ("SKIP" | "UPDATE")]`
    fn add(&mut self) -> Result<Add> {
        self.at += 1;
        let entity = self.name("the name of a struct")?;
        let (mut tuples, mut literals) = (vec![self.tuple()?], Vec::new());
        loop {
            if let Token::Tuple(count) = *self.peek() {
                let first = literals.len();
                literals.extend(self.literals.by_ref().take(count));
                let (literals, span) = (first..literals.len(), self.span());
                tuples.push(Tuple { items: Vec::new(), literals, span });
                self.at += 1;
                continue;
            }
            let has_comma = self.eat_sign(",");
            if has_comma && matches!(self.peek(), Token::Tuple(_)) {
                continue;
            }
            if !has_comma && !self.is_sign("(") {
                break;
            }
            tuples.push(match self.literal_tuple(&mut literals) {
                Some(tuple) => tuple,
                None => self.tuple()?,
            });
        }
        let on_conflict = match self.eat_keyword(Keyword::Or) {
            false => OnConflict::Fail,
            true if self.eat_keyword(Keyword::Update) => OnConflict::Update,
            true if self.is_word(0, "SKIP") => {
                self.at += 1;
                OnConflict::Skip
            }
            true => return Err(self.expected("SKIP or UPDATE behind OR")),
        };
        Ok(Add { entity, tuples, literals: Arc::new(literals), on_conflict })
    }

    /// `"UPDATE" source [shape] where "TO" tuple`
    fn update(&mut self) -> Result<Update> {
        self.at += 1;
        let target = self.target("UPDATE")?;
        if !self.eat_keyword(Keyword::To) {
            return Err(self.expected("TO and the new values"));
        }
        Ok(Update { target, tuple: self.tuple()? })
    }

    /// `source [shape] where`
    fn target(&mut self, verb: &str) -> Result<Target> {
        let (source, mut filter) = self.source()?;
        let mut limit = None;
        if filter.is_none() && self.is_sign("[") {
            let shape = self.shape()?;
            if shape.fields.is_some() || shape.limit.is_none() {
                return Err(Error::syntax(format!("{verb} takes a limit here, and no fields"))
                    .at(shape.span)
                    .help("write `[10]`"));
            }
            limit = shape.limit;
        }
        if filter.is_none() && self.is_sign("{") {
            filter = Some(self.filter()?);
        }
        let Some(filter) = filter else {
            let error = self.expected("`{` and which entities");
            return Err(error.help(format!("{verb} of all of them is written with `{{}}`")));
        };
        Ok(Target { source, limit, filter })
    }

    /// `"(" [item { "," item } [","]] ")"`
    fn tuple(&mut self) -> Result<Tuple> {
        let start = self.expect_sign("(", "`(` and the values")?;
        let items = self.list_until(")", "a value", Self::item)?;
        Ok(Tuple { items, literals: 0..0, span: self.since(start) })
    }

    /// A tuple of nothing but literals, as those of large statements are: read without
    /// a syntax tree for each value. Nothing is taken where it is none.
    fn literal_tuple(&mut self, literals: &mut Vec<Literal>) -> Option<Tuple> {
        let end = self.end_of_literals()?;
        let (start, first) = (self.span(), literals.len());
        self.at += 1;
        while self.at < end {
            literals.push(self.literal()?);
            self.eat_sign(",");
        }
        self.at = end + 1;
        let literals = first..literals.len();
        Some(Tuple { items: Vec::new(), literals, span: self.since(start) })
    }

    /// The literal that stands here.
    fn literal(&mut self) -> Option<Literal> {
        let start = self.span();
        if !self.eat_sign("[") {
            let (value, span) = self.scalar()?;
            return Some(Literal { value, span, elements: Vec::new() });
        }
        let (mut values, mut elements) = (Vec::new(), Vec::new());
        while !self.eat_sign("]") {
            let (value, span) = self.scalar()?;
            values.push(value);
            elements.push(span);
            self.eat_sign(",");
        }
        Some(Literal { value: Value::List(values), span: self.since(start), elements })
    }

    fn scalar(&mut self) -> Option<(Value, Span)> {
        let is_negative = self.eat_sign("-");
        let span = self.span();
        let token = std::mem::replace(&mut self.tokens[self.at].token, Token::Sign(""));
        self.at += 1;
        Some((literal_of(token, is_negative)?, span))
    }

    /// The place of the bracket that closes a tuple of literals.
    fn end_of_literals(&self) -> Option<usize> {
        if !self.is_sign("(") {
            return None;
        }
        let mut at = self.at + 1;
        loop {
            at = self.behind_literal(at)?;
            match &self.tokens.get(at)?.token {
                Token::Sign(")") => return Some(at),
                Token::Sign(",") => at += 1,
                _ => return None,
            }
        }
    }

    /// The place behind a literal, which may be a list of some.
    fn behind_literal(&self, at: usize) -> Option<usize> {
        let is_sign = |at: usize, sign: &'static str| {
            self.tokens.get(at).is_some_and(|lexeme| lexeme.token == Token::Sign(sign))
        };
        if !is_sign(at, "[") {
            return self.behind_scalar(at);
        }
        let mut at = at + 1;
        if is_sign(at, "]") {
            return Some(at + 1);
        }
        loop {
            at = self.behind_scalar(at)?;
            match &self.tokens.get(at)?.token {
                Token::Sign("]") => return Some(at + 1),
                Token::Sign(",") => at += 1,
                _ => return None,
            }
        }
    }

    fn behind_scalar(&self, at: usize) -> Option<usize> {
        let is_negative = matches!(self.tokens.get(at)?.token, Token::Sign("-"));
        let at = at + usize::from(is_negative);
        let is_fit = match &self.tokens.get(at)?.token {
            Token::Integer(number) => i64::try_from(*number).is_ok(),
            Token::Float(_) => true,
            token => !is_negative && is_literal(token),
        };
        is_fit.then_some(at + 1)
    }

    fn item(&mut self) -> Result<Item> {
        let word = |parser: &Self| CHANGES.iter().position(|word| parser.is_word(1, word));
        let is_named = matches!(self.peek(), Token::Name(..));
        let sign = match self.peek_at(1) {
            Token::Sign(sign) if is_named => *sign,
            _ => "",
        };
        let op = match sign {
            "=" => {
                let member = self.name("a member")?;
                self.at += 1;
                return Ok(Item { member: Some(member), change: Change::Set(self.given()?) });
            }
            "+=" => Some(Arithmetic::Add),
            "-=" => Some(Arithmetic::Subtract),
            "*=" => Some(Arithmetic::Multiply),
            "/=" => Some(Arithmetic::Divide),
            _ => None,
        };
        if let Some(op) = op {
            let member = self.name("a member")?;
            let span = self.take().span;
            let change = Change::Arithmetic(op, self.expression()?, span);
            return Ok(Item { member: Some(member), change });
        }
        if let (true, Some(word)) = (is_named, word(self)) {
            return self.array_item(CHANGES[word]);
        }
        Ok(Item { member: None, change: Change::Set(self.given()?) })
    }

    /// `member APPEND value` and its like.
    fn array_item(&mut self, word: &str) -> Result<Item> {
        let member: Name = self.name("a member")?;
        self.at += 1;
        let change = match word {
            "APPEND" => Change::Append(self.given()?),
            "REMOVE" => Change::Remove(self.given()?),
            "REMOVEAT" => Change::RemoveAt(self.given()?),
            "POP" => Change::Pop,
            _ => Change::Clear,
        };
        Ok(Item { member: Some(member), change })
    }

    /// A value, or `[n]{…}`: in this place that is a limited filter, not a list.
    fn given(&mut self) -> Result<Given> {
        if self.is_sign("{") {
            return Ok(Given::Entities { limit: None, filter: self.filter()? });
        }
        let is_number = matches!(self.peek_at(1), Token::Integer(_) | Token::Parameter(_));
        if self.is_sign("[") && is_number && self.is_sign_at(2, "]") && (self.is_sign_at(3, "{")) {
            self.at += 1;
            let limit: Expr = self.primary()?;
            self.expect_sign("]", "`]`")?;
            return Ok(Given::Entities { limit: Some(limit), filter: self.filter()? });
        }
        Ok(Given::Value(self.expression()?))
    }
}

/// Whether a token that is no number is a value by itself.
fn is_literal(token: &Token) -> bool {
    matches!(
        token,
        Token::Text(_)
            | Token::Date(_)
            | Token::Time(_)
            | Token::Timestamp(_)
            | Token::Uuid(_)
            | Token::Keyword(Keyword::True | Keyword::False | Keyword::None)
    )
}

/// The value a token is.
pub(in crate::ziql) fn literal_of(token: Token, is_negative: bool) -> Option<Value> {
    Some(match token {
        Token::Integer(number) => {
            let number = i64::try_from(number).ok()?;
            Value::Integer(if is_negative { -number } else { number })
        }
        Token::Float(number) => Value::Float(if is_negative { -number } else { number }),
        Token::Text(text) => Value::Text(text),
        Token::Date(day) => Value::Date(day),
        Token::Time(time) => Value::Time(time),
        Token::Timestamp(at) => Value::Timestamp(at),
        Token::Uuid(uuid) => Value::Uuid(uuid),
        Token::Keyword(Keyword::True) => Value::Boolean(true),
        Token::Keyword(Keyword::False) => Value::Boolean(false),
        Token::Keyword(Keyword::None) => Value::Null,
        _ => return None,
    })
}
