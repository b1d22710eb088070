//! ADD of literals: inserts rows directly from the language's literal buffer, many at once.

use std::ops::Range;

use folio_compute::{Error, Result};
use folio_types::{ColumnType, Value, ValueRef, borrowed};

use super::add::taken;
use super::keys::NewKeys;
use super::written::{Place, Written};
use crate::bound::entity::{EntityAdd, Links, LiteralRows};
use crate::change::Run;
use crate::plan::physical::Physical;

/// Values written at once: 64 KiB, so that the buffer stays in a core's cache.
const VALUES: usize = (64 << 10) / size_of::<ValueRef<'_>>();

/// The literals of an ADD and what all rows share.
pub(super) struct Literals<'p> {
    plan: &'p EntityAdd<Physical>,
    rows: &'p dyn LiteralRows,
    /// The values that no row gives.
    template: Vec<Value>,
    /// Whether keys are assigned.
    makes_keys: bool,
}

impl<'p> Literals<'p> {
    /// `None` if there are no literals.
    ///
    /// # Errors
    /// Errors of the defaults.
    pub(super) fn of(plan: &'p EntityAdd<Physical>, run: &Run<'_>) -> Result<Option<Self>> {
        let Some(rows) = plan.literals.as_deref() else { return Ok(None) };
        let template = rows.template(run.context())?;
        let makes_keys = *plan.table.column_type(plan.key) == ColumnType::Uuid;
        Ok(Some(Self { plan, rows, template, makes_keys }))
    }

    /// Writes a range of consecutive rows.
    ///
    /// # Errors
    /// Constraints that would be broken, with the place of the row.
    pub(super) fn write(
        &self,
        range: Range<usize>,
        keys: &mut NewKeys,
        written: &mut Written<'_>,
        run: &Run<'_>,
    ) -> Result<()> {
        written.set_place(Place::From(range.start));
        let elements = self.rows.elements(range.clone());
        let (template, mut elements) = (borrowed(&self.template), &elements[..]);
        let link_count = self.rows.link_count(range.clone());
        written.expect(range.len(), link_count.unwrap_or(0));
        let count = (VALUES / self.template.len()).max(1);
        let mut rows = Vec::with_capacity(range.len().min(count) * self.template.len());
        let mut links = Links::default();
        for first in range.clone().step_by(count) {
            run.context().check()?;
            rows.clear();
            let part = first..range.end.min(first + count);
            self.rows.append(part.clone(), &template, &mut elements, &mut rows);
            for row in rows.chunks_exact_mut(self.template.len()) {
                if self.makes_keys {
                    row[self.plan.key] = ValueRef::Uuid(keys.next(run.context()).to_be_bytes());
                }
                written.push(row);
            }
            if link_count.is_some() {
                links.clear();
                self.rows.links(part, &mut links);
                self.link(first, &rows, &links, written);
            }
            let done = run.changes.insert_many(&self.plan.table, &rows);
            done.map_err(|(row, error): (usize, Error)| {
                taken(error).at(self.rows.span(first + row))
            })?;
        }
        Ok(())
    }

    fn link(
        &self,
        first: usize,
        rows: &[ValueRef<'_>],
        links: &Links<'_>,
        written: &mut Written<'_>,
    ) {
        for (row, table, targets) in links.iter() {
            let source = rows[(row - first) * self.template.len() + self.plan.key];
            if let ValueRef::Uuid(id) = source {
                written.link_literals(table, ValueRef::Uuid(id), targets);
            }
        }
    }
}
