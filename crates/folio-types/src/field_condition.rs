//! Conditions of an index on fields of documents: which documents have entries.
//!
//! A condition compares the value at a path with literals, so what it means depends on the document
//! alone, not on the types that a collection happens to have. That is why a definition stores
//! conditions, not the text of an expression.

use std::fmt::{self, Write};

use crate::Comparison;

/// How an index of documents serves statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexMethod {
    /// It finds documents by the values of fields.
    #[default]
    Fields,
    /// It is a copy of fields in columns, for scans.
    Columns,
}

impl IndexMethod {
    /// The method of a name, as SQL has it after USING; `None` for others.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "fields" => Some(Self::Fields),
            "columns" => Some(Self::Columns),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fields => "fields",
            Self::Columns => "columns",
        }
    }
}

/// A condition on the value at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldCondition {
    /// The names of members from the document down to the value.
    pub path: Vec<String>,
    /// What the value must be.
    pub test: FieldTest,
}

/// A test of a value of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldTest {
    /// Compares with a literal, in the order of SQL over json. Never true for a value that is
    /// missing or null.
    Compare(Comparison, Literal),
    /// Is one of these.
    OneOf(Vec<Literal>),
    /// Is missing or null.
    Null,
    /// Is neither missing nor null.
    NotNull,
}

/// A scalar of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A text.
    Text(String),
    /// A number as JSON writes it.
    Number(String),
    /// A boolean.
    Boolean(bool),
}

impl fmt::Display for Literal {
    /// As in SQL.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(out, "'{}'", text.replace('\'', "''")),
            Self::Number(text) => out.write_str(text),
            Self::Boolean(truth) => write!(out, "{truth}"),
        }
    }
}

impl FieldCondition {
    /// The condition in SQL. `quoted` writes the name of a member.
    #[must_use]
    pub fn to_sql(&self, quoted: &dyn Fn(&str) -> String) -> String {
        let path: Vec<String> = self.path.iter().map(|name| quoted(name)).collect();
        let mut out = path.join(".");
        // Writing to a string cannot fail.
        let _ = match &self.test {
            FieldTest::Compare(comparison, literal) => {
                write!(out, " {} {literal}", comparison.symbol())
            }
            FieldTest::OneOf(list) => {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                write!(out, " IN ({})", list.join(", "))
            }
            FieldTest::Null => write!(out, " IS NULL"),
            FieldTest::NotNull => write!(out, " IS NOT NULL"),
        };
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_sql() {
        let quoted = |name: &str| format!("\"{name}\"");
        let condition = |test| FieldCondition { path: vec!["a".into(), "b".into()], test };
        for (test, text) in [
            (
                FieldTest::Compare(Comparison::NotEqual, Literal::Boolean(true)),
                "\"a\".\"b\" <> true",
            ),
            (
                FieldTest::OneOf(vec![
                    Literal::Text("it's".into()),
                    Literal::Number("1.50".into()),
                ]),
                "\"a\".\"b\" IN ('it''s', 1.50)",
            ),
            (FieldTest::Null, "\"a\".\"b\" IS NULL"),
            (FieldTest::NotNull, "\"a\".\"b\" IS NOT NULL"),
        ] {
            assert_eq!(condition(test).to_sql(&quoted), text);
        }
    }
}
