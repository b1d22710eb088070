//! Queries that a statement reads more than once: bound at the first use, and shared by the
//! others. See [`folio_engine::plan::shared`].

use std::sync::Arc;

use folio_engine::expression::Expr;
use folio_engine::plan::logical::Plan;
use folio_engine::plan::shared::SharedQuery;

use super::{Binder, Named};

/// Operators of a plan that is made anew for each use, so that each can follow a key.
const PLAIN_DEPTH: usize = 8;

/// Rows given in the statement that are cheap to give again.
const PLAIN_ROWS: usize = 64;

/// A query that was bound, for further uses.
#[derive(Clone)]
pub(super) struct Bound {
    query: Arc<SharedQuery>,
    names: Vec<String>,
}

impl Binder<'_> {
    /// Shares a query that was bound, unless reading it again costs little. `in_round`: the
    /// step of a recursive query is being bound, whose rows differ from round to round.
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
        let plain = columns.iter().map(|(_, column)| column.clone()).collect();
        let plan = Plan::Shared { query: Arc::clone(&query), columns: plain };
        (Named { plan, columns }, Some(Bound { query, names }))
    }

    /// Another use of a shared query, with columns of its own.
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
        let plain = columns.iter().map(|(_, column)| column.clone()).collect();
        Named { plan: Plan::Shared { query: Arc::clone(query), columns: plain }, columns }
    }
}

/// Whether a plan is rows of one relation with conditions and outputs that are the same each
/// time: conditions of the uses find keys and indexes in it.
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

/// Whether a plan reads the rows of a round that is not its own. What a shared query reads
/// was looked at when that was shared.
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
