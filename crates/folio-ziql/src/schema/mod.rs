//! Schemas: structs declared in a text, and the tables they are.
//!
//! ```text
//! Migration::plan   text → declarations (parse) → tables (draft) → what differs
//!                   from what there is (difference)
//! Migration::apply  the steps, within one transaction
//! show              the structs there are, as the text that declares them
//! ```
//!
//! A struct is a table of its name: `id` (a UUID of version 7), then a column per
//! value and per to-one link, which references its target and is indexed. A to-many
//! link is a table `Struct.link` of rows (source, position, target), found from both
//! sides. The other side of a link is kept nowhere. Tables that no schema declared
//! are left alone.

mod difference;
mod draft;
mod show;

use std::ops::Deref;

use folio_engine::bind::{Binding, StoredExpressions};
use folio_engine::expression::Expr;
use folio_engine::source::{Changes, IndexInfo, Source};
use folio_engine::{Context, Error, Limits, Result, Writing, rebuild};
use folio_types::{ErrorCode, TableSchema};

use crate::parse;
pub(super) use show::{literal, quoted};

/// The tables there are, and what reads the expressions that they keep as text.
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

/// The structs there are, as the text that declares them. `stored` reads what tables keep as
/// text.
///
/// # Errors
/// What the source says.
pub fn show_schema(source: &dyn Source, stored: &'static dyn StoredExpressions) -> Result<String> {
    show::show(Catalog { source, stored })
}

/// What turns the tables there are into those a schema declares.
pub struct Migration {
    /// What changes, a line each.
    pub lines: Vec<String>,
    steps: Vec<Step>,
    stored: &'static dyn StoredExpressions,
}

/// One change of a definition.
enum Step {
    Create { schema: TableSchema, indexes: Vec<IndexInfo> },
    Drop(String),
    Alter { name: String, schema: TableSchema },
    Rebuild { name: String, schema: TableSchema, columns: Vec<Expr> },
    CreateIndex { table: String, index: IndexInfo },
    DropIndex(String),
}

impl Migration {
    /// What a schema changes.
    ///
    /// # Errors
    /// `syntax`; names and types that do not fit; `conflict` for what cannot be
    /// migrated, and for what would be dropped unless `allow_drop`.
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

    /// Does it. Part of it may be done when it fails: the caller returns to where the
    /// transaction was.
    ///
    /// # Errors
    /// Rows that do not fit; what the store says.
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
                let create = |index| changes.create_index(&schema.name, index);
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
    let Err(error) = changes.create_index(table, index) else { return Ok(()) };
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
