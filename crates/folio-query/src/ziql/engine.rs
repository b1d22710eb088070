//! From text to answer: what a session asks of the engine.
//!
//! ```text
//! Ziql::parse      text → syntax of each chain
//! Ziql::compile    bind → optimize → lower: a chain, ready to run
//! Chain::query     a chain that only reads: the rows of its last statement, streamed
//! Chain::execute   a chain that changes: statement by statement, within one
//!                  transaction, and the rows of the last gathered
//! ```

use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, OnceLock};

use folio_types::{ColumnType, Value};

use super::ast::Script;
use super::bind::{
    self, AddPlan, AddRow, Binder, BoundBody, BoundStep, ChangePlan, GivenRows, LinkChange,
    LinkGiven, LinkOperation, MemberValue, NewRow,
};
use super::parse;
use crate::batch::{BATCH_SIZE, Batch};
use crate::change::entity::{
    EntityAdd, EntityChange, EntityLink, EntityRow, Given, GivenEntities, NewEntity, add, delete,
    returning, update,
};
use crate::change::entity_link::{LinkEdit, Linked};
use crate::change::{ChangePlan as RowChange, Run};
use crate::error::{Error, Result};
use crate::execute::context::Context;
use crate::execute::{build, drain};
use crate::json_rows::JsonRows;
use crate::limits::{Held, Limits};
use crate::optimize::{Level, optimize};
use crate::plan::display::display;
use crate::plan::logical::Plan;
use crate::plan::lower::lower;
use crate::plan::physical::Physical;
use crate::rows::{Rows, State};
use crate::short::Short;
use crate::source::{Changes, Source};
use crate::span::Span;

/// A text read as chains of ZiQL.
pub struct Ziql {
    text: Arc<str>,
    script: Script,
}

/// A chain ready to run.
pub struct Chain {
    text: Arc<str>,
    /// The definitions it was bound with, and the collections among them.
    version: u64,
    collections: Vec<String>,
    steps: Vec<Ready>,
}

/// A statement ready to run.
struct Ready {
    body: Body,
    explain: bool,
    set: Option<usize>,
    /// Where it stands.
    place: Span,
}

enum Body {
    Rows(Query),
    Keys(Physical),
    Add(Box<EntityAdd>),
    Update(Box<EntityChange>),
    Delete(Box<EntityChange>),
}

/// A GRAB whose rows are answered.
struct Query {
    plan: Physical,
    names: Arc<[String]>,
    types: Arc<[ColumnType]>,
    short: Option<Short>,
    json: Arc<OnceLock<JsonRows>>,
}

impl Ziql {
    /// Reads a text.
    ///
    /// # Errors
    /// `syntax`, with the place; what the limits say.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self> {
        let text: Arc<str> = text.into();
        let script = parse::script(&text, limits).map_err(|error| error.in_text(&text))?;
        Ok(Self { text, script })
    }

    /// How many chains there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.script.chains.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.script.chains.is_empty()
    }

    /// Makes a chain ready to run.
    ///
    /// # Errors
    /// Everything that can be said about it without running it.
    pub fn compile(
        &self,
        index: usize,
        source: &dyn Source,
        parameters: &[(String, Option<ColumnType>)],
        (level, limits): (Level, &Limits),
    ) -> Result<Chain> {
        let mut binder = Binder::within(source, parameters, limits.clone());
        let bound = bind::chain(&mut binder, &self.script.chains[index])
            .map_err(|error| error.in_ziql(Span::NONE, &self.text))?;
        let compiler = Compiler { source, level, limits };
        let steps = bound.steps.into_iter().map(|step| compiler.step(step));
        let steps = steps.collect::<Result<_>>()?;
        let (version, collections) = (source.version(), binder.collections);
        Ok(Chain { text: Arc::clone(&self.text), version, collections, steps })
    }
}

/// The text in one form, whatever it looked like; what is printed reads back as the same.
impl Display for Ziql {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.script.fmt(out)
    }
}

/// Plans of one chain, on their way to operators.
struct Compiler<'s> {
    source: &'s dyn Source,
    level: Level,
    limits: &'s Limits,
}

impl Compiler<'_> {
    fn physical(&self, mut plan: Plan) -> Result<Physical> {
        optimize(&mut plan, self.source, self.level, self.limits)?;
        Ok(lower(&plan))
    }

    fn step(&self, step: BoundStep) -> Result<Ready> {
        let body = match step.body {
            BoundBody::Rows { plan, names } => {
                let types = plan.types().into();
                let plan = self.physical(plan)?;
                let short = Short::of(&plan);
                Body::Rows(Query { plan, names: names.into(), types, short, json: Arc::default() })
            }
            BoundBody::Keys(plan) => Body::Keys(self.physical(plan)?),
            BoundBody::Add(plan) => Body::Add(Box::new(self.add(plan)?)),
            BoundBody::Update(plan) => Body::Update(Box::new(self.change(plan)?)),
            BoundBody::Delete(plan) => Body::Delete(Box::new(self.change(plan)?)),
        };
        Ok(Ready { body, explain: step.explain, set: step.set, place: step.place })
    }

    fn given(&self, given: GivenRows) -> Result<GivenEntities> {
        let GivenRows { plan, entity, span } = given;
        Ok(GivenEntities { plan: self.physical(plan)?, entity, span })
    }

    fn linked(&self, given: LinkGiven) -> Result<Linked> {
        Ok(match given {
            LinkGiven::Keys(list) => Linked::Keys(list),
            LinkGiven::Rows(given) => Linked::Rows(self.given(given)?),
        })
    }

    fn add(&self, plan: AddPlan) -> Result<EntityAdd> {
        let value = |value: MemberValue| {
            Ok(match value {
                MemberValue::Value(value) => Given::Value(value),
                MemberValue::Entity(given) => Given::Entity(self.given(given)?),
            })
        };
        let row = |row: AddRow| -> Result<EntityRow> {
            let links = row.links.into_iter();
            let links = links.map(|(table, given)| Ok((table, self.linked(given)?)));
            Ok(EntityRow {
                values: row.values.into_iter().map(value).collect::<Result<_>>()?,
                given: row.given,
                links: links.collect::<Result<_>>()?,
                span: row.span,
            })
        };
        let new = |new: NewRow| -> Result<NewEntity> {
            Ok(match new {
                NewRow::Literals(tuples) => NewEntity::Literals(tuples),
                NewRow::Bound(bound) => NewEntity::Given(Box::new(row(*bound)?)),
            })
        };
        let references = plan.table.constraints.references.iter();
        let names = references.flat_map(|reference| &reference.columns);
        Ok(EntityAdd {
            pointing: names.filter_map(|name| plan.table.column_index(name)).collect(),
            table: plan.table,
            key: plan.key,
            rows: plan.rows.into_iter().map(new).collect::<Result<_>>()?,
            tape: plan.tape,
            places: plan.places,
            on_conflict: plan.on_conflict,
            rules: plan.rules,
        })
    }

    fn change(&self, plan: ChangePlan) -> Result<EntityChange> {
        let edit = |operation: LinkOperation| -> Result<LinkEdit> {
            Ok(match operation {
                LinkOperation::Set(given) => LinkEdit::Set(self.linked(given)?),
                LinkOperation::Append(given) => LinkEdit::Append(self.linked(given)?),
                LinkOperation::Remove(given) => LinkEdit::Remove(self.linked(given)?),
                LinkOperation::RemoveAt(list) => LinkEdit::RemoveAt(list),
                LinkOperation::Pop => LinkEdit::Pop,
                LinkOperation::Clear => LinkEdit::Clear,
            })
        };
        let entities = plan.entities.into_iter().map(|given| self.given(given));
        let links = plan.links.into_iter().map(|LinkChange { table, operation, span }| {
            Ok(EntityLink { table, edit: edit(operation)?, span })
        });
        Ok(EntityChange {
            rows: RowChange {
                returning: Some(returning(&plan.table, plan.key)),
                table: plan.table,
                by_key: None,
                read: plan.read,
                input: self.physical(plan.input)?,
                changed: plan.changed,
                rules: plan.rules,
            },
            key: plan.key,
            entities: entities.collect::<Result<_>>()?,
            links: links.collect::<Result<_>>()?,
            places: plan.places,
        })
    }
}

impl Chain {
    /// Whether it only reads.
    #[must_use]
    pub fn is_query(&self) -> bool {
        let reads =
            |step: &Ready| step.explain || matches!(step.body, Body::Rows(_) | Body::Keys(_));
        self.steps.iter().all(reads)
    }

    /// Whether it still fits what a source shows now.
    ///
    /// # Errors
    /// What the source says.
    pub fn is_current(&self, source: &dyn Source) -> Result<bool> {
        // Asking for a collection looks at it again; its version tells.
        for name in &self.collections {
            source.relation(name)?;
        }
        Ok(self.version == source.version())
    }

    /// Runs a chain that only reads. The rows of its last statement are streamed.
    ///
    /// # Errors
    /// What the source says.
    pub fn query(&self, context: &Context) -> Result<Rows> {
        let Some((last, before)) = self.steps.split_last() else { return Err(empty()) };
        let told = |step: &Ready, error: Error| error.in_ziql(step.place, &self.text);
        for step in before {
            self.keep(step, context).map_err(|error| told(step, error))?;
        }
        self.rows(last, context).map_err(|error| told(last, error))
    }

    /// Runs a chain that changes, statement by statement. Part of it may be done when
    /// it fails: the caller returns to where the transaction was.
    ///
    /// # Errors
    /// Constraints that would be broken; what the store says.
    pub fn execute(&self, changes: &dyn Changes, context: &Context) -> Result<Rows> {
        let (mut last, mut context) = (None, context.clone());
        for step in &self.steps {
            // What one statement has read is not what the next sees.
            context = context.anew(&[]);
            let run = Run::within(changes, &context);
            let done = self.change(step, &run);
            last = Some(done.map_err(|error| error.in_ziql(step.place, &self.text))?);
        }
        last.ok_or_else(empty)
    }

    /// Runs one statement to its end, and keeps its keys where they have a name.
    fn change(&self, step: &Ready, run: &Run<'_>) -> Result<Rows> {
        let (keys, table) = match &step.body {
            _ if step.explain => return self.rows(step, run.context()),
            Body::Rows(_) => {
                let mut rows = self.rows(step, run.context())?;
                rows.gather()?;
                return Ok(rows);
            }
            Body::Keys(_) => {
                self.keep(step, run.context())?;
                let answer = (Vec::new(), Arc::default(), Arc::default());
                return Ok(self.answer(answer, step, run.context()));
            }
            Body::Add(plan) => (add(plan, run)?, (&plan.table, plan.key)),
            Body::Update(plan) => (update(plan, run)?, (&plan.rows.table, plan.key)),
            Body::Delete(plan) => (delete(plan, run)?, (&plan.rows.table, plan.key)),
        };
        let keys = if keys.columns.is_empty() { Vec::new() } else { in_pieces(&keys) };
        if let Some(number) = step.set {
            run.context().set_work_table(number, keys.clone());
        }
        let (table, key) = table;
        let names = vec![table.schema.columns[key].name.clone()].into();
        let types: Arc<[ColumnType]> = vec![table.column_type(key).clone()].into();
        Ok(self.answer((keys, names, types), step, run.context()))
    }

    /// Keeps the keys a statement finds.
    fn keep(&self, step: &Ready, context: &Context) -> Result<()> {
        let Body::Keys(plan) = &step.body else { return self.rows(step, context)?.gather() };
        let keys = drain(&mut build(plan, context)?, &mut Held::default(), context)?;
        if let Some(number) = step.set {
            context.set_work_table(number, keys);
        }
        Ok(())
    }

    fn rows(&self, step: &Ready, context: &Context) -> Result<Rows> {
        let plan = match &step.body {
            Body::Rows(Query { plan, .. }) | Body::Keys(plan) => plan,
            Body::Update(change) | Body::Delete(change) => &change.rows.input,
            Body::Add(_) => &Physical::OneRow,
        };
        if step.explain {
            let lines: Vec<Value> =
                display(plan).lines().map(|line| Value::Text(line.to_owned())).collect();
            let column = crate::expression::value::to_array(lines.iter(), &ColumnType::Text)?;
            let batch = Batch::new(vec![column], lines.len());
            let names = vec!["plan".to_owned()].into();
            return Ok(self.answer((vec![batch], names, [ColumnType::Text].into()), step, context));
        }
        let Body::Rows(query) = &step.body else {
            return Err(Error::invalid("the statement changes what it reads"));
        };
        let state = match &query.short {
            Some(short) => State::Row(short.run(context)?),
            None => State::Running(build(plan, context)?),
        };
        Ok(Rows {
            names: Arc::clone(&query.names),
            types: Arc::clone(&query.types),
            state,
            context: context.clone(),
            text: Arc::clone(&self.text),
            place: Some(step.place),
            json: Arc::clone(&query.json),
        })
    }

    fn answer(
        &self,
        (batches, names, types): (Vec<Batch>, Arc<[String]>, Arc<[ColumnType]>),
        step: &Ready,
        context: &Context,
    ) -> Rows {
        let (state, json) = (State::Batches(batches.into_iter()), Arc::default());
        let (context, text, place) = (context.clone(), Arc::clone(&self.text), Some(step.place));
        Rows { names, types, state, context, text, place, json }
    }
}

/// Rows as batches of the usual size: whoever writes them holds as much at a time.
fn in_pieces(whole: &Batch) -> Vec<Batch> {
    let starts = (0..whole.row_count.max(1)).step_by(BATCH_SIZE);
    starts.map(|start| whole.slice(start, BATCH_SIZE.min(whole.row_count - start))).collect()
}

fn empty() -> Error {
    Error::syntax("expected a statement, found the end of the text")
}
