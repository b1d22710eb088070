//! The logical plan: relational algebra over columns with unique numbers.
//!
//! Since a column keeps its number wherever it travels, rules move filters and
//! joins without renaming anything.

use std::sync::Arc;

use folio_types::ColumnType;

use super::aggregate::Aggregate;
use super::follow::{Branch, Fetch, LimitPerParent, SemiJoin};
use super::shared::SharedQuery;
use super::terms::{OrderedBy, Path};
use super::window::WindowCall;
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::terms::{JoinKind, SetKind, SortKey, TableFunction};
use crate::source::Relation;

/// Rows of a relation.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The relation.
    pub relation: Arc<Relation>,
    /// Its columns wanted: position in the relation, and the column they are here.
    pub columns: Vec<(usize, Column)>,
    /// The hidden row number, where it is wanted.
    pub row_number: Option<Column>,
    /// What every row must pass.
    pub filters: Vec<Expr>,
    /// Which rows are looked at.
    pub path: Path,
    /// Whether the greatest key comes first.
    pub reverse: bool,
    /// Whether somebody relies on the order of its rows: joins keep it.
    pub is_in_order: bool,
    /// No more rows are asked for.
    pub limit: Option<u64>,
}

impl Scan {
    /// Positions of the columns of an index, or of the primary key.
    pub fn key_columns(&self, index: Option<usize>) -> Vec<usize> {
        self.relation.key_columns(index)
    }

    /// Whether the entries of an index have all columns: its own and the primary key's.
    pub fn is_covered_by(&self, index: usize) -> bool {
        let (own, key) = (self.key_columns(Some(index)), self.key_columns(None));
        self.columns.iter().all(|(at, _)| own.contains(at) || key.contains(at))
    }
}

/// A plan.
#[derive(Debug, Clone)]
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
    /// Other columns out of the input's.
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
    /// Pairs of rows.
    Join {
        /// How.
        kind: JoinKind,
        /// Left input.
        left: Box<Plan>,
        /// Right input; it may read the columns of the left where `lateral`.
        right: Box<Plan>,
        /// What a pair must pass.
        terms: Vec<Expr>,
        /// Whether the right is to be run for every row of the left.
        lateral: bool,
    },
    /// One row per group.
    Aggregate {
        /// The input.
        input: Box<Plan>,
        /// What rows are grouped by.
        groups: Vec<(Column, Expr)>,
        /// What is computed of each group.
        aggregates: Vec<(Column, Aggregate)>,
        /// Grouping sets, as positions in `groups`; one set of all where absent.
        sets: Option<Vec<Vec<usize>>>,
    },
    /// The input with window functions beside.
    Window {
        /// The input.
        input: Box<Plan>,
        /// The functions.
        calls: Vec<(Column, WindowCall)>,
    },
    /// The input in order.
    Sort {
        /// The input.
        input: Box<Plan>,
        /// The order.
        keys: Vec<SortKey>,
    },
    /// The input, whose order is relied on.
    Ordered {
        /// The input.
        input: Box<Plan>,
        /// What makes use of it: the keys that a join merges by, or what groups or DISTINCT
        /// have in one place. None where it is kept for what stands above.
        keys: Vec<OrderedBy>,
    },
    /// Part of the input.
    Limit {
        /// The input.
        input: Box<Plan>,
        /// Rows at most.
        limit: Option<Expr>,
        /// Rows skipped first.
        offset: Option<Expr>,
        /// Rows that are in these as the last one is come too.
        ties: Vec<Expr>,
    },
    /// The input without duplicates.
    Distinct {
        /// The input.
        input: Box<Plan>,
        /// What tells rows apart, if not all of them.
        on: Option<Vec<Expr>>,
    },
    /// Two inputs by position.
    SetOperation {
        /// Which.
        kind: SetKind,
        /// Whether duplicates count.
        all: bool,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// The columns of the answer.
        columns: Vec<Column>,
    },
    /// The rows a table function makes.
    TableFunction {
        /// Which.
        function: TableFunction,
        /// Its arguments.
        arguments: Vec<Expr>,
        /// Its columns.
        columns: Vec<Column>,
    },
    /// A query that refers to its own answer.
    Recursive {
        /// Which working table the step reads.
        number: usize,
        /// The columns.
        columns: Vec<Column>,
        /// What it begins with.
        base: Box<Plan>,
        /// What is made of the rows of the round before.
        step: Box<Plan>,
        /// Whether rows that came before are left out.
        distinct: bool,
    },
    /// The rows of the round before.
    WorkTable {
        /// Which.
        number: usize,
        /// The columns.
        columns: Vec<Column>,
    },
    /// The rows of a query that the statement may read elsewhere too.
    Shared {
        /// Which.
        query: Arc<SharedQuery>,
        /// The columns, by position those of the query.
        columns: Vec<Column>,
    },
    /// Rows beside those a key of theirs finds.
    Fetch(Box<Fetch>),
    /// Rows with what their links lead to.
    Follow {
        /// The input.
        input: Box<Plan>,
        /// A column each.
        branches: Vec<Branch>,
    },
    /// The first rows of each parent.
    LimitPerParent(Box<LimitPerParent>),
    /// Rows with whether their key is among others.
    SemiJoin(Box<SemiJoin>),
}

impl Plan {
    /// The rows in an order; as they come, where it has no keys.
    pub fn sorted(self, keys: &[SortKey]) -> Self {
        match keys {
            [] => self,
            keys => Self::Sort { input: Box::new(self), keys: keys.to_vec() },
        }
    }

    /// The columns of the answer, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Self::OneRow => Vec::new(),
            Self::Scan(scan) => {
                let columns = scan.columns.iter().map(|(_, column)| column.clone());
                columns.chain(scan.row_number.clone()).collect()
            }
            Self::Values { columns, .. }
            | Self::SetOperation { columns, .. }
            | Self::TableFunction { columns, .. }
            | Self::Recursive { columns, .. }
            | Self::WorkTable { columns, .. }
            | Self::Shared { columns, .. } => columns.clone(),
            Self::Project { outputs, .. } => {
                outputs.iter().map(|(column, _)| column.clone()).collect()
            }
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Ordered { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. } => input.columns(),
            Self::Join { kind, left, right, .. } => {
                let mut columns = left.columns();
                if kind.has_right() {
                    columns.extend(right.columns());
                }
                columns
            }
            Self::Aggregate { groups, aggregates, .. } => {
                let groups = groups.iter().map(|(column, _)| column.clone());
                groups.chain(aggregates.iter().map(|(column, _)| column.clone())).collect()
            }
            Self::Window { input, calls } => {
                let mut columns = input.columns();
                columns.extend(calls.iter().map(|(column, _)| column.clone()));
                columns
            }
            Self::Fetch(fetch) => {
                let mut columns = fetch.input.columns();
                columns.extend(fetch.columns.iter().map(|(_, column)| column.clone()));
                columns
            }
            Self::Follow { input, branches } => {
                let mut columns = input.columns();
                columns.extend(branches.iter().map(|branch| branch.output.clone()));
                columns
            }
            Self::LimitPerParent(cut) => cut.input.columns(),
            Self::SemiJoin(mark) => {
                let mut columns = mark.input.columns();
                columns.push(mark.output.clone());
                columns
            }
        }
    }

    /// Whether somebody relies on the order of the rows: one that merges them or goes run by
    /// run, or one whose sort was dropped.
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

    /// The numbers of the columns of the answer.
    #[must_use]
    pub fn column_ids(&self) -> Vec<ColumnId> {
        self.columns().into_iter().map(|column| column.id).collect()
    }

    /// The types of the columns of the answer.
    #[must_use]
    pub fn types(&self) -> Vec<ColumnType> {
        self.columns().into_iter().map(|column| column.ty).collect()
    }

    /// The plans this one reads.
    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Self::OneRow
            | Self::Scan(_)
            | Self::Values { .. }
            | Self::TableFunction { .. }
            | Self::WorkTable { .. }
            | Self::Shared { .. } => Vec::new(),
            Self::Project { input, .. }
            | Self::Filter { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::Sort { input, .. }
            | Self::Ordered { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input, .. } => vec![input],
            Self::Join { left, right, .. } | Self::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            Self::Recursive { base, step, .. } => vec![base, step],
            Self::Fetch(fetch) => vec![&mut fetch.input],
            Self::Follow { input, branches } => {
                let bodies = branches.iter_mut().map(|branch| &mut branch.body);
                std::iter::once(&mut **input).chain(bodies).collect()
            }
            Self::LimitPerParent(cut) => vec![&mut cut.input],
            Self::SemiJoin(mark) => vec![&mut mark.input, &mut mark.keys],
        }
    }

    /// Rewrites every plan of the tree, the inputs before what reads them.
    pub fn transform(&mut self, change: &mut dyn FnMut(&mut Plan)) {
        self.inputs_mut().into_iter().for_each(|input| input.transform(change));
        change(self);
    }

    /// Takes the plan out of its place.
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::OneRow)
    }

    /// A filter over this plan, or this plan where there is nothing to filter.
    pub fn filtered(self, terms: Vec<Expr>) -> Self {
        if terms.is_empty() { self } else { Self::Filter { input: Box::new(self), terms } }
    }
}
