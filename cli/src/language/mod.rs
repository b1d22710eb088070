//! SQL and ZiQL as they are typed: words (tokens), what can be named (relations), and what may follow
//! (complete). The shell and the language server look at a text through these; compiling it is the
//! facade's.
//!
//! A shell is in one language, but a statement that is only valid in the other is run in that one.
//! `GRAB` and `ADD` never begin an SQL statement, `SELECT` never a ZiQL one, and `UPDATE` and
//! `DELETE` are ZiQL if they contain a brace.

mod complete;
mod relations;
mod tokens;

use std::fmt;

pub(crate) use complete::{Completion, begins, completions, in_case_of, relations_like};
pub(crate) use relations::{Relation, Relations};
pub(crate) use tokens::{Kind, Token, end_of_statement, statements, tokens};

/// A language of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Sql,
    Ziql,
}

impl fmt::Display for Language {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Sql => "sql",
            Self::Ziql => "ziql",
        })
    }
}

impl Language {
    /// The language of the first statement of a text, in a shell with this language.
    pub(crate) fn of(self, text: &str) -> Self {
        let end = end_of_statement(text, self).map_or(text.len(), |end| end.start);
        let text = &text[..end];
        let mut words = tokens(text, self).filter(|token| token.is_significant());
        let first = words.next().filter(|token| token.kind == Kind::Word);
        let Some(first) = first.map(|token| text[token.range].to_ascii_uppercase()) else {
            return self;
        };
        match &*first {
            "GRAB" | "ADD" => Self::Ziql,
            "UPDATE" | "DELETE" | "EXPLAIN" => {
                let tells = words.find_map(|token| match token.kind {
                    Kind::Symbol('{') => Some(Self::Ziql),
                    Kind::Word => match &*text[token.range].to_ascii_uppercase() {
                        "GRAB" | "ADD" => Some(Self::Ziql),
                        "SET" | "FROM" | "SELECT" | "WITH" | "ANALYZE" => Some(Self::Sql),
                        _ => None,
                    },
                    _ => None,
                });
                tells.unwrap_or(self)
            }
            first if SQL_VERBS.contains(&first) => Self::Sql,
            _ => self,
        }
    }

    /// Its keywords, in capitals.
    pub(crate) fn keywords(self) -> &'static [&'static str] {
        match self {
            Self::Sql => SQL_WORDS,
            Self::Ziql => ZIQL_WORDS,
        }
    }
}

/// Words that begin a statement in SQL and not in ZiQL.
const SQL_VERBS: &[&str] = &[
    "SELECT",
    "INSERT",
    "CREATE",
    "DROP",
    "ALTER",
    "WITH",
    "VALUES",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "TRUNCATE",
    "SHOW",
    "DESCRIBE",
    "START",
    "END",
    "COPY",
];

const ZIQL_WORDS: &[&str] = &[
    "GRAB", "ADD", "UPDATE", "DELETE", "EXPLAIN", "AND", "OR", "NOT", "IN", "ALLIN", "LIKE", "TO",
    "BY", "ASC", "DESC", "TRUE", "FALSE", "NONE", "NOW", "COUNT", "SUM", "AVG", "MIN", "MAX",
    "APPEND", "REMOVE", "REMOVEAT", "POP", "CLEAR", "SKIP",
];

#[rustfmt::skip]
const SQL_WORDS: &[&str] = &[
    "ADD", "ALL", "ALTER", "ALWAYS", "AND", "ANY", "ARRAY", "AS", "ASC", "AVG", "BEGIN", "BETWEEN",
    "BIGINT", "BOOLEAN", "BY", "BYTEA", "CASCADE", "CASE", "CAST", "CHECK", "COALESCE", "COLUMN",
    "COMMIT", "CONFLICT", "CONSTRAINT", "COUNT", "CREATE", "CROSS", "CURRENT_DATE",
    "CURRENT_TIMESTAMP", "DATE", "DEFAULT", "DELETE", "DESC", "DESCRIBE", "DISTINCT", "DO",
    "DOUBLE", "DROP", "ELSE", "END", "EXCEPT", "EXISTS", "EXPLAIN", "FALSE", "FILTER", "FIRST",
    "FOLLOWING", "FOREIGN", "FROM", "FULL", "GENERATED", "GROUP", "GROUPING", "HAVING", "IDENTITY",
    "IF", "ILIKE", "IN", "INDEX", "INNER", "INSERT", "INTEGER", "INTERSECT", "INTERVAL", "INTO",
    "IS", "JOIN", "JSON", "KEY", "LAST", "LATERAL", "LEFT", "LIKE", "LIMIT", "MAX", "MIN",
    "NATURAL", "NOT", "NOTHING", "NULL", "NULLS", "NUMERIC", "OFFSET", "ON", "ONLY", "OR", "ORDER",
    "OUTER", "OVER", "PARTITION", "PRECEDING", "PRECISION", "PRIMARY", "READ", "REAL", "RECURSIVE",
    "REFERENCES", "RELEASE", "RENAME", "RESTRICT", "RETURNING", "RIGHT", "ROLLBACK", "ROW", "ROWS",
    "SAVEPOINT", "SELECT", "SET", "SHOW", "SMALLINT", "SUM", "TABLE", "TABLES", "TEXT", "THEN",
    "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TO", "TRUE", "TRUNCATE", "UNBOUNDED", "UNION", "UNIQUE",
    "UPDATE", "USING", "UUID", "VALUES", "VARCHAR", "VIEW", "WHEN", "WHERE", "WINDOW", "WITH",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_in_the_language_it_can_only_be_of() {
        use Language::{Sql, Ziql};
        for (text, in_sql, in_ziql) in [
            ("grab User", Ziql, Ziql),
            ("-- note\nADD User ()", Ziql, Ziql),
            ("select 1", Sql, Sql),
            ("delete from a", Sql, Sql),
            ("DELETE User {}", Ziql, Ziql),
            ("update t set a = '{'", Sql, Sql),
            ("UPDATE User {a = 1} TO (b = 2)", Ziql, Ziql),
            ("explain grab User", Ziql, Ziql),
            ("explain select 1", Sql, Sql),
            ("UPDATE User [1; name] {} TO (b = 2)", Ziql, Ziql),
            ("update User", Sql, Ziql),
            ("update t; grab {", Sql, Ziql),
            ("", Sql, Ziql),
        ] {
            assert_eq!(Sql.of(text), in_sql, "{text}");
            assert_eq!(Ziql.of(text), in_ziql, "{text}");
        }
    }

    #[test]
    fn words_are_sorted_for_reading() {
        assert!(SQL_WORDS.is_sorted());
    }
}
