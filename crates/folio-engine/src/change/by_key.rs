//! The short path for an update or deletion of one row by its whole key. Values go from the store
//! through the expressions back to the store, without arrays.
//!
//! Only statements that need nothing but the row take it: no CHECK, no reference from or to the
//! table, no RETURNING.

use std::sync::Arc;

use folio_compute::Result;
use folio_types::{ColumnType, ValueRef, borrowed};

use super::update::moves_keys;
use super::{ChangePlan, Done, Run, check_value};
use crate::execute::reading::with_key;
use crate::expression::evaluate::value_of;
use crate::expression::{ColumnId, Expr};
use crate::plan::physical::{Lookup, Physical};
use crate::source::{RelationKind, Source};

/// How to find the row, and its new values.
pub(crate) struct ByKey {
    lookup: Arc<Lookup>,
    /// The columns that change; empty for a deletion.
    changed: Vec<usize>,
    /// Their new values, over the columns read.
    values: Vec<Expr>,
    /// The columns that the values are computed from.
    read: Vec<usize>,
    /// Their types.
    types: Vec<ColumnType>,
}

impl ByKey {
    /// The short path of a change, if it has one.
    pub(crate) fn of(plan: &ChangePlan, source: &dyn Source) -> Option<Self> {
        let table = &plan.table;
        let is_alone = plan.rules.is_empty()
            && plan.returning.is_none()
            && table.constraints.references.is_empty()
            && table.kind == RelationKind::Table
            && (plan.changed.is_empty() || !moves_keys(table, &plan.changed))
            && (!plan.changed.is_empty()
                || source.referrers(table).is_ok_and(|all| all.is_empty()));
        let (lookup, outputs) = match &plan.input {
            Physical::Lookup(lookup) => (lookup, &[][..]),
            Physical::Project(project) => match &project.input {
                Physical::Lookup(lookup) => (lookup, &project.expressions[..]),
                _ => return None,
            },
            _ => return None,
        };
        if !is_alone || !lookup.filters.is_empty() {
            return None;
        }
        let mut values = match &plan.changed[..] {
            [] => Vec::new(),
            _ => outputs.get(table.schema.columns.len()..)?.to_vec(),
        };
        if values.len() != plan.changed.len() || values.iter().any(Expr::has_subquery) {
            return None;
        }
        let mut positions = Vec::new();
        values.iter().for_each(|value| value.collect_columns(&mut positions));
        let at = |id: ColumnId| positions.iter().position(|other| *other == id);
        for value in &mut values {
            value.transform(&mut |part| {
                if let Expr::Column(column) = part
                    && let Some(position) = at(column.id)
                {
                    column.id = ColumnId(position as u32);
                }
            });
        }
        let read: Option<Vec<usize>> =
            positions.iter().map(|id| lookup.columns.get(id.0 as usize).copied()).collect();
        let read = read?;
        let types = read.iter().map(|column| table.column_type(*column).clone()).collect();
        let (lookup, changed) = (Arc::clone(lookup), plan.changed.clone());
        Some(Self { lookup, changed, values, read, types })
    }

    /// Updates the row.
    ///
    /// # Errors
    /// As [`super::update()`].
    pub(super) fn update(&self, run: &Run<'_>) -> Result<Done> {
        let table = &self.lookup.relation;
        with_key(&self.lookup.key, table, None, run, |key| self.update_row(key, run))?
            .unwrap_or_else(|| Ok(Done::default()))
    }

    fn update_row(&self, key: &[ValueRef<'_>], run: &Run<'_>) -> Result<Done> {
        let table = &self.lookup.relation;
        let mut old = Vec::with_capacity(self.types.len());
        if !run.changes.get_to_change(table, key, &self.read, &mut old)? {
            return Ok(Done::default());
        }
        let mut values = Vec::with_capacity(self.values.len());
        for (value, column) in self.values.iter().zip(&self.changed) {
            let value = value_of(value, &old, &self.types, run)?;
            check_value(table, *column, value.as_ref())?;
            values.push(value);
        }
        let is_changed =
            run.changes.update_columns(table, key, &self.changed, &borrowed(&values))?;
        Ok(Done { count: is_changed.into(), returned: None })
    }

    /// Deletes the row.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn delete(&self, run: &Run<'_>) -> Result<Done> {
        let table = &self.lookup.relation;
        let deleted =
            with_key(&self.lookup.key, table, None, run, |key| run.changes.delete(table, key))?;
        Ok(Done { count: deleted.transpose()?.unwrap_or(false).into(), returned: None })
    }
}
