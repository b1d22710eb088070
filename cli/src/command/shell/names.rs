//! What can be named: relations and their columns, for completion and colours.
//!
//! Columns of tables are in the catalog. Those of a collection are inferred from its
//! documents, which takes a while for a large one: they are known once a statement
//! has used it, or at once where it is small.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::{Database, Session};

use super::language::Language;

/// Documents of a collection that are read for the sake of completion.
const COUNT_READ_MAX: u64 = 10_000;

/// Something with columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) columns: Vec<String>,
}

/// All that can be named, and the language that is being typed.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) language: Language,
    pub(super) relations: Vec<Relation>,
}

/// Names that the editor looks at while the shell keeps them true.
#[derive(Debug, Clone)]
pub(super) struct SharedNames(Arc<Mutex<Names>>);

impl SharedNames {
    pub(super) fn new(language: Language) -> Self {
        Self(Arc::new(Mutex::new(Names { language, relations: Vec::new() })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the catalog again. Names are a comfort: what cannot be read is left out.
    pub(super) fn refresh(&self, database: &Database, session: &mut Session) {
        let relations = relations(database, session).unwrap_or_default();
        self.lock().relations = relations;
    }
}

impl Names {
    /// The relation of a name, capitals aside.
    pub(super) fn find(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.name.eq_ignore_ascii_case(name))
    }
}

fn relations(database: &Database, session: &mut Session) -> Result<Vec<Relation>, folio::Error> {
    let mut found: Vec<Relation> = session
        .relations()?
        .into_iter()
        .map(|summary| Relation {
            name: summary.name,
            kind: summary.kind.word(),
            columns: summary.columns,
        })
        .collect();
    for relation in &mut found {
        let is_small = || {
            database
                .collection(&relation.name)
                .and_then(|own| own.count())
                .is_ok_and(|count| count <= COUNT_READ_MAX)
        };
        if relation.columns.is_empty() && (relation.kind != "collection" || is_small()) {
            relation.columns = described(session, &relation.name).unwrap_or_default();
        }
    }
    Ok(found)
}

/// The columns of a relation as DESCRIBE has them.
fn described(session: &mut Session, name: &str) -> Result<Vec<String>, folio::Error> {
    let text = format!("describe \"{}\"", name.replace('"', "\"\""));
    let Some(mut rows) = session.execute(&text, &[])?.rows else { return Ok(Vec::new()) };
    let rows = rows.collect_rows()?;
    let name = |row: Vec<folio::Value>| match row.into_iter().next() {
        Some(folio::Value::Text(name)) => Some(name),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(name).collect())
}
