//! The plan for a table: columns with types, keys, and the statement that creates it.

use folio_types::{ColumnType, ErrorCode, Value};

use crate::catalog::{Catalog, SourceTable};
use crate::choose::{Choice, choose};
use crate::convert::convert;
use crate::declared::Intent;
use crate::default::default_text;
use crate::definition::{Definition, Generated, ReferenceDefinition};
use crate::error::{Error, Result};
use crate::note::Note;
use crate::observe::Facts;
use crate::pages::Pages;
use crate::record::Encoding;
use crate::rows::{Rows, Shape};
use crate::tokens::{Token, name_list, quoted_name, to_text};
use crate::tree::Seen;

/// The maximum size of a key: it must fit a quarter of a page, with overhead.
const KEY_SIZE_MAX: usize = 1_800;

/// A table to create.
#[derive(Debug)]
pub struct TablePlan<'c> {
    /// The table in the file.
    pub source: &'c SourceTable,
    pub(crate) definition: &'c Definition,
    pub(crate) shape: Shape,
    /// Its stored columns.
    pub columns: Vec<ColumnPlan>,
    /// The names of the columns of the primary key.
    pub(crate) key: Vec<String>,
    /// The column lists of unique constraints, other than the key.
    pub unique: Vec<Vec<String>>,
    /// Names and conditions.
    pub checks: Vec<(String, String)>,
}

/// A column to create.
#[derive(Debug)]
pub struct ColumnPlan {
    /// Its name.
    pub name: String,
    /// Its type, which fits all of its values.
    pub ty: ColumnType,
    length: Option<u32>,
    is_not_null: bool,
    is_identity: bool,
    /// The text after DEFAULT.
    pub default: Option<String>,
}

impl<'c> TablePlan<'c> {
    /// Reads all rows of a table, and plans it. `step` is called for each row, and stops the pass
    /// by returning an error.
    ///
    /// # Errors
    /// `unsupported` for a table whose definition cannot be parsed; `corrupted`, `io`; errors of
    /// `step`.
    pub fn of<E: From<Error>>(
        source: &'c SourceTable,
        pages: &Pages,
        catalog: &Catalog,
        seen: &mut Seen,
        notes: &mut Vec<Note>,
        step: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let Some(definition) = &source.definition else {
            return Err(E::from(Error::File {
                path: pages.path.clone(),
                place: format!(", table {:?}", source.name),
                reason: "its definition cannot be parsed; name the other tables to import them"
                    .to_owned(),
                code: ErrorCode::Unsupported,
            }));
        };
        let (shape, encoding) = (Shape::new(definition, pages), pages.encoding);
        let intent = |at: usize| Intent::of(&definition.columns[at]);
        let mut facts: Vec<Facts> =
            shape.columns.iter().map(|column| Facts::new(intent(column.position))).collect();
        let mut rows = Rows::open(pages, seen, source, &shape)?;
        while let Some(row) = rows.next()? {
            for (facts, stored) in facts.iter_mut().zip(row) {
                facts.observe(stored, encoding);
            }
            step()?;
        }
        Ok(Self::new(source, definition, shape, &facts, catalog, encoding, notes))
    }

    /// The rows of the table, as values of the columns.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub fn rows<'p>(&'p self, pages: &'p Pages, seen: &'p mut Seen) -> Result<PlannedRows<'p>> {
        let rows = Rows::open(pages, seen, self.source, &self.shape)?;
        Ok(PlannedRows { rows, plan: self, encoding: pages.encoding, greatest: 0 })
    }

    /// Its foreign keys.
    #[must_use]
    pub fn references(&self) -> &'c [ReferenceDefinition] {
        &self.definition.references
    }

    /// Plans a table from the facts about its rows.
    pub(crate) fn new(
        source: &'c SourceTable,
        definition: &'c Definition,
        shape: Shape,
        facts: &[Facts],
        catalog: &Catalog,
        encoding: Encoding,
        notes: &mut Vec<Note>,
    ) -> Self {
        let mut plan = Self {
            source,
            definition,
            shape,
            columns: Vec::new(),
            key: Vec::new(),
            unique: definition.unique.clone(),
            checks: Vec::new(),
        };
        let in_keys = plan.names_in_keys(catalog);
        let mut is_sound = Vec::new();
        for (column, facts) in plan.shape.columns.iter().zip(facts) {
            let declared = &definition.columns[column.position];
            let is_key = in_keys.iter().any(|name| name.eq_ignore_ascii_case(&declared.name));
            let choice = choose(Intent::of(declared), facts, is_key);
            plan.note_column(column.position, &choice, facts, notes);
            is_sound.push(choice.keeps_apart && facts.null_count == 0);
            let default = default_text(column, declared, &choice.ty, encoding);
            plan.columns.push(ColumnPlan {
                name: declared.name.clone(),
                ty: choice.ty,
                length: choice.length,
                is_not_null: declared.is_not_null && facts.null_count == 0,
                is_identity: false,
                default: default.filter(|text| !text.is_empty()),
            });
        }
        plan.choose_key(facts, &is_sound, notes);
        plan.unique.retain(|names| !same_names(names, &plan.key));
        plan.take_checks();
        plan.note_definition(notes);
        plan
    }

    /// The position of a column.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The statement that creates the table, with some of its defaults and checks.
    #[must_use]
    pub fn statement(
        &self,
        has_default: impl Fn(usize) -> bool,
        has_check: impl Fn(usize) -> bool,
    ) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let ty = match column.length {
                Some(length) => format!("varchar({length})"),
                None => column.ty.to_string(),
            };
            let mut part = format!("{} {ty}", quoted_name(&column.name));
            if column.is_identity {
                part += " GENERATED BY DEFAULT AS IDENTITY";
            } else if let Some(default) = column.default.as_ref().filter(|_| has_default(at)) {
                part += &format!(" DEFAULT {default}");
            }
            if column.is_not_null {
                part += " NOT NULL";
            }
            parts.push(part);
        }
        if !self.key.is_empty() {
            parts.push(format!("PRIMARY KEY ({})", name_list(&self.key)));
        }
        let checks = self.checks.iter().enumerate().filter(|(at, _)| has_check(*at));
        parts.extend(checks.map(|(_, (name, condition))| {
            format!("CONSTRAINT {} CHECK ({condition})", quoted_name(name))
        }));
        format!("CREATE TABLE {} (\n{}\n)", quoted_name(&self.source.name), parts.join(",\n"))
    }

    /// The columns of all keys, whose values must stay distinct.
    fn names_in_keys(&self, catalog: &Catalog) -> Vec<String> {
        let mut names = self.definition.primary_key.clone();
        names.extend(self.definition.unique.iter().flatten().cloned());
        for index in &catalog.indexes {
            let is_own = index.table.eq_ignore_ascii_case(&self.source.name);
            if let (true, true, Ok(columns)) = (is_own, index.is_unique, &index.columns) {
                names.extend(columns.iter().map(|(name, _)| name.clone()));
            }
        }
        names
    }

    /// Chooses the primary key, if the stored values allow it.
    fn choose_key(&mut self, facts: &[Facts], is_sound: &[bool], notes: &mut Vec<Note>) {
        let names = &self.definition.primary_key;
        let positions: Vec<usize> = names.iter().filter_map(|name| self.position(name)).collect();
        if positions.is_empty() {
            return;
        }
        if let [only] = positions[..]
            && self.shape.row_number == Some(only)
        {
            self.columns[only].is_identity = true;
            self.key = names.clone();
            return;
        }
        let size: usize = positions.iter().map(|at| facts[*at].size + 16).sum();
        let problem = if positions.len() < names.len() {
            "it has a computed column"
        } else if positions.iter().any(|at| facts[*at].null_count > 0) {
            "a row has null in it"
        } else if !positions.iter().all(|at| is_sound[*at]) {
            "its values changed"
        } else if size > KEY_SIZE_MAX {
            "its values are too long"
        } else {
            self.key = names.clone();
            return;
        };
        let (table, key) = (&self.source.name, names.join(", "));
        let text = format!("PRIMARY KEY ({key}) of table {table:?} left out: {problem}");
        notes.push(Note::left_out(text));
        if problem == "a row has null in it" {
            self.unique.push(names.clone());
        }
    }

    fn take_checks(&mut self) {
        let table = &self.source.name;
        for (at, (name, tokens)) in self.definition.checks.iter().enumerate() {
            if self.is_said_by_type(tokens) {
                continue;
            }
            let name = name.clone().unwrap_or_else(|| format!("{table}_check_{}", at + 1));
            self.checks.push((name, to_text(tokens)));
        }
    }

    /// Whether a condition only expresses a type: that a boolean is 0 or 1.
    fn is_said_by_type(&self, tokens: &[Token]) -> bool {
        let name = tokens.first().and_then(Token::name);
        let Some(at) = name.and_then(|name| self.position(name)) else { return false };
        let rest = to_text(&tokens[1..]).to_ascii_lowercase();
        self.columns[at].ty == ColumnType::Boolean && matches!(&*rest, "in (0, 1)" | "in (1, 0)")
    }

    /// Notes the changes of a column.
    fn note_column(&self, at: usize, choice: &Choice, facts: &Facts, notes: &mut Vec<Note>) {
        let (column, table) = (&self.definition.columns[at], &self.source.name);
        let name = &column.name;
        if let Some(reason) = &choice.reason {
            let ty = &choice.ty;
            notes.push(Note::changed(format!(
                "column {name:?} of table {table:?} became {ty}: {reason}"
            )));
        }
        if column.is_not_null && facts.null_count > 0 {
            let text =
                format!("NOT NULL of column {name:?} of table {table:?} left out: a row has null");
            notes.push(Note::left_out(text));
        }
    }

    /// Notes the parts of a definition without a counterpart.
    fn note_definition(&self, notes: &mut Vec<Note>) {
        let table = &self.source.name;
        for column in &self.definition.columns {
            let name = &column.name;
            match column.generated {
                None => {}
                Some(Generated::Stored) => notes.push(Note::changed(format!(
                    "column {name:?} of table {table:?} keeps its values and is no longer computed"
                ))),
                Some(Generated::Virtual) => notes.push(Note::left_out(format!(
                    "column {name:?} of table {table:?} left out: it is computed and never stored"
                ))),
            }
        }
        for (column, what) in &self.definition.without_counterpart {
            notes.push(Note::left_out(format!(
                "{what} of column {column:?} of table {table:?} left out: text is compared \
                 letter by letter"
            )));
        }
    }
}

/// Whether two lists name the same columns, in any order.
#[must_use]
pub fn same_names(one: &[String], other: &[String]) -> bool {
    let holds =
        |list: &[String], name: &String| list.iter().any(|other| other.eq_ignore_ascii_case(name));
    one.len() == other.len() && one.iter().all(|name| holds(other, name))
}

/// The rows of a planned table.
pub struct PlannedRows<'p> {
    rows: Rows<'p>,
    plan: &'p TablePlan<'p>,
    encoding: Encoding,
    greatest: i64,
}

impl PlannedRows<'_> {
    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// `corrupted`, `io`, also if the file was changed after planning.
    #[allow(clippy::should_implement_trait)] // an iterator would put the error inside
    pub fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(row) = self.rows.next()? else { return Ok(None) };
        let columns = row.iter().zip(&self.plan.columns);
        let values: Option<Vec<Value>> =
            columns.map(|(stored, column)| convert(*stored, &column.ty, self.encoding)).collect();
        let Some(values) = values else { return Err(self.rows.changed_row()) };
        if let Some(Value::Integer(number)) = self.plan.shape.row_number.map(|at| &values[at]) {
            self.greatest = self.greatest.max(*number);
        }
        Ok(Some(values))
    }

    /// The identity column, and the highest number so far.
    #[must_use]
    pub fn greatest(&self) -> Option<(&str, i64)> {
        let at = self.plan.shape.row_number?;
        Some((&self.plan.columns[at].name, self.greatest))
    }
}
