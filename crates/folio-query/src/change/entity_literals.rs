//! ADD of literals: rows straight from where the parser has put their values, many at
//! once.

use std::ops::Range;

use folio_types::{ColumnType, Value, ValueRef, borrowed};

use super::Run;
use super::entity::{EntityAdd, NewKeys, taken};
use super::entity_written::{Stands, Written};
use crate::error::{Error, Result};
use crate::ziql::bind::Places;

/// Values written at once, 64 KiB of them: the buffer stays in a core's cache.
const VALUES: usize = (64 << 10) / size_of::<ValueRef<'_>>();

/// What a row of literals is made of, and what becomes of many.
pub(super) struct Literals<'p> {
    plan: &'p EntityAdd,
    places: &'p Places,
    /// What no tuple gives.
    template: Vec<Value>,
    /// Whether keys are made where none are given.
    makes_keys: bool,
    /// Whether there are to-many links among what tuples give.
    has_links: bool,
}

impl<'p> Literals<'p> {
    /// `None` where no literals go as they are.
    ///
    /// # Errors
    /// Those of defaults.
    pub(super) fn of(plan: &'p EntityAdd, run: &Run<'_>) -> Result<Option<Self>> {
        let Some(places) = &plan.places else { return Ok(None) };
        let template = places.template(run.context())?;
        let makes_keys = *plan.table.column_type(plan.key) == ColumnType::Uuid;
        Ok(Some(Self { plan, places, template, makes_keys, has_links: places.have_links() }))
    }

    /// Writes tuples that stand one behind the other.
    ///
    /// # Errors
    /// Constraints that would be broken, with the tuple.
    pub(super) fn write(
        &self,
        tuples: Range<usize>,
        keys: &mut NewKeys,
        written: &mut Written<'_>,
        run: &Run<'_>,
    ) -> Result<()> {
        written.stands(Stands::From(tuples.start));
        let elements = self.places.elements(&self.plan.tape, tuples.clone());
        let (template, mut elements) = (borrowed(&self.template), &elements[..]);
        let link_count = self.places.link_count(&self.plan.tape, tuples.clone());
        written.expect(tuples.len(), link_count);
        let count = (VALUES / self.template.len()).max(1);
        let mut rows = Vec::with_capacity(tuples.len().min(count) * self.template.len());
        for first in tuples.clone().step_by(count) {
            run.context().check()?;
            rows.clear();
            for tuple in first..tuples.end.min(first + count) {
                let start = rows.len();
                rows.extend_from_slice(&template);
                self.fill(tuple, &mut elements, &mut rows[start..], keys, written, run);
            }
            let done = run.changes.insert_many(&self.plan.table, &rows);
            done.map_err(|(row, error): (usize, Error)| {
                taken(error).at(self.plan.tape.span(first + row))
            })?;
        }
        Ok(())
    }

    fn fill<'v>(
        &'v self,
        tuple: usize,
        elements: &mut &'v [Value],
        row: &mut [ValueRef<'v>],
        keys: &mut NewKeys,
        written: &mut Written<'_>,
        run: &Run<'_>,
    ) {
        let key = self.plan.key;
        // No tuple gives the key.
        if self.makes_keys {
            row[key] = ValueRef::Uuid(keys.next(run.context()).to_be_bytes());
        }
        self.places.fill(&self.plan.tape, tuple, elements, row);
        written.push(row);
        if let (true, ValueRef::Uuid(id)) = (self.has_links, row[key]) {
            let links = self.places.links(&self.plan.tape, tuple);
            links.for_each(|(table, targets)| {
                written.link_literals(table, ValueRef::Uuid(id), targets);
            });
        }
    }
}
