//! Binds GROUP BY, and expressions over groups.
//!
//! An expression over groups may use a column that is grouped, or whose table's primary key is
//! grouped: then it has one value in each group (SQL:1999, functional dependencies), taken from
//! the group's first row.

use std::collections::HashMap;
use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_engine::expression::coerce::resolve_type;
use folio_engine::expression::{Column, ColumnId, Expr, Subquery};
use folio_engine::plan::aggregate::{Aggregate, AggregateFunction};
use folio_engine::plan::logical::Plan;
use sqlparser::ast;

use super::expression::place;
use super::order::{in_brackets, item_of};
use super::scope::{Allowed, Item, Scope, ScopeColumn};
use super::{Binder, KEYS_MAX, too_many, unsupported};

/// Maximum number of grouping sets in one SELECT: those of a CUBE of twelve.
const SETS_MAX: usize = 4096;

/// Maximum total number of keys in all grouping sets.
const SETS_SIZE_MAX: usize = 1 << 16;

/// The groups of a SELECT.
#[derive(Default)]
pub(super) struct Groups {
    expressions: Vec<Expr>,
    sets: Option<Vec<Vec<usize>>>,
}

impl Groups {
    /// Whether rows are grouped.
    pub(super) fn are_needed(&self, scope: &Scope<'_>) -> bool {
        let is_plain = self.expressions.is_empty() && self.sets.is_none();
        !is_plain || !scope.aggregates.borrow().is_empty()
    }
}

impl Binder<'_> {
    /// Binds GROUP BY: expressions, positions and names of the SELECT list, grouping sets.
    pub(super) fn groups(
        &mut self,
        by: &ast::GroupByExpr,
        items: &[Item],
        scope: &Scope<'_>,
    ) -> Result<Groups> {
        scope.enter("GROUP BY", Allowed::Columns);
        let mut groups = Groups::default();
        let expressions = match by {
            ast::GroupByExpr::All(_modifiers) => {
                for item in items.iter().filter(|item| !has_aggregate(&item.expression, scope)) {
                    scope.note_group(item.syntax.as_deref().map(in_brackets), &item.expression);
                    groups.expressions.push(item.expression.clone());
                }
                return Ok(groups);
            }
            ast::GroupByExpr::Expressions(expressions, _modifiers) => expressions,
        };
        if let Some(key) = expressions.get(KEYS_MAX) {
            return Err(too_many(KEYS_MAX, "keys in GROUP BY", place(key)));
        }
        let mut sets: Option<Vec<Vec<usize>>> = None;
        for syntax in expressions {
            let element = Element::of(syntax);
            check_sets(element.size(), sets.as_ref().map_or(1, Vec::len), syntax)?;
            let mut alternatives = Vec::new();
            for set in element.sets() {
                let numbers =
                    set.into_iter().map(|key| self.group_number(key, items, scope, &mut groups));
                alternatives.push(numbers.collect::<Result<Vec<usize>>>()?);
            }
            let before = sets.unwrap_or_else(|| vec![Vec::new()]);
            let crossed = before.iter().flat_map(|set| {
                alternatives.iter().map(move |more| [set.as_slice(), more].concat())
            });
            sets = Some(crossed.collect());
        }
        groups.sets = sets.filter(|sets| sets.len() > 1);
        Ok(groups)
    }

    /// The number of a group expression; adds it if it is new.
    fn group_number(
        &mut self,
        syntax: &ast::Expr,
        items: &[Item],
        scope: &Scope<'_>,
        groups: &mut Groups,
    ) -> Result<usize> {
        let (bound, own) = match item_of(syntax, items, scope, "GROUP BY")? {
            Some(item) => (items[item].expression.clone(), items[item].syntax.as_deref()),
            None => match scope.group_of(in_brackets(syntax)) {
                Some(known) => (known, None),
                None => {
                    let bound = resolve_type(self.expression(syntax, scope)?);
                    let own = bound.has_subquery().then_some(syntax);
                    (bound, own)
                }
            },
        };
        if has_aggregate(&bound, scope) {
            return Err(Error::invalid("an aggregate is not allowed in GROUP BY").at(place(syntax)));
        }
        scope.note_group(own.map(in_brackets), &bound);
        if let Some(known) = groups.expressions.iter().position(|known| *known == bound) {
            return Ok(known);
        }
        groups.expressions.push(bound);
        Ok(groups.expressions.len() - 1)
    }

    /// Adds the grouping to the plan, and rewrites expressions over its input to use its groups.
    pub(super) fn grouped(
        &mut self,
        plan: Plan,
        groups: Groups,
        over: Vec<(&mut Expr, Span)>,
        scope: &Scope<'_>,
    ) -> Result<Plan> {
        let has_sets = groups.sets.is_some();
        let inside = plan.column_ids();
        // With grouping sets a column may be null where its source is not. An outer column would be
        // mistaken for one of this query.
        let keeps_id = |column: &Column| !has_sets && inside.contains(&column.id);
        let columns = groups.expressions.into_iter().map(|expression| match &expression {
            Expr::Column(column) if keeps_id(column) => (column.clone(), expression),
            _ => (self.column(&expression.to_string(), expression.ty()), expression),
        });
        let columns: Vec<(Column, Expr)> = columns.collect();
        let mut aggregates = scope.aggregates.borrow().clone();
        check_grouping(&aggregates, &columns)?;
        let mut grouped =
            Grouped { binder: self, groups: &columns, has_sets, scope, first: Vec::new() };
        for (expression, span) in over {
            grouped.rewrite(expression).map_err(|error| error.at(span))?;
        }
        aggregates.append(&mut grouped.first);
        let (input, sets) = (Box::new(plan), groups.sets);
        Ok(Plan::Aggregate { input, groups: columns, aggregates, sets })
    }
}

/// An element of GROUP BY.
enum Element<'s> {
    /// ROLLUP: the parts, then all but the last, and so on down to none.
    Rollup(Vec<&'s [ast::Expr]>),
    /// CUBE: every choice of the parts.
    Cube(Vec<&'s [ast::Expr]>),
    /// GROUPING SETS: keys, or elements with sets of their own.
    Sets(&'s [Vec<ast::Expr>]),
    /// One set.
    Keys(&'s [ast::Expr]),
}

impl<'s> Element<'s> {
    fn of(syntax: &'s ast::Expr) -> Self {
        match syntax {
            ast::Expr::GroupingSets(sets) => Self::Sets(sets),
            ast::Expr::Tuple(keys) => Self::Keys(keys),
            ast::Expr::Function(call) => match parts_of(call) {
                Some((parts, true)) => Self::Rollup(parts),
                Some((parts, false)) => Self::Cube(parts),
                None => Self::Keys(std::slice::from_ref(syntax)),
            },
            key => Self::Keys(std::slice::from_ref(key)),
        }
    }

    /// An element of GROUPING SETS.
    fn within(set: &'s [ast::Expr]) -> Self {
        match set {
            [only] => Self::of(only),
            keys => Self::Keys(keys),
        }
    }

    /// The number of its sets, and at most how many keys one has.
    fn size(&self) -> (usize, usize) {
        let width = |parts: &[&[ast::Expr]]| parts.iter().copied().map(<[_]>::len).sum();
        match self {
            Self::Rollup(parts) => (parts.len() + 1, width(parts)),
            Self::Cube(parts) => {
                let count = 1usize.checked_shl(u32::try_from(parts.len()).unwrap_or(u32::MAX));
                (count.unwrap_or(usize::MAX), width(parts))
            }
            Self::Sets(sets) => {
                let sizes = sets.iter().map(|set| Self::within(set).size());
                sizes.fold((0, 0), |(count, width), (more, own)| {
                    (count.saturating_add(more), width.max(own))
                })
            }
            Self::Keys(keys) => (1, keys.len()),
        }
    }

    /// The keys of each set.
    fn sets(&self) -> Vec<Vec<&'s ast::Expr>> {
        match self {
            Self::Rollup(parts) => {
                let first = |count: usize| parts[..count].iter().copied().flatten().collect();
                (0..=parts.len()).rev().map(first).collect()
            }
            Self::Cube(parts) => {
                let chosen = |bits: usize| {
                    let is_in = |at: usize| bits >> (parts.len() - 1 - at) & 1 == 1;
                    let chosen = parts.iter().enumerate().filter(|(at, _)| is_in(*at));
                    chosen.flat_map(|(_, part)| part.iter()).collect()
                };
                (0..1usize << parts.len()).rev().map(chosen).collect()
            }
            Self::Sets(sets) => sets.iter().flat_map(|set| Self::within(set).sets()).collect(),
            Self::Keys(keys) => vec![keys.iter().collect()],
        }
    }
}

/// The parts of ROLLUP or CUBE, which the parser reads as calls, and whether it is ROLLUP.
fn parts_of(call: &ast::Function) -> Option<(Vec<&[ast::Expr]>, bool)> {
    let [ast::ObjectNamePart::Identifier(name)] = &call.name.0[..] else { return None };
    let ast::FunctionArguments::List(list) = &call.args else { return None };
    let is_rollup = name.value.eq_ignore_ascii_case("rollup");
    let is_known = is_rollup || name.value.eq_ignore_ascii_case("cube");
    if name.quote_style.is_some() || !is_known || call.over.is_some() {
        return None;
    }
    unsupported::plain_call_clauses(call, &name.value, Span::NONE).ok()?;
    Some((list.args.iter().map(part_of).collect::<Option<_>>()?, is_rollup))
}

fn part_of(argument: &ast::FunctionArg) -> Option<&[ast::Expr]> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(part)) => match in_brackets(part) {
            ast::Expr::Tuple(keys) => Some(keys),
            key => Some(std::slice::from_ref(key)),
        },
        _ => None,
    }
}

/// Refuses too many or too wide grouping sets before they are built: those so far are crossed with
/// those of `syntax`.
fn check_sets((count, width): (usize, usize), so_far: usize, syntax: &ast::Expr) -> Result<()> {
    let all = so_far.saturating_mul(count);
    if all <= SETS_MAX && (all == 1 || all.saturating_mul(width) <= SETS_SIZE_MAX) {
        return Ok(());
    }
    Err(Error::unsupported(format!("GROUP BY has more than {SETS_MAX} grouping sets"))
        .at(place(syntax))
        .help("name the sets you need: GROUPING SETS (…)"))
}

/// Whether an expression contains an aggregate of this SELECT.
fn has_aggregate(expression: &Expr, scope: &Scope<'_>) -> bool {
    let aggregates: Vec<ColumnId> =
        scope.aggregates.borrow().iter().map(|(column, _)| column.id).collect();
    expression.columns().iter().any(|column| aggregates.contains(column))
}

/// Checks that the arguments of GROUPING are group expressions.
fn check_grouping(aggregates: &[(Column, Aggregate)], groups: &[(Column, Expr)]) -> Result<()> {
    let calls = aggregates.iter().filter(|(_, a)| a.function == AggregateFunction::Grouping);
    let mut arguments = calls.flat_map(|(_, aggregate)| &aggregate.arguments);
    let is_group = |argument: &Expr| groups.iter().any(|(_, group)| group == argument);
    match arguments.find(|argument| !is_group(argument)) {
        Some(argument) => Err(Error::invalid(format!("grouping({argument}) is not grouped"))
            .help("write an expression of GROUP BY, exactly as it is there")),
        None => Ok(()),
    }
}

/// Rewrites expressions over the input to expressions over the groups.
struct Grouped<'g, 'b, 's> {
    binder: &'g mut Binder<'b>,
    groups: &'g [(Column, Expr)],
    has_sets: bool,
    scope: &'g Scope<'s>,
    /// First values of columns whose table's key is grouped.
    first: Vec<(Column, Aggregate)>,
}

impl Grouped<'_, '_, '_> {
    fn rewrite(&mut self, expression: &mut Expr) -> Result<()> {
        if let Some((column, _)) = self.groups.iter().find(|(_, group)| group == expression) {
            *expression = Expr::Column(column.clone());
            return Ok(());
        }
        if let Expr::Column(column) = expression {
            *column = self.column(column)?;
            return Ok(());
        }
        let mut result = Ok(());
        expression.for_each_part_mut(&mut |part| {
            if result.is_ok() {
                result = self.rewrite(part);
            }
        });
        if let Expr::Subquery(subquery) = expression {
            self.rewrite_within(subquery)?;
        }
        result
    }

    /// Rewrites the outer columns that a subquery reads.
    fn rewrite_within(&mut self, subquery: &mut Subquery) -> Result<()> {
        let Some(plan) = subquery.plan_mut() else { return Ok(()) };
        let mut over: HashMap<ColumnId, Column> = HashMap::new();
        for column in plan.free_columns() {
            let group = Expr::Column(column.clone());
            let found = self.groups.iter().find(|(_, own)| *own == group);
            let replaced = match found {
                Some((column, _)) => column.clone(),
                None => self.column(&column)?,
            };
            over.insert(column.id, replaced);
        }
        plan.for_each_expression_mut(&mut |part| {
            part.replace_columns(&|id| over.get(&id).cloned().map(Expr::Column));
        });
        Ok(())
    }

    /// A column over the groups that is not grouped itself.
    fn column(&mut self, column: &Column) -> Result<Column> {
        let own = self.scope.columns.iter().find(|own| own.column.id == column.id);
        let is_group = self.groups.iter().any(|(group, _)| group.id == column.id);
        let Some(own) = own.filter(|_| !is_group) else { return Ok(column.clone()) };
        if !self.has_one_value(own) {
            let name = &column.name;
            return Err(Error::invalid(format!(
                "column {name:?} is neither grouped nor aggregated"
            ))
            .help(format!("add it to GROUP BY, or write any_value({name})")));
        }
        let argument = Expr::Column(column.clone());
        if let Some((known, _)) = self.first.iter().find(|(_, a)| a.arguments[0] == argument) {
            return Ok(known.clone());
        }
        let first = self.binder.column(&column.name, column.ty.clone());
        let aggregate = Aggregate {
            function: AggregateFunction::First,
            name: Arc::from("any_value"),
            arguments: vec![argument],
            distinct: false,
            filter: None,
            order: Vec::new(),
            ty: column.ty.clone(),
        };
        self.first.push((first.clone(), aggregate));
        Ok(first)
    }

    /// Whether the primary key of a column's table is grouped.
    fn has_one_value(&self, column: &ScopeColumn) -> bool {
        let is_group = |id: &ColumnId| {
            self.groups.iter().any(|(_, group)| matches!(group, Expr::Column(c) if c.id == *id))
        };
        !self.has_sets && column.key.as_ref().is_some_and(|key| key.iter().all(is_group))
    }
}
