//! ADD of many tuples of literals: where each value goes is settled once, and a value
//! that fits its column needs no expression. What does not fit goes the long way, which
//! knows what to say about it.

use folio_types::{ColumnType, Value};

use super::Binder;
use crate::error::Result;
use crate::ziql::ast::{Literal, Name};
use crate::ziql::entity::{Entity, MemberKind};

/// Where the values of a tuple go.
pub(super) struct Places {
    /// A row with what is not given: defaults, nulls, the key to be numbered.
    template: Vec<Value>,
    /// Column, type and whether it takes null, for each place.
    columns: Vec<(usize, ColumnType, bool)>,
}

impl Binder<'_> {
    /// The places that the names of the first tuple give; `None` where rows need more
    /// than their values put in place.
    pub(super) fn places(
        &mut self,
        entity: &Entity,
        key: usize,
        first: &[Option<&Name>],
    ) -> Result<Option<Places>> {
        let relation = &entity.relation;
        let (schema, constraints) = (&relation.schema, &relation.constraints);
        if !constraints.lengths.is_empty() || !constraints.identity.is_empty() {
            return Ok(None);
        }
        let mut columns: Vec<(usize, ColumnType, bool)> = Vec::with_capacity(first.len());
        for name in first {
            let Some(name) = name else { return Ok(None) };
            let Ok(member) = entity.find(&name.text, name.span) else { return Ok(None) };
            let (MemberKind::Value(column) | MemberKind::One { column, .. }) = member.kind else {
                return Ok(None);
            };
            if column == key || columns.iter().any(|(other, ..)| *other == column) {
                return Ok(None);
            }
            columns.push((
                column,
                entity.column_type(column).clone(),
                schema.columns[column].nullable,
            ));
        }
        let mut template = vec![Value::Null; schema.columns.len()];
        for (index, column) in schema.columns.iter().enumerate() {
            let is_numbered = index == key && column.column_type == ColumnType::Uuid;
            if is_numbered || columns.iter().any(|(given, ..)| *given == index) {
                continue;
            }
            if constraints.defaults.contains_key(&column.name) {
                let default = self.sql.default_of(relation, index)?;
                let Some(value) = default.as_literal() else { return Ok(None) };
                template[index] = value.clone();
            } else if !column.nullable {
                return Ok(None);
            }
        }
        Ok(Some(Places { template, columns }))
    }
}

impl Places {
    /// The row of a tuple; `None` where a value does not fit as it is.
    pub(super) fn row(&self, literals: &[Literal]) -> Option<Vec<Value>> {
        if literals.len() != self.columns.len() {
            return None;
        }
        let mut row = self.template.clone();
        for (literal, (column, ty, is_nullable)) in literals.iter().zip(&self.columns) {
            row[*column] = fitting(&literal.value, ty, *is_nullable)?;
        }
        Some(row)
    }
}

fn fitting(value: &Value, ty: &ColumnType, is_nullable: bool) -> Option<Value> {
    /// Whole numbers up to here are floats exactly.
    const EXACT: i64 = 1 << 53;
    let is_fit = match (value, ty) {
        (Value::Text(_), ColumnType::Text)
        | (Value::Integer(_), ColumnType::Int64)
        | (Value::Float(_), ColumnType::Float64)
        | (Value::Boolean(_), ColumnType::Boolean)
        | (Value::Uuid(_), ColumnType::Uuid)
        | (Value::Date(_), ColumnType::Date)
        | (Value::Time(_), ColumnType::Time)
        | (Value::Timestamp(_), ColumnType::Timestamp { utc: true }) => true,
        (Value::Null, _) => is_nullable,
        (Value::Integer(number), ColumnType::Float64) if (-EXACT..=EXACT).contains(number) => {
            #[allow(clippy::cast_precision_loss, reason = "the number is exact as a float")]
            return Some(Value::Float(*number as f64));
        }
        _ => false,
    };
    is_fit.then(|| value.clone())
}
