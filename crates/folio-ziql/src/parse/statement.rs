//! Parses chains, statements and tuples.

use std::sync::Arc;

use folio_compute::arithmetic::Arithmetic;
use folio_compute::{Error, Result};
use folio_engine::bound::entity::IfTaken;

use super::Parser;
use crate::ast::{
    Add, Chain, Change, Delete, Expr, Given, Grab, Item, Name, Script, Statement, Step, Target,
    Tuple, Tuples, Update,
};
use crate::token::{Keyword, Token};

/// The words that change an array member; they follow its name.
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
            Token::Sign("[") => error.help("the shape follows directly after the struct"),
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

    /// `"GRAB" source [shape] [where] ["BY" path { "," path }] [order]`. The condition may also
    /// come last.
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
        let mut tuples = vec![Tuples::One(self.tuple()?)];
        loop {
            if let Token::Tuples(range) = self.peek() {
                tuples.push(Tuples::Literals(range.clone()));
                self.at += 1;
                continue;
            }
            let has_comma = self.eat_sign(",");
            if has_comma && matches!(self.peek(), Token::Tuples(_)) {
                continue;
            }
            if !has_comma && !self.is_sign("(") {
                break;
            }
            tuples.push(Tuples::One(self.tuple()?));
        }
        let if_taken = match self.eat_keyword(Keyword::Or) {
            false => IfTaken::Fail,
            true if self.eat_keyword(Keyword::Update) => IfTaken::Update,
            true if self.is_word(0, "SKIP") => {
                self.at += 1;
                IfTaken::Skip
            }
            true => return Err(self.expected("SKIP or UPDATE after OR")),
        };
        Ok(Add { entity, tuples, buffer: Arc::clone(&self.buffer), if_taken })
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
            let error = self.expected("`{` and a condition");
            return Err(error.help(format!("{verb} all of them with `{{}}`")));
        };
        Ok(Target { source, limit, filter })
    }

    /// `"(" [item { "," item } [","]] ")"`
    pub(super) fn tuple(&mut self) -> Result<Tuple> {
        let start = self.expect_sign("(", "`(` and the values")?;
        let items = self.list_until(")", "a value", Self::item)?;
        Ok(Tuple { items, span: self.since(start) })
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

    /// `member APPEND value` and the other [`CHANGES`].
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

    /// A value, or `[n]{…}`, which here is a limited filter and not a list.
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
