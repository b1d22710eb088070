//! Uses existing orders: joins of two inputs in the order of their keys become merge joins, groups
//! and DISTINCT become streaming, and sorts of sorted input are dropped.
//!
//! The rule comes last, when the key or index of every scan is known. An input whose order matters
//! is wrapped in [`Plan::Ordered`], which lowering looks for. Nodes below that preserve the order
//! are marked, so that no hash join partitions its sides there.

use super::estimate;
use crate::expression::Expr;
use crate::plan::join_keys::split_keys;
use crate::plan::logical::Plan;
use crate::plan::order::{Order, in_order_of_both};
use crate::plan::terms::{JoinKind, OrderedBy, Path};
use crate::source::{Comparison, Source};

/// Maximum rows of the right side that a hash join holds in memory to preserve the left's order.
const KEPT_ROWS_MAX: u64 = 200_000;

/// A hash join is better than a merge if it leaves out all but one row in so many.
const NARROWED: f64 = 4.0;

/// Returns whether a sort was dropped, and with it perhaps the only use of its keys. A `repeated`
/// plan runs once for each row of an outer query. There a hash join caches its right side, which
/// is better than reading it in order every time.
pub(super) fn apply(plan: &mut Plan, source: &dyn Source, is_repeated: bool) -> bool {
    let mut orders = Orders { source, is_repeated, has_dropped: false };
    orders.of(plan, false);
    orders.has_dropped
}

struct Orders<'s> {
    source: &'s dyn Source,
    is_repeated: bool,
    has_dropped: bool,
}

impl Orders<'_> {
    /// Makes the inputs of a plan use their orders, and returns the order of the plan. Skips the
    /// order unless `is_wanted`.
    fn of(&mut self, plan: &mut Plan, is_wanted: bool) -> Order {
        match plan {
            Plan::Scan(scan) if is_wanted => Order::of_scan(scan),
            Plan::Project { input, outputs } => self.of(input, is_wanted).projected(outputs),
            Plan::Filter { input, .. } | Plan::Limit { input, .. } => self.of(input, is_wanted),
            Plan::Sort { .. } => self.of_sort(plan),
            Plan::Join { .. } => self.of_join(plan, is_wanted),
            Plan::Aggregate { .. } => self.of_aggregate(plan),
            Plan::Distinct { .. } => self.of_distinct(plan),
            Plan::Follow { input, branches } => {
                self.of(input, false);
                branches.iter_mut().for_each(|branch| self.repeated(&mut branch.body));
                Order::default()
            }
            Plan::Recursive { base, step, .. } => {
                self.of(base, false);
                self.repeated(step);
                Order::default()
            }
            other => {
                for input in other.inputs_mut() {
                    self.of(input, false);
                }
                Order::default()
            }
        }
    }

    /// Handles a plan that runs more than once.
    fn repeated(&mut self, plan: &mut Plan) {
        let before = std::mem::replace(&mut self.is_repeated, true);
        self.of(plan, false);
        self.is_repeated = before;
    }

    fn of_sort(&mut self, plan: &mut Plan) -> Order {
        let Plan::Sort { input, keys } = plan else { return Order::default() };
        let order = self.of(input, true);
        if !order.satisfies(keys) {
            return Order::of_sort(keys);
        }
        mark_required(input);
        self.has_dropped = true;
        *plan = input.take();
        order
    }

    fn of_aggregate(&mut self, plan: &mut Plan) -> Order {
        let Plan::Aggregate { input, groups, sets, .. } = plan else { return Order::default() };
        let may_run = !groups.is_empty() && sets.is_none() && !self.joins_few(input);
        let order = self.of(input, may_run);
        let expressions = groups.iter().map(|(_, group)| group);
        let run = if may_run { order.run_of(expressions.clone()) } else { None };
        let Some(run) = run else { return Order::default() };
        put_in_order(input, run.columns.clone());
        order.grouped(groups, &run)
    }

    /// DISTINCT: streams if rows with equal keys are consecutive.
    fn of_distinct(&mut self, plan: &mut Plan) -> Order {
        let Plan::Distinct { input, on } = plan else { return Order::default() };
        let order = self.of(input, true);
        let columns: Vec<Expr>;
        let expressions = match on {
            Some(on) => &on[..],
            None => {
                columns = input.columns().into_iter().map(Expr::Column).collect();
                &columns
            }
        };
        match order.run_of(expressions.iter()) {
            Some(run) if run.positions.len() == expressions.len() => {
                put_in_order(input, run.columns);
                order
            }
            _ => Order::default(),
        }
    }

    fn of_join(&mut self, plan: &mut Plan, is_wanted: bool) -> Order {
        let Plan::Join { kind, left, right, terms, lateral } = plan else {
            return Order::default();
        };
        let is_looked_up =
            matches!(&**right, Plan::Scan(scan) if matches!(scan.path, Path::Probe(_)));
        let has_equality =
            || terms.iter().any(|term| matches!(term, Expr::Compare { op: Comparison::Equal, .. }));
        let may_merge = !self.is_repeated
            && !is_looked_up
            && (is_wanted || !self.narrows(*kind, left, right))
            && !right.is_narrowed()
            && *kind != JoinKind::NullAnti
            && has_equality();
        let left_order = self.of(left, is_wanted || may_merge);
        if *lateral {
            self.repeated(right);
            return Order::default();
        }
        let right_order = self.of(right, may_merge);
        let merged = || merged((left, &left_order), (right, &right_order), terms);
        let is_kept = match may_merge.then(merged).flatten() {
            Some((left_keys, right_keys)) => {
                put_in_order(left, left_keys);
                put_in_order(right, right_keys);
                true
            }
            None => is_looked_up || self.is_small(right),
        };
        let has_left_alone = matches!(kind, JoinKind::Right | JoinKind::Full);
        if !is_wanted || !is_kept || has_left_alone {
            return Order::default();
        }
        let is_unique = left_order.is_unique && !kind.has_right();
        let order = Order { is_unique, ..left_order };
        if *kind == JoinKind::Inner { order.equated(terms) } else { order }
    }

    /// Whether a join leaves out most rows of a scan of columns by the keys of its right side, which
    /// a merge cannot.
    fn narrows(&self, kind: JoinKind, left: &Plan, right: &Plan) -> bool {
        let Plan::Scan(scan) = left else { return false };
        matches!(kind, JoinKind::Inner | JoinKind::Semi)
            && !scan.relation.columns_indexes.is_empty()
            && matches!(scan.path, Path::Full)
            && estimate::rows(right, self.source) * NARROWED < estimate::rows(left, self.source)
    }

    fn joins_few(&self, plan: &Plan) -> bool {
        match plan {
            Plan::Project { input, .. } | Plan::Filter { input, .. } => self.joins_few(input),
            Plan::Join { kind, left, right, .. } => self.narrows(*kind, left, right),
            _ => false,
        }
    }

    /// Whether a plan certainly has few rows: it reads at most one relation, with a known count.
    fn is_small(&self, plan: &Plan) -> bool {
        match plan {
            Plan::OneRow => true,
            Plan::Scan(scan) => {
                let count = self.source.row_count(&scan.relation).ok().flatten();
                count.is_some_and(|count| count <= KEPT_ROWS_MAX)
            }
            Plan::Values { rows, .. } => rows.len() as u64 <= KEPT_ROWS_MAX,
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Aggregate { input, sets: None, .. }
            | Plan::Ordered { input, .. }
            | Plan::Distinct { input, .. } => self.is_small(input),
            Plan::Join { kind, left, .. } if !kind.has_right() => self.is_small(left),
            _ => false,
        }
    }
}

/// The keys of a merge join in the common order of both sides.
fn merged(
    (left, left_order): (&Plan, &Order),
    (right, right_order): (&Plan, &Order),
    terms: &[Expr],
) -> Option<(Vec<OrderedBy>, Vec<OrderedBy>)> {
    if left_order.keys.is_empty() || right_order.keys.is_empty() {
        return None;
    }
    let split = split_keys(terms, &left.column_ids(), &right.column_ids());
    if split.null_equal || split.pairs.is_empty() {
        return None;
    }
    in_order_of_both(split.pairs, left_order, right_order)
}

/// Wraps a plan whose order matters, with the keys that rely on it.
fn put_in_order(plan: &mut Plan, keys: Vec<OrderedBy>) {
    mark_required(plan);
    if let Plan::Ordered { keys: own, .. } = plan {
        *own = keys;
        return;
    }
    let input = Box::new(plan.take());
    *plan = Plan::Ordered { input, keys };
}

/// Marks the nodes that preserve an order as relied on.
fn mark_required(plan: &mut Plan) {
    match plan {
        Plan::Scan(scan) => scan.is_in_order = true,
        Plan::Project { input, .. }
        | Plan::Filter { input, .. }
        | Plan::Join { left: input, .. } => mark_required(input),
        Plan::Ordered { .. } => {}
        other => {
            let input = Box::new(other.take());
            *other = Plan::Ordered { input, keys: Vec::new() };
        }
    }
}
