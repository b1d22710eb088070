//! Parses sources, shapes, fields, conditions in braces and orders between bars.

use folio_compute::{Error, Result};

use super::{DEPTH_MAX, Parser};
use crate::ast::{Expr, Field, Filter, Limit, Name, Nested, Order, Path, Shape, Source};
use crate::token::{Keyword, Token};

impl Parser {
    /// `struct { [where] "." link }`. Also returns a condition after the last link: it belongs to
    /// the statement.
    pub(super) fn source(&mut self) -> Result<(Source, Option<Filter>)> {
        let entity = self.name("the name of a struct")?;
        let mut hops = Vec::new();
        loop {
            let filter = if self.is_sign("{") { Some(self.filter()?) } else { None };
            if !self.eat_sign(".") {
                return Ok((Source { entity, hops }, filter));
            }
            if hops.len() >= DEPTH_MAX {
                return Err(self.too_deep());
            }
            hops.push((filter, self.name("the name of a link")?));
        }
    }

    /// `"[" ( limit [";" fields] | fields ) "]"`
    pub(super) fn shape(&mut self) -> Result<Shape> {
        self.nested(|parser| {
            let start = parser.expect_sign("[", "`[`")?;
            let mut shape = Shape { limit: None, fields: None, span: start };
            if parser.begins_limit() {
                shape.limit = Some(parser.limit()?);
                if !parser.is_sign("]") {
                    parser.expect_sign(";", "`;` and the fields, or `]`")?;
                    shape.fields = Some(parser.fields()?);
                }
                parser.expect_sign("]", "`]`")?;
            } else {
                shape.fields = Some(parser.fields()?);
                parser.expect_sign("]", "`,` or `]` after a field")?;
            }
            shape.span = parser.since(start);
            Ok(shape)
        })
    }

    fn begins_limit(&self) -> bool {
        matches!(self.peek(), Token::Integer(_) | Token::Parameter(_))
    }

    /// `n ["+" n]`
    fn limit(&mut self) -> Result<Limit> {
        let take = self.count()?;
        let skip = if self.eat_sign("+") { Some(self.count()?) } else { None };
        Ok(Limit { take, skip })
    }

    fn count(&mut self) -> Result<Expr> {
        if !self.begins_limit() {
            return Err(self.expected("a number of rows"));
        }
        self.primary()
    }

    /// `field { "," field } [","]`, up to a bracket.
    fn fields(&mut self) -> Result<Vec<Field>> {
        let mut fields = Vec::new();
        loop {
            fields.push(self.field()?);
            if !self.eat_sign(",") || self.is_sign("]") {
                return Ok(fields);
            }
        }
    }

    fn field(&mut self) -> Result<Field> {
        let star = self.span();
        if self.eat_sign("*") {
            return Ok(Field::All(star));
        }
        let is_named = matches!(self.peek(), Token::Name(..)) && self.is_sign_at(1, ":");
        if !is_named {
            let begin = self.at;
            if matches!(self.peek(), Token::Keyword(_)) && self.is_sign_at(1, ":") {
                return Err(self.expected("a name"));
            }
            if !matches!(self.peek(), Token::Name(..)) || self.is_sign_at(1, "(") {
                return Err(self.unnamed_value(begin));
            }
            let path = self.path()?;
            if !self.ends_field() {
                return Err(self.unnamed_value(begin));
            }
            return Ok(Field::Path { alias: None, path, nested: self.nest()? });
        }
        let alias = self.name("a name")?;
        self.at += 1;
        match self.expression()? {
            Expr::Path(path) => Ok(Field::Path { alias: Some(alias), path, nested: self.nest()? }),
            value => Ok(Field::Value { alias, value }),
        }
    }

    /// Whether a field ends after its path.
    fn ends_field(&self) -> bool {
        matches!(self.peek(), Token::Sign("[" | "{" | "|" | "," | "]" | ";") | Token::End)
            || matches!(self.peek(), Token::Name(..))
    }

    /// The error for a value without a name in a shape.
    fn unnamed_value(&mut self, begin: usize) -> Error {
        let here = self.at;
        self.at = begin;
        if self.expression().is_ok() && self.at > begin {
            let first = &self.tokens[begin];
            return Error::syntax("a computed field needs a name").at(self.since(first.span)).help(
                match first.token {
                    Token::Float(_) | Token::Sign("-") => {
                        "write it first: `total: …`; a limit is a whole number from 0"
                    }
                    _ => "write it first: `total: …`",
                },
            );
        }
        self.at = here;
        self.expected("a field: `*`, a member or `name: value`")
    }

    /// `[shape] [where] [order]`
    fn nest(&mut self) -> Result<Nested> {
        let mut nested = Nested::default();
        if self.is_sign("[") {
            nested.shape = Some(self.shape()?);
        }
        if self.is_sign("{") {
            nested.filter = Some(self.filter()?);
        }
        if self.is_sign("|") {
            nested.order = self.order()?;
        }
        if nested.filter.is_none() && self.is_sign("{") {
            nested.filter = Some(self.filter()?);
        }
        Ok(nested)
    }

    /// `"{" [expr] "}"`
    pub(super) fn filter(&mut self) -> Result<Filter> {
        self.nested(|parser| {
            let start = parser.expect_sign("{", "`{`")?;
            if parser.eat_sign("}") {
                return Ok(Filter { condition: None, span: parser.since(start) });
            }
            let condition = Some(Box::new(parser.expression()?));
            if parser.is_sign(",") {
                let error = parser.expected("AND, OR or `}` after a condition");
                return Err(error.help("write AND instead of a comma"));
            }
            parser.expect_sign("}", "AND, OR or `}` after a condition")?;
            Ok(Filter { condition, span: parser.since(start) })
        })
    }

    /// `"|" [ASC | DESC] path { "," [ASC | DESC] path } "|"`
    pub(super) fn order(&mut self) -> Result<Vec<Order>> {
        self.expect_sign("|", "`|`")?;
        let mut keys = Vec::new();
        loop {
            let descending = self.eat_keyword(Keyword::Desc);
            if !descending {
                self.eat_keyword(Keyword::Asc);
            }
            keys.push(Order { path: self.path()?, descending });
            if !self.eat_sign(",") {
                break;
            }
        }
        self.expect_sign("|", "`,` or `|` after a member")?;
        Ok(keys)
    }

    /// `member { "." member }`
    pub(super) fn path(&mut self) -> Result<Path> {
        let mut members: Vec<Name> = vec![self.name("a member")?];
        while self.eat_sign(".") {
            if self.depth + members.len() >= DEPTH_MAX {
                return Err(self.too_deep());
            }
            members.push(self.name("a member after the dot")?);
        }
        Ok(Path { members })
    }
}
