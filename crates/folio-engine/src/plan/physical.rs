//! The physical plan: operators with their inputs, columns as positions.
//!
//! Every node is in an `Arc`, so that all runs of a statement share its cached plan. An operator
//! holds its node, and nothing is copied.

use std::sync::Arc;

use folio_types::ColumnType;

use super::aggregate::Aggregate;
use super::follow::{PhysicalFetch, PhysicalFollow, PhysicalLimitPerParent, PhysicalSemiJoin};
use super::terms::{JoinKind, Path, SetKind, SortKey, TableFunction};
use super::window::WindowCall;
use crate::expression::Expr;
use crate::source::{Comparison, Relation};
use crate::times::Node;

/// An operator and its inputs.
#[derive(Debug, Clone)]
pub(crate) enum Physical {
    /// One row without columns.
    OneRow,
    /// A scan of a relation.
    Scan(Arc<Scan>),
    /// A lookup by primary key.
    Lookup(Arc<Lookup>),
    /// The number of rows of a scan.
    RowCount(Arc<Scan>),
    /// Rows given in the statement.
    Values(Arc<Values>),
    /// A projection.
    Project(Arc<Project>),
    /// A filter.
    Filter(Arc<Filter>),
    /// A hash join.
    HashJoin(Arc<KeyJoin>),
    /// A merge join of two inputs in the order of their keys.
    MergeJoin(Arc<KeyJoin>),
    /// A nested loop join, for any condition.
    LoopJoin(Arc<LoopJoin>),
    /// A join by lookups in a relation.
    LookupJoin(Arc<LookupJoin>),
    /// A lateral join: the right side runs for every row of the left.
    Apply(Arc<Apply>),
    /// A grouping: one row per group.
    Aggregate(Arc<Grouping>),
    /// The input with columns of window functions added.
    Window(Arc<Window>),
    /// A sort.
    Sort(Arc<Sort>),
    /// A limit.
    Limit(Arc<Limit>),
    /// Removes duplicates.
    Distinct(Arc<Distinct>),
    /// The rows of one input, then those of another with the same types.
    Append(Arc<(Physical, Physical)>),
    /// INTERSECT ALL and EXCEPT ALL.
    MatchedRows(Arc<MatchedRows>),
    /// A table function.
    TableFunction(Arc<TableFunctionCall>),
    /// A recursive query.
    Recursive(Arc<Recursive>),
    /// The rows of a working table.
    WorkTable(usize),
    /// The rows of a query that is read in several places.
    Shared(Arc<SharedQuery>, Arc<[usize]>),
    /// Joins rows with the rows that their key finds.
    Fetch(Arc<PhysicalFetch>),
    /// Adds what links lead to.
    Follow(Arc<PhysicalFollow>),
    /// A limit on the rows of each parent.
    LimitPerParent(Arc<PhysicalLimitPerParent>),
    /// Adds whether a key is among others.
    SemiJoin(Arc<PhysicalSemiJoin>),
    /// Two plans of a query, for few rows and for many.
    ByCount(Arc<ByCount>),
    /// An operator and the rows expected of it, in EXPLAIN with estimates.
    Estimated(Arc<(Physical, u64)>),
}

impl Physical {
    /// What identifies the operator in its plan, unless it does no work worth timing.
    pub(crate) fn node(&self) -> Option<Node> {
        Some(match self {
            Self::OneRow | Self::WorkTable(_) => return None,
            Self::Scan(scan) | Self::RowCount(scan) => Node::of(scan),
            Self::Lookup(lookup) => Node::of(lookup),
            Self::Values(values) => Node::of(values),
            Self::Project(project) => Node::of(project),
            Self::Filter(filter) => Node::of(filter),
            Self::HashJoin(join) | Self::MergeJoin(join) => Node::of(join),
            Self::LoopJoin(join) => Node::of(join),
            Self::LookupJoin(join) => Node::of(join),
            Self::Apply(apply) => Node::of(apply),
            Self::Aggregate(grouping) => Node::of(grouping),
            Self::Window(window) => Node::of(window),
            Self::Sort(sort) => Node::of(sort),
            Self::Limit(limit) => Node::of(limit),
            Self::Distinct(distinct) => Node::of(distinct),
            Self::Append(inputs) => Node::of(inputs),
            Self::MatchedRows(matched) => Node::of(matched),
            Self::TableFunction(call) => Node::of(call),
            Self::Recursive(recursive) => Node::of(recursive),
            // Each place that reads the query has columns of its own.
            Self::Shared(_, columns) => Node::of(columns),
            Self::Fetch(fetch) => Node::of(fetch),
            Self::Follow(follow) => Node::of(follow),
            Self::LimitPerParent(limit) => Node::of(limit),
            Self::SemiJoin(join) => Node::of(join),
            Self::ByCount(plans) => return plans.many.node(),
            Self::Estimated(inner) => return inner.0.node(),
        })
    }
}

/// Two plans of a query that has parameters for the number of its rows.
#[derive(Debug, Clone)]
pub(crate) struct ByCount {
    /// The plan for few rows.
    pub few: Physical,
    /// The plan for any number of rows.
    pub many: Physical,
    /// The most rows, with those that are skipped, that are few.
    pub most: usize,
    /// Maximum number of rows.
    pub limit: Option<Expr>,
    /// Number of rows to skip first.
    pub offset: Option<Expr>,
}

/// A scan of a relation.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    /// The relation.
    pub relation: Arc<Relation>,
    /// Positions of the columns read.
    pub columns: Vec<usize>,
    /// Whether the hidden row number is added as the last column.
    pub with_row_number: bool,
    /// Conditions that every row must pass.
    pub filters: Vec<Expr>,
    /// The columns, by their place in `columns`, that nothing but the filters reads.
    pub only_filtered: Vec<usize>,
    /// How rows are found.
    pub path: Path,
    /// Whether the greatest key comes first.
    pub reverse: bool,
    /// Whether an operator above relies on the order of the rows.
    pub is_in_order: bool,
    /// Maximum number of rows that are read.
    pub limit: Option<u64>,
    /// Another scan with the same result, of all rows or of another range, where one of the two is a
    /// range of an index: that may have so many rows that it takes more time to find each.
    pub instead: Option<Arc<Self>>,
}

impl Scan {
    /// Splits a filter that compares a column of the relation, ignoring a cast to a wider number:
    /// the column's position, the comparison, and the other side.
    pub(crate) fn compared<'f>(&self, filter: &'f Expr) -> Option<(usize, Comparison, &'f Expr)> {
        let Expr::Compare { op, left, right } = filter else { return None };
        match (self.own_column(left), self.own_column(right)) {
            (Some(column), None) => Some((column, *op, right)),
            (None, Some(column)) => Some((column, op.mirrored(), left)),
            _ => None,
        }
    }

    /// Whether every filter compares a column with a literal or parameter.
    pub(crate) fn compares_alone(&self) -> bool {
        let is_given = |filter| self.compared(filter).is_some_and(|(.., value)| value.is_given());
        self.filters.iter().all(is_given)
    }

    /// The column of the relation that a side of a comparison is.
    pub(crate) fn own_column(&self, side: &Expr) -> Option<usize> {
        let Expr::Column(column) = side.uncast_number() else { return None };
        self.columns.get(column.id.0 as usize).copied()
    }
}

/// A lookup by primary key.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// The relation.
    pub relation: Arc<Relation>,
    /// The key.
    pub key: Vec<Expr>,
    /// Positions of the columns read.
    pub columns: Vec<usize>,
    /// Further conditions on the row.
    pub filters: Vec<Expr>,
}

/// Rows given in the statement.
#[derive(Debug)]
pub(crate) struct Values {
    /// The types of the columns.
    pub types: Vec<ColumnType>,
    /// The rows.
    pub rows: Vec<Vec<Expr>>,
}

/// A projection.
#[derive(Debug)]
pub(crate) struct Project {
    /// The input.
    pub input: Physical,
    /// One expression per column.
    pub expressions: Vec<Expr>,
}

/// A filter.
#[derive(Debug)]
pub(crate) struct Filter {
    /// The input.
    pub input: Physical,
    /// The conditions.
    pub terms: Vec<Expr>,
}

/// A join by equal keys. A hash join holds the right side in memory; a merge join reads two inputs in
/// the order of their keys.
#[derive(Debug)]
pub(crate) struct KeyJoin {
    /// How rows without a partner are treated; of a merge never `NullAnti`.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// The keys of the left, over its columns.
    pub left_keys: Vec<Expr>,
    /// The keys of the right, over its columns.
    pub right_keys: Vec<Expr>,
    /// Of a merge: for each key, whether it is descending.
    pub descending: Vec<bool>,
    /// Whether null equals null in the keys; not in a merge.
    pub null_equal: bool,
    /// Whether the right side is the same in every run of the enclosing subquery.
    pub right_is_constant: bool,
    /// Whether the order of the left's rows matters. If so the right side stays in memory, since
    /// partitions would be joined one after the other.
    pub is_in_order: bool,
    /// Whether the left is read before the right, whose scan then leaves out rows with other keys.
    pub reads_left_first: bool,
    /// Further conditions on a pair, over the columns of both.
    pub residual: Vec<Expr>,
    /// The types of the left's columns.
    pub left_types: Vec<ColumnType>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// A nested loop join, for any condition. The right side is held in memory.
#[derive(Debug)]
pub(crate) struct LoopJoin {
    /// How rows without a partner are treated.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// Conditions on a pair, over the columns of both.
    pub terms: Vec<Expr>,
    /// The types of the left's columns.
    pub left_types: Vec<ColumnType>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// A join by looking up the left's keys in a relation.
#[derive(Debug)]
pub(crate) struct LookupJoin {
    /// Inner, left, semi or anti.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// The relation.
    pub relation: Arc<Relation>,
    /// The index to follow; `None` for the primary key.
    pub index: Option<usize>,
    /// Positions of the columns read.
    pub columns: Vec<usize>,
    /// Values of the first key columns, over the left's columns.
    pub key: Vec<Expr>,
    /// Further conditions on a pair, over the columns of both.
    pub residual: Vec<Expr>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// A lateral join: the right side runs for every row of the left.
#[derive(Debug)]
pub(crate) struct Apply {
    /// How rows without a partner are treated.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// The right side, which reads the values of `outer`.
    pub right: Physical,
    /// Values of the left's row, over the left's columns.
    pub outer: Vec<Expr>,
    /// Conditions on a pair, over the columns of both.
    pub terms: Vec<Expr>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
    /// The columns of the left that nothing above reads, ascending. They are null in the joined
    /// rows.
    pub unread: Vec<usize>,
}

/// A grouping: one row per group.
#[derive(Debug)]
pub(crate) struct Grouping {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// Group keys.
    pub groups: Vec<Expr>,
    /// Positions of the group keys that decide the group. The others follow from them.
    pub deciding: Vec<usize>,
    /// Aggregates of each group.
    pub aggregates: Vec<Aggregate>,
    /// Grouping sets, as positions in `groups`.
    pub sets: Option<Vec<Vec<usize>>>,
    /// Positions of the group keys whose equal values are consecutive. If there are any, groups are
    /// returned as soon as these keys change.
    pub run: Vec<usize>,
}

/// The input with columns of window functions added.
#[derive(Debug)]
pub(crate) struct Window {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// The functions.
    pub calls: Vec<WindowCall>,
}

/// A sort.
#[derive(Debug)]
pub(crate) struct Sort {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// The sort keys.
    pub keys: Vec<SortKey>,
    /// Maximum number of rows to sort out, including those skipped.
    pub limit: Option<Expr>,
    /// How many of those are skipped.
    pub offset: Option<Expr>,
}

/// A limit.
#[derive(Debug)]
pub(crate) struct Limit {
    /// The input.
    pub input: Physical,
    /// Maximum number of rows.
    pub limit: Option<Expr>,
    /// Number of rows to skip first.
    pub offset: Option<Expr>,
    /// WITH TIES: further rows equal to the last one in these follow.
    pub ties: Vec<Expr>,
}

/// Removes duplicates.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// The expressions that are compared.
    pub keys: Vec<Expr>,
    /// Whether rows that are equal in these are consecutive.
    pub is_in_order: bool,
}

/// Matches each row of the left with one equal row of the right. Returns the matched rows
/// (INTERSECT ALL), or the others (EXCEPT ALL).
#[derive(Debug)]
pub(crate) struct MatchedRows {
    /// The set operation.
    pub kind: SetKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// The types of the columns.
    pub types: Vec<ColumnType>,
}

/// A table function.
#[derive(Debug)]
pub(crate) struct TableFunctionCall {
    /// The function.
    pub function: TableFunction,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
}

/// A recursive query.
#[derive(Debug)]
pub(crate) struct Recursive {
    /// The working table.
    pub number: usize,
    /// The query of the first round.
    pub base: Physical,
    /// The query over the previous round.
    pub step: Physical,
    /// Whether rows that occurred before are dropped.
    pub distinct: bool,
    /// The types of the columns.
    pub types: Vec<ColumnType>,
}

/// A query that is computed once and read in several places.
#[derive(Debug)]
pub(crate) struct SharedQuery {
    /// Its number in the statement.
    pub number: usize,
    /// Its name in the statement.
    pub name: String,
    /// Its plan.
    pub plan: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
}
