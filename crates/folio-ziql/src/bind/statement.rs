//! Binds chains: their statements in order, and the sets they name.

use folio_compute::{Error, Result, Span};
use folio_engine::bound::{Query, Statement, Step, StepBody};
use folio_types::ColumnType;

use super::{Binder, NamedSet};
use crate::ast;

/// Binds a chain.
///
/// # Errors
/// Every error that is known before the chain runs.
pub(crate) fn chain(binder: &mut Binder<'_>, chain: &ast::Chain) -> Result<Statement> {
    let last = chain.steps.len().saturating_sub(1);
    let mut steps = Vec::with_capacity(chain.steps.len());
    for (at, step) in chain.steps.iter().enumerate() {
        steps.push(binder.apart(|binder| binder.step(step, at == last))?);
    }
    Ok(Statement::Steps(steps))
}

impl Binder<'_> {
    fn step(&mut self, step: &ast::Step, is_last: bool) -> Result<Step> {
        let span = step.name.as_ref().map_or(Span::NONE, |name| name.span);
        let (body, entity) = match &step.statement {
            // A statement without a name need not answer a set of entities.
            ast::Statement::Grab(grab) if is_last || step.explain || step.name.is_none() => {
                let (plan, names) = self.grab(grab)?;
                (StepBody::Rows(Query { plan, names }), grab.source.entity.text.clone())
            }
            ast::Statement::Grab(grab) => {
                let (plan, entity) = self.grab_keys(grab, span)?;
                (StepBody::Keys(plan), entity)
            }
            ast::Statement::Add(add) => {
                let plan = self.add(add)?;
                let entity = plan.table.schema.name.clone();
                (StepBody::Add(plan), entity)
            }
            ast::Statement::Update(update) => {
                let plan = self.update(update)?;
                let entity = plan.rows.table.schema.name.clone();
                (StepBody::Update(plan), entity)
            }
            ast::Statement::Delete(delete) => {
                let plan = self.delete(delete)?;
                let entity = plan.rows.table.schema.name.clone();
                (StepBody::Delete(plan), entity)
            }
        };
        let mut set = None;
        if let Some(name) = &step.name {
            if step.explain {
                let error = Error::invalid("a plan is not a set of entities");
                return Err(error.at(name.span).help("leave EXPLAIN or the name out"));
            }
            let key = self.key_type(&entity, name.span)?;
            let number = self.binding.number();
            self.sets.push(NamedSet { name: name.text.clone(), number, entity, key });
            set = Some(number);
        }
        let place = match &step.statement {
            ast::Statement::Grab(grab) => grab.source.entity.span,
            ast::Statement::Add(add) => add.entity.span,
            ast::Statement::Update(update) => update.target.source.entity.span,
            ast::Statement::Delete(delete) => delete.target.source.entity.span,
        };
        Ok(Step { body, explain: step.explain, set, place })
    }

    fn key_type(&mut self, entity: &str, span: Span) -> Result<ColumnType> {
        let entity = self.entity(entity, span)?;
        let key = entity.key(span)?;
        Ok(entity.column_type(key).clone())
    }
}
