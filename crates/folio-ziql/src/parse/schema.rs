//! Parses structs and their members.
//!
//! ```text
//! User ( name: str, email: str unique, best_friend: User, posts: []Post.author, )
//! ```
//!
//! The types that ZiQL has no word for are written as in SQL: `numeric(10,2)`, `json`, `[]real`,
//! `map(str, int)`, `struct(lat: float, lon: float)`.

use folio_compute::{Error, Result};
use folio_engine::OnDelete;
use folio_types::ColumnType;

use super::{DEPTH_MAX, Parser};
use crate::ast::{Expr, Name};
use crate::token::{Keyword, Token};

/// A struct.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declaration {
    pub(crate) name: Name,
    /// Its previous name.
    pub(crate) was: Option<Name>,
    pub(crate) members: Vec<MemberDeclaration>,
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberDeclaration {
    pub(crate) name: Name,
    pub(crate) ty: MemberType,
    pub(crate) optional: bool,
    pub(crate) default: Option<Expr>,
    pub(crate) unique: bool,
    pub(crate) index: bool,
    pub(crate) on_delete: Option<OnDelete>,
    /// Its previous name.
    pub(crate) was: Option<Name>,
}

/// The type of a member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MemberType {
    /// A value.
    Value(ColumnType),
    /// A value, or a link if a struct has this name.
    Word(Name, ColumnType),
    /// One entity.
    One(Name),
    /// Many entities.
    Many(LinkTarget),
}

/// `[]Post`, `[]Post.author`
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkTarget {
    pub(crate) entity: Name,
    /// The link that this one is the inverse of.
    pub(crate) inverse: Option<Name>,
}

/// The type with this name.
pub(crate) fn value_type(word: &str) -> Option<ColumnType> {
    Some(match &*word.to_ascii_lowercase() {
        "int" => ColumnType::Int64,
        "float" => ColumnType::Float64,
        "bool" => ColumnType::Boolean,
        "str" => ColumnType::Text,
        "date" => ColumnType::Date,
        "time" => ColumnType::Time,
        "datetime" => ColumnType::Timestamp { utc: true },
        "uuid" => ColumnType::Uuid,
        _ => return None,
    })
}

/// The type with this name in SQL. Structs may have these names.
fn sql_type(word: &str) -> Option<ColumnType> {
    Some(match &*word.to_ascii_lowercase() {
        "smallint" => ColumnType::Int16,
        "integer" => ColumnType::Int32,
        "real" => ColumnType::Float32,
        "timestamp" => ColumnType::Timestamp { utc: false },
        "interval" => ColumnType::Interval,
        "json" => ColumnType::Json,
        "bytea" => ColumnType::Binary,
        _ => return None,
    })
}

/// A type within so many brackets: `[][]int`.
fn list_of(ty: ColumnType, depth: usize) -> ColumnType {
    (0..depth).fold(ty, |element, _| ColumnType::List(Box::new(element)))
}

impl Parser {
    /// `{ name ["was" name] "(" members ")" }`
    pub(super) fn declarations(&mut self) -> Result<Vec<Declaration>> {
        let mut found = Vec::new();
        while *self.peek() != Token::End {
            let name = self.name("the name of a struct")?;
            let was = self.was()?;
            self.expect_sign("(", "`(` and the members")?;
            let members = self.list_until(")", "a member", Self::member)?;
            found.push(Declaration { name, was, members });
        }
        Ok(found)
    }

    fn was(&mut self) -> Result<Option<Name>> {
        if !self.is_word(0, "was") {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.name("the name it had before")?))
    }

    fn member(&mut self) -> Result<MemberDeclaration> {
        let name = self.name("a member")?;
        self.expect_sign(":", "`:` and the type")?;
        let ty = self.member_type()?;
        let mut member = MemberDeclaration {
            name,
            ty,
            optional: self.eat_sign("?"),
            default: None,
            unique: false,
            index: false,
            on_delete: None,
            was: None,
        };
        loop {
            let span = self.span();
            let twice = |is_twice: bool, what: &str| match is_twice {
                true => Err(Error::syntax(format!("`{what}` is given twice")).at(span)),
                false => Ok(()),
            };
            if self.eat_sign("=") {
                twice(member.default.is_some(), "=")?;
                member.default = Some(self.expression()?);
            } else if self.is_word(0, "unique") {
                twice(member.unique, "unique")?;
                self.at += 1;
                member.unique = true;
            } else if self.is_word(0, "index") {
                twice(member.index, "index")?;
                self.at += 1;
                member.index = true;
            } else if self.is_word(0, "on") {
                twice(member.on_delete.is_some(), "on delete")?;
                self.at += 1;
                member.on_delete = Some(self.on_delete()?);
            } else if self.is_word(0, "was") {
                twice(member.was.is_some(), "was")?;
                member.was = self.was()?;
            } else {
                return Ok(member);
            }
        }
    }

    fn member_type(&mut self) -> Result<MemberType> {
        let mut depth = 0;
        while self.eat_sign("[") {
            self.expect_sign("]", "`]`")?;
            depth += 1;
            if depth > DEPTH_MAX {
                return Err(self.too_deep());
            }
        }
        let is_quoted = matches!(self.peek(), Token::Name(_, true));
        let word = self.name("a type or the name of a struct")?;
        if let Some(ty) = value_type(&word.text) {
            return Ok(MemberType::Value(list_of(ty, depth)));
        }
        if let Some(ty) = self.type_with_parts(&word)? {
            return Ok(MemberType::Value(list_of(ty, depth)));
        }
        if let Some(ty) = sql_type(&word.text).filter(|_| !is_quoted && !self.is_sign(".")) {
            return Ok(MemberType::Word(word, list_of(ty, depth)));
        }
        if depth == 0 {
            return Ok(MemberType::One(word));
        }
        let inverse =
            if self.eat_sign(".") { Some(self.name("the name of a link")?) } else { None };
        if depth > 1 {
            return Err(no_type(&word));
        }
        Ok(MemberType::Many(LinkTarget { entity: word, inverse }))
    }

    /// `numeric(10,2)`, `map(str, int)`, `struct(a: int)`, after the word.
    fn type_with_parts(&mut self, word: &Name) -> Result<Option<ColumnType>> {
        if !self.is_sign("(") {
            return Ok(None);
        }
        Ok(Some(match &*word.text.to_ascii_lowercase() {
            "numeric" => self.numeric()?,
            "map" => {
                self.at += 1;
                let span = self.span();
                if self.value_type()? != ColumnType::Text {
                    let error = Error::unsupported("the keys of a map are str");
                    return Err(error.at(span).help("write map(str, …)"));
                }
                self.expect_sign(",", "`,` and the type of the values")?;
                let value = self.value_type()?;
                self.expect_sign(")", "`)`")?;
                ColumnType::Map(Box::new(value))
            }
            "struct" => {
                self.at += 1;
                let fields = self.list_until(")", "a field", |parser| {
                    let name = parser.name("a field")?;
                    parser.expect_sign(":", "`:` and the type")?;
                    Ok((name.text, parser.value_type()?))
                })?;
                ColumnType::Struct(fields)
            }
            _ => return Ok(None),
        }))
    }

    /// `(10,2)`
    fn numeric(&mut self) -> Result<ColumnType> {
        let start = self.expect_sign("(", "`(`")?;
        let precision = self.digits()?;
        let scale = if self.eat_sign(",") { self.digits()? } else { 0 };
        self.expect_sign(")", "`)`")?;
        match (u8::try_from(precision), i8::try_from(scale)) {
            (Ok(precision @ 1..=38), Ok(scale)) if scale.unsigned_abs() <= precision => {
                Ok(ColumnType::Decimal { precision, scale })
            }
            _ => Err(Error::invalid(format!("numeric({precision},{scale}) is not possible"))
                .at(self.since(start))
                .help("at most 38 digits in all, and no more of them after the point")),
        }
    }

    fn digits(&mut self) -> Result<u64> {
        let Token::Integer(digits) = *self.peek() else {
            return Err(self.expected("a number of digits"));
        };
        self.at += 1;
        Ok(digits)
    }

    /// A type within another.
    fn value_type(&mut self) -> Result<ColumnType> {
        match self.nested(Self::member_type)? {
            MemberType::Value(ty) | MemberType::Word(_, ty) => Ok(ty),
            MemberType::One(name) | MemberType::Many(LinkTarget { entity: name, .. }) => {
                Err(no_type(&name))
            }
        }
    }

    /// `delete restrict | unset | cascade`
    fn on_delete(&mut self) -> Result<OnDelete> {
        if !self.eat_keyword(Keyword::Delete) {
            return Err(self.expected("`delete` after `on`"));
        }
        let found = [
            ("restrict", OnDelete::Restrict),
            ("unset", OnDelete::SetNull),
            ("cascade", OnDelete::Cascade),
        ]
        .into_iter()
        .find(|(word, _)| self.is_word(0, word));
        let Some((_, found)) = found else {
            return Err(self.expected("`restrict`, `unset` or `cascade`"));
        };
        self.at += 1;
        Ok(found)
    }
}

fn no_type(name: &Name) -> Error {
    Error::not_found(format!("there is no type `{}`", name.text)).at(name.span)
}
