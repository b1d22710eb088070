//! Keys in the conditions of a join: which are equal on both sides, and which values a probe
//! looks up.

use super::logical::Scan;
use super::terms::Probe;
use crate::expression::{ColumnId, Expr};
use crate::source::Comparison;

/// The terms of a join, split into keys and others.
pub(crate) struct SplitTerms {
    /// Equal keys: left, right.
    pub(crate) pairs: Vec<(Expr, Expr)>,
    /// Whether null equals null.
    pub(crate) null_equal: bool,
    /// All other terms.
    pub(crate) residual: Vec<Expr>,
}

/// Finds the terms that equate something of the left with something of the right.
pub(crate) fn split_keys(terms: &[Expr], left: &[ColumnId], right: &[ColumnId]) -> SplitTerms {
    let null_equal = terms.iter().any(is_null_equality);
    let wanted = if null_equal { Comparison::NotDistinct } else { Comparison::Equal };
    let mut split = SplitTerms { pairs: Vec::new(), null_equal, residual: Vec::new() };
    for term in terms {
        match term {
            Expr::Compare { op, left: one, right: other } if *op == wanted => {
                let side = |key: &Expr, columns: &[ColumnId]| {
                    !key.columns().is_empty() && key.reads_only(columns) && !key.has_subquery()
                };
                if side(one, left) && side(other, right) {
                    split.pairs.push(((**one).clone(), (**other).clone()));
                } else if side(one, right) && side(other, left) {
                    split.pairs.push(((**other).clone(), (**one).clone()));
                } else {
                    split.residual.push(term.clone());
                }
            }
            other => split.residual.push(other.clone()),
        }
    }
    split
}

fn is_null_equality(term: &Expr) -> bool {
    matches!(term, Expr::Compare { op: Comparison::NotDistinct, .. })
}

/// A join's conditions, split for a probe.
pub(crate) struct ProbeKeys {
    /// The value for each column of the probe.
    pub values: Vec<Expr>,
    /// The terms that the probe does not cover.
    pub residual: Vec<Expr>,
}

/// The values that a probe looks up; `None` if the conditions do not give them all.
pub(crate) fn probe_keys(
    scan: &Scan,
    probe: Probe,
    terms: &[Expr],
    left: &[ColumnId],
    right: &[ColumnId],
) -> Option<ProbeKeys> {
    let mut residual = terms.to_vec();
    let value = |index: &usize| {
        let own = scan.column(*index)?;
        let found = residual.iter().enumerate().find_map(|(at, term)| {
            let split = split_keys(std::slice::from_ref(term), left, right);
            let (value, other) = split.pairs.into_iter().next().filter(|_| !split.null_equal)?;
            let is_own = matches!(other, Expr::Column(column) if column.id == own.id);
            (is_own && value.ty() == own.ty).then_some((at, value))
        });
        let (at, value) = found?;
        residual.remove(at);
        Some(value)
    };
    let key = &scan.key_columns(probe.index)[..probe.columns];
    let values = key.iter().map(value).collect::<Option<Vec<Expr>>>()?;
    Some(ProbeKeys { values, residual })
}
