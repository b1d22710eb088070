//! The rows of a table, in the order of its columns.

use crate::catalog::SourceTable;
use crate::declared::Affinity;
use crate::definition::{Definition, Generated};
use crate::error::{Error, Result};
use crate::literal::Literal;
use crate::pages::Pages;
use crate::record::{Stored, decode};
use crate::tree::{Cursor, Seen};

/// The location of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The row number.
    RowNumber,
    /// The n-th value of the record.
    Record(usize),
}

/// A stored column.
#[derive(Debug)]
pub(crate) struct StoredColumn {
    /// Its position in the definition.
    pub(crate) position: usize,
    place: Place,
    affinity: Affinity,
    /// The value for rows that are too short to have it; `None` if unknown.
    pub(crate) default: Option<Literal>,
}

/// How to read the records of a table.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) columns: Vec<StoredColumn>,
    /// The stored column that is the row number.
    pub(crate) row_number: Option<usize>,
    is_table: bool,
}

impl Shape {
    pub(crate) fn new(definition: &Definition, pages: &Pages) -> Self {
        let is_stored = |at: &usize| definition.columns[*at].generated != Some(Generated::Virtual);
        let in_order = 0..definition.columns.len();
        let mut order: Vec<usize> = Vec::new();
        if definition.is_without_rowid {
            // The tree is that of an index: the key columns come first.
            order
                .extend(definition.primary_key.iter().filter_map(|name| definition.position(name)));
        }
        let rest: Vec<usize> = in_order.clone().filter(|at| !order.contains(at)).collect();
        order.extend(rest);
        order.retain(is_stored);
        let alias = row_number_column(definition);
        let mut places = vec![Place::RowNumber; definition.columns.len()];
        for (at, position) in order.iter().enumerate().filter(|(_, own)| alias != Some(**own)) {
            places[*position] = Place::Record(at);
        }
        let column = |position: usize| {
            let affinity = Affinity::of(&definition.columns[position].type_name);
            let place = places[position];
            let default = match &definition.columns[position].default {
                Some(tokens) => Literal::read(tokens, affinity, pages.encoding),
                None => Some(Literal::Null),
            };
            StoredColumn { position, place, affinity, default }
        };
        let columns: Vec<StoredColumn> = in_order.filter(is_stored).map(column).collect();
        let row_number = columns.iter().position(|column| column.place == Place::RowNumber);
        Self { columns, row_number, is_table: !definition.is_without_rowid }
    }
}

/// The column that is an alias of the row number: an INTEGER that alone is the key.
fn row_number_column(definition: &Definition) -> Option<usize> {
    let [name] = &definition.primary_key[..] else { return None };
    let position = definition.position(name)?;
    let is_integer = definition.columns[position].type_name.eq_ignore_ascii_case("INTEGER");
    // A descending column is an alias only if the key follows the columns: an old bug of SQLite
    // that files rely on.
    let is_alias = definition.is_key_after || !definition.is_key_descending;
    (is_integer && is_alias && !definition.is_without_rowid).then_some(position)
}

/// A cursor over rows.
pub(crate) struct Rows<'p> {
    cursor: Cursor<'p>,
    shape: &'p Shape,
}

impl<'p> Rows<'p> {
    /// Starts before the first row.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub(crate) fn open(
        pages: &'p Pages,
        seen: &'p mut Seen,
        table: &'p SourceTable,
        shape: &'p Shape,
    ) -> Result<Self> {
        let cursor = Cursor::open(pages, seen, &table.name, table.root, shape.is_table)?;
        Ok(Self { cursor, shape })
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// `corrupted`, `io`.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Stored<'_>>>> {
        if !self.cursor.advance()? {
            return Ok(None);
        }
        let record = decode(self.cursor.payload()).map_err(|text| self.cursor.damaged_row(text))?;
        let mut row = Vec::with_capacity(self.shape.columns.len());
        for column in &self.shape.columns {
            let stored = match column.place {
                Place::RowNumber => Stored::Integer(self.cursor.row_number()),
                Place::Record(at) => match (record.get(at), &column.default) {
                    (Some(stored), _) => *stored,
                    (None, Some(default)) => default.as_stored(),
                    (None, None) => {
                        return Err(self.cursor.damaged_row(
                            "a row is older than a column whose DEFAULT is not a literal",
                        ));
                    }
                },
            };
            row.push(match stored {
                // Floating-point columns store whole numbers as integers, to save space.
                #[allow(clippy::cast_precision_loss)] // they came from floating point
                Stored::Integer(number) if column.affinity == Affinity::Real => {
                    Stored::Real(number as f64)
                }
                stored => stored,
            });
        }
        Ok(Some(row))
    }

    /// The error for a row that does not match the first pass.
    pub(crate) fn changed_row(&self) -> Error {
        self.cursor.damaged_row("it was changed while it was read; import it again")
    }
}
