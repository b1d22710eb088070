//! Traversal of the expressions of a plan.

use super::logical::Plan;
use super::terms::Path;
use crate::expression::{Column, ColumnId, Expr};

impl Path {
    fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Full | Self::Probe(_) => Vec::new(),
            Self::Key(key) | Self::Keys { keys: key, .. } => key.iter_mut().collect(),
            Self::Range { equal, from, to, .. } => {
                let ends = from.iter_mut().chain(to).map(|(bound, _)| bound);
                equal.iter_mut().chain(ends).collect()
            }
        }
    }
}

impl Plan {
    /// Calls `change` with every expression of this node alone.
    pub fn for_each_own_expression_mut(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::OneRow | Self::SetOperation { .. } | Self::Recursive { .. } => {}
            Self::WorkTable { .. } | Self::Shared { .. } | Self::Ordered { .. } => {}
            Self::Scan(scan) => {
                scan.filters.iter_mut().for_each(&mut *change);
                let paths = std::iter::once(&mut scan.path).chain(&mut scan.rival);
                paths.flat_map(Path::expressions_mut).for_each(change);
            }
            Self::Values { rows, .. } => rows.iter_mut().flatten().for_each(change),
            Self::Project { outputs, .. } => {
                outputs.iter_mut().for_each(|(_, output)| change(output));
            }
            Self::Filter { terms, .. } | Self::Join { terms, .. } => {
                terms.iter_mut().for_each(change);
            }
            Self::Aggregate { groups, aggregates, .. } => {
                groups.iter_mut().for_each(|(_, group)| change(group));
                for (_, aggregate) in aggregates {
                    aggregate.expressions_mut().into_iter().for_each(&mut *change);
                }
            }
            Self::Window { calls, .. } => {
                for (_, call) in calls {
                    call.expressions_mut().into_iter().for_each(&mut *change);
                }
            }
            Self::Sort { keys, .. } => keys.iter_mut().for_each(|key| change(&mut key.expression)),
            Self::Limit { limit, offset, ties, .. } => {
                limit.iter_mut().chain(offset).chain(ties).for_each(change);
            }
            Self::Distinct { on, .. } => on.iter_mut().flatten().for_each(change),
            Self::TableFunction { arguments, .. } => arguments.iter_mut().for_each(change),
            Self::Fetch(fetch) => change(&mut fetch.key),
            Self::Follow { branches, .. } => {
                branches.iter_mut().for_each(|branch| change(&mut branch.key));
            }
            Self::LimitPerParent(cut) => {
                std::iter::once(&mut cut.limit).chain(&mut cut.offset).for_each(change);
            }
            Self::SemiJoin(mark) => change(&mut mark.key),
        }
    }

    /// Calls `change` with every expression of the tree.
    pub fn for_each_expression_mut(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        self.for_each_own_expression_mut(change);
        self.for_each_input_mut(&mut |input| input.for_each_expression_mut(change));
    }

    /// The columns read anywhere in the tree, including by subqueries.
    pub(crate) fn columns_read(&self) -> Vec<Column> {
        let mut read = Vec::new();
        // Nothing changes; the mutable traversal on a copy saves a second one for reading.
        self.clone().for_each_expression_mut(&mut |expression| collect(expression, &mut read));
        read
    }

    /// The columns that the tree reads but does not produce.
    pub fn free_columns(&self) -> Vec<Column> {
        let mut read = self.columns_read();
        if !read.is_empty() {
            let mut made = Vec::new();
            self.clone().collect_made(&mut made);
            read.retain(|column| !made.contains(&column.id));
        }
        read
    }

    /// Whether the tree has the same rows whenever it runs within a statement: it reads no outer
    /// columns and no working tables, and calls no volatile function.
    pub(crate) fn is_constant(&self) -> bool {
        let mut is_constant = self.free_columns().is_empty();
        self.clone().transform(&mut |part| {
            is_constant &= !matches!(
                part,
                Self::WorkTable { .. } | Self::Fetch(_) | Self::Follow { .. } | Self::SemiJoin(_)
            );
            part.for_each_own_expression_mut(&mut |expression| {
                is_constant &= !expression.any(&mut |part| {
                    matches!(part, Expr::Function { function, .. } if function.is_volatile)
                        || matches!(part, Expr::Subquery(_))
                });
            });
        });
        is_constant
    }

    /// The columns produced anywhere in the tree.
    pub(crate) fn collect_made(&mut self, made: &mut Vec<ColumnId>) {
        made.extend(self.column_ids());
        self.for_each_own_expression_mut(&mut |expression| {
            expression.transform(&mut |part| {
                if let Expr::Subquery(subquery) = part
                    && let Some(plan) = subquery.plan_mut()
                {
                    plan.collect_made(made);
                }
            });
        });
        self.for_each_input_mut(&mut |input| input.collect_made(made));
    }
}

fn collect(expression: &mut Expr, read: &mut Vec<Column>) {
    expression.transform(&mut |part| match part {
        Expr::Column(column) if !read.contains(column) => read.push(column.clone()),
        Expr::Subquery(subquery) => {
            if let Some(plan) = subquery.plan_mut() {
                plan.for_each_expression_mut(&mut |inner| collect(inner, read));
            }
        }
        _ => {}
    });
}
