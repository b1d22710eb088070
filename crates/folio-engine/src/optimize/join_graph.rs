//! The inputs of a tree of inner joins and what ties them: how many rows any of them
//! make together.
//!
//! Columns that are to equal each other form a class, so a join has any order that
//! its classes allow, not only the one its conditions are written in. A class has as
//! many values as the table whose key it contains has rows; two inputs that share a
//! class pair as if each value of the smaller side occurred on the larger one
//! (Selinger et al. 1979). Equalities that cover one table's columns together leave no
//! more different values than it has rows.

use super::estimate;
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::{Plan, Scan};
use crate::source::{Comparison, Source};

/// Inputs, as bits of a number.
pub(super) type Inputs = u128;

/// Inputs that a graph can have.
pub(super) const INPUTS_MAX: usize = 128;

/// Different values of a column nobody knows anything of, as a part of its rows.
const UNKNOWN_DISTINCT: f64 = 0.1;

/// An input of the join.
pub(super) struct Node {
    /// Its columns.
    pub columns: Vec<ColumnId>,
    /// Rows it has.
    pub rows: f64,
    /// Rows of the relation below, before any filter.
    pub base: f64,
}

/// A column of an input that equals the others of its class.
struct Member {
    node: usize,
    column: Column,
    /// How many values there can be, where the column is a key.
    unique: Option<f64>,
}

/// Columns that equal each other, one of an input at most.
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

/// A condition that is no equality of two columns.
struct Other {
    term: Expr,
    inputs: Inputs,
    selectivity: f64,
}

/// The inputs and what ties them.
pub(super) struct Graph {
    /// The inputs.
    pub nodes: Vec<Node>,
    classes: Vec<Class>,
    others: Vec<Other>,
    /// The equalities as they were written, for the joins that say just that.
    written: Vec<Expr>,
}

impl Graph {
    /// Of these inputs and conditions.
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
            // What is unique has as many values as there are rows before any filter, which
            // are known: to look at the input once more would double with each level.
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
        // What the branches of an OR say of one input alone has been asked of it.
        let selectivity = match &term {
            Expr::Or(_) => estimate::selectivity(&term).max(0.5),
            term => estimate::selectivity(term),
        };
        self.others.push(Other { term, inputs, selectivity });
    }

    fn node_of(&self, column: ColumnId) -> Option<usize> {
        self.nodes.iter().position(|node| node.columns.contains(&column))
    }

    /// Puts two columns in one class. Not where an input would then have two columns
    /// in it: their equality would have to be looked at apart.
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

    /// The class given, or a fresh one of this column.
    fn class_with(&mut self, class: Option<usize>, member: Member) -> usize {
        class.unwrap_or_else(|| {
            self.classes.push(Class { inputs: 1 << member.node, members: vec![member] });
            self.classes.len() - 1
        })
    }

    /// All of them.
    pub(super) fn all(&self) -> Inputs {
        Inputs::MAX.checked_shr((INPUTS_MAX - self.nodes.len()) as u32).unwrap_or(0)
    }

    /// The classes that have columns in both parts.
    fn between(&self, left: Inputs, right: Inputs) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(move |class| class.stands_in(left, right))
    }

    /// Conditions of another kind that these two parts can decide, and neither alone.
    fn decided(&self, left: Inputs, right: Inputs) -> impl Iterator<Item = &Other> {
        self.others.iter().filter(move |other| {
            let covered = |part: Inputs| other.inputs & !part == 0;
            covered(left | right) && !covered(left) && !covered(right)
        })
    }

    /// Whether something ties two parts.
    pub(super) fn are_tied(&self, left: Inputs, right: Inputs) -> bool {
        self.between(left, right).next().is_some() || self.decided(left, right).next().is_some()
    }

    /// Whether an equality does.
    pub(super) fn have_equality(&self, left: Inputs, right: Inputs) -> bool {
        self.between(left, right).next().is_some()
            || self.decided(left, right).any(|other| is_equality(&other.term))
    }

    /// The part of all pairs of two parts' rows that passes.
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

    /// How many different values a column of a class has.
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

    /// How many rows of an input a value of each of these columns finds, of those that
    /// stand in a class with the left; none where one of them does not.
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

    /// The rows of all inputs, joined.
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

    /// The conditions of the join of two parts.
    pub(super) fn terms_between(&self, left: Inputs, right: Inputs) -> Vec<Expr> {
        let classes = self.between(left, right);
        let classes = classes.map(|class| self.equality(class, left, right));
        let others = self.decided(left, right).map(|other| other.term.clone());
        classes.chain(others).collect()
    }

    /// What ties two parts by a class: as it was written, where it was.
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

    /// The conditions that no join of two parts decides.
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

/// Whether no two rows are equal in a column.
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

/// Whether a column is a key by itself.
fn is_key(scan: &Scan, column: ColumnId) -> bool {
    let own = scan.columns.iter().find(|(_, own)| own.id == column);
    let Some((position, _)) = own else { return false };
    let unique = scan.relation.indexes.iter().filter(|index| index.unique);
    let mut keys =
        unique.map(|index| matches!(&index.columns[..], [(only, _)] if only == position));
    scan.relation.schema.primary_key[..] == [*position] || keys.any(|is_key| is_key)
}
