//! The physical plan: operators with their inputs, columns as positions.
//!
//! Every node stands behind an `Arc`, so that a cached plan is shared by all the
//! runs of its statement: an operator keeps its node, and nothing is copied.

use std::sync::Arc;

use folio_types::ColumnType;

use super::aggregate::Aggregate;
use super::follow::{PhysicalFetch, PhysicalFollow, PhysicalLimitPerParent, PhysicalSemiJoin};
use super::terms::{JoinKind, Path, SetKind, SortKey, TableFunction};
use super::window::WindowCall;
use crate::expression::Expr;
use crate::source::{Comparison, Relation};

/// An operator and its inputs.
#[derive(Debug, Clone)]
pub(crate) enum Physical {
    /// One row without columns.
    OneRow,
    /// Rows of a relation.
    Scan(Arc<Scan>),
    /// The row with a primary key.
    Lookup(Arc<Lookup>),
    /// How many rows a scan has.
    RowCount(Arc<Scan>),
    /// Rows given in the statement.
    Values(Arc<Values>),
    /// Other columns.
    Project(Arc<Project>),
    /// Some rows.
    Filter(Arc<Filter>),
    /// Pairs by equal keys.
    HashJoin(Arc<HashJoin>),
    /// Pairs by equal keys of two inputs in their order.
    MergeJoin(Arc<MergeJoin>),
    /// Pairs by any condition.
    LoopJoin(Arc<LoopJoin>),
    /// Pairs by looking keys up in a relation.
    LookupJoin(Arc<LookupJoin>),
    /// The right side run for every row of the left.
    Apply(Arc<Apply>),
    /// One row per group.
    Aggregate(Arc<Grouping>),
    /// Window functions beside the input.
    Window(Arc<Window>),
    /// The input in order.
    Sort(Arc<Sort>),
    /// Part of the input.
    Limit(Arc<Limit>),
    /// No duplicates.
    Distinct(Arc<Distinct>),
    /// The rows of one input, then those of another with the same types.
    Append(Arc<(Physical, Physical)>),
    /// INTERSECT ALL and EXCEPT ALL.
    MatchedRows(Arc<MatchedRows>),
    /// Rows out of a function.
    TableFunction(Arc<TableFunctionCall>),
    /// A query over its own answer.
    Recursive(Arc<Recursive>),
    /// The rows of the round before.
    WorkTable(usize),
    /// The rows of a query that several places read.
    Shared(Arc<SharedQuery>),
    /// Rows beside those a key of theirs finds.
    Fetch(Arc<PhysicalFetch>),
    /// Rows with what their links lead to.
    Follow(Arc<PhysicalFollow>),
    /// The first rows of each parent.
    LimitPerParent(Arc<PhysicalLimitPerParent>),
    /// Rows with whether their key is among others.
    SemiJoin(Arc<PhysicalSemiJoin>),
}

/// Rows of a relation.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The relation.
    pub relation: Arc<Relation>,
    /// Positions of the columns wanted.
    pub columns: Vec<usize>,
    /// Whether the hidden row number comes last.
    pub with_row_number: bool,
    /// What every row must pass.
    pub filters: Vec<Expr>,
    /// Which rows are looked at.
    pub path: Path,
    /// Whether the greatest key comes first.
    pub reverse: bool,
    /// No more rows are asked for.
    pub limit: Option<u64>,
}

impl Scan {
    /// A filter as a comparison of one of the relation's columns, perhaps as a wider
    /// integer, with something else: the column's position, how, and with what.
    pub(crate) fn compared<'f>(&self, filter: &'f Expr) -> Option<(usize, Comparison, &'f Expr)> {
        let Expr::Compare { op, left, right } = filter else { return None };
        match (self.own_column(left), self.own_column(right)) {
            (Some(column), None) => Some((column, *op, right)),
            (None, Some(column)) => Some((column, op.mirrored(), left)),
            _ => None,
        }
    }

    /// Whether every filter compares a column with a value that is given.
    pub(crate) fn compares_alone(&self) -> bool {
        let is_given = |filter| self.compared(filter).is_some_and(|(.., value)| value.is_given());
        self.filters.iter().all(is_given)
    }

    /// The relation's column that a side of a comparison is.
    fn own_column(&self, side: &Expr) -> Option<usize> {
        let Expr::Column(column) = side.uncast_integer() else { return None };
        self.columns.get(column.id.0 as usize).copied()
    }
}

/// The row with a primary key.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// The relation.
    pub relation: Arc<Relation>,
    /// The key.
    pub key: Vec<Expr>,
    /// Positions of the columns wanted.
    pub columns: Vec<usize>,
    /// What the row must pass besides.
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

/// Other columns.
#[derive(Debug)]
pub(crate) struct Project {
    /// The input.
    pub input: Physical,
    /// One per column.
    pub expressions: Vec<Expr>,
}

/// Some rows.
#[derive(Debug)]
pub(crate) struct Filter {
    /// The input.
    pub input: Physical,
    /// What they must pass.
    pub terms: Vec<Expr>,
}

/// Pairs by equal keys. The right side is kept in memory.
#[derive(Debug)]
pub(crate) struct HashJoin {
    /// How rows without a partner are treated.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// The keys of the left, over its columns.
    pub left_keys: Vec<Expr>,
    /// The keys of the right, over its columns.
    pub right_keys: Vec<Expr>,
    /// Whether null equals null, key by key.
    pub null_equal: bool,
    /// Whether the right side is the same in every run of the subquery that the join is in.
    pub right_is_constant: bool,
    /// Whether the order of the left's rows is relied on: then the right side stays in
    /// memory, for the parts of sides that are divided come one after the other.
    pub is_in_order: bool,
    /// What a pair must pass besides, over the columns of both.
    pub residual: Vec<Expr>,
    /// The types of the left's columns.
    pub left_types: Vec<ColumnType>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// Pairs by equal keys of two inputs that come in the order of the keys.
#[derive(Debug)]
pub(crate) struct MergeJoin {
    /// How rows without a partner are treated; not by NOT IN's reading of null.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// The keys of the left, over its columns.
    pub left_keys: Vec<Expr>,
    /// The keys of the right, over its columns.
    pub right_keys: Vec<Expr>,
    /// Of each key, whether the greatest comes first.
    pub descending: Vec<bool>,
    /// What a pair must pass besides, over the columns of both.
    pub residual: Vec<Expr>,
    /// The types of the left's columns.
    pub left_types: Vec<ColumnType>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// Pairs by any condition. The right side is kept in memory.
#[derive(Debug)]
pub(crate) struct LoopJoin {
    /// How rows without a partner are treated.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// What a pair must pass, over the columns of both.
    pub terms: Vec<Expr>,
    /// The types of the left's columns.
    pub left_types: Vec<ColumnType>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// Pairs by looking the left's keys up in a relation.
#[derive(Debug)]
pub(crate) struct LookupJoin {
    /// Inner, left, semi or anti.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// The relation.
    pub relation: Arc<Relation>,
    /// The index that is followed; the primary key otherwise.
    pub index: Option<usize>,
    /// Positions of its columns wanted.
    pub columns: Vec<usize>,
    /// Values of the first columns of the key, over the left's columns.
    pub key: Vec<Expr>,
    /// What a pair must pass besides, over the columns of both.
    pub residual: Vec<Expr>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// The right side run for every row of the left.
#[derive(Debug)]
pub(crate) struct Apply {
    /// How rows without a partner are treated.
    pub kind: JoinKind,
    /// Left input.
    pub left: Physical,
    /// What is run; it reads the values of `outer`.
    pub right: Physical,
    /// Values of the left's row, over the left's columns.
    pub outer: Vec<Expr>,
    /// What a pair must pass, over the columns of both.
    pub terms: Vec<Expr>,
    /// The types of the right's columns.
    pub right_types: Vec<ColumnType>,
}

/// One row per group.
#[derive(Debug)]
pub(crate) struct Grouping {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// What rows are grouped by.
    pub groups: Vec<Expr>,
    /// What is computed of each group.
    pub aggregates: Vec<Aggregate>,
    /// Grouping sets, as positions in `groups`.
    pub sets: Option<Vec<Vec<usize>>>,
    /// The groups, by position, whose equal values come one behind the other: where there
    /// are any, groups are answered as soon as these change.
    pub run: Vec<usize>,
}

/// Window functions beside the input.
#[derive(Debug)]
pub(crate) struct Window {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// The functions.
    pub calls: Vec<WindowCall>,
}

/// The input in order.
#[derive(Debug)]
pub(crate) struct Sort {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// The order.
    pub keys: Vec<SortKey>,
    /// No more rows are asked for: those skipped and those taken.
    pub limit: Option<Expr>,
    /// Rows skipped, part of the limit.
    pub offset: Option<Expr>,
}

/// Part of the input.
#[derive(Debug)]
pub(crate) struct Limit {
    /// The input.
    pub input: Physical,
    /// Rows at most.
    pub limit: Option<Expr>,
    /// Rows skipped first.
    pub offset: Option<Expr>,
    /// Rows that are in these as the last one is come too.
    pub ties: Vec<Expr>,
}

/// No duplicates.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// The input.
    pub input: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// What tells rows apart.
    pub keys: Vec<Expr>,
    /// Whether rows that are equal in these come one behind the other.
    pub is_in_order: bool,
}

/// Rows of the left that are matched one to one with equal rows of the right (INTERSECT
/// ALL), or those left over (EXCEPT ALL).
#[derive(Debug)]
pub(crate) struct MatchedRows {
    /// Which of the two.
    pub kind: SetKind,
    /// Left input.
    pub left: Physical,
    /// Right input.
    pub right: Physical,
    /// The types of the columns.
    pub types: Vec<ColumnType>,
}

/// Rows out of a function.
#[derive(Debug)]
pub(crate) struct TableFunctionCall {
    /// Which.
    pub function: TableFunction,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
}

/// A query over its own answer.
#[derive(Debug)]
pub(crate) struct Recursive {
    /// The working table.
    pub number: usize,
    /// What it begins with.
    pub base: Physical,
    /// What is made of the round before.
    pub step: Physical,
    /// Whether rows that came before are left out.
    pub distinct: bool,
    /// The types of the columns.
    pub types: Vec<ColumnType>,
}

/// A query that is computed once and read in several places.
#[derive(Debug)]
pub(crate) struct SharedQuery {
    /// Its number in the statement.
    pub number: usize,
    /// What the statement calls it.
    pub name: String,
    /// What computes it.
    pub plan: Physical,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
}
