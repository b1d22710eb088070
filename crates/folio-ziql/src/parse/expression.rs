//! Parses values and conditions: OR, AND, NOT, comparison, + -, * / %, unary minus.

use folio_compute::arithmetic::Arithmetic;
use folio_compute::{Error, Result, Span};
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};

use super::{DEPTH_MAX, Parser};
use crate::ast::{Aggregate, Expr, Name, Path, Set};
use crate::token::{Keyword, Token};

impl Parser {
    /// Parses an expression. Binding checks its type.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.nested(|parser| {
            let mut terms = vec![parser.conjunction()?];
            while parser.eat_keyword(Keyword::Or) {
                terms.push(parser.conjunction()?);
            }
            Ok(if terms.len() == 1 { terms.remove(0) } else { Expr::Or(terms) })
        })
    }

    fn conjunction(&mut self) -> Result<Expr> {
        let mut terms = vec![self.negation()?];
        while self.eat_keyword(Keyword::And) {
            terms.push(self.negation()?);
        }
        Ok(if terms.len() == 1 { terms.remove(0) } else { Expr::And(terms) })
    }

    fn negation(&mut self) -> Result<Expr> {
        let start = self.span();
        if self.eat_keyword(Keyword::Not) {
            let inner = self.nested(Self::negation)?;
            return Ok(Expr::Not(Box::new(inner), self.since(start)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expr> {
        if let Some(member) = self.membership()? {
            return Ok(member);
        }
        let left = self.sum()?;
        if let Expr::Path(path) = &left
            && let Some(condition) = self.path_condition(path)?
        {
            return Ok(condition);
        }
        let Some(op) = self.comparison_sign() else { return Ok(left) };
        let span = self.take().span;
        let right = self.sum()?;
        if self.comparison_sign().is_some() {
            let error = self.expected("AND or OR between two comparisons");
            return Err(error.help("comparisons do not chain: write `a < b AND b < c`"));
        }
        Ok(Expr::Compare(op, Box::new(left), Box::new(right), span))
    }

    fn comparison_sign(&self) -> Option<Comparison> {
        let Token::Sign(sign) = self.peek() else { return None };
        Some(match *sign {
            "=" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        })
    }

    /// `IN name`, `!IN name`: membership of the entity itself.
    fn membership(&mut self) -> Result<Option<Expr>> {
        let negated = self.is_sign("!");
        let ahead = usize::from(negated);
        if *self.peek_at(ahead) != Token::Keyword(Keyword::In) {
            return Ok(None);
        }
        self.at += ahead + 1;
        let set = self.name("the name of a set")?;
        Ok(Some(Expr::Member { negated, set }))
    }

    /// Parses what may follow only a path: IN, LIKE, `~`, `= {…}`.
    fn path_condition(&mut self, path: &Path) -> Result<Option<Expr>> {
        let negated = self.is_sign("!");
        let ahead = usize::from(negated);
        let path = path.clone();
        match self.peek_at(ahead) {
            Token::Keyword(keyword @ (Keyword::In | Keyword::AllIn)) => {
                let all = *keyword == Keyword::AllIn;
                self.at += ahead + 1;
                Ok(Some(Expr::In { path, all, negated, set: self.set()? }))
            }
            Token::Keyword(Keyword::Like) => {
                self.at += ahead + 1;
                let pattern = Box::new(self.pattern()?);
                Ok(Some(Expr::Match { path, regex: false, negated, pattern }))
            }
            Token::Sign(sign @ ("~" | "!~")) if !negated => {
                let negated = *sign == "!~";
                self.at += 1;
                let pattern = Box::new(self.pattern()?);
                Ok(Some(Expr::Match { path, regex: true, negated, pattern }))
            }
            Token::Sign(sign @ ("=" | "!=")) if !negated && self.is_sign_at(1, "{") => {
                let negated = *sign == "!=";
                self.at += 1;
                Ok(Some(Expr::Is { path, negated, filter: self.filter()? }))
            }
            _ if negated => {
                self.at += 1;
                Err(self
                    .expected("IN, ALLIN or LIKE after `!`")
                    .help("to negate a condition write NOT before it"))
            }
            _ => Ok(None),
        }
    }

    fn pattern(&mut self) -> Result<Expr> {
        match self.peek() {
            Token::Text(_) | Token::Parameter(_) => self.primary(),
            _ => Err(self.expected("a pattern: a string")),
        }
    }

    fn set(&mut self) -> Result<Set> {
        match self.peek() {
            Token::Sign("[") => match self.primary()? {
                Expr::List(items, span) => Ok(Set::List(items, span)),
                other => Ok(Set::List(vec![other], Span::NONE)),
            },
            Token::Sign("{") => Ok(Set::Filter(self.filter()?)),
            Token::Parameter(name) => {
                let name = Name { text: name.clone(), span: self.span() };
                self.at += 1;
                Ok(Set::Parameter(name))
            }
            Token::Name(..) => Ok(Set::Name(self.name("a set")?)),
            token => {
                let error = self.expected("a list, a condition in braces or the name of a set");
                Err(match simple(token, self.span()) {
                    Some(_) => error.help("write one value in brackets too: `tags IN ['red']`"),
                    None => error,
                })
            }
        }
    }

    fn sum(&mut self) -> Result<Expr> {
        self.chain_of(Self::product, |sign| match sign {
            "+" => Some(Arithmetic::Add),
            "-" => Some(Arithmetic::Subtract),
            _ => None,
        })
    }

    fn product(&mut self) -> Result<Expr> {
        self.chain_of(Self::unary, |sign| match sign {
            "*" => Some(Arithmetic::Multiply),
            "/" => Some(Arithmetic::Divide),
            "%" => Some(Arithmetic::Remainder),
            _ => None,
        })
    }

    /// Parses operands of one precedence level with the operators between them.
    fn chain_of(
        &mut self,
        operand: fn(&mut Self) -> Result<Expr>,
        operator: fn(&str) -> Option<Arithmetic>,
    ) -> Result<Expr> {
        let mut left = operand(self)?;
        // Each operator adds a level to the tree.
        let mut levels = self.depth;
        while let Token::Sign(sign) = *self.peek()
            && let Some(op) = operator(sign)
        {
            levels += 1;
            if levels > DEPTH_MAX {
                return Err(self.too_deep());
            }
            let span = self.take().span;
            let right = operand(self)?;
            left = Expr::Arithmetic(op, Box::new(left), Box::new(right), span);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        let start = self.span();
        if !self.eat_sign("-") {
            return self.primary();
        }
        if let Token::Integer(number) = *self.peek() {
            self.at += 1;
            let number = 0i64.wrapping_sub_unsigned(number);
            return Ok(integer(number, self.since(start)));
        }
        if let Token::Float(number) = *self.peek() {
            self.at += 1;
            let span = self.since(start);
            return Ok(Expr::Literal(Value::Float(-number), ColumnType::Float64, span));
        }
        let inner = self.nested(Self::unary)?;
        Ok(Expr::Negate(Box::new(inner), self.since(start)))
    }

    /// Parses a value, a path, a call or brackets.
    pub(super) fn primary(&mut self) -> Result<Expr> {
        let span = self.span();
        let literal = |value: Value, ty: ColumnType| Ok(Expr::Literal(value, ty, span));
        match self.peek().clone() {
            Token::Name(..) if self.is_sign_at(1, "(") => self.aggregate(),
            Token::Name(..) => Ok(Expr::Path(self.path()?)),
            Token::Parameter(text) => {
                self.at += 1;
                Ok(Expr::Parameter(Name { text, span }))
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect_sign(")", "`)`")?;
                Ok(inner)
            }
            Token::Sign("[") => self.nested(|parser| {
                parser.at += 1;
                let items = parser.list_until("]", "a value", Self::expression)?;
                Ok(Expr::List(items, parser.since(span)))
            }),
            token => {
                let Some(bound) = simple(&token, span) else {
                    return Err(self.expected("a value"));
                };
                self.at += 1;
                match token {
                    Token::Integer(number) => match i64::try_from(number) {
                        Ok(number) => literal(Value::Integer(number), ColumnType::Int64),
                        Err(_) => {
                            let text = format!("the number {number} is out of range for int");
                            Err(Error::syntax(text).at(span))
                        }
                    },
                    _ => Ok(bound),
                }
            }
        }
    }

    /// `COUNT()`, `SUM(path)`
    fn aggregate(&mut self) -> Result<Expr> {
        let name = self.name("an aggregate")?;
        let found = match &*name.text.to_ascii_uppercase() {
            "COUNT" => Aggregate::Count,
            "SUM" => Aggregate::Sum,
            "AVG" => Aggregate::Avg,
            "MIN" => Aggregate::Min,
            "MAX" => Aggregate::Max,
            _ => {
                let error = Error::syntax(format!("`{}` is not an aggregate", name.text));
                return Err(error.at(name.span).help("use COUNT, SUM, AVG, MIN or MAX"));
            }
        };
        self.at += 1;
        let path = if self.is_sign(")") { None } else { Some(self.path()?) };
        if path.is_none() && found != Aggregate::Count {
            return Err(self.expected("a member"));
        }
        self.expect_sign(")", "`)`").map_err(|error| {
            error.help("it takes a member; compute with its result: `SUM(price) * 2`")
        })?;
        Ok(Expr::Aggregate(found, path, self.since(name.span)))
    }
}

fn integer(number: i64, span: Span) -> Expr {
    Expr::Literal(Value::Integer(number), ColumnType::Int64, span)
}

/// The value of a single token.
fn simple(token: &Token, span: Span) -> Option<Expr> {
    let (value, ty) = match token {
        Token::Integer(_) => (Value::Null, ColumnType::Int64),
        Token::Float(number) => (Value::Float(*number), ColumnType::Float64),
        Token::Text(text) => (Value::Text(text.clone()), ColumnType::Text),
        Token::Date(day) => (Value::Date(*day), ColumnType::Date),
        Token::Time(time) => (Value::Time(*time), ColumnType::Time),
        Token::Timestamp(at) => (Value::Timestamp(*at), ColumnType::Timestamp { utc: true }),
        Token::Uuid(uuid) => (Value::Uuid(*uuid), ColumnType::Uuid),
        Token::Keyword(Keyword::True) => (Value::Boolean(true), ColumnType::Boolean),
        Token::Keyword(Keyword::False) => (Value::Boolean(false), ColumnType::Boolean),
        Token::Keyword(Keyword::None) => return Some(Expr::None(span)),
        Token::Keyword(Keyword::Now) => return Some(Expr::Now(span)),
        _ => return None,
    };
    Some(Expr::Literal(value, ty, span))
}
