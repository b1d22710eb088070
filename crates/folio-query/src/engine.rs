//! From text to answer: what a session asks of the engine.
//!
//! ```text
//! Script::parse      text → syntax of each statement
//! Script::compile    bind → optimize → lower: a Statement to keep and run again
//! Statement::query   operators → Rows, which are pulled
//! Statement::execute the same for statements that change: checks → store
//! ```

use std::sync::{Arc, OnceLock};

use folio_types::{ColumnType, Value};
use sqlparser::ast;

use crate::batch::Batch;
use crate::change::{self, ByKey, ChangePlan, Done, InsertPlan, MergeClause, MergePlan, Run};
use crate::error::{Error, Result};
use crate::execute::build;
use crate::execute::context::Context;
use crate::expression::Expr;
use crate::json_rows::JsonRows;
use crate::limits::Limits;
use crate::optimize::{Level, optimize};
use crate::plan::display::display;
use crate::plan::logical::Plan;
use crate::plan::lower::lower;
use crate::plan::physical::Physical;
use crate::rows::{Rows, State, make_unique};
use crate::short::Short;
use crate::signature::Signature;
use crate::source::{Changes, Source};
use crate::sql::bind::{Binder, Reads, bind};
use crate::sql::parse;
use crate::sql::statement::{self, CopyTarget, Returning, Setting};

/// A text read as statements.
pub struct Script {
    text: Arc<str>,
    statements: Vec<ast::Statement>,
}

impl Script {
    /// Reads a text.
    ///
    /// # Errors
    /// `syntax`, with the place; what the limits say.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let parsed = parse::parse(text, limits).map_err(|error| error.in_statement(text))?;
        Ok(Self { text: text.into(), statements: parsed.statements })
    }

    /// How deep a text may nest, from above.
    ///
    /// # Errors
    /// `unsupported` for what no stack could hold.
    pub fn depth(text: &str) -> Result<usize> {
        parse::depth(text)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many statements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// Makes a statement ready to run.
    ///
    /// # Errors
    /// Everything that can be said about it without running it.
    pub fn compile(
        &self,
        index: usize,
        source: &dyn Source,
        given: &Signature,
        (level, limits): (Level, &Limits),
    ) -> Result<Statement> {
        let mut binder = Binder::within(source, given, limits.clone());
        let in_text = |error: Error| error.in_statement(&self.text);
        let bound = bind(&mut binder, &self.statements[index]).map_err(in_text)?;
        // Several statements may share what is given.
        if self.statements.len() == 1 {
            binder.check_parameters()?;
        }
        let reads = binder.reads().clone();
        let body = Body::of(bound, source, level, limits).map_err(in_text)?;
        let (text, version) = (Arc::clone(&self.text), source.version());
        Ok(Statement { text, position: index, body, version, reads })
    }
}

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
    Define(Box<statement::Statement>),
    Control(Kind),
}

/// A query ready to run.
struct Query {
    physical: Physical,
    names: Arc<[String]>,
    types: Arc<[ColumnType]>,
    short: Option<Short>,
    json: Arc<OnceLock<JsonRows>>,
}

impl Body {
    fn of(
        bound: statement::Statement,
        source: &dyn Source,
        level: Level,
        limits: &Limits,
    ) -> Result<Self> {
        use statement::Statement as Bound;
        let physical = |mut plan: Plan| -> Result<Physical> {
            optimize(&mut plan, source, level, limits)?;
            Ok(lower(&plan))
        };
        let ready = |mut query: statement::Query| -> Result<Query> {
            make_unique(&mut query.names);
            let types = query.plan.types().into();
            let physical = physical(query.plan)?;
            let short = Short::of(&physical);
            let json = Arc::default();
            Ok(Query { physical, names: query.names.into(), types, short, json })
        };
        Ok(match bound {
            Bound::Query(query) => Self::Query(ready(query)?),
            Bound::CopyTo { query, target } => Self::CopyTo(ready(query)?, target),
            Bound::Explain { analyze, statement } => {
                let plan = match *statement {
                    Bound::Query(query) => query.plan,
                    Bound::Insert(insert) => insert.input,
                    Bound::Merge(merge) => merge.input,
                    Bound::Update(change) | Bound::Delete(change) => change.input,
                    _ => Plan::OneRow,
                };
                Self::Explain { analyze, plan: physical(plan)? }
            }
            Bound::Insert(insert) => Self::Insert(Box::new(InsertPlan {
                table: insert.table,
                input: physical(insert.input)?,
                numbered: insert.numbered,
                on_conflict: insert.on_conflict,
                rules: insert.rules,
                returning: insert.returning,
            })),
            Bound::Update(change) => Self::Update(Box::new(change_plan(change, source, physical)?)),
            Bound::Delete(change) => Self::Delete(Box::new(change_plan(change, source, physical)?)),
            Bound::Merge(merge) => Self::Merge(Box::new(merge_plan(merge, physical)?)),
            Bound::Begin { read_only } => Self::Control(Kind::Begin { read_only }),
            Bound::Commit => Self::Control(Kind::Commit),
            Bound::Rollback { savepoint } => Self::Control(Kind::Rollback { savepoint }),
            Bound::Savepoint(name) => Self::Control(Kind::Savepoint(name)),
            Bound::Release(name) => Self::Control(Kind::Release(name)),
            Bound::Set(setting, value) => Self::Control(Kind::Set(setting, value)),
            Bound::Show(setting) => Self::Show(setting),
            other => Self::Define(Box::new(other)),
        })
    }
}

fn merge_plan(
    merge: statement::Merge,
    physical: impl Fn(Plan) -> Result<Physical>,
) -> Result<MergePlan> {
    use statement::MergeAction as Action;
    let statement::Merge { table, input, actions, rules } = merge;
    // The rows come with the MERGE.
    let change = |changed: Vec<usize>, rules: statement::Rules| ChangePlan {
        table: Arc::clone(&table),
        input: Physical::OneRow,
        changed,
        rules,
        returning: None,
        by_key: None,
        read: None,
    };
    let clauses = actions.into_iter().map(|action| match action {
        Action::Nothing => MergeClause::Nothing,
        Action::Update(changed) => MergeClause::Update(change(changed, rules.clone())),
        Action::Delete => MergeClause::Delete(change(Vec::new(), statement::Rules::default())),
        Action::Insert(numbered) => MergeClause::Insert(InsertPlan {
            table: Arc::clone(&table),
            input: Physical::OneRow,
            numbered,
            on_conflict: statement::OnConflict::Fail,
            rules: rules.clone(),
            returning: None,
        }),
    });
    let clauses = clauses.collect();
    Ok(MergePlan { input: physical(input)?, table, clauses })
}

fn change_plan(
    change: statement::Change,
    source: &dyn Source,
    physical: impl Fn(Plan) -> Result<Physical>,
) -> Result<ChangePlan> {
    let mut plan = ChangePlan {
        table: change.table,
        input: physical(change.input)?,
        changed: change.changed,
        rules: change.rules,
        returning: change.returning,
        by_key: None,
        read: None,
    };
    plan.by_key = ByKey::of(&plan, source);
    Ok(plan)
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
    /// What is to be done about it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Query(_) | Body::Explain { .. } | Body::Show(_) => Kind::Query,
            Body::CopyTo(..) => Kind::CopyTo,
            Body::Control(kind) => kind.clone(),
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
                statement::Statement::Truncate { tables, .. } => match tables.first() {
                    Some(table) => table,
                    None => return false,
                },
                statement::Statement::DropCollection(collection) => collection,
                statement::Statement::Alter { table, .. } => table,
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
        matches!(self.body, Body::Query(_) | Body::Explain { .. } | Body::Show(_))
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
                query.run(context, &self.text).map_err(in_text)
            }
            Body::Explain { analyze, plan } => explain(*analyze, plan, context).map_err(in_text),
            Body::Show(setting) => show(*setting, context).map_err(in_text),
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
        let run = Run::new(changes, parameters, context);
        let (done, returning) = match &self.body {
            Body::Insert(plan) => (change::insert(plan, &run), plan.returning.as_ref()),
            Body::Update(plan) => (change::update(plan, &run), plan.returning.as_ref()),
            Body::Delete(plan) => (change::delete(plan, &run), plan.returning.as_ref()),
            Body::Merge(plan) => (change::merge(plan, &run), None),
            Body::Define(statement) => match &**statement {
                statement::Statement::Truncate { tables, restart } => {
                    let done = tables.iter().try_fold(Done::default(), |all, table| {
                        let done = change::truncate(table, *restart, &run)?;
                        Ok(Done { count: all.count + done.count, returned: None })
                    });
                    (done, None)
                }
                statement => (change::define(statement, &run), None),
            },
            _ => return Err(Error::invalid("the statement changes nothing")),
        };
        let done = done.map_err(|error| error.in_statement(&self.text))?;
        let rows = returning
            .zip(done.returned)
            .map(|(returning, batch)| answered(returning, batch, run.context()));
        Ok(Outcome { count: done.count, rows })
    }
}

/// The rows of RETURNING.
fn answered(returning: &Returning, batch: Batch, context: &Context) -> Rows {
    let types = returning.outputs.iter().map(|(column, _)| column.ty.clone()).collect();
    let mut names = returning.names.clone();
    make_unique(&mut names);
    Rows {
        names: names.into(),
        types,
        state: State::Batch(Some(batch)),
        context: context.clone(),
        text: "".into(),
        place: None,
        json: Arc::default(),
    }
}

impl Query {
    fn run(&self, context: Context, text: &Arc<str>) -> Result<Rows> {
        let state = match &self.short {
            Some(short) => State::Row(short.run(&context)?),
            None => State::Running(build(&self.physical, &context)?),
        };
        Ok(Rows {
            names: Arc::clone(&self.names),
            types: Arc::clone(&self.types),
            state,
            context,
            text: Arc::clone(text),
            place: None,
            json: Arc::clone(&self.json),
        })
    }
}

fn explain(analyze: bool, plan: &Physical, context: Context) -> Result<Rows> {
    let mut lines: Vec<String> = display(plan).lines().map(str::to_owned).collect();
    if analyze {
        let started = std::time::Instant::now();
        let mut running = build(plan, &context)?;
        let mut count = 0;
        while let Some(batch) = running.next(&context)? {
            count += batch.row_count;
        }
        lines.push(format!("{count} rows in {:.3} ms", started.elapsed().as_secs_f64() * 1000.0));
    }
    let values: Vec<Value> = lines.into_iter().map(Value::Text).collect();
    column_of("plan", ColumnType::Text, &values, context)
}

/// The value of a setting.
fn show(setting: Setting, context: Context) -> Result<Rows> {
    let value = match setting {
        Setting::Threads => context.threads(),
        Setting::Timeout => context.limits().timeout_ms().unwrap_or(0),
        Setting::MemoryLimit => context.limits().memory().unwrap_or(0),
    };
    let value = Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    column_of(setting.name(), ColumnType::Int64, &[value], context)
}

/// Rows of one column.
fn column_of(name: &str, ty: ColumnType, values: &[Value], context: Context) -> Result<Rows> {
    let column = crate::expression::value::to_array(values.iter(), &ty)?;
    let batch = Batch::new(vec![column], values.len());
    Ok(Rows {
        names: vec![name.to_owned()].into(),
        types: vec![ty].into(),
        state: State::Batch(Some(batch)),
        context,
        text: "".into(),
        place: None,
        json: Arc::default(),
    })
}
