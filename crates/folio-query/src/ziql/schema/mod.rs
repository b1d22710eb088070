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

use folio_types::{ErrorCode, TableSchema};

use crate::change::{Run, rebuild};
use crate::error::{Error, Result};
use crate::execute::context::Context;
use crate::expression::Expr;
use crate::source::{Changes, IndexInfo, Source};
use crate::ziql::parse;
pub use show::show as show_schema;
pub(super) use show::{literal, quoted};

/// What turns the tables there are into those a schema declares.
pub struct Migration {
    /// What changes, a line each.
    pub lines: Vec<String>,
    steps: Vec<Step>,
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
    pub fn plan(text: &str, source: &dyn Source, allow_drop: bool) -> Result<Self> {
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
        let run = Run::within(changes, context);
        self.steps.iter().try_for_each(|step| step.apply(&run))
    }
}

impl Step {
    fn apply(&self, run: &Run<'_>) -> Result<()> {
        match self {
            Self::Create { schema, indexes } => {
                run.changes.create(schema)?;
                let create = |index| run.changes.create_index(&schema.name, index);
                indexes.iter().try_for_each(create)
            }
            Self::Drop(name) => run.changes.drop(name),
            Self::Alter { name, schema } => run.changes.alter(name, schema),
            Self::Rebuild { name, schema, columns } => {
                let table = run.changes.relation(name)?;
                let table = table
                    .ok_or_else(|| Error::not_found(format!("there is no struct `{name}`")))?;
                rebuild(&table, schema, columns, run)
            }
            Self::CreateIndex { table, index } => create_index(table, index, run),
            Self::DropIndex(name) => run.changes.drop_index(name),
        }
    }
}

fn create_index(table: &str, index: &IndexInfo, run: &Run<'_>) -> Result<()> {
    let Err(error) = run.changes.create_index(table, index) else { return Ok(()) };
    let relation = run.changes.relation(table)?;
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
