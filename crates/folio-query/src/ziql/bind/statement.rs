//! Chains: their statements one after the other, and what their names stand for.

use folio_types::ColumnType;

use super::{AddPlan, Binder, ChangePlan, NamedSet};
use crate::error::{Error, Result};
use crate::plan::logical::Plan;
use crate::span::Span;
use crate::ziql::ast::{Chain, Statement, Step};

/// A chain with all its names found and types settled.
pub(crate) struct Bound {
    pub(crate) steps: Vec<BoundStep>,
}

/// A statement of a chain.
pub(crate) struct BoundStep {
    pub(crate) body: BoundBody,
    /// Whether only its plan is asked for.
    pub(crate) explain: bool,
    /// The working table its keys are kept in.
    pub(crate) set: Option<usize>,
    /// Where it stands: the struct that it names.
    pub(crate) place: Span,
}

/// What is done.
pub(crate) enum BoundBody {
    /// Rows, answered.
    Rows {
        plan: Plan,
        names: Vec<String>,
    },
    /// Keys alone: of a statement that is not the last.
    Keys(Plan),
    Add(AddPlan),
    Update(ChangePlan),
    Delete(ChangePlan),
}

/// Binds a chain.
///
/// # Errors
/// Everything that can be said about it without running it.
pub(crate) fn chain(binder: &mut Binder<'_>, chain: &Chain) -> Result<Bound> {
    let last = chain.steps.len().saturating_sub(1);
    let mut steps = Vec::with_capacity(chain.steps.len());
    for (at, step) in chain.steps.iter().enumerate() {
        steps.push(binder.apart(|binder| binder.step(step, at == last))?);
    }
    Ok(Bound { steps })
}

impl Binder<'_> {
    fn step(&mut self, step: &Step, is_last: bool) -> Result<BoundStep> {
        let span = step.name.as_ref().map_or(Span::NONE, |name| name.span);
        let (body, entity) = match &step.statement {
            // What nobody names need not be a set of entities.
            Statement::Grab(grab) if is_last || step.explain || step.name.is_none() => {
                let (plan, names) = self.grab(grab)?;
                (BoundBody::Rows { plan, names }, grab.source.entity.text.clone())
            }
            Statement::Grab(grab) => {
                let (plan, entity) = self.grab_keys(grab, span)?;
                (BoundBody::Keys(plan), entity)
            }
            Statement::Add(add) => {
                let plan = self.add(add)?;
                let entity = plan.table.schema.name.clone();
                (BoundBody::Add(plan), entity)
            }
            Statement::Update(update) => {
                let plan = self.update(update)?;
                let entity = plan.table.schema.name.clone();
                (BoundBody::Update(plan), entity)
            }
            Statement::Delete(delete) => {
                let plan = self.delete(delete)?;
                let entity = plan.table.schema.name.clone();
                (BoundBody::Delete(plan), entity)
            }
        };
        let mut set = None;
        if let Some(name) = &step.name {
            if step.explain {
                let error = Error::invalid("a plan is no set of entities");
                return Err(error.at(name.span).help("leave EXPLAIN or the name out"));
            }
            let key = self.key_type(&entity, name.span)?;
            let number = self.sql.number();
            self.sets.push(NamedSet { name: name.text.clone(), number, entity, key });
            set = Some(number);
        }
        let place = match &step.statement {
            Statement::Grab(grab) => grab.source.entity.span,
            Statement::Add(add) => add.entity.span,
            Statement::Update(update) => update.target.source.entity.span,
            Statement::Delete(delete) => delete.target.source.entity.span,
        };
        Ok(BoundStep { body, explain: step.explain, set, place })
    }

    fn key_type(&mut self, entity: &str, span: Span) -> Result<ColumnType> {
        let entity = self.entity(entity, span)?;
        let key = entity.key(span)?;
        Ok(entity.column_type(key).clone())
    }
}
