//! The known order of a plan's rows.
//!
//! Rows of tables come in the order of the key or index that a scan follows, and a sort makes
//! its own order. Projections, filters and most joins preserve order. Merge joins, streaming
//! groups and the removal of sorts use it.

use folio_types::ColumnType;

use super::logical::Scan;
use super::terms::{Path, SortKey};
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::terms::OrderedBy;
use crate::source::{Comparison, RelationKind};

/// The order of a plan's rows; unknown without keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct Order {
    /// The sort keys of the rows, the first key first.
    pub keys: Vec<Key>,
    /// Columns with the same value in all rows.
    pub fixed: Vec<ColumnId>,
    /// Whether no two rows are equal in all keys.
    pub is_unique: bool,
}

/// A key of an order.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// Columns that are equal in every row; each of them is the key.
    pub columns: Vec<ColumnId>,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether nulls come first; `None` if there are none.
    pub nulls_first: Option<bool>,
}

/// Expressions whose equal values are in consecutive rows.
pub(crate) struct Run {
    /// How many keys of the order they cover.
    pub key_count: usize,
    /// Their positions in the list of expressions.
    pub positions: Vec<usize>,
    /// Their columns, with whether each is descending.
    pub columns: Vec<OrderedBy>,
}

impl Order {
    /// The order of a scan.
    pub(crate) fn of_scan(scan: &Scan) -> Self {
        let (index, equal) = match &scan.path {
            // Collections and files have no known order, except that of an index.
            Path::Full | Path::Range { index: None, .. }
                if scan.relation.kind != RelationKind::Table =>
            {
                return Self::default();
            }
            Path::Full => (None, 0),
            Path::Range { index, equal, .. } => (*index, equal.len()),
            Path::Key(_) | Path::Keys { .. } | Path::Probe(_) => return Self::default(),
        };
        if index.is_some_and(|index| scan.relation.indexes[index].elements.is_some()) {
            return Self::default();
        }
        let columns: Vec<(usize, bool)> = match index {
            Some(index) => scan.relation.indexes[index].columns.clone(),
            None => scan.relation.schema.primary_key.iter().map(|own| (*own, false)).collect(),
        };
        let (fixed, rest) = columns.split_at(equal.min(columns.len()));
        let id = |position: usize| scan.column(position).map(|column| column.id);
        let key = |(position, descends): &(usize, bool)| {
            let descending = *descends != scan.reverse;
            // Indexes order null as the greatest value.
            let has_null = scan.relation.is_nullable(*position);
            let nulls_first = has_null.then_some(descending);
            Some(Key { columns: vec![id(*position)?], descending, nulls_first })
        };
        let keys: Vec<Key> = rest.iter().map_while(key).collect();
        let is_unique = index.is_none() && !rest.is_empty() && keys.len() == rest.len();
        Self { keys, fixed: fixed.iter().filter_map(|(own, _)| id(*own)).collect(), is_unique }
    }

    /// The order after a sort.
    pub(crate) fn of_sort(keys: &[SortKey]) -> Self {
        let key = |key: &SortKey| match &key.expression {
            Expr::Column(column) if is_plain(&column.ty) => Some(Key {
                columns: vec![column.id],
                descending: key.descending,
                nulls_first: Some(key.nulls_first),
            }),
            _ => None,
        };
        Self { keys: keys.iter().map_while(key).collect(), ..Self::default() }
    }

    /// The order after a projection.
    pub(crate) fn projected(self, outputs: &[(Column, Expr)]) -> Self {
        self.renamed(&|columns| {
            let is_same =
                |output: &Expr| matches!(output, Expr::Column(own) if columns.contains(&own.id));
            outputs.iter().filter(|(_, output)| is_same(output)).map(|(own, _)| own.id).collect()
        })
    }

    /// The order after streaming groups.
    pub(crate) fn grouped(mut self, groups: &[(Column, Expr)], run: &Run) -> Self {
        self.keys.truncate(run.key_count);
        self.is_unique = run.positions.len() == groups.len();
        self.renamed(&|columns| {
            let is_same = |group: &Expr| column_of(group).is_some_and(|own| columns.contains(&own));
            groups.iter().filter(|(_, group)| is_same(group)).map(|(own, _)| own.id).collect()
        })
    }

    /// Renames columns, and stops at the first key without a new name.
    fn renamed(mut self, named: &dyn Fn(&[ColumnId]) -> Vec<ColumnId>) -> Self {
        let count = self.keys.len();
        let keys = self.keys.into_iter().map(|key| Key { columns: named(&key.columns), ..key });
        self.keys = keys.take_while(|key| !key.columns.is_empty()).collect();
        self.is_unique &= self.keys.len() == count;
        self.fixed = named(&self.fixed);
        self
    }

    /// Merges columns that the terms of a join make equal into one key.
    pub(crate) fn equated(mut self, terms: &[Expr]) -> Self {
        let equated = terms.iter().filter_map(|term| match term {
            Expr::Compare { op: Comparison::Equal, left, right } => {
                Some((column_of(left)?, column_of(right)?))
            }
            _ => None,
        });
        for (left, right) in equated {
            for key in &mut self.keys {
                match (key.columns.contains(&left), key.columns.contains(&right)) {
                    (true, false) => key.columns.push(right),
                    (false, true) => key.columns.push(left),
                    _ => {}
                }
            }
        }
        self
    }

    /// Whether rows in this order are also sorted by these keys.
    pub(crate) fn satisfies(&self, wanted: &[SortKey]) -> bool {
        let mut own = self.keys.iter();
        let mut done: Vec<&Key> = Vec::new();
        for key in wanted {
            let Expr::Column(Column { id, .. }) = &key.expression else { return false };
            if self.fixed.contains(id) || done.iter().any(|done| done.columns.contains(id)) {
                continue;
            }
            let Some(next) = own.next() else { return self.is_unique };
            let is_same = next.columns.contains(id)
                && next.descending == key.descending
                && next.nulls_first.is_none_or(|first| first == key.nulls_first);
            if !is_same {
                return false;
            }
            done.push(next);
        }
        true
    }

    /// The expressions whose equal values are in consecutive rows.
    pub(crate) fn run_of<'e>(
        &self,
        expressions: impl Iterator<Item = &'e Expr> + Clone,
    ) -> Option<Run> {
        let is_asked = |key: &&Key| expressions.clone().any(|one| key.is(one));
        let key_count = self.keys.iter().take_while(is_asked).count();
        let keys = &self.keys[..key_count];
        let mut run = Run { key_count, positions: Vec::new(), columns: Vec::new() };
        for (position, expression) in expressions.enumerate() {
            let Some(column) = column_of(expression) else { continue };
            let key = keys.iter().find(|key| key.columns.contains(&column));
            if key.is_some() || self.fixed.contains(&column) {
                run.positions.push(position);
                run.columns.push((column, key.is_some_and(|key| key.descending)));
            }
        }
        (key_count > 0).then_some(run)
    }
}

impl Key {
    fn is(&self, expression: &Expr) -> bool {
        column_of(expression).is_some_and(|own| self.columns.contains(&own))
    }
}

/// The columns of a join's keys in the common order of both sides, with whether each is
/// descending; `None` if a key is not covered or the directions differ.
pub(crate) fn in_order_of_both(
    mut pairs: Vec<(Expr, Expr)>,
    left: &Order,
    right: &Order,
) -> Option<(Vec<OrderedBy>, Vec<OrderedBy>)> {
    let (mut one_side, mut other_side) = (Vec::new(), Vec::new());
    for (one, other) in left.keys.iter().zip(&right.keys) {
        if pairs.is_empty() || one.descending != other.descending {
            break;
        }
        let is_pair = |(own, theirs): &(Expr, Expr)| one.is(own) && other.is(theirs);
        let (own, theirs) = pairs.remove(pairs.iter().position(is_pair)?);
        one_side.push((column_of(&own)?, one.descending));
        other_side.push((column_of(&theirs)?, one.descending));
    }
    pairs.is_empty().then_some((one_side, other_side))
}

/// The column of an expression, ignoring casts between integers.
pub(crate) fn column_of(expression: &Expr) -> Option<ColumnId> {
    match expression.uncast_integer() {
        Expr::Column(column) => Some(column.id),
        _ => None,
    }
}

/// Whether Arrow's kernels can compare values of a type for equality.
fn is_plain(ty: &ColumnType) -> bool {
    !ty.is_nested() && *ty != ColumnType::Interval
}
