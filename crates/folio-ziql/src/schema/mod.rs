//! Schemas: structs declared in a text, and their tables.
//!
//! ```text
//! Migration::plan   text → declarations (parse) → tables (draft) → difference from the
//!                   existing tables (difference)
//! Migration::apply  the steps, within one transaction
//! show              the declared structs, as text
//! ```
//!
//! A struct is a table with the same name: `id` (a UUID of version 7), then a column for each
//! value and each to-one link. The column of a link references its target and is indexed. A
//! to-many link is a table `Struct.link` with rows (source, position, target), indexed on both
//! sides. The inverse of a link is not stored. Tables that no schema declares do not change.

mod difference;
mod draft;
mod show;

use std::ops::Deref;

use folio_compute::{Error, Result};
use folio_engine::bind::{Binding, StoredExpressions};
use folio_engine::expression::Expr;
use folio_engine::source::{Changes, IndexInfo, Relation, Source};
use folio_engine::{Context, Limits, Writing, rebuild};
use folio_types::{ErrorCode, TableSchema};

use crate::parse;
use draft::Draft;
pub(super) use show::{literal, quoted};

/// The existing tables, and the parser for the expressions that they store as text.
#[derive(Clone, Copy)]
struct Catalog<'s> {
    source: &'s dyn Source,
    stored: &'static dyn StoredExpressions,
}

impl<'s> Deref for Catalog<'s> {
    type Target = dyn Source + 's;

    fn deref(&self) -> &Self::Target {
        self.source
    }
}

impl<'s> Catalog<'s> {
    fn binding(self) -> Binding<'s> {
        Binding::new(self.source, self.stored, Limits::default())
    }
}

/// Prints the declared structs as a schema. `stored` parses the expressions that tables store
/// as text.
///
/// # Errors
/// Errors of the source.
pub fn show_schema(source: &dyn Source, stored: &'static dyn StoredExpressions) -> Result<String> {
    show::show(Catalog { source, stored })
}

/// The same, if the schema declares everything that the tables of the structs have: SQL can give
/// them columns, constraints and indexes that no schema expresses.
///
/// # Errors
/// Errors of the source.
pub fn whole_schema(
    source: &dyn Source,
    stored: &'static dyn StoredExpressions,
) -> Result<Option<String>> {
    let source = Catalog { source, stored };
    let Ok(text) = show::show(source) else { return Ok(None) };
    let Ok(declared) = parse::declarations(&text) else { return Ok(None) };
    let Ok(drafts) = draft::drafts(&declared, source) else { return Ok(None) };
    let is_declared = |name: &str| drafts.iter().any(|own| own.relation.schema.name == name);
    for Draft { relation, .. } in &drafts {
        let there = source.relation(&relation.schema.name)?;
        let mut references = relation.constraints.references.iter();
        let is_whole = there.is_some_and(|there| is_same(relation, &there))
            && references.all(|reference| is_declared(&reference.table));
        if !is_whole {
            return Ok(None);
        }
    }
    Ok(Some(text))
}

/// Whether a drafted table is the same as one that exists.
fn is_same(drafted: &Relation, there: &Relation) -> bool {
    let (own, other) = (&drafted.schema, &there.schema);
    let has = |index: &IndexInfo| there.indexes.contains(index);
    own.name == other.name
        && own.columns == other.columns
        && own.primary_key == other.primary_key
        && drafted.constraints == there.constraints
        && there.columns_indexes.is_empty()
        && there.indexes.len() == drafted.indexes.len()
        && drafted.indexes.iter().all(has)
}

/// Checks the syntax of a schema, whatever exists.
///
/// # Errors
/// `syntax`, with the place.
pub fn check_declarations(text: &str) -> Result<()> {
    parse::declarations(text).map(drop).map_err(|error| error.in_schema(text))
}

/// A plan that changes the existing tables into those of a schema.
pub struct Migration {
    /// The changes, one line each.
    pub lines: Vec<String>,
    steps: Vec<Step>,
    stored: &'static dyn StoredExpressions,
}

/// One change of the catalog.
enum Step {
    Create { schema: TableSchema, indexes: Vec<IndexInfo> },
    Drop(String),
    Alter { name: String, schema: TableSchema },
    Rebuild { name: String, schema: TableSchema, columns: Vec<Expr> },
    CreateIndex { table: String, index: IndexInfo },
    DropIndex(String),
}

impl Migration {
    /// Plans the changes for a schema.
    ///
    /// # Errors
    /// `syntax`; names and types that do not fit; `conflict` for changes that are not possible,
    /// and for drops unless `allow_drop` is set.
    pub fn plan(
        text: &str,
        source: &dyn Source,
        stored: &'static dyn StoredExpressions,
        allow_drop: bool,
    ) -> Result<Self> {
        let source = Catalog { source, stored };
        let plan = || {
            let declared = parse::declarations(text)?;
            let drafts = draft::drafts(&declared, source)?;
            difference::difference(&drafts, source, allow_drop)
        };
        plan().map_err(|error: Error| error.in_schema(text))
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.steps.is_empty()
    }

    /// Applies the changes. After a failure part of them may be done: the caller rolls back to
    /// its savepoint.
    ///
    /// # Errors
    /// Rows that do not fit; errors of the store.
    pub fn apply(&self, changes: &dyn Changes, context: &Context) -> Result<()> {
        let writing = (changes, self.stored);
        self.steps.iter().try_for_each(|step| step.apply(writing, context))
    }
}

impl Step {
    fn apply(&self, writing: Writing<'_>, context: &Context) -> Result<()> {
        let (changes, _) = writing;
        match self {
            Self::Create { schema, indexes } => {
                changes.create(schema)?;
                let create = |index| changes.create_index(&schema.name, index, &|_, _| Ok(()));
                indexes.iter().try_for_each(create)
            }
            Self::Drop(name) => changes.drop(name),
            Self::Alter { name, schema } => changes.alter(name, schema),
            Self::Rebuild { name, schema, columns } => {
                let table = changes.relation(name)?;
                let table = table
                    .ok_or_else(|| Error::not_found(format!("there is no struct `{name}`")))?;
                rebuild(&table, schema, columns, writing, context)
            }
            Self::CreateIndex { table, index } => create_index(table, index, changes),
            Self::DropIndex(name) => changes.drop_index(name),
        }
    }
}

fn create_index(table: &str, index: &IndexInfo, changes: &dyn Changes) -> Result<()> {
    let created = changes.create_index(table, index, &|_, _| Ok(()));
    let Err(error) = created else { return Ok(()) };
    let relation = changes.relation(table)?;
    let column = index.columns.first().map_or(0, |(column, _)| *column);
    let member = relation.as_ref().and_then(|relation| relation.schema.columns.get(column));
    match member {
        Some(member) if error.code() == ErrorCode::Conflict => Err(error.of_entities(
            format!("entities of `{table}` have the same `{}`", member.name),
            "change them until no two are equal, or leave out `unique`",
        )),
        _ => Err(error),
    }
}
