//! Which of a grouping's keys decide the group. Where the whole primary key of a table is among them,
//! its other columns follow: rows with the same key have the same values, or are all null on the
//! outer side of a join. What follows is not compared and not hashed (PostgreSQL's planner leaves
//! such keys out, too).

use folio_compute::keys::is_integer_key;
use folio_types::ColumnType;

use super::logical::{Plan, Scan};
use crate::expression::Expr;

/// The positions of the keys that decide; all others follow from them.
pub(super) fn deciding(input: &Plan, groups: &[&Expr]) -> Vec<usize> {
    let mut following = Vec::new();
    note_following(input, groups, &mut following);
    (0..groups.len()).filter(|position| !following.contains(position)).collect()
}

/// Looks at the scans whose rows a plan passes on, as they are or paired with others.
fn note_following(plan: &Plan, groups: &[&Expr], following: &mut Vec<usize>) {
    match plan {
        Plan::Scan(scan) => following.extend(following_of(scan, groups)),
        Plan::Filter { input, .. } | Plan::Project { input, .. } | Plan::Ordered { input, .. } => {
            note_following(input, groups, following);
        }
        Plan::Join { left, right, .. } => {
            note_following(left, groups, following);
            note_following(right, groups, following);
        }
        _ => {}
    }
}

/// The keys that are columns of a scan, but not of its primary key, if that is whole.
fn following_of(scan: &Scan, groups: &[&Expr]) -> Vec<usize> {
    let key = &scan.relation.schema.primary_key;
    let of_group = groups.iter().map(|group| match group {
        Expr::Column(own) => scan.position(own.id),
        _ => None,
    });
    let of_group: Vec<_> = of_group.collect();
    let is_there =
        |at: &usize| of_group.contains(&Some(*at)) && is_one_value(scan.relation.column_type(*at));
    if key.is_empty() || !key.iter().all(is_there) {
        return Vec::new();
    }
    let follows = |position: &usize| of_group[*position].is_some_and(|at| !key.contains(&at));
    (0..groups.len()).filter(follows).collect()
}

/// Whether values of a type that group as equal are equal as keys, too: zeros of floats have signs.
fn is_one_value(ty: &ColumnType) -> bool {
    is_integer_key(ty) || matches!(ty, ColumnType::Text | ColumnType::Uuid)
}
