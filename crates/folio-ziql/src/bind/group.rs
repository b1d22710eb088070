//! Binds aggregates: one row over all entities, or one per group.

use std::sync::Arc;

use folio_compute::type_rules::{is_integer, is_numeric};
use folio_compute::{Error, Result, Span, member_type_name};
use folio_engine::expression::coerce::cast_to_if;
use folio_engine::expression::{Column, Expr};
use folio_engine::plan::aggregate::{Aggregate, AggregateFunction};
use folio_engine::plan::follow::LimitPerParent;
use folio_engine::plan::logical::Plan;
use folio_engine::plan::terms::JoinKind;
use folio_engine::source::Comparison;
use folio_types::{ColumnType, Value};

use super::fields::{Fields, Outputs};
use super::grab::{Answer, plain, sort_key};
use super::{Binder, Rows};
use crate::ast::{self, Field, Grab, Nested, Order, Path};

/// The columns that the fields of an aggregated shape may read.
#[derive(Default)]
pub(super) struct Grouping {
    /// Group keys, by path.
    groups: Vec<(String, Column)>,
    aggregates: Vec<(Column, Aggregate)>,
}

/// Whether any field computes an aggregate.
pub(super) fn has_aggregate(fields: &[Field]) -> bool {
    fields.iter().any(|field| matches!(field, Field::Value { value, .. } if aggregates(value)))
}

fn aggregates(syntax: &ast::Expr) -> bool {
    matches!(syntax, ast::Expr::Aggregate(..)) || syntax.operands().into_iter().any(aggregates)
}

/// Group columns and their expressions.
type Groups = Vec<(Column, Expr)>;

impl Binder<'_> {
    /// Binds a GRAB with aggregates or BY.
    pub(super) fn grouped_answer(
        &mut self,
        mut rows: Rows,
        grab: &Grab,
        fields: &[Field],
    ) -> Result<Answer> {
        let mut groups: Groups = Vec::new();
        let mut grouping = Grouping::default();
        for path in &grab.by {
            let value = self.path_value(&mut rows, path)?;
            let column = self.binding.column(&path.text(), value.ty());
            grouping.groups.push((path.text(), column.clone()));
            groups.push((column, value));
        }
        if fields.is_empty() {
            let span = grab.by.first().map_or(Span::NONE, Path::span);
            let error = Error::invalid("BY needs a shape that names the result");
            return Err(error.at(span).help("write `[name, count: COUNT()]`"));
        }
        if !groups.is_empty() {
            // Groups are in the order of their first entity.
            rows.sort(Vec::new());
        }
        let (grouping, outputs) = self.grouped_fields(&mut rows, grouping, fields)?;
        let mut rows = self.aggregated(rows, groups, &grouping);
        self.grouped_order(&mut rows, &grouping, &outputs, &grab.order)?;
        self.limit(&mut rows, grab.limit())?;
        Ok(self.project(rows.plan, outputs))
    }

    /// The body of a branch with aggregates: one object per parent, also for parents whose link
    /// is empty.
    pub(super) fn grouped_branch(
        &mut self,
        mut rows: Rows,
        nested: &Nested,
        fields: &[Field],
        (number, seed_type): (usize, ColumnType),
    ) -> Result<(Plan, (Option<Expr>, Outputs))> {
        if let Some(order) = nested.order.first() {
            let error = Error::invalid("an aggregate is one object, which has no order");
            return Err(error.at(order.path.span()));
        }
        let (grouping, mut outputs) =
            self.grouped_fields(&mut rows, Grouping::default(), fields)?;
        let limit = self.limit_of(&mut rows, nested.limit())?;
        let parent = self.binding.column("parent", ColumnType::Int64);
        let groups = rows.parent.iter().map(|own| (parent.clone(), plain(own))).collect();
        let rows = self.aggregated(rows, groups, &grouping);
        let seed = self.binding.column("parent", ColumnType::Int64);
        let key = self.binding.column("key", seed_type);
        let seeds = Plan::WorkTable { number, columns: vec![seed.clone(), key] };
        let terms = vec![Expr::compare(Comparison::Equal, plain(&seed), plain(&parent))];
        let (left, right) = (Box::new(seeds), Box::new(rows.plan));
        let mut plan = Plan::Join { kind: JoinKind::Left, left, right, terms, lateral: false };
        for (_, output) in &mut outputs {
            output.replace_columns(&|id| none_counted(&grouping, id));
        }
        if let Some((limit, offset)) = limit {
            let parent = seed.clone();
            plan = Plan::LimitPerParent(Box::new(LimitPerParent {
                input: plan,
                parent,
                limit,
                offset,
            }));
        }
        Ok((plan, (Some(plain(&seed)), outputs)))
    }

    /// Binds the fields and collects their aggregates.
    fn grouped_fields(
        &mut self,
        rows: &mut Rows,
        grouping: Grouping,
        fields: &[Field],
    ) -> Result<(Grouping, Outputs)> {
        let around = self.grouping.replace(grouping);
        let mut answer = Fields::default();
        let bound = fields.iter().try_for_each(|field| match field {
            Field::All(span) => {
                let error = Error::invalid("`*` does not go with aggregates or BY").at(*span);
                Err(error.help("name the members to group by"))
            }
            Field::Value { alias, value } => {
                let value = self.value(rows, value)?;
                answer.push(&alias.text, value, alias.span)
            }
            Field::Path { alias, path, nested } => {
                if !nested.is_empty() {
                    let error = Error::invalid("a group takes no nested shape").at(path.span());
                    return Err(error.help("name members after BY, and aggregates"));
                }
                let text = path.text();
                let names = self.answered_as(rows, alias.as_ref(), path, &text)?;
                let value = self.grouped(path)?;
                answer.push_at(&names, value, path.span())
            }
        });
        let grouping = std::mem::replace(&mut self.grouping, around).unwrap_or_default();
        bound.map(|()| (grouping, answer.finish()))
    }

    fn aggregated(&mut self, rows: Rows, groups: Groups, grouping: &Grouping) -> Rows {
        let (input, aggregates) = (Box::new(rows.plan), grouping.aggregates.clone());
        let plan = Plan::Aggregate { input, groups, aggregates, sets: None };
        Rows { plan, natural: Vec::new(), parent: None, ..Rows::new(Plan::OneRow, rows.row) }
    }

    /// Binds an order of groups: by a group key or by the name of a field.
    fn grouped_order(
        &mut self,
        rows: &mut Rows,
        grouping: &Grouping,
        outputs: &Outputs,
        order: &[Order],
    ) -> Result<()> {
        let mut keys = Vec::new();
        for key in order {
            let text = key.path.text();
            let output = outputs.iter().find(|(name, _)| *name == text);
            let group = find_group(grouping, &text);
            let value = output.map(|(_, value)| value.clone()).or(group.map(plain));
            let Some(value) = value else {
                let error = Error::invalid(format!("`{text}` is not grouped"));
                return Err(error.at(key.path.span()).help(format!("add it: `BY {text}`")));
            };
            keys.push(sort_key(value, key.descending));
        }
        rows.sort(keys);
        Ok(())
    }

    /// The group column of a path.
    pub(super) fn grouped(&mut self, path: &Path) -> Result<Expr> {
        let text = path.text();
        let found = self.grouping.as_ref().and_then(|grouping| find_group(grouping, &text));
        found.map(plain).ok_or_else(|| {
            let error = Error::invalid(format!("`{text}` is not grouped")).at(path.span());
            error.help(format!("add it: `BY {text}`, or put it into an aggregate"))
        })
    }

    /// Binds an aggregate, if it is in a place that allows one.
    pub(super) fn aggregate(
        &mut self,
        rows: &mut Rows,
        kind: ast::Aggregate,
        path: Option<&Path>,
        span: Span,
    ) -> Result<Expr> {
        let Some(grouping) = self.grouping.take() else {
            let error = Error::invalid("an aggregate is not allowed here").at(span);
            return Err(error.help("put it into a field of the shape: `[n: COUNT()]`"));
        };
        // The argument is bound over the rows, not over the groups.
        let argument = path.map(|path| self.path_value(rows, path)).transpose();
        self.grouping = Some(grouping);
        let (aggregate, wanted) = aggregate_of(kind, argument?, span)?;
        let column = self.binding.column(&aggregate.name, aggregate.ty.clone());
        let grouping = self.grouping.get_or_insert_default();
        let known = grouping.aggregates.iter().find(|(_, other)| *other == aggregate);
        let column = match known {
            Some((column, _)) => column.clone(),
            None => {
                grouping.aggregates.push((column.clone(), aggregate));
                column
            }
        };
        Ok(cast_to_if(Expr::Column(column), &wanted))
    }
}

fn find_group<'g>(grouping: &'g Grouping, text: &str) -> Option<&'g Column> {
    let found = grouping.groups.iter().find(|(known, _)| known.eq_ignore_ascii_case(text));
    found.map(|(_, column)| column)
}

/// 0 for a count of a parent without rows, for which no group exists.
fn none_counted(grouping: &Grouping, id: folio_engine::expression::ColumnId) -> Option<Expr> {
    use AggregateFunction::{Count, CountAll};
    let found = grouping.aggregates.iter().find(|(column, _)| column.id == id);
    let (column, aggregate) = found?;
    if !matches!(aggregate.function, Count | CountAll) {
        return None;
    }
    let zero = Expr::literal(Value::Integer(0), ColumnType::Int64);
    Some(Expr::Coalesce(vec![plain(column), zero], ColumnType::Int64))
}

/// The aggregate and the type of its result.
fn aggregate_of(
    kind: ast::Aggregate,
    argument: Option<Expr>,
    span: Span,
) -> Result<(Aggregate, ColumnType)> {
    use AggregateFunction as Function;
    let given = argument.as_ref().map(Expr::ty);
    let function = match (kind, &given) {
        (ast::Aggregate::Count, None) => Function::CountAll,
        (ast::Aggregate::Count, Some(_)) => Function::Count,
        (ast::Aggregate::Sum, _) => Function::Sum,
        (ast::Aggregate::Avg, _) => Function::Avg,
        (ast::Aggregate::Min, _) => Function::Min,
        (ast::Aggregate::Max, _) => Function::Max,
    };
    let given = given.unwrap_or(ColumnType::Int64);
    let is_fit = match kind {
        ast::Aggregate::Count => true,
        ast::Aggregate::Sum | ast::Aggregate::Avg => is_numeric(&given),
        ast::Aggregate::Min | ast::Aggregate::Max => given.is_ordered(),
    };
    if !is_fit {
        let ty = member_type_name(&given);
        let name = format!("{function:?}").to_uppercase();
        let error = Error::mismatch(format!("{name} does not take {ty}"));
        return Err(error.at(span));
    }
    let decimal = |scale| ColumnType::Decimal { precision: 38, scale };
    let (ty, wanted) = match (function, given) {
        (Function::Count | Function::CountAll, _) => (ColumnType::Int64, ColumnType::Int64),
        (Function::Sum, ColumnType::Int64) => (decimal(0), ColumnType::Int64),
        (Function::Sum, ty) if is_integer(&ty) => (ColumnType::Int64, ColumnType::Int64),
        (Function::Sum, ColumnType::Decimal { scale, .. }) => (decimal(scale), decimal(scale)),
        (Function::Avg, ColumnType::Decimal { scale, .. }) => {
            (decimal(scale.max(9)), decimal(scale.max(9)))
        }
        (Function::Avg, _) => (ColumnType::Float64, ColumnType::Float64),
        (_, ty) => (ty.clone(), ty),
    };
    let name: Arc<str> = format!("{kind:?}").to_lowercase().into();
    let arguments = argument.into_iter().collect();
    let (distinct, filter, order) = (false, None, Vec::new());
    Ok((Aggregate { function, name, arguments, distinct, filter, order, ty }, wanted))
}
