//! Lowers logical plans to physical ones: columns become positions, and each node becomes an
//! operator.

use std::collections::HashMap;
use std::sync::Arc;

use super::follow::{
    PhysicalBranch, PhysicalFetch, PhysicalFollow, PhysicalLimitPerParent, PhysicalSemiJoin,
};
use super::group_keys::deciding;
use super::logical::Plan;
use super::lower_join::{lower_join, narrow};
use super::order::column_of;
use super::physical::{self, Physical};
use super::terms::{JoinKind, Nulls, Path, SetKind, SortKey};
use crate::expression::{Column, ColumnId, Expr};
use crate::source::{Comparison, RelationKind};

/// The estimated rows of a plan, where they are known.
pub(crate) type Estimate<'e> = &'e dyn Fn(&Plan) -> Option<u64>;

/// What is around a plan.
#[derive(Default, Clone)]
pub(super) struct Outer<'e> {
    /// Columns of the outer query, by slot.
    columns: Arc<Vec<ColumnId>>,
    /// For EXPLAIN with estimates.
    estimate: Option<Estimate<'e>>,
}

impl<'e> Outer<'e> {
    /// The surroundings of a plan that is run for each row of an outer query.
    pub(super) fn of(&self, columns: &[Column]) -> Self {
        let columns = Arc::new(columns.iter().map(|column| column.id).collect());
        Outer { columns, estimate: self.estimate }
    }

    /// Whether there is an outer query with columns that the plan reads.
    pub(super) fn is_read(&self) -> bool {
        !self.columns.is_empty()
    }
}

/// The positions of the columns of an input, and the outer columns.
pub(super) struct Places<'e> {
    positions: HashMap<ColumnId, u32>,
    outer: Outer<'e>,
}

impl<'e> Places<'e> {
    pub(super) fn of(columns: &[Column], outer: &Outer<'e>) -> Self {
        let positions = columns.iter().zip(0..).map(|(column, position)| (column.id, position));
        Self { positions: positions.collect(), outer: outer.clone() }
    }

    /// Replaces column ids by positions, and lowers subqueries.
    pub(super) fn resolve(&self, expression: &Expr) -> Expr {
        let mut resolved = expression.clone();
        resolved.transform(&mut feed_subquery);
        resolved.transform(&mut |part| match part {
            Expr::Column(column) => match self.positions.get(&column.id) {
                Some(position) => column.id = ColumnId(*position),
                None => {
                    let slot = self.outer.columns.iter().position(|outer| *outer == column.id);
                    // A column found nowhere is a bug, reported when it is evaluated.
                    let slot = slot.unwrap_or(usize::MAX);
                    *part = Expr::Outer(slot, column.ty.clone());
                }
            },
            Expr::Subquery(subquery) => {
                if let Some(plan) = subquery.plan() {
                    let outer = self.outer.of(&plan.free_columns());
                    subquery.body = Box::new(lower_within(plan, &outer));
                }
            }
            _ => {}
        });
        resolved
    }

    pub(super) fn resolve_all(&self, expressions: &[Expr]) -> Vec<Expr> {
        expressions.iter().map(|expression| self.resolve(expression)).collect()
    }

    fn keys(&self, keys: &[SortKey]) -> Vec<SortKey> {
        let resolve =
            |key: &SortKey| SortKey { expression: self.resolve(&key.expression), ..key.clone() };
        keys.iter().map(resolve).collect()
    }
}

/// Lists the outer columns that a subquery reads, by slot. Rules may have changed them since
/// binding.
fn feed_subquery(part: &mut Expr) {
    if let Expr::Subquery(subquery) = part
        && let Some(plan) = subquery.plan()
    {
        subquery.outer = plan.free_columns().into_iter().map(Expr::Column).collect();
    }
}

/// Lowers the plan of a statement.
#[must_use]
pub(crate) fn lower(plan: &Plan) -> Physical {
    lower_within(plan, &Outer::default())
}

/// Lowers the plan of a statement, and notes the rows expected of its scans and joins.
#[must_use]
pub(crate) fn lower_estimated(plan: &Plan, estimate: Estimate<'_>) -> Physical {
    lower_within(plan, &Outer { estimate: Some(estimate), ..Outer::default() })
}

pub(super) fn lower_within(plan: &Plan, outer: &Outer<'_>) -> Physical {
    let lowered = lower_plain(plan, outer);
    match outer.estimate.and_then(|estimate| estimate(plan)) {
        Some(rows) => Physical::Estimated(Arc::new((lowered, rows))),
        None => lowered,
    }
}

fn lower_plain(plan: &Plan, outer: &Outer<'_>) -> Physical {
    let over = |input: &Plan| (lower_within(input, outer), Places::of(&input.columns(), outer));
    match plan {
        Plan::OneRow => Physical::OneRow,
        Plan::Scan(scan) => lower_scan(scan, plan, outer),
        Plan::Values { columns, rows } => {
            let places = Places::of(&[], outer);
            Physical::Values(Arc::new(physical::Values {
                types: columns.iter().map(|column| column.ty.clone()).collect(),
                rows: rows.iter().map(|row| places.resolve_all(row)).collect(),
            }))
        }
        Plan::Project { input, outputs } => {
            let (mut lowered, places) = over(input);
            let expressions: Vec<Expr> =
                outputs.iter().map(|(_, output)| places.resolve(output)).collect();
            narrow(&mut lowered, input, &expressions);
            let input = lowered;
            Physical::Project(Arc::new(physical::Project { input, expressions }))
        }
        Plan::Filter { input, terms } => {
            let (input, places) = over(input);
            let terms = places.resolve_all(terms);
            Physical::Filter(Arc::new(physical::Filter { input, terms }))
        }
        Plan::Join { .. } => lower_join(plan, outer),
        Plan::Ordered { input, .. } => lower_within(input, outer),
        Plan::Aggregate { .. } => lower_aggregate(plan, outer),
        Plan::Window { input, calls } => {
            let types = input.types();
            let (input, places) = over(input);
            let mut calls: Vec<_> = calls.iter().map(|(_, call)| call.clone()).collect();
            for call in &mut calls {
                for expression in call.expressions_mut() {
                    *expression = places.resolve(expression);
                }
            }
            Physical::Window(Arc::new(physical::Window { input, types, calls }))
        }
        Plan::Sort { input, keys } => lower_sort(input, keys, None, None, outer),
        Plan::Limit { input, limit, offset, ties } => match &**input {
            Plan::Sort { input, keys } if ties.is_empty() => {
                lower_sort(input, keys, limit.as_ref(), offset.as_ref(), outer)
            }
            _ => {
                let none = Places::of(&[], outer);
                let resolve = |bound: &Option<Expr>| bound.as_ref().map(|it| none.resolve(it));
                let (limit, offset) = (resolve(limit), resolve(offset));
                let (input, places) = over(input);
                let ties = places.resolve_all(ties);
                Physical::Limit(Arc::new(physical::Limit { input, limit, offset, ties }))
            }
        },
        other => lower_rest(other, outer),
    }
}

fn lower_rest(plan: &Plan, outer: &Outer<'_>) -> Physical {
    match plan {
        Plan::Distinct { input, on } => {
            let columns = input.columns();
            let (places, types) = (Places::of(&columns, outer), input.types());
            let is_in_order = matches!(&**input, Plan::Ordered { keys, .. } if !keys.is_empty());
            let input = lower_within(input, outer);
            let keys = match on {
                Some(on) => places.resolve_all(on),
                None => {
                    places.resolve_all(&columns.into_iter().map(Expr::Column).collect::<Vec<_>>())
                }
            };
            Physical::Distinct(Arc::new(physical::Distinct { input, types, keys, is_in_order }))
        }
        Plan::SetOperation { kind, all, left, right, .. } => {
            lower_set_operation((*kind, *all), left, right, outer)
        }
        Plan::TableFunction { function, arguments, columns } => {
            let places = Places::of(&[], outer);
            Physical::TableFunction(Arc::new(physical::TableFunctionCall {
                function: *function,
                arguments: places.resolve_all(arguments),
                types: columns.iter().map(|column| column.ty.clone()).collect(),
            }))
        }
        Plan::Recursive { number, base, step, distinct, .. } => {
            Physical::Recursive(Arc::new(physical::Recursive {
                number: *number,
                base: lower_within(base, outer),
                step: lower_within(step, outer),
                distinct: *distinct,
                types: plan.types(),
            }))
        }
        Plan::WorkTable { number, .. } => Physical::WorkTable(*number),
        Plan::Shared { query, columns } => {
            let shared = query.physical(&|plan| lower_within(plan, &outer.of(&[])));
            Physical::Shared(shared, query.positions(columns).into())
        }
        other => lower_links(other, outer),
    }
}

/// Without ALL, set operations become DISTINCT and joins on all columns, which can spill.
fn lower_set_operation(
    (kind, all): (SetKind, bool),
    left: &Plan,
    right: &Plan,
    outer: &Outer<'_>,
) -> Physical {
    let types = left.types();
    // By position: `SELECT a, a` has one column in two places, which the other side has not.
    let every_column = |of: &Plan| -> Vec<Expr> {
        let at = |(column, at)| Expr::Column(Column { id: ColumnId(at), ..column });
        of.columns().into_iter().zip(0..).map(at).collect()
    };
    let (keys, right_keys) = (every_column(left), every_column(right));
    let (left, right) = (lower_within(left, outer), lower_within(right, outer));
    let join_kind = match (kind, all) {
        (SetKind::Union, true) => return Physical::Append(Arc::new((left, right))),
        (SetKind::Union, false) => {
            let input = Physical::Append(Arc::new((left, right)));
            return Physical::Distinct(Arc::new(physical::Distinct {
                input,
                types,
                keys,
                is_in_order: false,
            }));
        }
        (_, true) => {
            let matched = physical::MatchedRows { kind, left, right, types };
            return Physical::MatchedRows(Arc::new(matched));
        }
        (SetKind::Intersect, false) => JoinKind::Semi,
        (SetKind::Except, false) => JoinKind::Anti,
    };
    let input = Physical::HashJoin(Arc::new(physical::KeyJoin {
        kind: join_kind,
        left,
        right,
        left_keys: keys.clone(),
        right_keys,
        descending: Vec::new(),
        null_equal: true,
        right_is_constant: false,
        is_in_order: false,
        reads_left_first: false,
        residual: Vec::new(),
        left_types: types.clone(),
        right_types: types.clone(),
    }));
    Physical::Distinct(Arc::new(physical::Distinct { input, types, keys, is_in_order: false }))
}

fn lower_links(plan: &Plan, outer: &Outer<'_>) -> Physical {
    let over = |input: &Plan| (lower_within(input, outer), Places::of(&input.columns(), outer));
    match plan {
        Plan::Fetch(fetch) => {
            let (input, places) = over(&fetch.input);
            Physical::Fetch(Arc::new(PhysicalFetch {
                input,
                number: fetch.number,
                relation: Arc::clone(&fetch.relation),
                columns: fetch.columns.iter().map(|(position, _)| *position).collect(),
                column: fetch.column,
                index: fetch.index,
                key: places.resolve(&fetch.key),
            }))
        }
        Plan::Follow { input, branches } => {
            let (input, places) = over(input);
            let branches = branches.iter().map(|branch| PhysicalBranch {
                number: branch.number,
                key: places.resolve(&branch.key),
                body: lower_within(&branch.body, outer),
                types: branch.body.types(),
                nest: branch.nest,
                output: branch.output.clone(),
            });
            let branches = branches.collect();
            Physical::Follow(Arc::new(PhysicalFollow { input, branches }))
        }
        Plan::LimitPerParent(cut) => {
            let (input, places) = over(&cut.input);
            let parent = places.positions.get(&cut.parent.id).copied().unwrap_or(0) as usize;
            let limit = places.resolve(&cut.limit);
            let offset = cut.offset.as_ref().map(|offset| places.resolve(offset));
            Physical::LimitPerParent(Arc::new(PhysicalLimitPerParent {
                input,
                parent,
                limit,
                offset,
            }))
        }
        Plan::SemiJoin(mark) => {
            let (input, places) = over(&mark.input);
            let key = places.resolve(&mark.key);
            let keys = lower_within(&mark.keys, outer);
            Physical::SemiJoin(Arc::new(PhysicalSemiJoin { input, key, keys }))
        }
        _ => Physical::OneRow,
    }
}

fn lower_scan(scan: &super::logical::Scan, plan: &Plan, outer: &Outer<'_>) -> Physical {
    let places = Places::of(&plan.columns(), outer);
    let columns: Vec<usize> = scan.columns.iter().map(|(position, _)| *position).collect();
    let filters = places.resolve_all(&scan.filters);
    let is_only_filtered = |at: &usize| scan.only_filtered.contains(&scan.columns[*at].1.id);
    let only_filtered = (0..columns.len()).filter(is_only_filtered).collect();
    let relation = Arc::clone(&scan.relation);
    let bound = |bound: &Option<(Expr, bool)>| {
        bound.as_ref().map(|(bound, is_in)| (places.resolve(bound), *is_in))
    };
    if let Path::Key(key) = &scan.path
        && scan.row_number.is_none()
    {
        let key = places.resolve_all(key);
        return Physical::Lookup(Arc::new(physical::Lookup { relation, key, columns, filters }));
    }
    let path = |path: &Path| match path {
        Path::Full | Path::Probe(_) => Path::Full,
        Path::Key(key) => Path::Range {
            index: None,
            equal: places.resolve_all(key),
            from: None,
            to: None,
            nulls: Nulls::Any,
        },
        Path::Keys { index, keys } => Path::Keys { index: *index, keys: places.resolve_all(keys) },
        Path::Range { index, equal, from, to, nulls } => Path::Range {
            index: *index,
            equal: places.resolve_all(equal),
            from: bound(from),
            to: bound(to),
            nulls: *nulls,
        },
    };
    let mut lowered = physical::Scan {
        relation,
        columns,
        with_row_number: scan.row_number.is_some(),
        filters,
        only_filtered,
        path: path(&scan.path),
        reverse: scan.reverse,
        is_in_order: scan.is_in_order,
        limit: scan.limit,
        instead: None,
    };
    let rival = scan.rival.as_ref().filter(|_| matches!(scan.path, Path::Range { .. }));
    if std::iter::once(&scan.path).chain(rival).any(|path| finds_rows(scan, path)) {
        let other = rival.map_or(Path::Full, path);
        let instead = physical::Scan { path: other, ..lowered.clone() };
        lowered.instead = Some(Arc::new(without_implied(instead)));
    }
    Physical::Scan(Arc::new(without_implied(lowered)))
}

/// The scan without the filters that its path guarantees.
fn without_implied(mut scan: physical::Scan) -> physical::Scan {
    let filters = std::mem::take(&mut scan.filters);
    scan.filters = filters.into_iter().filter(|filter| !is_implied(filter, &scan)).collect();
    scan
}

/// Whether an index leads to any number of rows, in any order, which are then looked up.
fn finds_rows(scan: &super::logical::Scan, path: &Path) -> bool {
    let Path::Range { index: Some(index), equal, .. } = path else { return false };
    let info = &scan.relation.indexes[*index];
    let is_one = info.unique && equal.len() == info.columns.len();
    !scan.is_in_order && scan.limit.is_none() && !is_one && !scan.is_covered_by(*index)
}

/// Whether the path of the scan already guarantees a filter.
fn is_implied(filter: &Expr, scan: &physical::Scan) -> bool {
    let Path::Range { index, equal, from, to, .. } = &scan.path else { return false };
    let Some((column, op, value)) = scan.compared(filter) else { return false };
    if scan.relation.kind != RelationKind::Table {
        return false;
    }
    let key = scan.relation.key_columns(*index);
    let is_next = key.get(equal.len()) == Some(&column);
    // Indexes order null last, so null is in a range without an upper bound.
    let has_null = scan.relation.is_nullable(column);
    let is_end = |end: &Option<(Expr, bool)>, is_in: bool| {
        is_next && !has_null && end.as_ref().is_some_and(|end| end.0 == *value && end.1 == is_in)
    };
    match op {
        Comparison::Equal => {
            let mut pairs = key.iter().zip(equal);
            pairs.any(|(own, wanted)| *own == column && wanted == value)
        }
        Comparison::Greater => is_end(from, false),
        Comparison::GreaterOrEqual => is_end(from, true),
        Comparison::Less => is_end(to, false),
        Comparison::LessOrEqual => is_end(to, true),
        _ => false,
    }
}

fn lower_sort(
    input: &Plan,
    keys: &[SortKey],
    limit: Option<&Expr>,
    offset: Option<&Expr>,
    outer: &Outer<'_>,
) -> Physical {
    let places = Places::of(&input.columns(), outer);
    Physical::Sort(Arc::new(physical::Sort {
        input: lower_within(input, outer),
        types: input.types(),
        keys: places.keys(keys),
        limit: limit.map(|limit| places.resolve(limit)),
        offset: offset.map(|offset| places.resolve(offset)),
    }))
}

fn lower_aggregate(plan: &Plan, outer: &Outer<'_>) -> Physical {
    let Plan::Aggregate { input, groups, aggregates, sets } = plan else {
        unreachable!("the caller has looked");
    };
    if let (Plan::Scan(_), [], [(_, only)]) = (&**input, &groups[..], &aggregates[..])
        && only.is_plain_count()
        && sets.is_none()
        && let Physical::Scan(scan) = lower_plain(input, outer)
    {
        return Physical::RowCount(scan);
    }
    let places = Places::of(&input.columns(), outer);
    let run = match &**input {
        Plan::Ordered { keys, .. } => {
            let of_run = |own| keys.iter().any(|(key, _)| *key == own);
            let is_of_run = |group: &Expr| column_of(group).is_some_and(of_run);
            (0..groups.len()).filter(|position| is_of_run(&groups[*position].1)).collect()
        }
        _ => Vec::new(),
    };
    let mut aggregates: Vec<_> =
        aggregates.iter().map(|(_, aggregate)| aggregate.clone()).collect();
    for aggregate in &mut aggregates {
        for expression in aggregate.expressions_mut() {
            *expression = places.resolve(expression);
        }
    }
    let deciding = match sets {
        None => deciding(input, &groups.iter().map(|(_, group)| group).collect::<Vec<_>>()),
        // A set may lack the key that another has.
        Some(_) => (0..groups.len()).collect(),
    };
    Physical::Aggregate(Arc::new(physical::Grouping {
        input: lower_within(input, outer),
        types: input.types(),
        deciding,
        groups: groups.iter().map(|(_, group)| places.resolve(group)).collect(),
        aggregates,
        sets: sets.clone(),
        run,
    }))
}
