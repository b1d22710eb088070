//! Queries that a statement reads several times but computes once.
//!
//! A WITH query is bound at its first use, and each use is a leaf of the plan. If a query has one
//! leaf, the optimizer replaces the leaf by the query. Otherwise the query is optimized and
//! lowered once, by its first reader, and computed once in each run. Without this, a chain of
//! names that each read the previous one twice would double the plan with every name.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::logical::Plan;
use super::physical::{self, Physical};
use crate::expression::{Column, Expr};

/// A query with one or more leaves.
#[derive(Debug)]
pub struct SharedQuery {
    /// Its number in the statement.
    pub number: usize,
    /// Its name in the statement.
    pub name: String,
    /// Its columns. The first leaf has columns with the same ids.
    pub columns: Vec<Column>,
    plan: Mutex<Plan>,
    /// Number of leaves.
    uses: AtomicUsize,
    is_optimized: AtomicBool,
    rows: OnceLock<f64>,
    physical: OnceLock<Arc<physical::SharedQuery>>,
}

impl SharedQuery {
    /// A query with one leaf. `plan` has exactly these columns.
    pub fn new(number: usize, name: &str, plan: Plan) -> Self {
        Self {
            number,
            name: name.to_owned(),
            columns: plan.columns(),
            plan: Mutex::new(plan),
            uses: AtomicUsize::new(1),
            is_optimized: AtomicBool::new(false),
            rows: OnceLock::new(),
            physical: OnceLock::new(),
        }
    }

    /// Counts another leaf.
    pub fn read_again(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The estimated number of rows, computed once.
    pub fn rows(&self, estimate: impl FnOnce(&Plan) -> f64) -> f64 {
        *self.rows.get_or_init(|| estimate(&self.plan()))
    }

    /// Its physical plan.
    pub(crate) fn physical(&self, lower: &dyn Fn(&Plan) -> Physical) -> Arc<physical::SharedQuery> {
        let lowered = || {
            Arc::new(physical::SharedQuery {
                number: self.number,
                name: self.name.clone(),
                types: self.columns.iter().map(|column| column.ty.clone()).collect(),
                plan: lower(&self.plan()),
            })
        };
        Arc::clone(self.physical.get_or_init(lowered))
    }
}

/// Replaces the leaf of a query that has only one, and calls `optimize` once for each other
/// query.
pub fn optimize_shared(plan: &mut Plan, optimize: &mut dyn FnMut(&mut Plan)) {
    while let Plan::Shared { query, columns } = plan {
        if query.uses.load(Ordering::Relaxed) > 1 {
            if !query.is_optimized.swap(true, Ordering::Relaxed) {
                let query = Arc::clone(query);
                optimize(&mut query.plan());
            }
            return;
        }
        // This is the first leaf, so its columns have the ids of the query's columns.
        debug_assert!(columns.iter().eq(&query.columns));
        let inner = match Arc::strong_count(query) {
            1 => query.plan().take(),
            // Rules that copied an expression also copied the leaves in its subqueries.
            _ => query.plan().clone(),
        };
        *plan = inner;
    }
    plan.for_each_own_expression_mut(&mut |expression| {
        if expression.has_subquery() {
            expression.transform(&mut |part| {
                if let Expr::Subquery(subquery) = part
                    && let Some(inner) = subquery.plan_mut()
                {
                    optimize_shared(inner, optimize);
                }
            });
        }
    });
    plan.for_each_input_mut(&mut |input| optimize_shared(input, optimize));
}
