//! Queries that a statement reads several times: bound at the first use, and shared by later ones.
//! See [`folio_engine::plan::shared`].

use std::sync::Arc;

use folio_engine::expression::{Column, Expr};
use folio_engine::plan::logical::Plan;
use folio_engine::plan::shared::SharedQuery;

use super::{Binder, Named};

/// Maximum depth of a plan that is bound again for each use, so that each use can follow a key.
const PLAIN_DEPTH: usize = 8;

/// Maximum number of rows in VALUES that are bound again for each use.
const PLAIN_ROWS: usize = 64;

/// A bound query, for further uses.
#[derive(Clone)]
pub(super) struct Bound {
    query: Arc<SharedQuery>,
    names: Vec<String>,
}

impl Binder<'_> {
    /// Shares a bound query, unless binding it again is cheap. `in_round` means that the step of a
    /// recursive query is being bound, whose rows differ from round to round.
    pub(super) fn shared(
        &mut self,
        mut named: Named,
        name: &str,
        in_round: bool,
    ) -> (Named, Option<Bound>) {
        if is_plain(&named.plan) || in_round && reads_round(&mut named.plan) {
            return (named, None);
        }
        let types: Vec<_> = named.columns.iter().map(|(_, column)| column.ty.clone()).collect();
        let Named { plan, columns } = self.converted(named, &types);
        let query = Arc::new(SharedQuery::new(self.number(), name, plan));
        let names = columns.iter().map(|(name, _)| name.clone()).collect();
        let plan = Plan::Shared { columns: placed(&columns), query: Arc::clone(&query) };
        (Named { plan, columns }, Some(Bound { query, names }))
    }

    /// Another use of a shared query, with new columns.
    pub(super) fn read_again(&mut self, bound: &Bound) -> Named {
        let Bound { query, names } = bound;
        query.read_again();
        let mut columns = Vec::with_capacity(names.len());
        for (name, own) in names.iter().zip(&query.columns) {
            let column = self.column(name, own.ty.clone());
            let of_struct = self.structs.iter().find(|(id, _)| *id == own.id);
            if let Some((_, relation)) = of_struct {
                let relation = Arc::clone(relation);
                self.structs.push((column.id, relation));
            }
            columns.push((name.clone(), column));
        }
        let plan = Plan::Shared { columns: placed(&columns), query: Arc::clone(query) };
        Named { plan, columns }
    }
}

/// Named columns with their places.
fn placed(columns: &[(String, Column)]) -> Vec<(usize, Column)> {
    columns.iter().map(|(_, column)| column.clone()).enumerate().collect()
}

/// Whether a plan reads one relation with deterministic conditions and outputs. Binding it again
/// lets the conditions of each use find keys and indexes.
fn is_plain(plan: &Plan) -> bool {
    let is_steady = |expression: &Expr| {
        !expression.any(&mut |part| match part {
            Expr::Function { function, .. } => function.is_volatile,
            Expr::Subquery(_) => true,
            _ => false,
        })
    };
    let mut plan = plan;
    for _ in 0..PLAIN_DEPTH {
        plan = match plan {
            Plan::Project { input, outputs } => {
                match outputs.iter().all(|(_, output)| is_steady(output)) {
                    true => input,
                    false => return false,
                }
            }
            Plan::Filter { input, terms } => match terms.iter().all(is_steady) {
                true => input,
                false => return false,
            },
            Plan::Values { rows, .. } => {
                return rows.len() <= PLAIN_ROWS && rows.iter().flatten().all(is_steady);
            }
            Plan::Scan(_) | Plan::OneRow | Plan::WorkTable { .. } | Plan::Shared { .. } => {
                return true;
            }
            _ => return false,
        };
    }
    false
}

/// Whether a plan reads the working table of an outer recursive query. Shared queries within were
/// checked when they were shared.
fn reads_round(plan: &mut Plan) -> bool {
    let (mut read, mut own) = (Vec::new(), Vec::new());
    collect_rounds(plan, &mut read, &mut own);
    read.iter().any(|number| !own.contains(number))
}

fn collect_rounds(plan: &mut Plan, read: &mut Vec<usize>, own: &mut Vec<usize>) {
    plan.transform(&mut |part| {
        match part {
            Plan::WorkTable { number, .. } => read.push(*number),
            Plan::Recursive { number, .. } => own.push(*number),
            _ => {}
        }
        part.for_each_own_expression_mut(&mut |expression| {
            expression.transform(&mut |part| {
                if let Expr::Subquery(subquery) = part
                    && let Some(plan) = subquery.plan_mut()
                {
                    collect_rounds(plan, read, own);
                }
            });
        });
    });
}
