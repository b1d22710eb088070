//! Windows of a relation: the rows that a grid shows. A surface names columns, tests and positions;
//! the statement is made here, with every value as a parameter.
//!
//! Columns are named by paths, as [`Collection::fields`](crate::Collection::fields) writes them:
//! `town`, `geo.city`, `"a name"`, and `tags[]` for the elements of a list.

use std::fmt::Write as _;

use folio_engine::Rows;
use folio_json::{PathPart, parse_path};
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
    /// Paths, what they are tested for, and the value as text, which takes the column's type. Of the
    /// elements of a list, `Equal` asks for one that is the value.
    pub tests: Vec<(String, WindowTest, String)>,
    /// Paths to sort by, and whether the greatest comes first. Without one, the stored order.
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
        window.push_order(&mut text);
        // Writing to a string cannot fail.
        let offset = window.offset.min(i64::MAX.unsigned_abs());
        let _ = write!(text, " LIMIT {} OFFSET {offset}", window.limit);
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

    pub(super) fn rows_of(&mut self, text: &str, parameters: &Parameters) -> Result<Rows> {
        self.sql(text, parameters)?.rows.ok_or_else(|| no_rows().into())
    }
}

impl Window {
    /// The query of an expression over the rows that pass, and its parameters.
    pub(super) fn statement(&self, expression: &str) -> (String, Parameters) {
        let (rest, parameters) = self.source("");
        (format!("SELECT {expression} {rest}"), parameters)
    }

    /// Adds ORDER BY to a query.
    pub(super) fn push_order(&self, text: &mut String) {
        for (place, (column, is_descending)) in self.order.iter().enumerate() {
            text.push_str(if place == 0 { " ORDER BY " } else { ", " });
            text.push_str(&ColumnPath::parse(column).text);
            text.push_str(if *is_descending { " DESC" } else { "" });
        }
    }

    /// FROM and WHERE of the rows that pass, with what is joined to each, and the parameters.
    pub(super) fn source(&self, joined: &str) -> (String, Parameters) {
        let mut text = format!("FROM {}{joined}", quoted_name(&self.relation));
        let mut parameters = Parameters::default();
        for (place, (column, test, value)) in self.tests.iter().enumerate() {
            text.push_str(if place == 0 { " WHERE " } else { " AND " });
            let ColumnPath { text: column, is_element } = ColumnPath::parse(column);
            let predicate = test.predicate();
            // Writing to a string cannot fail.
            let _ = match test {
                WindowTest::Contains => write!(text, "CAST({column} AS text) {predicate}"),
                WindowTest::Equal if is_element => write!(text, "? = ANY({column})"),
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

/// A path, as SQL writes it.
pub(super) struct ColumnPath {
    pub(super) text: String,
    /// Whether the elements of the list are meant.
    pub(super) is_element: bool,
}

impl ColumnPath {
    /// Reads a path. What is none is the name of a column, which then does not exist.
    pub(super) fn parse(path: &str) -> Self {
        let (inner, is_element) = match path.strip_suffix("[]") {
            Some(inner) => (inner, true),
            None => (path, false),
        };
        match steps(inner) {
            Some(steps) => {
                let names: Vec<String> = steps.iter().map(|step| quoted_name(step)).collect();
                Self { text: names.join("."), is_element }
            }
            None => Self { text: quoted_name(path), is_element: false },
        }
    }
}

/// The path of a column, by its name.
#[must_use]
pub fn column_path(name: &str) -> String {
    let is_word = name.chars().all(|next| next.is_alphanumeric() || next == '_');
    if is_word && !name.is_empty() { name.to_owned() } else { quoted_name(name) }
}

/// The names of a path; `None` if it is none, or has other parts.
pub(super) fn steps(path: &str) -> Option<Vec<String>> {
    let name = |part| match part {
        PathPart::Member(name) => Some(name),
        PathPart::Elements | PathPart::Values => None,
    };
    parse_path(path).ok()?.into_iter().map(name).collect()
}

/// The pattern of texts that contain a text.
fn pattern(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

fn no_rows() -> QueryError {
    QueryError::new(ErrorCode::InvalidInput, "a window has no rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_and_nothing_else() {
        for (path, text, is_element) in [
            ("town", "\"town\"", false),
            ("geo.city", "\"geo\".\"city\"", false),
            ("\"a.b\".c", "\"a.b\".\"c\"", false),
            ("\"say \"\"x\"\"\"", "\"say \"\"x\"\"\"", false),
            ("tags[]", "\"tags\"", true),
            ("a name", "\"a name\"", false),
            ("x\" or \"1\"=\"1", "\"x\"\" or \"\"1\"\"=\"\"1\"", false),
            ("cart[].sku", "\"cart[].sku\"", false),
            ("\"", "\"\"\"\"", false),
            ("", "\"\"", false),
        ] {
            let read = ColumnPath::parse(path);
            assert_eq!((&*read.text, read.is_element), (text, is_element), "{path}");
        }
    }
}
