//! The entities that an ADD has written so far, and what is still to do: write their links, and
//! check that everything they reference exists.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::array::to_array;
use folio_compute::{Result, Span};
use folio_types::{Value, ValueRef};

use super::link::write_links;
use super::link_rows::{LinkRows, OfSource};
use crate::bound::entity::EntityAdd;
use crate::change::key_column::KeyColumn;
use crate::change::{Run, references};
use crate::constraint::Reference;
use crate::plan::physical::Physical;
use crate::source::Relation;

/// New entities, in the order they were written.
pub(super) struct Written<'p> {
    plan: &'p EntityAdd<Physical>,
    /// All their keys.
    pub(super) keys: KeyColumn,
    /// The values of the referencing columns, row by row.
    pointers: Vec<Value>,
    /// The to-many links of computed entities: table, source, targets.
    computed_links: Vec<(Arc<Relation>, Value, Vec<Value>)>,
    /// The to-many links of literal entities, whose keys are UUIDs.
    literal_links: LinkRows<'static>,
    /// Places: for ranges of keys, by the first key of each.
    places: Vec<(usize, Place)>,
}

/// The places of rows in the text.
pub(super) enum Place {
    At(Span),
    /// Consecutive literals, starting with this one.
    From(usize),
}

impl<'p> Written<'p> {
    pub(super) fn new(plan: &'p EntityAdd<Physical>) -> Self {
        Self {
            plan,
            keys: KeyColumn::new(plan.table.column_type(plan.key)),
            pointers: Vec::new(),
            computed_links: Vec::new(),
            literal_links: LinkRows::default(),
            places: Vec::new(),
        }
    }

    /// Sets the place of the rows that come next.
    pub(super) fn set_place(&mut self, place: Place) {
        self.places.push((self.keys.len(), place));
    }

    /// Announces `count` literal rows with about `links` links.
    pub(super) fn expect(&mut self, count: usize, links: usize) {
        self.keys.reserve(count);
        self.pointers.reserve(count * self.plan.pointing.len());
        self.literal_links.expect(links);
    }

    /// Adds a row.
    pub(super) fn push(&mut self, values: &[ValueRef<'_>]) {
        self.keys.push(values[self.plan.key]);
        let pointers = self.plan.pointing.iter().map(|column| values[*column].to_value());
        self.pointers.extend(pointers);
    }

    /// Adds the links of a row.
    pub(super) fn link(&mut self, source: &Value, links: Vec<(Arc<Relation>, Vec<Value>)>) {
        let links = links.into_iter().map(|(table, targets)| (table, source.clone(), targets));
        self.computed_links.extend(links);
    }

    /// Adds a link of a literal entity. `targets` has no duplicates.
    pub(super) fn link_literals(
        &mut self,
        table: &Arc<Relation>,
        source: ValueRef<'static>,
        targets: &[Value],
    ) {
        let targets = targets.iter().filter_map(|target| match target {
            Value::Uuid(uuid) => Some(ValueRef::Uuid(*uuid)),
            _ => None,
        });
        self.literal_links.add(table, source, targets);
    }

    /// Checks that every row that is referenced exists.
    ///
    /// # Errors
    /// `conflict` with the first dangling row.
    pub(super) fn check_references(&self, run: &Run<'_>) -> Result<()> {
        let (table, mut first) = (&self.plan.table, 0);
        for reference in &table.constraints.references {
            let columns = first..first + reference.columns.len();
            first = columns.end;
            if self.keys.len() <= references::FEW {
                self.check_each(reference, columns, run)?;
                continue;
            }
            let columns: Vec<ArrayRef> = columns
                .map(|at| {
                    let of_rows = self.pointers.iter().skip(at).step_by(self.plan.pointing.len());
                    to_array(of_rows, table.column_type(self.plan.pointing[at]))
                })
                .collect::<Result<_>>()?;
            let dangling = references::first_dangling_of(table, reference, &columns, run)?;
            if let Some((row, error)) = dangling {
                return Err(error.at(self.span(row)));
            }
        }
        Ok(())
    }

    /// The same for a few rows, without arrays.
    fn check_each(
        &self,
        reference: &Reference,
        columns: Range<usize>,
        run: &Run<'_>,
    ) -> Result<()> {
        for (row, pointers) in self.pointers.chunks(self.plan.pointing.len().max(1)).enumerate() {
            let key = &pointers[columns.clone()];
            // A reference with a null is valid.
            if key.iter().any(|value| matches!(value, Value::Null)) {
                continue;
            }
            if let Some((_, error)) = references::first_dangling_key(reference, key, run)? {
                return Err(error.at(self.span(row)));
            }
        }
        Ok(())
    }

    /// Writes the to-many links.
    ///
    /// # Errors
    /// A target that is not there.
    pub(super) fn write_links(&self, replaces: bool, run: &Run<'_>) -> Result<()> {
        let placed = |(source, error): OfSource| {
            let row = source.and_then(|source| self.keys.position(&source));
            error.at(row.map_or(Span::NONE, |row| self.span(row)))
        };
        // Computed entities come first, so their links come before those of literals.
        write_links(&self.computed_links, replaces, run).map_err(placed)?;
        self.literal_links.enter(run).map_err(placed)
    }

    /// The place of a row in the text.
    fn span(&self, row: usize) -> Span {
        match self.places.iter().rev().find(|(first, _)| *first <= row) {
            Some((_, Place::At(span))) => *span,
            Some((first, Place::From(literal))) => {
                let literals = self.plan.literals.as_deref();
                literals.map_or(Span::NONE, |rows| rows.span(literal + row - first))
            }
            None => Span::NONE,
        }
    }
}
