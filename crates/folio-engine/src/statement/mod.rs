//! A statement ready to run: what both languages compile to, and what a session asks of it.
//!
//! ```text
//! Statement::of       bound → optimize → lower (compile): to keep and run again
//! Statement::query    operators → Rows, which are pulled (query)
//! Statement::execute  the same for statements that change: checks → store
//! steps               several statements about entities: each within one transaction
//! ```

mod compile;
mod query;
mod short;
mod steps;

use std::sync::Arc;

use folio_types::Value;

use self::query::{Query, answered, explain, show};
use self::short::Short;
use self::steps::Steps;
use crate::bind::{Binding, Reads, StoredExpressions};
use crate::bound::{self, CopyTarget, Returning, Setting};
use crate::change::{self, ChangePlan, Done, InsertPlan, MergePlan, Run};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::expression::Expr;
use crate::optimize::Level;
use crate::plan::physical::Physical;
use crate::rows::Rows;
use crate::source::{Changes, Source};

/// What a session has to do about a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Read.
    Query,
    /// Read, and write the rows to a file.
    CopyTo,
    /// Write, in a transaction.
    Change,
    /// Begin a transaction.
    Begin {
        /// Whether it only reads.
        read_only: bool,
    },
    /// End it.
    Commit,
    /// End it with nothing done, or return to a savepoint.
    Rollback {
        /// Which.
        savepoint: Option<String>,
    },
    /// Make a savepoint.
    Savepoint(String),
    /// Give one up.
    Release(String),
    /// Set what the session goes by; without a value as it was at first.
    Set(Setting, Option<usize>),
}

/// A statement ready to run, any number of times, by any number of threads.
pub struct Statement {
    text: Arc<str>,
    /// Which of the text's statements it is.
    position: usize,
    body: Body,
    version: u64,
    reads: Reads,
    /// What reads the expressions that tables keep as text.
    stored: &'static dyn StoredExpressions,
}

enum Body {
    Query(Query),
    CopyTo(Query, CopyTarget),
    Explain { analyze: bool, plan: Physical },
    Show(Setting),
    Insert(Box<InsertPlan>),
    Update(Box<ChangePlan>),
    Delete(Box<ChangePlan>),
    Merge(Box<MergePlan>),
    Define(Box<bound::Statement>),
    Control(Kind),
    Steps(Steps),
}

/// What a statement that changes did.
#[derive(Default)]
pub struct Outcome {
    /// Rows inserted, changed or deleted.
    pub count: u64,
    /// The rows of RETURNING.
    pub rows: Option<Rows>,
}

impl Statement {
    /// A bound statement, planned: the one at a position of a text.
    ///
    /// # Errors
    /// `cancelled`, `timeout`.
    pub fn of(
        bound: bound::Statement,
        (text, position): (&Arc<str>, usize),
        binding: &Binding<'_>,
        level: Level,
    ) -> Result<Self> {
        let body = Body::of(bound, binding.source, level, &binding.limits)?;
        let (version, reads) = (binding.source.version(), binding.reads.clone());
        let (text, stored) = (Arc::clone(text), binding.stored());
        Ok(Self { text, position, body, version, reads, stored })
    }

    /// What is to be done about it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Query(_) | Body::Explain { .. } | Body::Show(_) => Kind::Query,
            Body::CopyTo(..) => Kind::CopyTo,
            Body::Control(kind) => kind.clone(),
            Body::Steps(steps) if steps.are_queries() => Kind::Query,
            _ => Kind::Change,
        }
    }

    /// Its text, and that of the statements it came with.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Which of its text's statements it is, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether it changes tables, and nothing else.
    #[must_use]
    pub fn changes_tables(&self) -> bool {
        self.kind() == Kind::Change && !self.is_for_collection()
    }

    /// Whether what it changes is a collection.
    #[must_use]
    pub fn is_for_collection(&self) -> bool {
        let table = match &self.body {
            Body::Insert(plan) => &plan.table,
            Body::Update(plan) | Body::Delete(plan) => &plan.table,
            Body::Merge(plan) => &plan.table,
            Body::Define(statement) => match &**statement {
                bound::Statement::Truncate { tables, .. } => match tables.first() {
                    Some(table) => table,
                    None => return false,
                },
                bound::Statement::DropCollection(collection) => collection,
                bound::Statement::Alter { table, .. } => table,
                _ => return false,
            },
            _ => return false,
        };
        table.kind == crate::source::RelationKind::Collection
    }

    /// Whether running it under a text of other literals shows nobody the difference:
    /// it answers at once, and what it answers does not name its literals.
    #[must_use]
    pub fn is_template(&self) -> bool {
        match &self.body {
            Body::Query(query) => query.short.as_ref().is_some_and(Short::is_template),
            Body::Insert(_) | Body::Update(_) | Body::Delete(_) => true,
            _ => false,
        }
    }

    /// Whether it only reads.
    #[must_use]
    pub fn is_query(&self) -> bool {
        match &self.body {
            Body::Query(_) | Body::Explain { .. } | Body::Show(_) => true,
            Body::Steps(steps) => steps.are_queries(),
            _ => false,
        }
    }

    /// Whether it can be kept and run again. What reads files is bound to what they held.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        !self.reads.files
    }

    /// Whether it still fits what a source shows now.
    ///
    /// # Errors
    /// What the source says.
    pub fn is_current(&self, source: &dyn Source) -> Result<bool> {
        // Asking for a collection looks at it again; its version tells.
        for name in &self.reads.collections {
            source.relation(name)?;
        }
        Ok(!self.reads.files && self.version == source.version())
    }

    /// Whether a failure could leave part of it done: a row or none is whole anyway.
    #[must_use]
    pub fn needs_mark(&self) -> bool {
        match &self.body {
            Body::Insert(insert) => {
                let is_one =
                    matches!(&insert.input, Physical::Values(values) if values.rows.len() == 1);
                let may_fail = |returning: &Returning| {
                    let mut outputs = returning.outputs.iter();
                    outputs.any(|(_, output)| !matches!(output, Expr::Column(_)))
                };
                !is_one
                    || !insert.table.constraints.references.is_empty()
                    || insert.returning.as_ref().is_some_and(may_fail)
            }
            Body::Update(change) | Body::Delete(change) => change.by_key.is_none(),
            _ => true,
        }
    }

    /// The file that COPY … TO writes the rows of its query to.
    #[must_use]
    pub fn copy_target(&self) -> Option<&CopyTarget> {
        match &self.body {
            Body::CopyTo(_, target) => Some(target),
            _ => None,
        }
    }

    /// Runs a query, also that of COPY … TO.
    ///
    /// # Errors
    /// What the source says.
    pub fn query(&self, context: Context) -> Result<Rows> {
        let in_text = |error: Error| error.in_statement(&self.text);
        match &self.body {
            Body::Query(query) | Body::CopyTo(query, _) => {
                query.run(context, &self.text, None).map_err(in_text)
            }
            Body::Explain { analyze, plan } => explain(*analyze, plan, context).map_err(in_text),
            Body::Show(setting) => show(*setting, context).map_err(in_text),
            Body::Steps(steps) => steps.query(&context, &self.text),
            _ => Err(Error::invalid("the statement is not a query")),
        }
    }

    /// Runs a statement that changes. The context, with the same parameters, is made
    /// when it is asked for, and seldom for a statement about one row.
    ///
    /// # Errors
    /// Constraints that would be broken; what the store says. Part of it may be done:
    /// the caller returns to where the transaction was.
    pub fn execute(
        &self,
        changes: &dyn Changes,
        parameters: &[Value],
        context: &dyn Fn() -> Context,
    ) -> Result<Outcome> {
        let run = Run::new((changes, self.stored), parameters, context);
        let (done, returning) = match &self.body {
            Body::Insert(plan) => (change::insert(plan, &run), plan.returning.as_ref()),
            Body::Update(plan) => (change::update(plan, &run), plan.returning.as_ref()),
            Body::Delete(plan) => (change::delete(plan, &run), plan.returning.as_ref()),
            Body::Merge(plan) => (change::merge(plan, &run), None),
            Body::Define(statement) => match &**statement {
                bound::Statement::Truncate { tables, restart } => {
                    let done = tables.iter().try_fold(Done::default(), |all, table| {
                        let done = change::truncate(table, *restart, &run)?;
                        Ok(Done { count: all.count + done.count, returned: None })
                    });
                    (done, None)
                }
                statement => (change::define(statement, &run), None),
            },
            Body::Steps(steps) => {
                let rows = steps.execute((changes, self.stored), &context(), &self.text)?;
                return Ok(Outcome { count: 0, rows: Some(rows) });
            }
            _ => return Err(Error::invalid("the statement changes nothing")),
        };
        let done = done.map_err(|error| error.in_statement(&self.text))?;
        let rows = returning
            .zip(done.returned)
            .map(|(returning, batch)| answered(returning, batch, run.context()));
        Ok(Outcome { count: done.count, rows })
    }
}
