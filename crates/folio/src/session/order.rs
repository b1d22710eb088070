//! Rows of a window by their position: the keys of all rows that pass, in the window's order, from
//! which any page is looked up.
//!
//! LIMIT and OFFSET sort everything again for every page, and hold or skip the rows before it: a
//! grid through which somebody jumps pays for that each time. Keys are small, so those of millions
//! of rows are kept by the caller, who says how much memory they may take.
//!
//! ```text
//! order_window  SELECT key FROM … WHERE tests ORDER BY … → columns of keys
//! window_at     keys at the positions → SELECT * WHERE key = ?, each → rows
//! is_current    whether the relation is still what it was
//! ```
//!
//! An order does not follow changes: rows that were added since are not in it, and one that is gone
//! makes its page fail with `conflict`. Views have no key, and so no order.

use folio_compute::array::value_at;
use folio_compute::{Batch, Error as QueryError};
use folio_document::Version;
use folio_engine::Rows;
use folio_engine::source::{RelationKind, Source as _};
use folio_sqlite::quoted_name;
use folio_types::{ColumnType, ErrorCode};

use super::relations::key_of;
use super::{Parameters, Session, Window};
use crate::database::Database;
use crate::error::Result;
use crate::source::View;

/// The keys of the rows that a window has without offset and limit, in its order.
#[derive(Debug)]
pub struct WindowOrder {
    window: Window,
    names: Vec<String>,
    types: Vec<ColumnType>,
    keys: Vec<Batch>,
    /// The position of each batch's first row.
    starts: Vec<u64>,
    row_count: u64,
    size: usize,
    state: State,
}

/// What the relation was when its keys were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Documents(Version),
    /// The number of the commit.
    Rows(u64),
}

impl WindowOrder {
    /// The number of rows.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// The bytes that it takes, about.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether it has the rows of a window, apart from offset and limit.
    #[must_use]
    pub fn is_of(&self, window: &Window) -> bool {
        let Window { relation, tests, order, .. } = &self.window;
        (relation, tests, order) == (&window.relation, &window.tests, &window.order)
    }

    /// The keys from a position on: batches with rows of each.
    fn places(&self, offset: u64, limit: u64) -> impl Iterator<Item = (&Batch, usize)> {
        let first = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let skipped = offset - self.starts.get(first).copied().unwrap_or(offset);
        let later = self.keys.iter().skip(first);
        let rows = later.flat_map(|batch| (0..batch.row_count).map(move |row| (batch, row)));
        rows.skip(usize::try_from(skipped).unwrap_or(usize::MAX))
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// The statement that looks up a row.
    fn look_up(&self) -> String {
        let tests: Vec<String> =
            self.names.iter().map(|name| format!("{} = ?", quoted_name(name))).collect();
        format!(
            "SELECT * FROM {} WHERE {}",
            quoted_name(&self.window.relation),
            tests.join(" AND ")
        )
    }
}

impl Session {
    /// The order of a window: the keys of all its rows. `None` where they take more than `size_max`
    /// bytes, and for a view or a table without a key.
    ///
    /// # Errors
    /// As [`Session::window`].
    pub fn order_window(
        &mut self,
        window: &Window,
        size_max: usize,
    ) -> Result<Option<WindowOrder>> {
        let Some((names, state)) = self.key_and_state(&window.relation)? else {
            self.columns(&window.relation)?; // says so where there is no such relation
            return Ok(None);
        };
        let columns: Vec<String> = names.iter().map(|name| quoted_name(name)).collect();
        let (mut text, parameters) = window.statement(&columns.join(", "));
        window.push_order(&mut text);
        let mut rows = self.rows_of(&text, &parameters)?;
        let window = Window { offset: 0, limit: 0, ..window.clone() };
        let types = rows.types().to_vec();
        let (keys, starts) = (Vec::new(), Vec::new());
        let mut order =
            WindowOrder { window, names, types, keys, starts, row_count: 0, size: 0, state };
        while let Some(batch) = rows.next_batch()? {
            order.size += batch.size();
            if order.size > size_max {
                return Ok(None);
            }
            order.starts.push(order.row_count);
            order.row_count += batch.row_count as u64;
            order.keys.push(batch);
        }
        Ok(Some(order))
    }

    /// The rows of an order from a position on, with all columns, as they are now.
    ///
    /// # Errors
    /// `conflict` if one of them is gone, or the columns have changed meanwhile; as
    /// [`Session::window`].
    pub fn window_at(&mut self, order: &WindowOrder, offset: u64, limit: u64) -> Result<Rows> {
        let mut prepared = self.prepare(&order.look_up())?;
        let (mut found, mut header) = (Vec::new(), None);
        for (keys, place) in order.places(offset, limit) {
            let mut parameters = Parameters::default();
            for (column, ty) in keys.columns.iter().zip(&order.types) {
                parameters.push(value_at(column, place, ty), Some(ty.clone()));
            }
            let rows = self.sql_prepared(&mut prepared, &parameters)?.rows;
            let Some(mut rows) = rows else { return Err(changed(order).into()) };
            let columns = (rows.names().to_vec(), rows.types().to_vec());
            if *header.get_or_insert_with(|| columns.clone()) != columns {
                return Err(changed(order).into());
            }
            match rows.next_batch()? {
                Some(row) if row.row_count == 1 => found.push(row),
                _ => return Err(changed(order).into()),
            }
        }
        match header {
            Some((names, types)) => Ok(Rows::of(names, types, Batch::concat(&found)?)),
            // There are only columns.
            None => self.window(&Window { limit: 0, ..order.window.clone() }),
        }
    }

    /// Whether an order is still that of its rows: nothing of the relation, or of any table for one,
    /// has changed since.
    ///
    /// # Errors
    /// Errors of the stores.
    pub fn is_current(&mut self, order: &WindowOrder) -> Result<bool> {
        let now = self.key_and_state(&order.window.relation)?;
        Ok(now.is_some_and(|(names, state)| names == order.names && state == order.state))
    }

    fn key_and_state(&mut self, name: &str) -> Result<Option<(Vec<String>, State)>> {
        let view = View::new(self.handle().clone());
        let Some(relation) = view.relation(name)? else { return Ok(None) };
        Ok(match relation.kind {
            RelationKind::Collection => {
                let database = Database::of(self.handle().clone());
                let collection = database.existing_collection(&relation.schema.name)?;
                let version = collection.reader()?.version()?;
                Some((vec!["_id".to_owned()], State::Documents(version)))
            }
            RelationKind::Table if !relation.schema.primary_key.is_empty() => {
                Some((key_of(&relation), State::Rows(view.transaction()?)))
            }
            _ => None,
        })
    }
}

fn changed(order: &WindowOrder) -> QueryError {
    let name = &order.window.relation;
    let text = format!("{name:?} has changed since its rows were put in order");
    QueryError::new(ErrorCode::Conflict, text)
}
