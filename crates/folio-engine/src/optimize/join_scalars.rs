//! Turns scalar subqueries with aggregates into joins: grouped by the columns that correlate them,
//! they are computed once for all outer rows (Kim 1982; outer joins for counts of nothing, Ganski
//! and Wong 1987).
//!
//! `l.quantity < (select avg(quantity) from lines i where i.part = l.part)` becomes an outer join
//! with `select part, avg(quantity) … group by part`. If there are few outer rows and an index
//! serves them, the subquery stays and runs for each.

use folio_types::Value;

use super::decorrelate::pull_up;
use super::estimate;
use super::join_graph::is_unique;
use crate::expression::{Column, ColumnId, Expr, Subquery, SubqueryKind};
use crate::plan::aggregate::AggregateFunction;
use crate::plan::logical::Plan;
use crate::plan::terms::JoinKind;
use crate::source::{Comparison, Source};

/// Running a subquery costs about as much as reading this many rows.
const ROWS_PER_RUN: f64 = 200.0;

/// A row that is looked up costs as much as so many that are scanned in columns.
const COLUMNS_ADVANTAGE: f64 = 8.0;

/// Joins the scalar subqueries of filters. Returns whether there were any.
pub(super) fn apply(plan: &mut Plan, source: &dyn Source) -> bool {
    let mut has_changed = false;
    plan.transform(&mut |part| {
        let Plan::Filter { input, terms } = part else { return };
        if !terms.iter().any(is_dear) {
            return;
        }
        let mut joined = Joined { whole: input.take(), known: Vec::new(), source };
        for term in terms.iter_mut() {
            term.transform(&mut |inner| joined.replace(inner));
        }
        has_changed |= !joined.known.is_empty();
        **input = joined.whole;
    });
    has_changed
}

/// Whether a condition runs correlated subqueries.
pub(super) fn is_dear(term: &Expr) -> bool {
    term.any(&mut |part| matches!(part, Expr::Subquery(subquery) if !subquery.outer.is_empty()))
}

/// A plan with the subqueries it is joined with, by number.
struct Joined<'s> {
    whole: Plan,
    known: Vec<(usize, Expr)>,
    source: &'s dyn Source,
}

impl Joined<'_> {
    /// Replaces a subquery by a column of the join, if possible.
    fn replace(&mut self, part: &mut Expr) {
        let Expr::Subquery(subquery) = part else { return };
        if let Some((_, value)) = self.known.iter().find(|(number, _)| *number == subquery.number) {
            *part = value.clone();
            return;
        }
        let Some(grouped) = Grouped::of(subquery, &self.whole.column_ids()) else { return };
        if !grouped.pays(&self.whole, self.source) {
            return;
        }
        let (left, right) = (Box::new(self.whole.take()), Box::new(grouped.plan));
        let (kind, terms) = (JoinKind::Left, grouped.on);
        self.whole = Plan::Join { kind, left, right, terms, lateral: false };
        self.known.push((subquery.number, grouped.value.clone()));
        *part = grouped.value;
    }
}

/// A scalar subquery, grouped by its correlated columns.
struct Grouped {
    plan: Plan,
    /// The conditions that join its groups with the outer rows.
    on: Vec<Expr>,
    /// The columns it is grouped by.
    by: Vec<ColumnId>,
    /// The outer columns that it depends on.
    outer: Vec<ColumnId>,
    /// The scalar, over the columns of the plan.
    value: Expr,
}

impl Grouped {
    fn of(subquery: &Subquery, own: &[ColumnId]) -> Option<Self> {
        let body = subquery.plan()?;
        if subquery.kind != SubqueryKind::Scalar || subquery.outer.is_empty() {
            return None;
        }
        let Plan::Project { input, outputs } = body.clone() else { return None };
        let Plan::Aggregate { input, groups, aggregates, sets: None } = *input else { return None };
        let [(_, value)] = &outputs[..] else { return None };
        if !groups.is_empty() || value.has_subquery() {
            return None;
        }
        let mut inner = *input;
        let on = pull_up(&mut inner)?;
        let inside = inner.column_ids();
        let outer = on.iter().flat_map(Expr::columns).filter(|id| own.contains(id)).collect();
        let groups = on.iter().map(|term| grouped_by(term, own, &inside));
        let mut groups = groups.collect::<Option<Vec<Column>>>()?;
        groups.dedup();
        let mut value = value.clone();
        let made: Vec<ColumnId> = aggregates.iter().map(|(column, _)| column.id).collect();
        if groups.is_empty() || !value.reads_only(&made) {
            return None;
        }
        // For a missing group, counts are 0 and everything else is null.
        value.replace_columns(&|id| {
            let (column, aggregate) = aggregates.iter().find(|(column, _)| column.id == id)?;
            let zero = Expr::literal(Value::Integer(0), column.ty.clone());
            counts(aggregate.function).then(|| {
                Expr::Coalesce(vec![Expr::Column(column.clone()), zero], column.ty.clone())
            })
        });
        let by = groups.iter().map(|column| column.id).collect();
        let groups = groups.into_iter().map(Column::passed_on).collect();
        let input = Box::new(inner);
        let plan = Plan::Aggregate { input, groups, aggregates, sets: None };
        plan.free_columns().is_empty().then_some(Self { plan, on, by, outer, value })
    }

    /// Whether grouping all rows costs less than one run for every outer row.
    fn pays(&self, whole: &Plan, source: &dyn Source) -> bool {
        let runs = estimate::rows(whole, source).min(distinct_rows(whole, &self.outer, source));
        let all = rows_read(&self.plan, source);
        let each = match has_path(&self.plan, &self.by) {
            true if reads_columns(&self.plan) => ROWS_PER_RUN * COLUMNS_ADVANTAGE,
            true => ROWS_PER_RUN,
            false => all,
        };
        runs * each > all + runs
    }
}

/// The most combinations that outer columns can have: a subquery runs once for each.
fn distinct_rows(whole: &Plan, outer: &[ColumnId], source: &dyn Source) -> f64 {
    let rows = |id: &ColumnId| {
        let mut rows = f64::INFINITY;
        whole.clone().transform(&mut |part| {
            if matches!(part, Plan::Scan(_)) && is_unique(part, *id) {
                rows = estimate::rows(part, source);
            }
        });
        rows
    };
    outer.iter().map(rows).product()
}

/// Whether a plan reads a relation that has a copy in columns.
fn reads_columns(plan: &Plan) -> bool {
    let mut found = false;
    plan.clone().transform(&mut |part| {
        found |= matches!(part, Plan::Scan(scan) if !scan.relation.columns_indexes.is_empty());
    });
    found
}

fn counts(function: AggregateFunction) -> bool {
    use AggregateFunction as Kind;
    matches!(function, Kind::CountAll | Kind::Count)
}

/// The inner column that an equality compares with an outer value.
fn grouped_by(term: &Expr, own: &[ColumnId], inside: &[ColumnId]) -> Option<Column> {
    let Expr::Compare { op: Comparison::Equal, left, right } = term else { return None };
    let is_outside = |side: &Expr| side.reads_only(own) && !side.columns().is_empty();
    let column = |side: &Expr| match side.uncast_integer() {
        Expr::Column(column) if inside.contains(&column.id) => Some(column.clone()),
        _ => None,
    };
    match (column(left), column(right)) {
        (Some(column), None) if is_outside(right) => Some(column),
        (None, Some(column)) if is_outside(left) => Some(column),
        _ => None,
    }
}

/// Rows of all relations of a plan.
fn rows_read(plan: &Plan, source: &dyn Source) -> f64 {
    let mut all = 0.0;
    plan.clone().transform(&mut |part| {
        if let Plan::Scan(scan) = part {
            all += estimate::relation_rows(&scan.relation, source);
        }
    });
    all
}

/// Whether a key or an index begins with one of these columns.
fn has_path(plan: &Plan, columns: &[ColumnId]) -> bool {
    let mut found = false;
    plan.clone().transform(&mut |part| {
        let Plan::Scan(scan) = part else { return };
        let indexes = (0..scan.relation.indexes.len()).map(Some);
        for index in std::iter::once(None).chain(indexes) {
            if !scan.can_follow(index) {
                continue;
            }
            let first = scan.key_columns(index).first().and_then(|first| scan.column(*first));
            found |= first.is_some_and(|column| columns.contains(&column.id));
        }
    });
    found
}
