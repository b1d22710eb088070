//! ADD of literals: rows straight from where the parser has put their values, many at
//! once.

use std::ops::Range;
use std::sync::Arc;

use folio_types::{ColumnType, Value, ValueRef, borrowed};

use super::Run;
use super::entity::{EntityAdd, NewKeys, taken};
use crate::error::{Error, Result};
use crate::source::Relation;
use crate::span::Span;
use crate::ziql::bind::Places;
use crate::ziql::tape::Tape;

/// Rows written at once.
const ROWS: usize = 1024;

/// What a row of literals is made of, and what becomes of many.
pub(super) struct Literals<'p> {
    plan: &'p EntityAdd,
    places: &'p Places,
    /// What no tuple gives.
    template: Vec<Value>,
    /// The columns that point at other tables.
    pointing: Vec<usize>,
    /// Whether keys are made where none are given.
    makes_keys: bool,
}

/// What is left to do about rows that were written.
#[derive(Default)]
pub(super) struct Written {
    /// The rows with the columns that point at others, and nothing in the rest.
    pub(super) rows: Vec<Vec<Value>>,
    /// The keys of all.
    pub(super) keys: Vec<Value>,
    /// Their to-many links: table, source, targets.
    pub(super) links: Vec<(Arc<Relation>, Value, Vec<Value>)>,
    /// From which of the keys on they stand where.
    pub(super) stands: Vec<(usize, Stands)>,
}

/// Where rows stand in the text.
pub(super) enum Stands {
    At(Span),
    /// They are tuples, one behind the other, from this one on.
    From(usize),
}

impl Written {
    /// Where a row stands.
    pub(super) fn span(&self, row: usize, tape: &Tape) -> Span {
        match self.stands.iter().rev().find(|(first, _)| *first <= row) {
            Some((_, Stands::At(span))) => *span,
            Some((first, Stands::From(tuple))) => tape.span(tuple + row - first),
            None => Span::NONE,
        }
    }
}

impl<'p> Literals<'p> {
    /// `None` where no literals go as they are.
    ///
    /// # Errors
    /// Those of defaults.
    pub(super) fn of(plan: &'p EntityAdd, run: &Run<'_>) -> Result<Option<Self>> {
        let Some(places) = &plan.places else { return Ok(None) };
        let references = plan.table.constraints.references.iter();
        let names = references.flat_map(|reference| &reference.columns);
        let pointing = names.filter_map(|name| plan.table.column_index(name)).collect();
        let template = places.template(run.context())?;
        let makes_keys = *plan.table.column_type(plan.key) == ColumnType::Uuid;
        Ok(Some(Self { plan, places, template, pointing, makes_keys }))
    }

    /// Writes tuples that stand one behind the other.
    ///
    /// # Errors
    /// Constraints that would be broken, with the tuple.
    pub(super) fn write(
        &self,
        tuples: Range<usize>,
        keys: &mut NewKeys,
        written: &mut Written,
        run: &Run<'_>,
    ) -> Result<()> {
        written.stands.push((written.keys.len(), Stands::From(tuples.start)));
        let lists = self.places.lists(&self.plan.tape, tuples.clone());
        let (template, mut lists) = (borrowed(&self.template), lists.iter());
        written.keys.reserve(tuples.len());
        let mut rows = Vec::with_capacity(tuples.len().min(ROWS) * self.template.len());
        for first in tuples.clone().step_by(ROWS) {
            run.context().check()?;
            rows.clear();
            for tuple in first..tuples.end.min(first + ROWS) {
                let start = rows.len();
                rows.extend_from_slice(&template);
                self.fill(tuple, &mut lists, &mut rows[start..], keys, written, run);
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
        lists: &mut impl Iterator<Item = &'v Vec<Value>>,
        row: &mut [ValueRef<'v>],
        keys: &mut NewKeys,
        written: &mut Written,
        run: &Run<'_>,
    ) {
        let (key, first_link) = (self.plan.key, written.links.len());
        self.places.fill(&self.plan.tape, tuple, lists, row, |table, targets| {
            let mut targets = targets.to_vec();
            super::entity_link::make_distinct(&mut targets);
            written.links.push((Arc::clone(table), Value::Null, targets));
        });
        let id = match row[key] {
            ValueRef::Null if self.makes_keys => {
                let id = keys.next(run.context()).to_be_bytes();
                row[key] = ValueRef::Uuid(id);
                Value::Uuid(id)
            }
            given => given.to_value(),
        };
        let own_links = written.links[first_link..].iter_mut();
        own_links.for_each(|(_, source, _)| source.clone_from(&id));
        written.keys.push(id);
        if !self.pointing.is_empty() {
            let mut values = vec![Value::Null; row.len()];
            self.pointing.iter().for_each(|column| values[*column] = row[*column].to_value());
            written.rows.push(values);
        }
    }
}
