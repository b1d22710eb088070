//! Statements ready to run: what both languages compile to.
//!
//! ```text
//! Statement::of       bound → optimize → lower (compile): can be cached and run again
//! Statement::query    operators → Rows, which are pulled (query)
//! Statement::execute  the same for statements that change: checks → store
//! steps               several statements about entities, within one transaction
//! ```

mod compile;
mod query;
mod short;
mod steps;

use std::sync::Arc;

use folio_compute::{Error, Result};
use folio_types::Value;

use self::query::{Query, answered, explain, show};
use self::short::{Given, Short};
use self::steps::Steps;
use crate::bind::{Binding, StoredExpressions};
use crate::bound::{self, Control, CopyTarget, Returning, Setting};
use crate::change::{self, ByKey, ChangePlan, Done, InsertPlan, MergePlan, Run};
use crate::context::Context;
use crate::expression::Expr;
use crate::optimize::Level;
use crate::plan::physical::Physical;
use crate::rows::Rows;
use crate::source::{Changes, Reads, Relation, RelationKind, Source};

/// What a session has to do to run a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// Run a query.
    Query,
    /// Run a query, and write its rows to a file.
    CopyTo,
    /// Run a change, in a transaction.
    Change,
    /// Run it itself.
    Control(&'a Control),
}

/// A statement ready to run any number of times, on any number of threads.
pub struct Statement {
    text: Arc<str>,
    /// Its position among the statements of the text.
    position: usize,
    body: Body,
    version: u64,
    reads: Reads,
    /// Parses expressions that tables store as text.
    stored: &'static dyn StoredExpressions,
}

enum Body {
    Query(Query),
    CopyTo(Query, CopyTarget),
    /// The plan to show, and the plan to time.
    Explain {
        shown: Physical,
        /// Statements that create what its scans lack.
        advice: Vec<String>,
        analyzed: Option<Physical>,
    },
    Show(Setting),
    Insert(Box<InsertPlan>),
    Update(Box<ChangePlan>, Option<ByKey>),
    Delete(Box<ChangePlan>, Option<ByKey>),
    Merge(Box<MergePlan>),
    Define(Box<bound::Statement>),
    Control(Control),
    Steps(Steps),
}

/// The result of a statement that changes.
#[derive(Default)]
pub struct Outcome {
    /// Rows inserted, changed or deleted.
    pub count: u64,
    /// The rows of RETURNING.
    pub rows: Option<Rows>,
}

fn is_collection(relation: &Relation) -> bool {
    relation.kind == RelationKind::Collection
}

impl Statement {
    /// Plans a bound statement, at a position of its text.
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
        let (version, reads) = (binding.source.version(&binding.reads), binding.reads.clone());
        let (text, stored) = (Arc::clone(text), binding.stored());
        Ok(Self { text, position, body, version, reads, stored })
    }

    /// What a session has to do to run it.
    #[must_use]
    pub fn kind(&self) -> Kind<'_> {
        match &self.body {
            Body::Query(_) | Body::Explain { .. } | Body::Show(_) => Kind::Query,
            Body::CopyTo(..) => Kind::CopyTo,
            Body::Control(control) => Kind::Control(control),
            Body::Steps(steps) if steps.are_queries() => Kind::Query,
            _ => Kind::Change,
        }
    }

    /// The whole text that it is part of.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its position among the statements of the text, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether it changes tables, and nothing else.
    #[must_use]
    pub fn changes_tables(&self) -> bool {
        self.kind() == Kind::Change && !self.is_for_collection()
    }

    /// Whether it changes a collection.
    #[must_use]
    pub fn is_for_collection(&self) -> bool {
        let defined = || match &self.body {
            Body::Define(statement) => match &**statement {
                bound::Statement::DropCollection(collection)
                | bound::Statement::CreateFieldIndex { collection, .. }
                | bound::Statement::DropFieldIndex { collection, .. } => Some(&**collection),
                bound::Statement::Alter { table, .. } => Some(&**table),
                _ => None,
            },
            _ => None,
        };
        self.changed_collection().or_else(defined).is_some_and(is_collection)
    }

    /// The collection whose documents it changes, if it does.
    #[must_use]
    pub fn changed_collection(&self) -> Option<&Relation> {
        let table = match &self.body {
            Body::Insert(plan) => &plan.table,
            Body::Update(plan, _) | Body::Delete(plan, _) => &plan.table,
            Body::Merge(plan) => &plan.table,
            Body::Define(statement) => match &**statement {
                bound::Statement::Truncate { tables, .. } => tables.first()?,
                _ => return None,
            },
            _ => return None,
        };
        Some(&**table).filter(|table| is_collection(table))
    }

    /// Whether it can run under a text with other literals. It returns its result at once, and the
    /// result does not mention its literals.
    #[must_use]
    pub fn is_template(&self) -> bool {
        match &self.body {
            Body::Query(query) => query.short.as_ref().is_some_and(Short::is_template),
            Body::Insert(_) | Body::Update(..) | Body::Delete(..) => true,
            _ => false,
        }
    }

    /// Whether it only reads.
    #[must_use]
    pub fn is_query(&self) -> bool {
        self.kind() == Kind::Query
    }

    /// Whether it can be cached. A statement that reads files is bound to their contents.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        !self.reads.files
    }

    /// Whether it is still valid for the current definitions of a source.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn is_current(&self, source: &dyn Source) -> Result<bool> {
        for name in &self.reads.collections {
            source.refresh(name)?;
        }
        Ok(!self.reads.files && self.version == source.version(&self.reads))
    }

    /// Whether a failure could leave it partly done. A change of at most one row cannot.
    #[must_use]
    pub fn needs_savepoint(&self) -> bool {
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
            Body::Update(_, by_key) | Body::Delete(_, by_key) => by_key.is_none(),
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

    /// Runs a query, also that of COPY … TO. `context`, with the same source and parameters, is made
    /// only on demand; statements about one row rarely need it.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn query(
        &self,
        source: &dyn Source,
        parameters: &[Value],
        context: &dyn Fn() -> Context,
    ) -> Result<Rows> {
        let in_text = |error: Error| error.in_statement(&self.text);
        match &self.body {
            Body::Query(query) | Body::CopyTo(query, _) => {
                let given = Given::new(source, parameters, context);
                query.run(&given, &self.text, None).map_err(in_text)
            }
            Body::Explain { shown, advice, analyzed } => {
                explain(shown, advice, analyzed.as_ref(), &context()).map_err(in_text)
            }
            Body::Show(setting) => show(*setting, &context()).map_err(in_text),
            Body::Steps(steps) => steps.query(&context(), &self.text),
            _ => Err(Error::invalid("the statement is not a query")),
        }
    }

    /// Runs a statement that changes. `context`, with the same parameters, is made only on demand;
    /// statements about one row rarely need it.
    ///
    /// # Errors
    /// Constraints that would be broken; errors of the store. Part of it may be done: the caller
    /// rolls back to its savepoint.
    pub fn execute(
        &self,
        changes: &dyn Changes,
        parameters: &[Value],
        context: &dyn Fn() -> Context,
    ) -> Result<Outcome> {
        let run = Run::new((changes, self.stored), parameters, context);
        let (done, returning) = match &self.body {
            Body::Insert(plan) => (change::insert(plan, &run), plan.returning.as_ref()),
            Body::Update(plan, by_key) => {
                (change::update(plan, by_key.as_ref(), &run), plan.returning.as_ref())
            }
            Body::Delete(plan, by_key) => {
                (change::delete(plan, by_key.as_ref(), &run), plan.returning.as_ref())
            }
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
        let rows =
            returning.zip(done.returned).map(|(returning, batch)| answered(returning, batch));
        Ok(Outcome { count: done.count, rows })
    }
}
