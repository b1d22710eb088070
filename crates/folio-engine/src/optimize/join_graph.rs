//! The inputs of a tree of inner joins and the conditions between them: estimates the rows of any
//! subset.
//!
//! Columns that must be equal form an equivalence class, so that joins are possible in any order
//! that the classes allow, not only as written. A class has as many values as the table whose key
//! it contains has rows. Two inputs that share a class pair as if each value of the smaller side
//! occurred on the larger one (Selinger et al. 1979). Equalities on several columns of one table
//! have no more distinct values than it has rows.

use super::estimate;
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::{Plan, Scan};
use crate::source::{Comparison, RelationKind, Source};

/// A set of inputs, one bit each.
pub(super) type Inputs = u128;

/// Maximum number of inputs.
pub(super) const INPUTS_MAX: usize = 128;

/// Distinct values of an unknown column, as a share of its rows.
const UNKNOWN_DISTINCT: f64 = 0.1;

/// An input of the join.
pub(super) struct Node {
    /// Its columns.
    pub columns: Vec<ColumnId>,
    /// Its rows.
    pub rows: f64,
    /// Rows of the relation below, before filters.
    pub base: f64,
}

/// A column in an equivalence class.
struct Member {
    node: usize,
    column: Column,
    /// The number of values, if the column is a key.
    unique: Option<f64>,
}

/// An equivalence class of columns, at most one for each input.
#[derive(Default)]
struct Class {
    members: Vec<Member>,
    inputs: Inputs,
}

impl Class {
    fn of(&self, part: Inputs) -> impl Iterator<Item = &Member> + Clone {
        self.members.iter().filter(move |member| is_in(member.node, part))
    }

    fn stands_in(&self, left: Inputs, right: Inputs) -> bool {
        self.inputs & left != 0 && self.inputs & right != 0
    }
}

/// A condition that is not an equality of two columns.
struct Other {
    term: Expr,
    inputs: Inputs,
    selectivity: f64,
}

/// The inputs and the conditions between them.
pub(super) struct Graph {
    /// The inputs.
    pub nodes: Vec<Node>,
    classes: Vec<Class>,
    others: Vec<Other>,
    /// The equalities as written, for joins that use exactly these.
    written: Vec<Expr>,
}

impl Graph {
    /// The graph of these inputs and conditions.
    pub(super) fn new(inputs: &[&Plan], terms: Vec<Expr>, source: &dyn Source) -> Self {
        let nodes = inputs.iter().map(|input| {
            let estimate::Sizes { rows, base } = estimate::sizes(input, source);
            Node { columns: input.column_ids(), rows, base }
        });
        let mut graph = Self {
            nodes: nodes.collect(),
            classes: Vec::new(),
            others: Vec::new(),
            written: Vec::new(),
        };
        for term in terms {
            graph.enter(term, inputs);
        }
        graph
    }

    fn enter(&mut self, term: Expr, inputs: &[&Plan]) {
        if let Expr::Compare { op: Comparison::Equal, left, right } = &term
            && let (Expr::Column(left), Expr::Column(right)) = (&**left, &**right)
            && left.ty == right.ty
            && let (Some(one), Some(two)) = (self.node_of(left.id), self.node_of(right.id))
            && one != two
        {
            // A unique column has as many values as the relation has rows before filters. That
            // number is known; estimating the input again would double the work with each level.
            let member = |node: usize, column: &Column| Member {
                node,
                column: column.clone(),
                unique: is_unique(inputs[node], column.id).then_some(self.nodes[node].base),
            };
            if self.unite(member(one, left), member(two, right)) {
                self.written.push(term);
                return;
            }
        }
        let read = term.columns();
        let reads = |node: &Node| node.columns.iter().any(|column| read.contains(column));
        let mut inputs = 0;
        for (position, node) in self.nodes.iter().enumerate() {
            inputs |= Inputs::from(reads(node)) << position;
        }
        // Conditions on one input that OR branches imply are already applied to it.
        let selectivity = match &term {
            Expr::Or(_) => estimate::selectivity(&term).max(0.5),
            term => estimate::selectivity(term),
        };
        self.others.push(Other { term, inputs, selectivity });
    }

    fn node_of(&self, column: ColumnId) -> Option<usize> {
        self.nodes.iter().position(|node| node.columns.contains(&column))
    }

    /// Merges the classes of two columns. Fails if an input would have two columns in one class,
    /// since their equality needs its own condition.
    fn unite(&mut self, left: Member, right: Member) -> bool {
        let (one, two) = (self.class_of(&left), self.class_of(&right));
        if one == two && one.is_some() {
            return true;
        }
        let inputs = |class: Option<usize>, member: &Member| {
            class.map_or(1 << member.node, |class| self.classes[class].inputs)
        };
        if inputs(one, &left) & inputs(two, &right) != 0 {
            return false;
        }
        let (one, two) = (self.class_with(one, left), self.class_with(two, right));
        let more = std::mem::take(&mut self.classes[two]);
        self.classes[one].inputs |= more.inputs;
        self.classes[one].members.extend(more.members);
        true
    }

    fn class_of(&self, member: &Member) -> Option<usize> {
        let has = |class: &Class| class.members.iter().any(|own| own.column == member.column);
        self.classes.iter().position(has)
    }

    /// Adds a column to the class, or to a new one.
    fn class_with(&mut self, class: Option<usize>, member: Member) -> usize {
        class.unwrap_or_else(|| {
            self.classes.push(Class { inputs: 1 << member.node, members: vec![member] });
            self.classes.len() - 1
        })
    }

    /// All inputs.
    pub(super) fn all(&self) -> Inputs {
        Inputs::MAX.checked_shr((INPUTS_MAX - self.nodes.len()) as u32).unwrap_or(0)
    }

    /// The classes that have columns in both sets.
    fn between(&self, left: Inputs, right: Inputs) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(move |class| class.stands_in(left, right))
    }

    /// Other conditions that need columns of both sets.
    fn decided(&self, left: Inputs, right: Inputs) -> impl Iterator<Item = &Other> {
        self.others.iter().filter(move |other| {
            let covered = |part: Inputs| other.inputs & !part == 0;
            covered(left | right) && !covered(left) && !covered(right)
        })
    }

    /// Whether a class or condition connects two sets.
    pub(super) fn are_tied(&self, left: Inputs, right: Inputs) -> bool {
        self.between(left, right).next().is_some() || self.decided(left, right).next().is_some()
    }

    /// Whether an equality connects two sets.
    pub(super) fn have_equality(&self, left: Inputs, right: Inputs) -> bool {
        self.between(left, right).next().is_some()
            || self.decided(left, right).any(|other| is_equality(&other.term))
    }

    /// The share of all pairs of two sets' rows that passes.
    pub(super) fn pass_rate(&self, left: Inputs, right: Inputs) -> f64 {
        let (mut values, mut joining) = (1.0, 0);
        let mut covering = left | right;
        for class in self.between(left, right) {
            joining += 1;
            let least = |part: Inputs| {
                let distinct = class.of(part).map(|member| self.distinct(class, member));
                distinct.fold(f64::INFINITY, f64::min)
            };
            values *= least(left).max(least(right)).max(1.0);
            covering &= class.inputs;
        }
        if joining > 1 {
            for (position, node) in self.nodes.iter().enumerate() {
                if is_in(position, covering) {
                    values = values.min(node.base.max(1.0));
                }
            }
        }
        let rows = |part: Inputs| {
            let within = self.nodes.iter().enumerate().filter(|(node, _)| is_in(*node, part));
            within.map(|(_, node)| node.rows).fold(1.0, f64::max)
        };
        let others = self.decided(left, right).map(|other| match is_equality(&other.term) {
            true => 1.0 / rows(left).max(rows(right)),
            false => other.selectivity,
        });
        others.product::<f64>() / values
    }

    /// The number of distinct values of a column.
    fn distinct(&self, class: &Class, member: &Member) -> f64 {
        if let Some(unique) = member.unique {
            return unique;
        }
        let base = self.nodes[member.node].base;
        let keys = class.members.iter().filter_map(|other| other.unique);
        match keys.fold(f64::INFINITY, f64::min) {
            least if least.is_finite() => least.min(base),
            _ => base * UNKNOWN_DISTINCT,
        }
    }

    /// How many rows of an input one value of each of these columns finds; `None` unless each
    /// column is in a class with a column of the left.
    pub(super) fn fan_out(&self, left: Inputs, node: usize, key: &[ColumnId]) -> Option<f64> {
        let mut values = 1.0;
        for column in key {
            let mut classes = self.between(left, 1 << node);
            let has = |member: &Member| member.node == node && member.column.id == *column;
            let class = classes.find(|class| class.members.iter().any(has))?;
            let member = class.members.iter().find(|member| has(member))?;
            values *= self.distinct(class, member);
        }
        let base = self.nodes[node].base;
        Some(base / values.clamp(1.0, base.max(1.0)))
    }

    /// The rows of the join of all inputs.
    pub(super) fn rows(&self) -> f64 {
        let (mut done, mut rows) = (1, self.nodes.first().map_or(1.0, |node| node.rows));
        while done != self.all() {
            let left = (0..self.nodes.len()).filter(|node| !is_in(*node, done));
            let tied = left.clone().find(|node| self.have_equality(done, 1 << node));
            let Some(next) = tied.or_else(|| left.clone().next()) else { break };
            rows *= self.nodes[next].rows * self.pass_rate(done, 1 << next);
            done |= 1 << next;
        }
        rows.max(1.0)
    }

    /// The conditions of the join of two sets.
    pub(super) fn terms_between(&self, left: Inputs, right: Inputs) -> Vec<Expr> {
        let classes = self.between(left, right);
        let classes = classes.map(|class| self.equality(class, left, right));
        let others = self.decided(left, right).map(|other| other.term.clone());
        classes.chain(others).collect()
    }

    /// The equality that a class gives between two sets, as written if possible.
    fn equality(&self, class: &Class, left: Inputs, right: Inputs) -> Expr {
        let pairs = class.of(left).flat_map(|one| class.of(right).map(move |two| (one, two)));
        let written = pairs.clone().find_map(|(one, two)| {
            self.written.iter().find(|term| {
                let read = term.columns();
                read.contains(&one.column.id) && read.contains(&two.column.id)
            })
        });
        let (one, two) = pairs.clone().next().expect("the class stands in both parts");
        let column = |member: &Member| Expr::Column(member.column.clone());
        written
            .cloned()
            .unwrap_or_else(|| Expr::compare(Comparison::Equal, column(one), column(two)))
    }

    /// The conditions that no join of two sets decides.
    pub(super) fn terms_above(&self) -> Vec<Expr> {
        let others = self.others.iter().filter(|other| other.inputs.count_ones() < 2);
        others.map(|other| other.term.clone()).collect()
    }
}

pub(super) fn is_in(node: usize, part: Inputs) -> bool {
    part & (1 << node) != 0
}

fn is_equality(term: &Expr) -> bool {
    matches!(term, Expr::Compare { op: Comparison::Equal, .. })
}

/// Whether a column is unique.
pub(super) fn is_unique(plan: &Plan, column: ColumnId) -> bool {
    match plan {
        Plan::Scan(scan) => is_key(scan, column),
        Plan::Filter { input, .. } | Plan::Sort { input, .. } => is_unique(input, column),
        Plan::Project { input, outputs } => outputs.iter().any(|(own, output)| {
            own.id == column && matches!(output, Expr::Column(below) if is_unique(input, below.id))
        }),
        Plan::Join { kind, left, .. } if !kind.has_right() => is_unique(left, column),
        Plan::Aggregate { groups, sets: None, .. } => {
            matches!(&groups[..], [(own, _)] if own.id == column)
        }
        _ => false,
    }
}

/// Whether a column alone is a key.
fn is_key(scan: &Scan, column: ColumnId) -> bool {
    let Some(position) = scan.position(column) else { return false };
    // An edit by hand can give two documents the same values.
    let is_kept = scan.relation.kind == RelationKind::Table;
    let unique = scan.relation.indexes.iter().filter(|index| index.unique && is_kept);
    let mut keys = unique.map(|index| matches!(index.columns[..], [(only, _)] if only == position));
    scan.relation.schema.primary_key[..] == [position] || keys.any(|is_key| is_key)
}
