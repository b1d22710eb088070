//! The definition of a table, from its CREATE TABLE.
//!
//! SQLite accepts nearly anything as a type, allows constraints without commas between them, and
//! names in any quotes. This parser follows its grammar and assumes that the statements in a file
//! are valid. Expressions stay tokens.

use crate::tokens::Token;

/// The maximum number of columns, the same as SQLite's default.
const COLUMNS_MAX: usize = 2_000;

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) columns: Vec<ColumnDefinition>,
    /// The names of the columns of the primary key.
    pub(crate) primary_key: Vec<String>,
    /// Whether the key follows the columns. In that case a single descending column may still be
    /// the row number.
    pub(crate) is_key_after: bool,
    pub(crate) is_key_descending: bool,
    pub(crate) unique: Vec<Vec<String>>,
    /// Conditions, with names if they have one.
    pub(crate) checks: Vec<(Option<String>, Vec<Token>)>,
    pub(crate) references: Vec<ReferenceDefinition>,
    pub(crate) is_without_rowid: bool,
    /// Clauses without a counterpart: the name of a column, and a description.
    pub(crate) without_counterpart: Vec<(String, &'static str)>,
}

/// A column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ColumnDefinition {
    pub(crate) name: String,
    /// The words of the type, which may be empty.
    pub(crate) type_name: String,
    /// The numbers in parentheses after it.
    pub(crate) type_arguments: Vec<String>,
    pub(crate) is_not_null: bool,
    pub(crate) default: Option<Vec<Token>>,
    pub(crate) generated: Option<Generated>,
}

/// How a generated column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generated {
    Stored,
    /// Not stored.
    Virtual,
}

/// A foreign key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReferenceDefinition {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The referencing columns.
    pub columns: Vec<String>,
    /// The referenced table.
    pub table: String,
    /// The referenced columns; empty for the primary key.
    pub target: Vec<String>,
    /// The action when the referenced row is deleted, in upper case: `CASCADE`.
    pub on_delete: String,
    /// The action when the referenced key changes, in upper case.
    pub on_update: String,
    /// Whether it is checked at the end of the transaction.
    pub is_deferred: bool,
}

/// A cursor over tokens.
pub(crate) struct Reading<'t> {
    pub(crate) tokens: &'t [Token],
}

impl<'t> Reading<'t> {
    pub(crate) fn peek(&self) -> Option<&'t Token> {
        self.tokens.first()
    }

    pub(crate) fn next(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    /// Skips these keywords if they come next.
    pub(crate) fn take(&mut self, keywords: &[&str]) -> bool {
        let is_next = self.tokens.len() >= keywords.len()
            && keywords.iter().zip(self.tokens).all(|(keyword, token)| token.is(keyword));
        if is_next {
            self.tokens = &self.tokens[keywords.len()..];
        }
        is_next
    }

    pub(crate) fn take_symbol(&mut self, symbol: &str) -> bool {
        let is_next = self.peek().is_some_and(|token| token.is_symbol(symbol));
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    pub(crate) fn name(&mut self) -> Option<String> {
        self.next()?.name().map(str::to_owned)
    }

    /// The tokens inside the next pair of parentheses.
    pub(crate) fn group(&mut self) -> Option<&'t [Token]> {
        if !self.take_symbol("(") {
            return None;
        }
        let mut depth = 1usize;
        for (index, token) in self.tokens.iter().enumerate() {
            depth += usize::from(token.is_symbol("("));
            depth -= usize::from(token.is_symbol(")"));
            if depth == 0 {
                let inside = &self.tokens[..index];
                self.tokens = &self.tokens[index + 1..];
                return Some(inside);
            }
        }
        None
    }

    /// `CREATE … TABLE IF NOT EXISTS schema.name`, up to what follows the name.
    pub(crate) fn pass_name(&mut self, kinds: &[&str]) -> Option<()> {
        while !self
            .next()?
            .name()
            .is_some_and(|word| kinds.iter().any(|kind| word.eq_ignore_ascii_case(kind)))
        {}
        self.take(&["IF", "NOT", "EXISTS"]);
        self.name()?;
        if self.take_symbol(".") {
            self.name()?;
        }
        Some(())
    }
}

/// Splits at the commas outside parentheses.
pub(crate) fn split_at_commas(tokens: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0usize;
    tokens
        .split(|token| {
            depth += usize::from(token.is_symbol("("));
            depth = depth.saturating_sub(usize::from(token.is_symbol(")")));
            depth == 0 && token.is_symbol(",")
        })
        .collect()
}

/// Reads a CREATE TABLE; `None` for any other statement.
pub(crate) fn read_table(tokens: &[Token]) -> Option<Definition> {
    let mut reading = Reading { tokens };
    reading.pass_name(&["TABLE"])?;
    let inside = reading.group()?;
    let mut definition = Definition::default();
    for part in split_at_commas(inside) {
        let mut part = Reading { tokens: part };
        if part.peek().is_some_and(begins_constraint) {
            while part.peek().is_some() {
                definition.read_constraint(&mut part)?;
            }
        } else {
            definition.read_column(&mut part)?;
        }
    }
    while let Some(token) = reading.next() {
        if token.is("WITHOUT") && reading.take(&["ROWID"]) {
            definition.is_without_rowid = true;
        }
    }
    (1..=COLUMNS_MAX).contains(&definition.columns.len()).then_some(definition)
}

fn begins_constraint(token: &Token) -> bool {
    ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"].iter().any(|word| token.is(word))
}

impl Definition {
    /// The position of a column.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    fn read_column(&mut self, reading: &mut Reading<'_>) -> Option<()> {
        let mut column = ColumnDefinition { name: reading.name()?, ..ColumnDefinition::default() };
        column.read_type(reading)?;
        let name = column.name.clone();
        let mut constraint = None;
        while reading.peek().is_some() {
            if reading.take(&["CONSTRAINT"]) {
                constraint = Some(reading.name()?);
                continue;
            }
            self.read_column_constraint(&mut column, constraint.take(), reading)
                .or_else(|| self.read_key_constraint(&name, reading))?;
        }
        self.columns.push(column);
        Some(())
    }

    /// Reads a constraint on the values of one column.
    fn read_column_constraint(
        &mut self,
        column: &mut ColumnDefinition,
        constraint: Option<String>,
        reading: &mut Reading<'_>,
    ) -> Option<()> {
        if reading.take(&["NOT", "NULL"]) {
            column.is_not_null = true;
            pass_on_conflict(reading)
        } else if reading.take(&["NULL"]) {
            pass_on_conflict(reading)
        } else if reading.take(&["CHECK"]) {
            self.checks.push((constraint, reading.group()?.to_vec()));
            pass_on_conflict(reading)
        } else if reading.take(&["DEFAULT"]) {
            column.default = Some(read_default(reading)?);
            Some(())
        } else if reading.take(&["COLLATE"]) {
            self.note_collation(&column.name, &reading.name()?);
            Some(())
        } else if reading.take(&["GENERATED", "ALWAYS"]) || reading.take(&["AS"]) {
            reading.take(&["AS"]);
            reading.group()?;
            let is_stored = reading.take(&["STORED"]);
            reading.take(&["VIRTUAL"]);
            column.generated = Some(if is_stored { Generated::Stored } else { Generated::Virtual });
            Some(())
        } else if reading.take(&["REFERENCES"]) {
            self.read_reference(constraint, vec![column.name.clone()], reading)
        } else {
            None
        }
    }

    /// Reads a constraint that makes one column a key.
    fn read_key_constraint(&mut self, name: &str, reading: &mut Reading<'_>) -> Option<()> {
        if reading.take(&["PRIMARY", "KEY"]) {
            self.primary_key = vec![name.to_owned()];
            self.is_key_descending = reading.take(&["DESC"]);
            reading.take(&["ASC"]);
            pass_on_conflict(reading)?;
            reading.take(&["AUTOINCREMENT"]);
            Some(())
        } else if reading.take(&["UNIQUE"]) {
            self.unique.push(vec![name.to_owned()]);
            pass_on_conflict(reading)
        } else {
            pass_deferrable(reading).map(|is_deferred| {
                if let Some(reference) = self.references.last_mut() {
                    reference.is_deferred |= is_deferred;
                }
            })
        }
    }

    /// Reads a constraint after the columns.
    fn read_constraint(&mut self, reading: &mut Reading<'_>) -> Option<()> {
        let name = if reading.take(&["CONSTRAINT"]) { Some(reading.name()?) } else { None };
        if reading.take(&["PRIMARY", "KEY"]) {
            self.primary_key = self.read_names(reading)?;
            self.is_key_after = true;
            pass_on_conflict(reading)
        } else if reading.take(&["UNIQUE"]) {
            let names = self.read_names(reading)?;
            self.unique.push(names);
            pass_on_conflict(reading)
        } else if reading.take(&["CHECK"]) {
            self.checks.push((name, reading.group()?.to_vec()));
            pass_on_conflict(reading)
        } else if reading.take(&["FOREIGN", "KEY"]) {
            let columns = self.read_names(reading)?;
            reading.take(&["REFERENCES"]).then_some(())?;
            self.read_reference(name, columns, reading)
        } else {
            // A name without a constraint is allowed.
            name.map(drop)
        }
    }

    /// Columns in parentheses, each with an optional collation and order.
    fn read_names(&mut self, reading: &mut Reading<'_>) -> Option<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for part in split_at_commas(reading.group()?) {
            let mut part = Reading { tokens: part };
            let name = part.name()?;
            if part.take(&["COLLATE"]) {
                let collation = part.name()?;
                self.note_collation(&name, &collation);
            }
            if !names.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
                names.push(name);
            }
        }
        Some(names)
    }

    fn read_reference(
        &mut self,
        name: Option<String>,
        columns: Vec<String>,
        reading: &mut Reading<'_>,
    ) -> Option<()> {
        let mut reference = ReferenceDefinition {
            name,
            columns,
            table: reading.name()?,
            ..ReferenceDefinition::default()
        };
        if reading.peek().is_some_and(|token| token.is_symbol("(")) {
            reference.target = self.read_names(reading)?;
        }
        loop {
            if reading.take(&["ON", "DELETE"]) {
                reference.on_delete = read_action(reading)?;
            } else if reading.take(&["ON", "UPDATE"]) {
                reference.on_update = read_action(reading)?;
            } else if reading.take(&["MATCH"]) {
                reading.name()?;
            } else if let Some(is_deferred) = pass_deferrable(reading) {
                reference.is_deferred |= is_deferred;
            } else {
                break;
            }
        }
        self.references.push(reference);
        Some(())
    }

    fn note_collation(&mut self, column: &str, collation: &str) {
        let what = match collation.to_ascii_uppercase().as_str() {
            "BINARY" => return,
            "NOCASE" => "COLLATE NOCASE",
            "RTRIM" => "COLLATE RTRIM",
            _ => "COLLATE",
        };
        self.without_counterpart.push((column.to_owned(), what));
    }
}

impl ColumnDefinition {
    /// Reads the words up to the first constraint.
    fn read_type(&mut self, reading: &mut Reading<'_>) -> Option<()> {
        const CONSTRAINTS: [&str; 10] = [
            "CONSTRAINT",
            "PRIMARY",
            "NOT",
            "NULL",
            "UNIQUE",
            "CHECK",
            "DEFAULT",
            "COLLATE",
            "REFERENCES",
            "AS",
        ];
        let mut words: Vec<&str> = Vec::new();
        while let Some(token) = reading.peek() {
            let is_computed = token.is("GENERATED")
                && reading.tokens.get(1).is_some_and(|token| token.is("ALWAYS"));
            if is_computed || CONSTRAINTS.iter().any(|word| token.is(word)) {
                break;
            }
            if token.is_symbol("(") {
                for part in split_at_commas(reading.group()?) {
                    self.type_arguments.push(crate::tokens::to_text(part).replace(' ', ""));
                }
                break;
            }
            words.push(token.name()?);
            reading.next();
        }
        self.type_name = words.join(" ");
        Some(())
    }
}

/// Reads a literal with optional sign, or an expression in parentheses.
fn read_default(reading: &mut Reading<'_>) -> Option<Vec<Token>> {
    if reading.peek()?.is_symbol("(") {
        return reading.group().map(<[Token]>::to_vec);
    }
    let first = reading.next()?.clone();
    if first.is_symbol("+") || first.is_symbol("-") {
        return Some(vec![first, reading.next()?.clone()]);
    }
    Some(vec![first])
}

fn read_action(reading: &mut Reading<'_>) -> Option<String> {
    let first = reading.name()?.to_ascii_uppercase();
    match first.as_str() {
        "SET" | "NO" => Some(format!("{first} {}", reading.name()?.to_ascii_uppercase())),
        _ => Some(first),
    }
}

fn pass_on_conflict(reading: &mut Reading<'_>) -> Option<()> {
    if reading.take(&["ON", "CONFLICT"]) {
        reading.name()?;
    }
    Some(())
}

/// `[NOT] DEFERRABLE [INITIALLY …]`: whether it is deferred; `None` if absent.
fn pass_deferrable(reading: &mut Reading<'_>) -> Option<bool> {
    let is_denied = reading.take(&["NOT", "DEFERRABLE"]);
    if !is_denied && !reading.take(&["DEFERRABLE"]) {
        return None;
    }
    let is_deferred = reading.take(&["INITIALLY", "DEFERRED"]);
    reading.take(&["INITIALLY", "IMMEDIATE"]);
    Some(is_deferred && !is_denied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{to_text, tokens};

    fn table(text: &str) -> Definition {
        read_table(&tokens(text).unwrap()).unwrap()
    }

    #[test]
    fn columns_have_any_type() {
        let text = "CREATE TABLE t(a, [b c] UNSIGNED BIG INT(10) NOT NULL ON CONFLICT REPLACE, \
            'd' \"VARCHAR\" (10, -2) DEFAULT -1.5 COLLATE nocase, e default (1+(2)) check(e>(0)), \
            f int generated always as (a+1) stored, g as (1), h TEXT)";
        let table = table(text);
        let shown = table.columns.iter().map(|column| {
            let arguments = column.type_arguments.join("|");
            format!("{}:{}:{arguments}", column.name, column.type_name)
        });
        let shown: Vec<String> = shown.collect();
        assert_eq!(
            shown,
            [
                "a::",
                "b c:UNSIGNED BIG INT:10",
                "d:VARCHAR:10|-2",
                "e::",
                "f:int:",
                "g::",
                "h:TEXT:"
            ]
        );
        assert!(table.columns[1].is_not_null);
        assert_eq!(to_text(table.columns[2].default.as_ref().unwrap()), "- 1.5");
        assert_eq!(to_text(table.columns[3].default.as_ref().unwrap()), "1 + (2)");
        assert_eq!(table.columns[4].generated, Some(Generated::Stored));
        assert_eq!(table.columns[5].generated, Some(Generated::Virtual));
        assert_eq!(to_text(&table.checks[0].1), "e > (0)");
        assert_eq!(table.without_counterpart, [("d".to_owned(), "COLLATE NOCASE")]);
    }

    #[test]
    fn constraints_need_no_commas() {
        let text = "CREATE TABLE IF NOT EXISTS main.\"t\" (a int, b, PRIMARY KEY (a desc, b) \
            ON CONFLICT IGNORE UNIQUE(b) CONSTRAINT f FOREIGN KEY(a, b) REFERENCES u(x, y) \
            ON DELETE SET NULL ON UPDATE CASCADE MATCH FULL NOT DEFERRABLE INITIALLY DEFERRED, \
            CHECK (a <> b)) WITHOUT ROWID, STRICT";
        let table = table(text);
        assert_eq!(table.primary_key, ["a", "b"]);
        assert_eq!(table.unique, [["b"]]);
        assert!(table.is_without_rowid && table.is_key_after);
        let [reference] = &table.references[..] else { panic!("one reference") };
        assert_eq!(reference.name.as_deref(), Some("f"));
        assert_eq!(
            (&reference.target[..], &*reference.on_delete),
            (&["x".to_owned(), "y".to_owned()][..], "SET NULL")
        );
        assert_eq!((&*reference.on_update, reference.is_deferred), ("CASCADE", false));
        assert_eq!(table.checks.len(), 1);
    }

    #[test]
    fn keys_of_one_column() {
        let definition = table(
            "CREATE TABLE t (a INTEGER CONSTRAINT k PRIMARY KEY DESC ON CONFLICT FAIL AUTOINCREMENT, \
             b REFERENCES u DEFERRABLE INITIALLY DEFERRED UNIQUE)",
        );
        assert_eq!(definition.primary_key, ["a"]);
        assert!(definition.is_key_descending && !definition.is_key_after);
        assert!(definition.references[0].is_deferred);
        assert_eq!(definition.unique, [["b"]]);
        for text in ["CREATE TABLE t", "CREATE TABLE t (a", "CREATE TABLE t (a int +)", "x"] {
            assert_eq!(read_table(&tokens(text).unwrap()), None, "{text}");
        }
    }
}
