//! Plan nodes for links: fetch by key, nesting, limit per parent, and semi joins that mark rows.
//!
//! A nested result is planned level by level. *Follow* passes the distinct keys of all parents
//! of a batch to the body of a branch. The body reads them as a working table and returns rows
//! with the number of their key in front:
//!
//! ```text
//! Follow posts ─ input: parents
//!              └ body:  Project [key number, title, …]
//!                         LimitPerParent 3 per key number
//!                           Sort key number, at desc
//!                             Fetch Post by index author
//!                               WorkTable [key number, key]
//! ```

use std::sync::Arc;

use folio_types::ColumnType;

use super::logical::Plan;
use super::physical::Physical;
use crate::expression::{Column, Expr};
use crate::source::Relation;

/// Joins each row of the input with the rows of a relation that have its key.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// The input.
    pub input: Plan,
    /// Its number in the statement, under which what it read is cached.
    pub number: usize,
    /// The relation.
    pub relation: Arc<Relation>,
    /// The columns read: position in the relation, and column in the plan.
    pub columns: Vec<(usize, Column)>,
    /// The column compared with the key.
    pub column: usize,
    /// The index that begins with it. Otherwise `None`, which means the primary key if that does.
    pub index: Option<usize>,
    /// The key, over the input's columns.
    pub key: Expr,
}

/// How the rows of a branch become one value of the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nest {
    /// A struct, or null.
    One,
    /// A list of structs.
    Many,
    /// A list of values of the only column.
    Values,
}

/// A link followed from each row of an input.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The working table that its body reads: key number and key.
    pub number: usize,
    /// The key, over the input's columns.
    pub key: Expr,
    /// The plan over the keys. Its first column is the key number, ascending.
    pub body: Plan,
    /// How rows become a value.
    pub nest: Nest,
    /// The column it adds to the input.
    pub output: Column,
}

/// A limit on the rows of each parent.
#[derive(Debug, Clone)]
pub struct LimitPerParent {
    /// The input. The rows of a parent are consecutive.
    pub input: Plan,
    /// The column that identifies the parent.
    pub parent: Column,
    /// Maximum number of rows.
    pub limit: Expr,
    /// Number of rows to skip first.
    pub offset: Option<Expr>,
}

/// Adds a column: whether a key of the input is among those of another plan.
#[derive(Debug, Clone)]
pub struct SemiJoin {
    /// The input.
    pub input: Plan,
    /// The key, over the input's columns.
    pub key: Expr,
    /// The plan whose first column has the keys.
    pub keys: Plan,
    /// The column it adds, never null.
    pub output: Column,
}

/// [`Fetch`], lowered.
#[derive(Debug)]
pub(crate) struct PhysicalFetch {
    pub input: Physical,
    pub number: usize,
    pub relation: Arc<Relation>,
    /// Positions of the columns read.
    pub columns: Vec<usize>,
    pub column: usize,
    pub index: Option<usize>,
    pub key: Expr,
}

/// [`Branch`], lowered.
#[derive(Debug)]
pub(crate) struct PhysicalBranch {
    pub number: usize,
    pub key: Expr,
    pub body: Physical,
    /// The types of the body's columns.
    pub types: Vec<ColumnType>,
    pub nest: Nest,
    pub output: Column,
}

/// Branches over one input, lowered.
#[derive(Debug)]
pub(crate) struct PhysicalFollow {
    pub input: Physical,
    pub branches: Vec<PhysicalBranch>,
}

/// [`LimitPerParent`], lowered.
#[derive(Debug)]
pub(crate) struct PhysicalLimitPerParent {
    pub input: Physical,
    /// The position of the parent's column.
    pub parent: usize,
    pub limit: Expr,
    pub offset: Option<Expr>,
}

/// [`SemiJoin`], lowered.
#[derive(Debug)]
pub(crate) struct PhysicalSemiJoin {
    pub input: Physical,
    pub key: Expr,
    pub keys: Physical,
}

impl PhysicalFetch {
    /// Whether keys can be looked up in an index or the primary key.
    pub(crate) fn has_path(&self) -> bool {
        self.index.is_some() || self.relation.schema.primary_key.first() == Some(&self.column)
    }
}
