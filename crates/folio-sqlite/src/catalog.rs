//! The content of a file: the rows of `sqlite_schema`, the tree on the first page.

use std::collections::HashMap;

use crate::definition::{Definition, Reading, read_table, split_at_commas};
use crate::error::Result;
use crate::note::Note;
use crate::pages::Pages;
use crate::record::{Stored, decode};
use crate::tokens::{Token, quoted_name, to_text, tokens};
use crate::tree::{Cursor, Seen};

/// The tables in which SQLite's own modules store the content of virtual tables.
const SHADOWS: [(&str, &[&str]); 4] = [
    ("fts5", &["data", "idx", "content", "docsize", "config"]),
    ("fts4", &["content", "segments", "segdir", "docsize", "stat"]),
    ("fts3", &["content", "segments", "segdir", "docsize", "stat"]),
    ("rtree", &["node", "parent", "rowid"]),
];

/// A table of the file.
#[derive(Debug)]
pub struct SourceTable {
    /// Its name.
    pub name: String,
    pub(crate) root: u32,
    /// `None` if its statement cannot be parsed.
    pub(crate) definition: Option<Definition>,
    /// Whether it stores the content of a virtual table.
    pub is_shadow: bool,
}

/// An index created by a statement.
#[derive(Debug)]
pub struct SourceIndex {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// Whether it is a unique index.
    pub is_unique: bool,
    /// Columns, and whether the order is descending; the error is why it cannot be imported.
    pub columns: Result<Vec<(String, bool)>, &'static str>,
}

/// A view.
#[derive(Debug)]
pub struct SourceView {
    /// Its name.
    pub name: String,
    /// The text after the name, as standard SQL; `None` if it cannot be parsed.
    pub(crate) text: Option<String>,
}

/// Everything in a file.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The tables, in the order of the file.
    pub tables: Vec<SourceTable>,
    /// The indexes created by statements.
    pub indexes: Vec<SourceIndex>,
    /// The views.
    pub views: Vec<SourceView>,
    /// What is not imported: the name of each object, and a sentence.
    pub left_out: Vec<(String, Note)>,
    /// The root of the table with the highest identity numbers.
    sequence_root: Option<u32>,
}

/// A row of `sqlite_schema`.
struct Entry {
    kind: String,
    name: String,
    table: String,
    root: u32,
    sql: String,
}

impl Catalog {
    /// Reads the catalog.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub fn read(pages: &Pages) -> Result<Self> {
        let mut catalog = Self::default();
        let mut seen = Seen::new(pages);
        let mut cursor = Cursor::open(pages, &mut seen, "sqlite_schema", 1, true)?;
        let mut modules = Vec::new();
        while cursor.advance()? {
            let values = decode(cursor.payload()).map_err(|reason| cursor.damaged_row(reason))?;
            let text = |index: usize| match values.get(index) {
                Some(Stored::Text(bytes)) => pages.encoding.decode(bytes).0.into_owned(),
                _ => String::new(),
            };
            let root = match values.get(3) {
                Some(Stored::Integer(root)) => u32::try_from(*root).unwrap_or(u32::MAX),
                _ => 0,
            };
            let entry = Entry { kind: text(0), name: text(1), table: text(2), root, sql: text(4) };
            modules.extend(catalog.take(entry));
        }
        for table in &mut catalog.tables {
            table.is_shadow = is_shadow(&table.name, &modules);
        }
        Ok(catalog)
    }

    /// Adds one entry. Returns a virtual table with its module.
    fn take(&mut self, entry: Entry) -> Option<(String, String)> {
        let tokens = tokens(&entry.sql).unwrap_or_default();
        let Entry { kind, name, table, root, .. } = entry;
        match kind.as_str() {
            "table" if name.eq_ignore_ascii_case("sqlite_sequence") => {
                self.sequence_root = Some(root);
            }
            // Planner statistics and other internal objects of SQLite.
            _ if name.to_ascii_lowercase().starts_with("sqlite_") => {}
            "table" if tokens.get(1).is_some_and(|token| token.is("VIRTUAL")) => {
                let module = module_of(&tokens).unwrap_or_default();
                let text = format!(
                    "virtual table {name:?} left out: its rows come from a module, {module}; the \
                     tables that the module stores can be imported by name"
                );
                self.left_out.push((name.clone(), Note::left_out(text)));
                return Some((name, module));
            }
            "table" => {
                let definition = read_table(&tokens);
                self.tables.push(SourceTable { name, root, definition, is_shadow: false });
            }
            "index" => self.indexes.extend(read_index(name, table, &tokens)),
            "view" => {
                let text = read_view(&tokens);
                self.views.push(SourceView { name, text });
            }
            "trigger" => {
                let text =
                    format!("trigger {name:?} of {table:?} left out: triggers are not supported");
                self.left_out.push((table, Note::left_out(text)));
            }
            _ => {}
        }
        None
    }

    /// The highest row number ever assigned, by table in lower case, for tables that never reuse
    /// one.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub fn sequences(&self, pages: &Pages) -> Result<HashMap<String, i64>> {
        let mut found = HashMap::new();
        let Some(root) = self.sequence_root else { return Ok(found) };
        let mut seen = Seen::new(pages);
        let mut cursor = Cursor::open(pages, &mut seen, "sqlite_sequence", root, true)?;
        while cursor.advance()? {
            let values = decode(cursor.payload()).map_err(|reason| cursor.damaged_row(reason))?;
            if let [Stored::Text(name), Stored::Integer(number), ..] = values[..] {
                found.insert(pages.encoding.decode(name).0.to_lowercase(), number);
            }
        }
        Ok(found)
    }
}

/// `CREATE VIRTUAL TABLE name USING module…`
fn module_of(tokens: &[Token]) -> Option<String> {
    let mut reading = Reading { tokens };
    reading.pass_name(&["TABLE"])?;
    reading.take(&["USING"]).then(|| reading.name())?.map(|name| name.to_ascii_lowercase())
}

/// Whether a table belongs to one of these virtual tables.
fn is_shadow(name: &str, modules: &[(String, String)]) -> bool {
    modules.iter().any(|(owner, module)| {
        let known = SHADOWS.iter().find(|(known, _)| known == module);
        let ending = name.strip_prefix(owner.as_str()).and_then(|rest| rest.strip_prefix('_'));
        known.zip(ending).is_some_and(|((_, endings), ending)| endings.contains(&ending))
    })
}

/// Reads an index; those of constraints have no statement.
fn read_index(name: String, table: String, tokens: &[Token]) -> Option<SourceIndex> {
    let mut reading = Reading { tokens };
    reading.pass_name(&["INDEX"])?;
    reading.take(&["ON"]).then_some(())?;
    reading.name()?;
    let parts = reading.group()?;
    let is_unique = tokens.get(1).is_some_and(|token| token.is("UNIQUE"));
    let mut columns = Ok(Vec::new());
    if reading.take(&["WHERE"]) {
        columns = Err("it covers only part of the rows");
    }
    for part in split_at_commas(parts) {
        let mut part = Reading { tokens: part };
        let Some(column) = part.name() else {
            columns = Err("it indexes an expression");
            break;
        };
        if part.take(&["COLLATE"]) && !part.name()?.eq_ignore_ascii_case("BINARY") {
            columns = Err("it has a collation of its own");
        }
        let is_descending = part.take(&["DESC"]);
        part.take(&["ASC"]);
        if part.peek().is_some() {
            columns = Err("it indexes an expression");
        }
        if let Ok(columns) = &mut columns {
            columns.push((column, is_descending));
        }
    }
    Some(SourceIndex { name, table, is_unique, columns })
}

/// Reads the text of a view after its name.
fn read_view(tokens: &[Token]) -> Option<String> {
    let mut reading = Reading { tokens };
    reading.pass_name(&["VIEW"])?;
    Some(to_text(reading.tokens))
}

impl SourceView {
    /// The statement that creates it here.
    #[must_use]
    pub fn statement(&self) -> Option<String> {
        Some(format!("CREATE VIEW {} {}", quoted_name(&self.name), self.text.as_ref()?))
    }
}
