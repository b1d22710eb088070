//! The logical plan: relational algebra over columns with unique ids.
//!
//! A column keeps its id in the whole plan, so rules can move filters and joins without
//! renaming.

use std::sync::Arc;

use folio_types::ColumnType;

use super::aggregate::Aggregate;
use super::follow::{Branch, Fetch, LimitPerParent, SemiJoin};
use super::shared::SharedQuery;
use super::terms::{OrderedBy, Path};
use super::window::WindowCall;
use crate::expression::{Column, ColumnId, Expr, implication};
use crate::plan::terms::{JoinKind, SetKind, SortKey, TableFunction};
use crate::source::{FieldTest, IndexInfo, Relation};

/// A scan of a relation.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The relation.
    pub relation: Arc<Relation>,
    /// The columns read: position in the relation, and column in the plan.
    pub columns: Vec<(usize, Column)>,
    /// The hidden row number, if it is read.
    pub row_number: Option<Column>,
    /// Conditions that every row must pass.
    pub filters: Vec<Expr>,
    /// The columns that nothing but the filters reads, as far as that is known.
    pub only_filtered: Box<[ColumnId]>,
    /// How rows are found.
    pub path: Path,
    /// A range that leads to the same rows, by an index or by the primary key. Which of the two takes
    /// less time is known once the parameters are.
    pub rival: Option<Path>,
    /// Whether the greatest key comes first.
    pub reverse: bool,
    /// Whether the order of its rows matters to another node: joins must preserve it.
    pub is_in_order: bool,
    /// Whether a join reads its other side first, and asks for rows with the keys of that.
    pub is_narrowed: bool,
    /// Maximum number of rows that are read.
    pub limit: Option<u64>,
}

impl Scan {
    /// The column of the plan that a position of the relation is read as.
    #[must_use]
    pub fn column(&self, position: usize) -> Option<&Column> {
        self.columns.iter().find(|(own, _)| *own == position).map(|(_, column)| column)
    }

    /// The position in the relation of a column of the plan.
    pub(crate) fn position(&self, column: ColumnId) -> Option<usize> {
        self.columns.iter().find(|(_, own)| own.id == column).map(|(position, _)| *position)
    }

    /// Positions of the columns of an index, or of the primary key.
    pub fn key_columns(&self, index: Option<usize>) -> Vec<usize> {
        self.relation.key_columns(index)
    }

    /// Whether a lookup by values of the columns of an index, or of the primary key, finds every row
    /// with these values that passes the filters.
    pub fn can_follow(&self, index: Option<usize>) -> bool {
        let Some(index) = index else { return true };
        let index = &self.relation.indexes[index];
        index.elements.is_none() && self.implies_conditions(index)
    }

    /// Whether the filters imply the conditions of an index.
    pub fn implies_conditions(&self, index: &IndexInfo) -> bool {
        let is_implied = |(position, test): &(usize, FieldTest)| {
            self.column(*position).is_some_and(|column| {
                self.filters.iter().any(|filter| implication::implies(filter, column, test))
            })
        };
        index.conditions.iter().all(is_implied)
    }

    /// Whether an index and the primary key together have all columns of the scan.
    pub fn is_covered_by(&self, index: usize) -> bool {
        let (own, key) = (self.key_columns(Some(index)), self.key_columns(None));
        self.columns.iter().all(|(at, _)| own.contains(at) || key.contains(at))
    }
}

/// A plan.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "a plan has few nodes, and most begin with a scan")]
pub enum Plan {
    /// One row without columns.
    OneRow,
    /// Rows of a relation.
    Scan(Scan),
    /// Rows given in the statement.
    Values {
        /// The columns.
        columns: Vec<Column>,
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// A projection.
    Project {
        /// The input.
        input: Box<Plan>,
        /// The new columns.
        outputs: Vec<(Column, Expr)>,
    },
    /// The rows for which all terms are true.
    Filter {
        /// The input.
        input: Box<Plan>,
        /// The terms.
        terms: Vec<Expr>,
    },
    /// A join.
    Join {
        /// Its kind.
        kind: JoinKind,
        /// Left input.
        left: Box<Plan>,
        /// Right input. It may read columns of the left if `lateral`.
        right: Box<Plan>,
        /// Conditions that a pair must pass.
        terms: Vec<Expr>,
        /// Whether the right side runs for every row of the left.
        lateral: bool,
    },
    /// A grouping: one row per group.
    Aggregate {
        /// The input.
        input: Box<Plan>,
        /// Group keys.
        groups: Vec<(Column, Expr)>,
        /// Aggregates of each group.
        aggregates: Vec<(Column, Aggregate)>,
        /// Grouping sets, as positions in `groups`; `None` for one set of all.
        sets: Option<Vec<Vec<usize>>>,
    },
    /// The input with columns of window functions added.
    Window {
        /// The input.
        input: Box<Plan>,
        /// The functions.
        calls: Vec<(Column, WindowCall)>,
    },
    /// A sort.
    Sort {
        /// The input.
        input: Box<Plan>,
        /// The sort keys.
        keys: Vec<SortKey>,
    },
    /// Marks that the order of the input matters.
    Ordered {
        /// The input.
        input: Box<Plan>,
        /// The keys that a merge join, a grouping or DISTINCT relies on. Empty if only the order
        /// of the result matters.
        keys: Vec<OrderedBy>,
    },
    /// A limit.
    Limit {
        /// The input.
        input: Box<Plan>,
        /// Maximum number of rows.
        limit: Option<Expr>,
        /// Number of rows to skip first.
        offset: Option<Expr>,
        /// WITH TIES: further rows equal to the last one in these follow.
        ties: Vec<Expr>,
    },
    /// Removes duplicates.
    Distinct {
        /// The input.
        input: Box<Plan>,
        /// The expressions that are compared; `None` for all columns.
        on: Option<Vec<Expr>>,
    },
    /// A set operation, by column position.
    SetOperation {
        /// Its kind.
        kind: SetKind,
        /// ALL: whether duplicates count.
        all: bool,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// The result columns.
        columns: Vec<Column>,
    },
    /// A table function.
    TableFunction {
        /// The function.
        function: TableFunction,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Its columns.
        columns: Vec<Column>,
    },
    /// A recursive query.
    Recursive {
        /// The working table that the step reads.
        number: usize,
        /// The columns.
        columns: Vec<Column>,
        /// The query of the first round.
        base: Box<Plan>,
        /// The query over the rows of the previous round.
        step: Box<Plan>,
        /// Whether rows that occurred before are dropped.
        distinct: bool,
    },
    /// The rows of a working table.
    WorkTable {
        /// Its number.
        number: usize,
        /// The columns.
        columns: Vec<Column>,
    },
    /// The rows of a query that the statement may read in several places.
    Shared {
        /// The query.
        query: Arc<SharedQuery>,
        /// The columns read here: place among those of the query, and column in the plan.
        columns: Vec<(usize, Column)>,
    },
    /// Joins rows with the rows that their key finds.
    Fetch(Box<Fetch>),
    /// Adds what links lead to.
    Follow {
        /// The input.
        input: Box<Plan>,
        /// One added column each.
        branches: Vec<Branch>,
    },
    /// A limit on the rows of each parent.
    LimitPerParent(Box<LimitPerParent>),
    /// Adds whether a key is among others.
    SemiJoin(Box<SemiJoin>),
}

impl Plan {
    /// A sort of this plan, or the plan itself if there are no keys.
    pub fn sorted(self, keys: &[SortKey]) -> Self {
        match keys {
            [] => self,
            keys => Self::Sort { input: Box::new(self), keys: keys.to_vec() },
        }
    }

    /// The result columns, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        self.collected(Column::clone)
    }

    fn collected<T>(&self, part: impl Fn(&Column) -> T) -> Vec<T> {
        let mut parts = Vec::new();
        self.for_each_column(&mut |column| parts.push(part(column)));
        parts
    }

    fn for_each_column(&self, visit: &mut dyn FnMut(&Column)) {
        match self {
            Self::OneRow => {}
            Self::Scan(scan) => {
                scan.columns.iter().for_each(|(_, column)| visit(column));
                scan.row_number.iter().for_each(visit);
            }
            Self::Values { columns, .. }
            | Self::SetOperation { columns, .. }
            | Self::TableFunction { columns, .. }
            | Self::Recursive { columns, .. }
            | Self::WorkTable { columns, .. } => columns.iter().for_each(visit),
            Self::Shared { columns, .. } => columns.iter().for_each(|(_, column)| visit(column)),
            Self::Project { outputs, .. } => outputs.iter().for_each(|(column, _)| visit(column)),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Ordered { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. } => input.for_each_column(visit),
            Self::Join { kind, left, right, .. } => {
                left.for_each_column(visit);
                if kind.has_right() {
                    right.for_each_column(visit);
                }
            }
            Self::Aggregate { groups, aggregates, .. } => {
                groups.iter().for_each(|(column, _)| visit(column));
                aggregates.iter().for_each(|(column, _)| visit(column));
            }
            Self::Window { input, calls } => {
                input.for_each_column(visit);
                calls.iter().for_each(|(column, _)| visit(column));
            }
            Self::Fetch(fetch) => {
                fetch.input.for_each_column(visit);
                fetch.columns.iter().for_each(|(_, column)| visit(column));
            }
            Self::Follow { input, branches } => {
                input.for_each_column(visit);
                branches.iter().for_each(|branch| visit(&branch.output));
            }
            Self::LimitPerParent(cut) => cut.input.for_each_column(visit),
            Self::SemiJoin(mark) => {
                mark.input.for_each_column(visit);
                visit(&mark.output);
            }
        }
    }

    /// Whether the order of the rows matters to another node: to a merge, to a streaming operator,
    /// or because a sort was removed.
    pub fn is_in_order(&self) -> bool {
        match self {
            Self::Ordered { .. } => true,
            Self::Scan(scan) => scan.is_in_order,
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Follow { input, .. }
            | Self::Join { left: input, .. } => input.is_in_order(),
            Self::SemiJoin(mark) => mark.input.is_in_order(),
            _ => false,
        }
    }

    /// The scan that gives a column as it is, if leaving out its rows with other values leaves out
    /// no more than these values.
    pub(crate) fn scan_of(&mut self, id: ColumnId) -> Option<&mut Scan> {
        match self {
            Self::Scan(scan) => scan.columns.iter().any(|(_, own)| own.id == id).then_some(scan),
            Self::Filter { input, .. } => input.scan_of(id),
            Self::Project { input, outputs }
            | Self::Aggregate { input, groups: outputs, sets: None, .. } => {
                match outputs.iter().find(|(own, _)| own.id == id)? {
                    (_, Expr::Column(below)) => input.scan_of(below.id),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether a join above asks for rows with certain keys ([`Scan::is_narrowed`]).
    pub(crate) fn is_narrowed(&self) -> bool {
        match self {
            Self::Scan(scan) => scan.is_narrowed,
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Ordered { input, .. } => input.is_narrowed(),
            _ => false,
        }
    }

    /// The ids of the result columns.
    #[must_use]
    pub fn column_ids(&self) -> Vec<ColumnId> {
        self.collected(|column| column.id)
    }

    /// The types of the result columns.
    #[must_use]
    pub fn types(&self) -> Vec<ColumnType> {
        self.collected(|column| column.ty.clone())
    }

    /// The input plans.
    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        let mut inputs = Vec::new();
        self.for_each_input_mut(&mut |input| inputs.push(input));
        inputs
    }

    /// Calls `visit` with every input plan.
    pub(crate) fn for_each_input_mut<'p>(&'p mut self, visit: &mut dyn FnMut(&'p mut Plan)) {
        match self {
            Self::OneRow
            | Self::Scan(_)
            | Self::Values { .. }
            | Self::TableFunction { .. }
            | Self::WorkTable { .. }
            | Self::Shared { .. } => {}
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::Sort { input, .. }
            | Self::Ordered { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. } => visit(input),
            Self::Join { left, right, .. } | Self::SetOperation { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Self::Recursive { base, step, .. } => {
                visit(base);
                visit(step);
            }
            Self::Fetch(fetch) => visit(&mut fetch.input),
            Self::Follow { input, branches } => {
                visit(input);
                branches.iter_mut().for_each(|branch| visit(&mut branch.body));
            }
            Self::LimitPerParent(cut) => visit(&mut cut.input),
            Self::SemiJoin(mark) => {
                visit(&mut mark.input);
                visit(&mut mark.keys);
            }
        }
    }

    /// Rewrites every node of the tree, inputs first.
    pub fn transform(&mut self, change: &mut dyn FnMut(&mut Plan)) {
        self.for_each_input_mut(&mut |input| input.transform(change));
        change(self);
    }

    /// Takes the plan and leaves an empty one.
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::OneRow)
    }

    /// These columns of the plan, in this order.
    #[must_use]
    pub fn only(self, columns: impl IntoIterator<Item = Column>) -> Self {
        let outputs = columns.into_iter().map(Column::passed_on).collect();
        Self::Project { input: Box::new(self), outputs }
    }

    /// The columns of the plan, then these.
    #[must_use]
    pub fn with(self, more: impl IntoIterator<Item = (Column, Expr)>) -> Self {
        let outputs = self.columns().into_iter().map(Column::passed_on).chain(more).collect();
        Self::Project { input: Box::new(self), outputs }
    }

    /// A filter over this plan, or the plan itself if there are no terms.
    pub fn filtered(self, terms: Vec<Expr>) -> Self {
        if terms.is_empty() { self } else { Self::Filter { input: Box::new(self), terms } }
    }
}
