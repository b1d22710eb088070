//! Binds ADD of many tuples of literals. The place of each value is determined once, and a
//! value that fits its place needs no expression: it stays in the parser's buffer until it is
//! written. Other tuples are bound one by one, which also reports their errors.

use std::mem::{Discriminant, discriminant};
use std::ops::Range;
use std::sync::Arc;

use folio_compute::{Result, Span};
use folio_engine::Context;
use folio_engine::bound::entity::{Links, LiteralRows};
use folio_engine::expression::Expr;
use folio_engine::expression::evaluate::constant;
use folio_engine::source::Relation;
use folio_engine::source::entity::{Entity, MemberKind, SOURCE, TARGET};
use folio_types::{ColumnType, Value, ValueRef};

use super::Binder;
use crate::ast::Name;
use crate::literal_buffer::{Cell, LiteralBuffer};

/// The places of the values of a tuple.
pub(crate) struct Places {
    /// A row of the values that are not given: defaults, nulls, and null for the key to assign.
    template: Vec<Value>,
    /// Defaults that are constant within a statement, like the time.
    defaults: Vec<(usize, Expr)>,
    places: Vec<Place>,
    /// The usual kind of literal of each place. A tuple of exactly these kinds fits unchecked.
    plain: Vec<Discriminant<Cell>>,
}

/// The place of one value.
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
    /// The places named by the first tuple; `None` if rows need more than literal values.
    pub(super) fn places(
        &mut self,
        entity: &Entity,
        key: usize,
        first: &[Option<&Name>],
    ) -> Result<Option<Places>> {
        let relation = &entity.relation;
        let (schema, constraints) = (&relation.schema, &relation.constraints);
        if !constraints.lengths.is_empty()
            || !constraints.identity.is_empty()
            || !constraints.generated.is_empty()
        {
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
                    let table = self.binding.relation(table, name.span)?;
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
                let default = self.binding.default_of(relation, index)?;
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
        let plain = places.iter().filter_map(Place::plain).collect();
        Ok(Some(Places { template, defaults, places, plain }))
    }
}

impl Places {
    /// The end of the leading tuples whose values all fit their places without conversion.
    pub(super) fn fitting(&self, buffer: &LiteralBuffer, mut tuples: Range<usize>) -> usize {
        let end = tuples.end;
        tuples.find(|tuple| !self.fit(buffer, *tuple)).unwrap_or(end)
    }

    #[inline]
    fn fit(&self, buffer: &LiteralBuffer, tuple: usize) -> bool {
        let cells = buffer.cells(tuple);
        let is_plain = |(kind, cell): (&Discriminant<Cell>, &Cell)| *kind == discriminant(cell);
        let are_plain =
            cells.len() == self.plain.len() && self.plain.iter().zip(cells).all(is_plain);
        (are_plain && self.plain.len() == self.places.len()) || self.take(buffer, cells)
    }

    /// `fit` for rarer kinds of literals and those that need a look at the value.
    fn take(&self, buffer: &LiteralBuffer, cells: &[Cell]) -> bool {
        let fits = |(place, cell): (&Place, &Cell)| place.fits(buffer, *cell);
        cells.len() == self.places.len() && self.places.iter().zip(cells).all(fits)
    }

    /// Whether any place is a to-many link.
    fn have_links(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::Many(_)))
    }
}

/// Tuples of the literal buffer whose values fit their places.
pub(super) struct BufferedRows {
    pub(super) buffer: Arc<LiteralBuffer>,
    pub(super) places: Places,
}

impl LiteralRows for BufferedRows {
    fn template(&self, context: &Context) -> Result<Vec<Value>> {
        let mut template = self.places.template.clone();
        for (index, default) in &self.places.defaults {
            template[*index] = constant(default, context)?;
        }
        Ok(template)
    }

    fn elements(&self, rows: Range<usize>) -> Vec<Value> {
        let Self { buffer, places } = self;
        let takes_list =
            |place: &Place| matches!(place, Place::Column { ty: ColumnType::List(_), .. });
        if !places.places.iter().any(takes_list) {
            return Vec::new();
        }
        let placed = rows.flat_map(|row| places.places.iter().zip(buffer.cells(row)));
        let lists = placed.filter(|(place, _)| takes_list(place));
        let elements = lists.flat_map(|(_, cell)| buffer.elements(*cell));
        elements.map(|cell| buffer.value(cell).to_value()).collect()
    }

    fn append<'v>(
        &'v self,
        rows: Range<usize>,
        template: &[ValueRef<'v>],
        elements: &mut &'v [Value],
        out: &mut Vec<ValueRef<'v>>,
    ) {
        for row in rows {
            let start = out.len();
            out.extend_from_slice(template);
            self.fill(row, elements, &mut out[start..]);
        }
    }

    fn link_count(&self, rows: Range<usize>) -> Option<usize> {
        let count = |row| self.links_of(row).map(|(_, targets)| targets.len()).sum::<usize>();
        self.places.have_links().then(|| rows.map(count).sum())
    }

    fn links<'v>(&'v self, rows: Range<usize>, out: &mut Links<'v>) {
        for row in rows {
            for (table, targets) in self.links_of(row) {
                let uuid = |cell: &Cell| match *cell {
                    Cell::Uuid(uuid) => Some(Value::Uuid(uuid)),
                    _ => None,
                };
                out.push(row, table, targets.iter().filter_map(uuid));
            }
        }
    }

    fn span(&self, row: usize) -> Span {
        self.buffer.span(row)
    }
}

impl BufferedRows {
    /// Writes the values of a tuple, except to-many links, into a row. Takes the elements of its
    /// lists from the front of `elements`.
    #[inline]
    fn fill<'v>(&'v self, tuple: usize, elements: &mut &'v [Value], row: &mut [ValueRef<'v>]) {
        for (cell, place) in self.buffer.cells(tuple).iter().zip(&self.places.places) {
            let Place::Column { index, ty, .. } = place else { continue };
            row[*index] = match cell {
                #[allow(clippy::cast_precision_loss, reason = "it was seen to be exact")]
                Cell::Integer(number) if matches!(ty, ColumnType::Float64) => {
                    ValueRef::Float(*number as f64)
                }
                Cell::List(_, count) => {
                    let (list, rest) = elements.split_at(*count as usize);
                    *elements = rest;
                    ValueRef::List(list)
                }
                cell => self.buffer.value(cell),
            };
        }
    }

    /// The to-many links of a tuple: tables and targets.
    fn links_of(&self, tuple: usize) -> impl Iterator<Item = (&Arc<Relation>, &[Cell])> {
        let placed = self.buffer.cells(tuple).iter().zip(&self.places.places);
        placed.filter_map(|(cell, place)| match place {
            Place::Many(table) => Some((table, self.buffer.elements(*cell))),
            Place::Column { .. } => None,
        })
    }
}

impl Place {
    /// The usual kind of literal for this place.
    fn plain(&self) -> Option<Discriminant<Cell>> {
        match self {
            Self::Column { ty, .. } => plain(ty),
            Self::Many(_) => None,
        }
    }

    fn fits(&self, buffer: &LiteralBuffer, cell: Cell) -> bool {
        let element = match (self, cell) {
            (Self::Column { is_nullable, .. }, Cell::Null) => return *is_nullable,
            (Self::Column { ty: ColumnType::List(element), .. }, Cell::List(..)) => element,
            (Self::Column { ty, .. }, cell) => return is_fit(cell, ty),
            (Self::Many(_), Cell::List(..)) => &ColumnType::Uuid,
            (Self::Many(_), _) => return false,
        };
        buffer.elements(cell).iter().all(|cell| {
            let is_cast = matches!((cell, element), (Cell::Integer(_), ColumnType::Float64));
            !is_cast && is_fit(*cell, element)
        })
    }
}

/// The usual kind of literal for a column of this type.
fn plain(ty: &ColumnType) -> Option<Discriminant<Cell>> {
    let example = match ty {
        ColumnType::Text => Cell::Text(0, 0),
        ColumnType::Int64 => Cell::Integer(0),
        ColumnType::Float64 => Cell::Float(0.0),
        ColumnType::Boolean => Cell::Boolean(false),
        ColumnType::Uuid => Cell::Uuid([0; 16]),
        _ => return None,
    };
    debug_assert!(is_fit(example, ty), "what goes as it is fits");
    Some(discriminant(&example))
}

fn is_fit(cell: Cell, ty: &ColumnType) -> bool {
    /// Integers up to this are exact as floats.
    const EXACT: i64 = 1 << 53;
    match (cell, ty) {
        (Cell::Text(..) | Cell::Decoded(..), ColumnType::Text)
        | (Cell::Integer(_), ColumnType::Int64)
        | (Cell::Float(_), ColumnType::Float64)
        | (Cell::Boolean(_), ColumnType::Boolean)
        | (Cell::Uuid(_), ColumnType::Uuid)
        | (Cell::Date(_), ColumnType::Date)
        | (Cell::Time(_), ColumnType::Time)
        | (Cell::Timestamp(_), ColumnType::Timestamp { utc: true }) => true,
        (Cell::Integer(number), ColumnType::Float64) => (-EXACT..=EXACT).contains(&number),
        _ => false,
    }
}
