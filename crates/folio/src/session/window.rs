//! Windows of a relation: the rows that a grid shows. A surface names columns, tests and positions;
//! the statement is made here, with every value as a parameter.

use std::fmt::Write as _;

use folio_engine::Rows;
use folio_sqlite::quoted_name;
use folio_types::{ErrorCode, Value};

use super::{Parameters, QueryError, Session};
use crate::error::Result;

/// What a column is tested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowTest {
    /// Is the value.
    Equal,
    /// Is another value.
    NotEqual,
    /// Is less.
    Less,
    /// Is less or the value.
    AtMost,
    /// Is greater.
    Greater,
    /// Is greater or the value.
    AtLeast,
    /// Has the text somewhere in it, in any case.
    Contains,
    /// Is null; the value does not matter.
    Null,
    /// Is not null; the value does not matter.
    NotNull,
}

impl WindowTest {
    /// What stands after a column in a statement.
    fn predicate(self) -> &'static str {
        match self {
            Self::Equal => "= ?",
            Self::NotEqual => "<> ?",
            Self::Less => "< ?",
            Self::AtMost => "<= ?",
            Self::Greater => "> ?",
            Self::AtLeast => ">= ?",
            Self::Contains => "ILIKE ?",
            Self::Null => "IS NULL",
            Self::NotNull => "IS NOT NULL",
        }
    }
}

/// Rows of a relation: those that pass the tests, in an order, from a position on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Window {
    /// A table, view or collection.
    pub relation: String,
    /// Columns, what they are tested for, and the value as text, which takes the column's type.
    pub tests: Vec<(String, WindowTest, String)>,
    /// Columns to sort by, and whether the greatest comes first. Without one, the stored order.
    pub order: Vec<(String, bool)>,
    /// Rows to skip.
    pub offset: u64,
    /// The most rows to return.
    pub limit: u64,
}

impl Session {
    /// The rows of a window, with all columns of the relation.
    ///
    /// # Errors
    /// `not_found` for a relation or column; `type_mismatch` for a value that is none of the
    /// column's type; as [`Session::sql`].
    pub fn window(&mut self, window: &Window) -> Result<Rows> {
        let (mut text, parameters) = window.statement("*");
        for (place, (column, is_descending)) in window.order.iter().enumerate() {
            text.push_str(if place == 0 { " ORDER BY " } else { ", " });
            text.push_str(&quoted_name(column));
            text.push_str(if *is_descending { " DESC" } else { "" });
        }
        // Writing to a string cannot fail.
        let _ = write!(text, " LIMIT {} OFFSET {}", window.limit, window.offset);
        self.rows_of(&text, &parameters)
    }

    /// The number of rows that pass the tests of a window.
    ///
    /// # Errors
    /// As [`Session::window`].
    pub fn count_window(&mut self, window: &Window) -> Result<u64> {
        let (text, parameters) = window.statement("count(*)");
        let rows = self.rows_of(&text, &parameters)?.collect_rows()?;
        match rows.first().and_then(|row| row.first()) {
            Some(Value::Integer(count)) => Ok(u64::try_from(*count).unwrap_or(0)),
            _ => Err(no_rows().into()),
        }
    }

    fn rows_of(&mut self, text: &str, parameters: &Parameters) -> Result<Rows> {
        self.sql(text, parameters)?.rows.ok_or_else(|| no_rows().into())
    }
}

impl Window {
    /// The query of an expression over the rows that pass, and its parameters.
    fn statement(&self, expression: &str) -> (String, Parameters) {
        let mut text = format!("SELECT {expression} FROM {}", quoted_name(&self.relation));
        let mut parameters = Parameters::default();
        for (place, (column, test, value)) in self.tests.iter().enumerate() {
            text.push_str(if place == 0 { " WHERE " } else { " AND " });
            let column = quoted_name(column);
            let predicate = test.predicate();
            let _ = match test {
                WindowTest::Contains => write!(text, "CAST({column} AS text) {predicate}"),
                _ => write!(text, "{column} {predicate}"),
            };
            match test {
                WindowTest::Null | WindowTest::NotNull => {}
                WindowTest::Contains => parameters.push(Value::Text(pattern(value)), None),
                _ => parameters.push(Value::Text(value.clone()), None),
            }
        }
        (text, parameters)
    }
}

/// The pattern of texts that contain a text.
fn pattern(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

fn no_rows() -> QueryError {
    QueryError::new(ErrorCode::InvalidInput, "a window has no rows")
}
