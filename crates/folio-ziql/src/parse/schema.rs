//! Parses structs and their members.
//!
//! ```text
//! User ( name: str, email: str unique, best_friend: User, posts: []Post.author, )
//! ```

use folio_compute::{Error, Result};
use folio_engine::OnDelete;
use folio_types::ColumnType;

use super::Parser;
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
        let many = self.eat_sign("[");
        if many {
            self.expect_sign("]", "`]`")?;
        }
        let word = self.name("a type or the name of a struct")?;
        if let Some(ty) = value_type(&word.text) {
            return Ok(MemberType::Value(match many {
                true => ColumnType::List(Box::new(ty)),
                false => ty,
            }));
        }
        if !many {
            return Ok(MemberType::One(word));
        }
        let inverse =
            if self.eat_sign(".") { Some(self.name("the name of a link")?) } else { None };
        Ok(MemberType::Many(LinkTarget { entity: word, inverse }))
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
