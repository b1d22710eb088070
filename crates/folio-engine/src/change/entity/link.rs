//! The rows of to-many links: source, position, target. A list has no duplicates. Its positions
//! ascend and may have gaps.

use std::sync::Arc;

use folio_compute::array::{to_array, value_at};
use folio_compute::{Batch, Result};
use folio_types::{ColumnType, Value, ValueRef, borrowed};

use super::link_rows::{LinkRows, OfSource, check_targets};
use super::rows_beginning;
use crate::bound::entity::{LinkEdit, Linked, make_distinct_from};
use crate::change::Run;
use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::constant;
use crate::plan::physical::Physical;
use crate::source::Relation;
use crate::source::entity::{POSITION, TARGET};
use folio_compute::function::without_positions;

impl Linked<Physical> {
    /// The distinct keys, in order.
    pub(super) fn keys(&self, context: &Context) -> Result<Vec<Value>> {
        let mut keys = match self {
            Self::Rows(given) => given.keys(context)?,
            Self::Keys(list) => listed(list, context)?,
        };
        make_distinct(&mut keys);
        Ok(keys)
    }
}

/// The elements of a list; none of null.
fn listed(list: &Expr, context: &Context) -> Result<Vec<Value>> {
    Ok(match constant(list, context)? {
        Value::List(elements) => elements,
        _ => Vec::new(),
    })
}

/// Removes duplicates and nulls.
fn make_distinct(keys: &mut Vec<Value>) {
    keys.retain(|key| !matches!(key, Value::Null));
    make_distinct_from(0, keys);
}

/// An edit with all its expressions evaluated.
pub(super) enum ReadyEdit {
    Set(Vec<Value>),
    Append(Vec<Value>),
    Remove(Vec<Value>),
    RemoveAt(Vec<Value>),
    Pop,
}

impl LinkEdit<Physical> {
    pub(super) fn ready(&self, context: &Context) -> Result<ReadyEdit> {
        Ok(match self {
            Self::Set(linked) => ReadyEdit::Set(linked.keys(context)?),
            Self::Append(linked) => ReadyEdit::Append(linked.keys(context)?),
            Self::Remove(linked) => ReadyEdit::Remove(linked.keys(context)?),
            Self::RemoveAt(list) => ReadyEdit::RemoveAt(listed(list, context)?),
            Self::Pop => ReadyEdit::Pop,
            Self::Clear => ReadyEdit::Set(Vec::new()),
        })
    }
}

impl ReadyEdit {
    /// Changes the lists of all these entities.
    pub(super) fn apply(
        &self,
        table: &Relation,
        sources: &Batch,
        ty: &ColumnType,
        run: &Run<'_>,
    ) -> Result<()> {
        let mut written = Vec::new();
        for row in 0..sources.row_count {
            run.context().check()?;
            let source = value_at(&sources.columns[0], row, ty);
            let old = rows_beginning(table, &source, run)?;
            let targets: Vec<Value> =
                old.iter().map(|(_, values)| values[TARGET].clone()).collect();
            let new = self.list(&targets)?;
            let kept = new.iter().zip(&targets).take_while(|(new, old)| new == old).count();
            for (key, _) in &old[kept..] {
                run.changes.delete(table, &borrowed(key))?;
            }
            let last = kept.checked_sub(1).map(|last| &old[last].1[POSITION]);
            let first = match last {
                Some(Value::Integer(last)) => last + 1,
                _ => 0,
            };
            insert(table, &source, first, &new[kept..], run)?;
            written.extend_from_slice(&new[kept..]);
        }
        let written = to_array(written.iter(), table.column_type(TARGET))?;
        check_targets(table, written, run).map_err(|(_, error)| error)
    }

    /// The new list for an old one.
    fn list(&self, old: &[Value]) -> Result<Vec<Value>> {
        Ok(match self {
            Self::Set(targets) => targets.clone(),
            Self::Append(targets) => {
                let added = targets.iter().filter(|target| !old.contains(target));
                old.iter().chain(added).cloned().collect()
            }
            Self::Remove(targets) => {
                old.iter().filter(|target| !targets.contains(target)).cloned().collect()
            }
            Self::RemoveAt(positions) => without_positions(old, positions)?,
            Self::Pop => old[..old.len().saturating_sub(1)].to_vec(),
        })
    }
}

/// Writes the lists of entities: table, source, targets. Replaces existing lists if `replaces`.
///
/// # Errors
/// A target that does not exist, with its source.
pub(super) fn write_links(
    links: &[(Arc<Relation>, Value, Vec<Value>)],
    replaces: bool,
    run: &Run<'_>,
) -> Result<(), OfSource> {
    let mut rows = LinkRows::default();
    for (table, source, targets) in links {
        if replaces {
            // The same entity may occur again; the later list replaces the earlier one.
            replace(table, source, targets, run).map_err(|error| (Some(source.clone()), error))?;
        }
        rows.add(table, source.as_ref(), targets.iter().map(Value::as_ref));
    }
    if replaces { rows.check(run) } else { rows.enter(run) }
}

fn replace(table: &Relation, source: &Value, targets: &[Value], run: &Run<'_>) -> Result<()> {
    for (key, _) in rows_beginning(table, source, run)? {
        run.changes.delete(table, &borrowed(&key))?;
    }
    insert(table, source, 0, targets, run)
}

/// Inserts the rows of a list from a position on.
fn insert(
    table: &Relation,
    source: &Value,
    first: i64,
    targets: &[Value],
    run: &Run<'_>,
) -> Result<()> {
    for (target, position) in targets.iter().zip(first..) {
        let row = [source.as_ref(), ValueRef::Integer(position), target.as_ref()];
        run.changes.insert(table, &row)?;
    }
    Ok(())
}
