//! Join ordering: finds the cheapest tree of inner joins, by dynamic programming over subsets of
//! the inputs (Selinger et al. 1979; bushy trees too). With many inputs there are too many trees,
//! and the join with the fewest rows comes next (greedy, after Fegaras 1998).
//!
//! The larger side of each join is the left one, since the right one is held in memory. If a key or
//! an index of the right finds the partners of few rows, lookups cost less than reading it;
//! [`super::probe_keys`] decides that.

use super::join_graph::{Graph, INPUTS_MAX, Inputs, is_in, is_unique};
use super::join_scalars::is_dear;
use super::probe_keys;
use crate::expression::Expr;
use crate::plan::logical::Plan;
use crate::plan::terms::{JoinKind, Path, Probe};
use crate::source::{Comparison, Source};

/// Maximum number of inputs for which all trees are compared.
const COMPARED_MAX: usize = 9;

/// Base cost of a cross product, higher than any join.
const PRODUCT_COST: f64 = 1e12;

pub(super) fn apply(plan: &mut Plan, source: &dyn Source) {
    if let Plan::Join { kind: JoinKind::Semi, right, terms, lateral: false, .. } = plan
        && finds_one(right, terms)
    {
        as_inner(plan);
    }
    if is_inner(plan) && count(plan) <= INPUTS_MAX {
        let (mut inputs, mut terms) = (Vec::new(), Vec::new());
        flatten(plan.take(), &mut inputs, &mut terms);
        inputs.iter_mut().for_each(|input| apply(input, source));
        // Conditions with subqueries are the most expensive and come last.
        let (dear, terms) = terms.into_iter().partition(is_dear);
        *plan = order(inputs, terms, source).filtered(dear);
        return;
    }
    plan.for_each_input_mut(&mut |input| apply(input, source));
}

/// Whether the terms of a join find at most one row of its right side.
fn finds_one(right: &Plan, terms: &[Expr]) -> bool {
    let own = right.column_ids();
    let is_one = |side: &Expr| match side {
        Expr::Column(column) => own.contains(&column.id) && is_unique(right, column.id),
        _ => false,
    };
    let finds_one = |term: &Expr| match term {
        Expr::Compare { op: Comparison::Equal, left, right: other, .. } => {
            (is_one(left) && !other.columns().iter().any(|id| own.contains(id)))
                || (is_one(other) && !left.columns().iter().any(|id| own.contains(id)))
        }
        _ => false,
    };
    terms.iter().any(finds_one)
}

/// Turns a semi join that finds at most one row into an inner join. Then either side can come
/// first, and few rows of the right can be looked up on the left.
fn as_inner(plan: &mut Plan) {
    let columns = plan.columns();
    let mut join = plan.take();
    if let Plan::Join { kind, .. } = &mut join {
        *kind = JoinKind::Inner;
    }
    *plan = join.only(columns);
}

fn is_inner(plan: &Plan) -> bool {
    matches!(plan, Plan::Join { kind: JoinKind::Inner, lateral: false, .. })
}

/// The number of inputs of a tree of inner joins.
fn count(plan: &Plan) -> usize {
    match plan {
        Plan::Join { left, right, .. } if is_inner(plan) => count(left) + count(right),
        _ => 1,
    }
}

/// The inputs and conditions of a tree of inner joins.
fn flatten(plan: Plan, inputs: &mut Vec<Plan>, terms: &mut Vec<Expr>) {
    match plan {
        Plan::Join { kind: JoinKind::Inner, left, right, terms: own, lateral: false } => {
            flatten(*left, inputs, terms);
            flatten(*right, inputs, terms);
            terms.extend(own);
        }
        other => inputs.push(other),
    }
}

/// A join tree over some of the inputs.
#[derive(Clone, Copy)]
struct Tree {
    cost: f64,
    rows: f64,
    /// Its left and right side; both are the same for a single input.
    sides: (Inputs, Inputs),
    /// The lookup in the right side, if any.
    probe: Option<Probe>,
}

fn order(inputs: Vec<Plan>, terms: Vec<Expr>, source: &dyn Source) -> Plan {
    let graph = Graph::new(&inputs.iter().collect::<Vec<_>>(), terms, source);
    let costs = Costs { graph: &graph, inputs: &inputs };
    let trees = match inputs.len() {
        count if count <= COMPARED_MAX => costs.compare(),
        _ => costs.greedy(),
    };
    let mut inputs: Vec<Option<Plan>> = inputs.into_iter().map(Some).collect();
    let whole = build(graph.all(), &trees, &graph, &mut inputs);
    whole.filtered(graph.terms_above())
}

/// The best known trees, by their inputs.
type Trees = std::collections::HashMap<Inputs, Tree>;

/// The costs of join trees, in rows read.
struct Costs<'g> {
    graph: &'g Graph,
    inputs: &'g [Plan],
}

impl Costs<'_> {
    fn single(&self, node: usize) -> Tree {
        let own = &self.graph.nodes[node];
        let is_whole =
            !matches!(&self.inputs[node], Plan::Scan(scan) if !matches!(scan.path, Path::Full));
        let cost = if is_whole { own.base } else { own.rows };
        Tree { cost, rows: own.rows, sides: (1 << node, 1 << node), probe: None }
    }

    /// The best tree of every subset of the inputs.
    fn compare(&self) -> Trees {
        let mut trees = Trees::new();
        for node in 0..self.inputs.len() {
            trees.insert(1 << node, self.single(node));
        }
        for whole in 1..=self.graph.all() {
            if whole.count_ones() < 2 {
                continue;
            }
            let mut best: Option<Tree> = None;
            let mut left = (whole - 1) & whole;
            while left > 0 {
                let right = whole ^ left;
                // Each pair of sides once; a cross product only if there is nothing else.
                if left > right && (best.is_none() || self.graph.are_tied(left, right)) {
                    let tree = self.join(trees[&left], left, trees[&right], right);
                    if best.is_none_or(|best| tree.cost < best.cost) {
                        best = Some(tree);
                    }
                }
                left = (left - 1) & whole;
            }
            trees.extend(best.map(|best| (whole, best)));
        }
        trees
    }

    /// A tree that starts with the smallest input and always joins the input next that gives the
    /// fewest rows.
    fn greedy(&self) -> Trees {
        let singles = (0..self.inputs.len()).map(|node| (1 << node, self.single(node)));
        let mut trees: Trees = singles.collect();
        let mut left: Vec<Inputs> = (0..self.inputs.len()).map(|node| 1 << node).collect();
        let smallest = least(left.iter().map(|node| trees[node].rows));
        let mut whole = left.remove(smallest);
        while !left.is_empty() {
            let weight = |tree: Tree| match tree.cost {
                cost if cost >= PRODUCT_COST => PRODUCT_COST + tree.rows,
                _ => tree.rows,
            };
            let join = |node: Inputs| self.join(trees[&whole], whole, trees[&node], node);
            let next = least(left.iter().map(|node| weight(join(*node))));
            let next = left.remove(next);
            let mut tree = join(next);
            // Joins above a cross product are not cross products themselves.
            tree.cost = tree.cost.min(PRODUCT_COST / 2.0);
            whole |= next;
            trees.insert(whole, tree);
        }
        trees
    }

    /// The cheaper way to join two trees.
    fn join(&self, one: Tree, left: Inputs, two: Tree, right: Inputs) -> Tree {
        let rows = (one.rows * two.rows * self.graph.pass_rate(left, right)).max(1.0);
        let (large, small) = if one.rows < two.rows { (two, one) } else { (one, two) };
        let sides = if one.rows < two.rows { (right, left) } else { (left, right) };
        let mut cost = one.cost + two.cost + rows;
        if self.graph.have_equality(left, right) {
            cost += large.rows + 2.0 * small.rows;
        } else {
            cost += one.rows * two.rows;
            if !self.graph.are_tied(left, right) {
                cost += PRODUCT_COST;
            }
        }
        let hashed = Tree { cost, rows, sides, probe: None };
        let probes = [self.probe(one, left, right, rows), self.probe(two, right, left, rows)];
        probes.into_iter().flatten().fold(
            hashed,
            |best, tree| {
                if tree.cost < best.cost { tree } else { best }
            },
        )
    }

    /// The tree that looks up rows of the right, if that is one relation with a suitable key.
    fn probe(&self, tree: Tree, left: Inputs, right: Inputs, rows: f64) -> Option<Tree> {
        let node = (right.count_ones() == 1).then(|| right.trailing_zeros() as usize)?;
        let Plan::Scan(scan) = &self.inputs[node] else { return None };
        let fan_out = |key: &[_]| self.graph.fan_out(left, node, key);
        let (probe, cost) = probe_keys::cheapest(scan, tree.rows, fan_out)?;
        let cost = tree.cost + cost + rows;
        Some(Tree { cost, rows, sides: (left, right), probe: Some(probe) })
    }
}

/// The plan of a tree.
fn build(whole: Inputs, trees: &Trees, graph: &Graph, inputs: &mut [Option<Plan>]) -> Plan {
    if whole.count_ones() == 1 {
        let node = (0..inputs.len()).find(|node| is_in(*node, whole)).unwrap_or_default();
        return inputs[node].take().expect("each input stands in one place");
    }
    let Tree { sides: (left, right), probe, .. } = trees[&whole];
    let terms = graph.terms_between(left, right);
    let left = Box::new(build(left, trees, graph, inputs));
    let mut right = Box::new(build(right, trees, graph, inputs));
    if let (Some(probe), Plan::Scan(scan)) = (probe, &mut *right) {
        scan.path = Path::Probe(probe);
    }
    Plan::Join { kind: JoinKind::Inner, terms, left, right, lateral: false }
}

/// The position of the least value.
fn least(values: impl Iterator<Item = f64>) -> usize {
    let least = values.enumerate().min_by(|left, right| left.1.total_cmp(&right.1));
    least.map_or(0, |(position, _)| position)
}
