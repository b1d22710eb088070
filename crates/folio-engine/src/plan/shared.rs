//! Queries that a statement reads several times but computes once.
//!
//! A WITH query is bound at its first use, and each use is a leaf of the plan. If a query has one
//! leaf, the optimizer replaces the leaf by the query. Otherwise the query is optimized and
//! lowered once, by its first reader, and computed once in each run. Without this, a chain of
//! names that each read the previous one twice would double the plan with every name.
//!
//! The query computes what some leaf reads: columns that none reads are dropped, and a member of a
//! struct that leaves read is a column of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::logical::Plan;
use super::physical::{self, Physical};
use crate::expression::{Column, ColumnId, Expr};

/// A query with one or more leaves.
#[derive(Debug)]
pub struct SharedQuery {
    /// Its number in the statement.
    pub number: usize,
    /// Its name in the statement.
    pub name: String,
    /// Its columns. The first leaf has columns with the same ids.
    pub columns: Vec<Column>,
    state: Mutex<State>,
    /// Number of leaves.
    uses: AtomicUsize,
    rows: OnceLock<f64>,
    physical: OnceLock<Arc<physical::SharedQuery>>,
}

/// The plan of a query, and what its leaves read.
#[derive(Debug)]
struct State {
    plan: Plan,
    /// The columns by place: those of the query, then parts of them.
    places: Vec<Column>,
    /// The places of parts of columns.
    parts: Vec<(usize, Part, usize)>,
    /// Whether some leaf reads a place; the plan of a settled query has the columns of these alone.
    is_wanted: Vec<bool>,
    is_settled: bool,
}

/// What is read of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A member of a struct, by its position.
    Member(usize),
    /// The value of a key of a map.
    Key(String),
}

impl SharedQuery {
    /// A query with one leaf. `plan` has exactly these columns.
    pub fn new(number: usize, name: &str, plan: Plan) -> Self {
        let columns = plan.columns();
        let (places, is_wanted) = (columns.clone(), vec![false; columns.len()]);
        let state = State { plan, places, parts: Vec::new(), is_wanted, is_settled: false };
        Self {
            number,
            name: name.to_owned(),
            columns,
            state: Mutex::new(state),
            uses: AtomicUsize::new(1),
            rows: OnceLock::new(),
            physical: OnceLock::new(),
        }
    }

    /// Counts another leaf.
    pub fn read_again(&self) {
        self.uses.fetch_add(1, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a part of a column, and the column there. `find` makes it a column of the plan
    /// if that can provide it.
    pub(crate) fn part(
        &self,
        place: usize,
        part: &Part,
        find: &mut dyn FnMut(&mut Plan, ColumnId) -> Option<Column>,
    ) -> Option<(usize, Column)> {
        let state = &mut *self.state();
        let known = state.parts.iter().find(|(own, known, _)| *own == place && known == part);
        if let Some((_, _, at)) = known {
            let is_there = !state.is_settled || state.is_wanted[*at];
            return is_there.then(|| (*at, state.places[*at].clone()));
        }
        if state.is_settled {
            return None;
        }
        let column = find(&mut state.plan, state.places[place].id)?;
        let known = state.places.iter().position(|known| known.id == column.id);
        let at = known.unwrap_or_else(|| {
            state.places.push(column.clone());
            state.is_wanted.push(false);
            state.places.len() - 1
        });
        state.parts.push((place, part.clone(), at));
        Some((at, column))
    }

    /// Notes that a leaf reads some places.
    pub(crate) fn want(&self, places: impl Iterator<Item = usize>) {
        let is_wanted = &mut self.state().is_wanted;
        places.for_each(|place| is_wanted[place] = true);
    }

    /// Changes the plan, with the columns that leaves read, once: `false` if that was done before.
    pub(crate) fn settle(&self, change: impl FnOnce(&mut Plan, Vec<Column>)) -> bool {
        let state = &mut *self.state();
        if std::mem::replace(&mut state.is_settled, true) {
            return false;
        }
        if !state.is_wanted.contains(&true) {
            state.is_wanted.iter_mut().take(1).for_each(|first| *first = true); // rows need a column
        }
        let places = state.places.iter().zip(&state.is_wanted).filter(|(_, wanted)| **wanted);
        change(&mut state.plan, places.map(|(column, _)| column.clone()).collect());
        true
    }

    /// Changes the plan; its columns remain.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Plan) -> T) -> T {
        change(&mut self.state().plan)
    }

    /// The estimated number of rows, computed once.
    pub fn rows(&self, estimate: impl FnOnce(&Plan) -> f64) -> f64 {
        *self.rows.get_or_init(|| estimate(&self.state().plan))
    }

    /// Its physical plan.
    pub(crate) fn physical(&self, lower: &dyn Fn(&Plan) -> Physical) -> Arc<physical::SharedQuery> {
        let lowered = || {
            let state = self.state();
            Arc::new(physical::SharedQuery {
                number: self.number,
                name: self.name.clone(),
                types: state.plan.types(),
                plan: lower(&state.plan),
            })
        };
        Arc::clone(self.physical.get_or_init(lowered))
    }

    /// The positions of places in the rows of the plan.
    pub(crate) fn positions(&self, columns: &[(usize, Column)]) -> Vec<usize> {
        let state = self.state();
        let ids = state.plan.column_ids();
        let position = |place: &usize| ids.iter().position(|id| *id == state.places[*place].id);
        columns
            .iter()
            .map(|(place, _)| position(place).expect("a leaf reads what it wants"))
            .collect()
    }
}

/// Replaces the leaf of each query that has only one, and lists the other queries.
pub(crate) fn replace_single(plan: &mut Plan, found: &mut Vec<Arc<SharedQuery>>) {
    while let Plan::Shared { query, columns } = plan {
        if query.uses.load(Ordering::Relaxed) > 1 {
            if !found.iter().any(|known| Arc::ptr_eq(known, query)) {
                found.push(Arc::clone(query));
                replace_single(&mut query.state().plan, found);
            }
            return;
        }
        // This is the first leaf, so its columns have the ids of the query's columns.
        debug_assert!(columns.iter().map(|(_, column)| column).eq(&query.columns));
        let inner = match Arc::strong_count(query) {
            1 => query.state().plan.take(),
            // Rules that copied an expression also copied the leaves in its subqueries.
            _ => query.state().plan.clone(),
        };
        *plan = inner;
    }
    plan.for_each_own_expression_mut(&mut |expression| {
        if expression.has_subquery() {
            expression.transform(&mut |part| {
                if let Expr::Subquery(subquery) = part
                    && let Some(inner) = subquery.plan_mut()
                {
                    replace_single(inner, found);
                }
            });
        }
    });
    plan.for_each_input_mut(&mut |input| replace_single(input, found));
}
