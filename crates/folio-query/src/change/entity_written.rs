//! What an ADD has written so far, and what is left to do about it: the links of the new
//! entities, and whether all they point at is there.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::Buffer;
use foldhash::fast::RandomState;
use folio_types::{Value, ValueRef};

use super::added_keys::AddedKeys;
use super::entity::EntityAdd;
use super::entity_link::{check_targets, write_links};
use super::{Run, references};
use crate::error::{Error, Result};
use crate::expression::value::to_array;
use crate::source::Relation;
use crate::span::Span;
use crate::ziql::tape::Cell;

/// Rows of links written at once.
const ROWS: usize = 1024;

/// Columns of a table of links: source, position and target.
const LINK_WIDTH: usize = 3;

/// New entities, in the order they were written.
pub(super) struct Written<'p> {
    plan: &'p EntityAdd,
    /// The keys of all.
    pub(super) keys: AddedKeys,
    /// The columns that point at other tables.
    pointing: Vec<usize>,
    /// The values of these columns, row by row.
    pointers: Vec<Value>,
    /// The to-many links of those that were computed: table, source, targets.
    computed_links: Vec<(Arc<Relation>, Value, Vec<Value>)>,
    /// The links of tuples of literals, by their table.
    literal_links: Vec<LiteralLinks>,
    /// From which of the keys on they stand where.
    stands: Vec<(usize, Stands)>,
}

/// Rows for a table of to-many links whose ends are UUIDs: source, position and target of
/// one behind the other.
struct LiteralLinks {
    table: Arc<Relation>,
    rows: Vec<ValueRef<'static>>,
}

/// Where rows stand in the text.
pub(super) enum Stands {
    At(Span),
    /// They are tuples, one behind the other, from this one on.
    From(usize),
}

impl<'p> Written<'p> {
    pub(super) fn new(plan: &'p EntityAdd) -> Self {
        let references = plan.table.constraints.references.iter();
        let names = references.flat_map(|reference| &reference.columns);
        let pointing = names.filter_map(|name| plan.table.column_index(name)).collect();
        Self {
            plan,
            keys: AddedKeys::new(plan.table.column_type(plan.key)),
            pointing,
            pointers: Vec::new(),
            computed_links: Vec::new(),
            literal_links: Vec::new(),
            stands: Vec::new(),
        }
    }

    /// The rows that come next stand there.
    pub(super) fn stands(&mut self, stands: Stands) {
        self.stands.push((self.keys.len(), stands));
    }

    /// Another row.
    pub(super) fn push(&mut self, values: &[ValueRef<'_>]) {
        self.keys.push(values[self.plan.key]);
        let pointers = self.pointing.iter().map(|column| values[*column].to_value());
        self.pointers.extend(pointers);
    }

    /// Links of the row with a key.
    pub(super) fn link(&mut self, source: &Value, links: Vec<(Arc<Relation>, Vec<Value>)>) {
        let links = links.into_iter().map(|(table, targets)| (table, source.clone(), targets));
        self.computed_links.extend(links);
    }

    /// A link of an entity, as a tuple of literals gives it: each target once.
    pub(super) fn link_literals(
        &mut self,
        table: &Arc<Relation>,
        source: ValueRef<'static>,
        targets: &[Cell],
    ) {
        /// So many are compared with each other; more are looked up.
        const FEW: usize = 16;
        let known = self.literal_links.iter().position(|links| Arc::ptr_eq(&links.table, table));
        let place = known.unwrap_or_else(|| {
            self.literal_links.push(LiteralLinks { table: Arc::clone(table), rows: Vec::new() });
            self.literal_links.len() - 1
        });
        let rows = &mut self.literal_links[place].rows;
        let (mut seen, mut position) = (HashSet::with_hasher(RandomState::default()), 0);
        for (at, cell) in targets.iter().enumerate() {
            let Cell::Uuid(target) = *cell else { continue };
            let is_new = match targets.len() <= FEW {
                true => !targets[..at].contains(cell),
                false => seen.insert(target),
            };
            if is_new {
                rows.extend([source, ValueRef::Integer(position), ValueRef::Uuid(target)]);
                position += 1;
            }
        }
    }

    /// Whether all is there that the rows point at.
    ///
    /// # Errors
    /// `conflict` with the first row that points at nothing.
    pub(super) fn check_references(&self, run: &Run<'_>) -> Result<()> {
        let (table, mut first) = (&self.plan.table, 0);
        for reference in &table.constraints.references {
            let columns = first..first + reference.columns.len();
            first = columns.end;
            let columns: Vec<ArrayRef> = columns
                .map(|at| {
                    let of_rows = self.pointers.iter().skip(at).step_by(self.pointing.len());
                    to_array(of_rows, table.column_type(self.pointing[at]))
                })
                .collect::<Result<_>>()?;
            let dangling = references::first_dangling_of(table, reference, &columns, run)?;
            if let Some((row, error)) = dangling {
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
        let placed = |(source, error): (Option<Value>, Error)| {
            let row = source.and_then(|source| self.keys.position(&source));
            error.at(row.map_or(Span::NONE, |row| self.span(row)))
        };
        // The first tuple has names and so was computed: its links come before the others'.
        write_links(&self.computed_links, replaces, run).map_err(placed)?;
        for LiteralLinks { table, rows } in &self.literal_links {
            for rows in rows.chunks(ROWS * LINK_WIDTH) {
                run.changes.insert_many(table, rows).map_err(|(_, error)| error)?;
            }
            let checked = check_targets(table, targets_of(rows)?, run);
            checked.map_err(|(row, error)| {
                placed((row.map(|row| rows[row * LINK_WIDTH].to_value()), error))
            })?;
        }
        Ok(())
    }

    /// Where a row stands.
    fn span(&self, row: usize) -> Span {
        let tape = &self.plan.tape;
        match self.stands.iter().rev().find(|(first, _)| *first <= row) {
            Some((_, Stands::At(span))) => *span,
            Some((first, Stands::From(tuple))) => tape.span(tuple + row - first),
            None => Span::NONE,
        }
    }
}

/// The targets of rows of links.
fn targets_of(rows: &[ValueRef<'_>]) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(rows.len() / LINK_WIDTH * size_of::<u128>());
    for row in rows.chunks(LINK_WIDTH) {
        if let [_, _, ValueRef::Uuid(target)] = row {
            bytes.extend_from_slice(target);
        }
    }
    Ok(Arc::new(FixedSizeBinaryArray::try_new(16, Buffer::from_vec(bytes), None)?))
}
