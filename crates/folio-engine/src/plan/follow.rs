//! What following links adds to the algebra: fetching by key, nesting, cutting per
//! parent, and telling whether an entity is linked to any of a set.
//!
//! A nested answer is planned level by level. *Follow* hands the keys of all
//! parents of a batch, each once, to the body of a branch, which reads them as a
//! working table and answers rows with the number of their key in front:
//!
//! ```text
//! Follow posts ─ input: parents
//!              └ body:  Project [key number, title, …]
//!                         Cut 3 per key number
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

/// The input's rows, each beside every row of a relation that has its key.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// The input.
    pub input: Plan,
    /// Its number in the statement: what was read of the relation is kept under it.
    pub number: usize,
    /// The relation.
    pub relation: Arc<Relation>,
    /// Its columns wanted: position in the relation, and the column they are here.
    pub columns: Vec<(usize, Column)>,
    /// The column that is compared with the key.
    pub column: usize,
    /// The index that begins with it; the primary key otherwise, where that does.
    pub index: Option<usize>,
    /// The key, over the input.
    pub key: Expr,
}

/// How the rows of a branch become one value of their parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nest {
    /// A struct, or null.
    One,
    /// A list of structs.
    Many,
    /// A list of the only column's values.
    Values,
}

/// A link followed from the rows of an input.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The working table its body reads: key number and key.
    pub number: usize,
    /// The key, over the input.
    pub key: Expr,
    /// What is done with the keys. Its first column is the key's number, ascending.
    pub body: Plan,
    /// How rows become a value.
    pub nest: Nest,
    /// The column that is added to the input.
    pub output: Column,
}

/// The first rows of each parent.
#[derive(Debug, Clone)]
pub struct LimitPerParent {
    /// The input, the rows of a parent together.
    pub input: Plan,
    /// What tells parents apart.
    pub parent: Column,
    /// Rows at most.
    pub limit: Expr,
    /// Rows skipped first.
    pub offset: Option<Expr>,
}

/// The input with whether a key of it is among those of another plan.
#[derive(Debug, Clone)]
pub struct SemiJoin {
    /// The input.
    pub input: Plan,
    /// Its key.
    pub key: Expr,
    /// The plan whose first column is looked at.
    pub keys: Plan,
    /// The column that is added: never null.
    pub output: Column,
}

/// [`Fetch`], lowered.
#[derive(Debug)]
pub(crate) struct PhysicalFetch {
    pub input: Physical,
    pub number: usize,
    pub relation: Arc<Relation>,
    /// Positions of the columns wanted.
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

/// Branches over one input.
#[derive(Debug)]
pub(crate) struct PhysicalFollow {
    pub input: Physical,
    pub branches: Vec<PhysicalBranch>,
}

/// [`LimitPerParent`], lowered.
#[derive(Debug)]
pub(crate) struct PhysicalLimitPerParent {
    pub input: Physical,
    /// The parent's column.
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
    /// Whether keys can be looked up at all.
    pub(crate) fn has_path(&self) -> bool {
        self.index.is_some() || self.relation.schema.primary_key.first() == Some(&self.column)
    }
}
