//! ADD of many tuples of literals: where each value goes is settled once, and a value
//! that fits its place needs no expression. It stays where the parser has put it until
//! it is written. What does not fit goes the long way, which knows what to say about it.

use std::sync::Arc;

use folio_types::{ColumnType, Value, ValueRef};

use super::Binder;
use crate::error::Result;
use crate::execute::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::constant;
use crate::source::Relation;
use crate::ziql::ast::{Literal, Name};
use crate::ziql::entity::{Entity, MemberKind, SOURCE, TARGET};

/// Where the values of a tuple go.
pub(crate) struct Places {
    /// A row with what is not given: defaults, nulls, the key to be numbered.
    template: Vec<Value>,
    /// Defaults that are the same for all rows of a statement, like the time.
    defaults: Vec<(usize, Expr)>,
    places: Vec<Place>,
}

/// Where one of them goes.
enum Place {
    Column {
        index: usize,
        ty: ColumnType,
        is_nullable: bool,
    },
    /// A to-many link, given as a list of keys.
    Many(Arc<Relation>),
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
        let mut seen: Vec<String> = Vec::with_capacity(first.len());
        let mut places = Vec::with_capacity(first.len());
        for name in first {
            let Some(name) = name else { return Ok(None) };
            let Ok(member) = entity.find(&name.text, name.span) else { return Ok(None) };
            if seen.contains(&member.name) {
                return Ok(None);
            }
            places.push(match &member.kind {
                MemberKind::Value(index) | MemberKind::One { column: index, .. }
                    if *index != key =>
                {
                    let (ty, index) = (entity.column_type(*index).clone(), *index);
                    Place::Column { index, ty, is_nullable: schema.columns[index].nullable }
                }
                MemberKind::Many { table, .. } => {
                    let table = self.sql.relation(table, name.span)?;
                    let is_uuid = |column| *table.column_type(column) == ColumnType::Uuid;
                    if !is_uuid(SOURCE) || !is_uuid(TARGET) {
                        return Ok(None);
                    }
                    Place::Many(table)
                }
                _ => return Ok(None),
            });
            seen.push(member.name);
        }
        let is_given = |column: usize| {
            places.iter().any(|p| matches!(p, Place::Column { index, .. } if *index == column))
        };
        let (mut template, mut defaults) = (vec![Value::Null; schema.columns.len()], Vec::new());
        for (index, column) in schema.columns.iter().enumerate() {
            let is_numbered = index == key && column.column_type == ColumnType::Uuid;
            if is_numbered || is_given(index) {
                continue;
            }
            if constraints.defaults.contains_key(&column.name) {
                let default = self.sql.default_of(relation, index)?;
                let mut is_volatile = |part: &Expr| matches!(part, Expr::Function { function, .. } if function.is_volatile);
                match default.as_literal() {
                    Some(value) => template[index] = value.clone(),
                    None if default.any(&mut is_volatile) || default.has_subquery() => {
                        return Ok(None);
                    }
                    None => defaults.push((index, default)),
                }
            } else if !column.nullable {
                return Ok(None);
            }
        }
        Ok(Some(Places { template, defaults, places }))
    }
}

impl Places {
    /// Whether all values of a tuple can be put in their places as they are.
    pub(super) fn fit(&self, literals: &[Literal]) -> bool {
        let fits = |(literal, place): (&Literal, &Place)| match place {
            Place::Column { ty, is_nullable, .. } => match &literal.value {
                Value::Null => *is_nullable,
                value => is_fit(value, ty),
            },
            Place::Many(_) => is_fit(&literal.value, &ColumnType::List(Box::new(ColumnType::Uuid))),
        };
        literals.len() == self.places.len() && literals.iter().zip(&self.places).all(fits)
    }

    /// A row of what no tuple gives; the key is null where it is to be numbered.
    ///
    /// # Errors
    /// Those of defaults.
    pub(crate) fn template(&self, context: &Context) -> Result<Vec<Value>> {
        let mut template = self.template.clone();
        for (index, default) in &self.defaults {
            template[*index] = constant(default, context)?;
        }
        Ok(template)
    }

    /// Puts the values of a tuple that fits into a row.
    pub(crate) fn fill<'v>(&self, literals: &'v [Literal], row: &mut [ValueRef<'v>]) {
        for (literal, place) in literals.iter().zip(&self.places) {
            let Place::Column { index, ty, .. } = place else { continue };
            row[*index] = match (&literal.value, ty) {
                #[allow(clippy::cast_precision_loss, reason = "it was seen to be exact")]
                (Value::Integer(number), ColumnType::Float64) => ValueRef::Float(*number as f64),
                (value, _) => value.as_ref(),
            };
        }
    }

    /// What its to-many links are to lead to.
    pub(crate) fn links<'v>(
        &'v self,
        literals: &'v [Literal],
    ) -> impl Iterator<Item = (&'v Arc<Relation>, &'v [Value])> {
        literals.iter().zip(&self.places).filter_map(|(literal, place)| {
            match (place, &literal.value) {
                (Place::Many(table), Value::List(targets)) => Some((table, &targets[..])),
                _ => None,
            }
        })
    }
}

fn is_fit(value: &Value, ty: &ColumnType) -> bool {
    /// Whole numbers up to here are floats exactly.
    const EXACT: i64 = 1 << 53;
    match (value, ty) {
        (Value::Text(_), ColumnType::Text)
        | (Value::Integer(_), ColumnType::Int64)
        | (Value::Float(_), ColumnType::Float64)
        | (Value::Boolean(_), ColumnType::Boolean)
        | (Value::Uuid(_), ColumnType::Uuid)
        | (Value::Date(_), ColumnType::Date)
        | (Value::Time(_), ColumnType::Time)
        | (Value::Timestamp(_), ColumnType::Timestamp { utc: true }) => true,
        (Value::Integer(number), ColumnType::Float64) => (-EXACT..=EXACT).contains(number),
        (Value::List(values), ColumnType::List(element)) => values.iter().all(|value| {
            let is_cast = matches!((value, &**element), (Value::Integer(_), ColumnType::Float64));
            !is_cast && is_fit(value, element)
        }),
        _ => false,
    }
}
