//! One row by its whole key, changed or deleted on the short path: its values go from
//! the store through the expressions back to the store, and no array is made.
//!
//! Statements take it when nothing but the row itself is looked at: no CHECK, no
//! reference from or to the table, no RETURNING.

use std::sync::Arc;

use folio_types::{ColumnType, borrowed};

use super::update::moves_keys;
use super::{ChangePlan, Done, Run, check_row};
use crate::error::Result;
use crate::execute::scan::key_values;
use crate::expression::Expr;
use crate::expression::evaluate::value_of;
use crate::plan::physical::{Lookup, Physical};
use crate::source::{RelationKind, Source};

/// How the row is found and what becomes of it.
pub(crate) struct ByKey {
    lookup: Arc<Lookup>,
    /// The types of the columns that are looked up.
    types: Vec<ColumnType>,
    /// The new value of each of the table's columns, over the columns looked up;
    /// none where the row is deleted.
    values: Vec<Expr>,
}

impl ByKey {
    /// The short path of a change, if it has one.
    pub(crate) fn of(plan: &ChangePlan, source: &dyn Source) -> Option<Self> {
        let table = &plan.table;
        let is_alone = plan.rules.checks.is_empty()
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
        let width = table.schema.columns.len();
        let values = match &plan.changed[..] {
            [] => Vec::new(),
            changed => {
                let mut values = outputs.get(..width)?.to_vec();
                for (value, index) in outputs[width..].iter().zip(changed) {
                    values[*index] = value.clone();
                }
                values
            }
        };
        if values.iter().any(Expr::has_subquery) {
            return None;
        }
        let types = lookup.columns.iter().map(|column| table.column_type(*column).clone());
        Some(Self { lookup: Arc::clone(lookup), types: types.collect(), values })
    }

    /// Gives the row its new values.
    ///
    /// # Errors
    /// As [`super::update()`].
    pub(super) fn update(&self, run: &Run<'_>) -> Result<Done> {
        let table = &self.lookup.relation;
        let key = &table.schema.primary_key;
        let Some(key) = key_values(&self.lookup.key, table, key, run.context)? else {
            return Ok(Done::default());
        };
        let key = borrowed(&key);
        let mut old = Vec::with_capacity(self.types.len());
        if !run.changes.get(table, &key, &self.lookup.columns, &mut old)? {
            return Ok(Done::default());
        }
        let mut row = Vec::with_capacity(self.values.len());
        for value in &self.values {
            row.push(value_of(value, &old, &self.types, run.context)?);
        }
        check_row(table, &row)?;
        let is_changed = run.changes.update(table, &key, &borrowed(&row))?;
        Ok(Done { count: is_changed.into(), returned: None })
    }

    /// Deletes the row.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn delete(&self, run: &Run<'_>) -> Result<Done> {
        let table = &self.lookup.relation;
        let key = &table.schema.primary_key;
        let is_deleted = match key_values(&self.lookup.key, table, key, run.context)? {
            Some(key) => run.changes.delete(table, &borrowed(&key))?,
            None => false,
        };
        Ok(Done { count: is_deleted.into(), returned: None })
    }
}
