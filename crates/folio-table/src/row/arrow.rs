//! Converts rows to Arrow arrays, column by column over the rows of a leaf.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use folio_types::ColumnType;
use folio_types::key::KeyColumn;

use super::column_buffer::ColumnBuffer;
use super::view::decode_segment;
use crate::catalog::{Index, Table};
use crate::error::{Error, Result};
use crate::layout::{Place, ROW_NUMBER};
use crate::page::key::Key;

/// Collects rows into one record batch.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    table: Arc<Table>,
    schema: SchemaRef,
    /// The key columns of the cells.
    key: Vec<KeyColumn>,
    columns: Vec<ColumnBuilder>,
    is_of_entries: bool,
    row_count: usize,
    byte_count: usize,
}

/// A column under construction: its position, the location of its values, and the values so far.
#[derive(Debug)]
struct ColumnBuilder {
    index: usize,
    place: Place,
    /// The location of its values in the key, if they are stored nearly as they are.
    plain: Option<Plain>,
    buffer: ColumnBuffer,
}

/// Values at a constant offset in every key.
#[derive(Debug, Clone, Copy)]
enum Plain {
    Bigint(usize),
    Uuid(usize),
    /// An integer in as many bytes as it needs.
    Compact(usize),
}

impl Plain {
    /// The location of a column after others of constant size.
    fn of(key: &[KeyColumn], position: usize) -> Option<Self> {
        let is_plain = |column: &KeyColumn| !column.nullable && !column.descending;
        let mut offset = 0;
        for column in key.get(..position)? {
            offset += match column.column_type {
                ColumnType::Uuid if is_plain(column) => 16,
                _ if column.compact => return None,
                ColumnType::Int64 if is_plain(column) => 8,
                ColumnType::Int32 | ColumnType::Date if is_plain(column) => 4,
                _ => return None,
            };
        }
        let column = key.get(position).filter(|column| is_plain(column))?;
        match column.column_type {
            _ if column.compact => Some(Self::Compact(offset)),
            ColumnType::Int64 => Some(Self::Bigint(offset)),
            ColumnType::Uuid => Some(Self::Uuid(offset)),
            _ => None,
        }
    }
}

impl BatchBuilder {
    /// Builds these columns of a table, in this order, from rows.
    pub(crate) fn new(table: Arc<Table>, projection: &[usize], schema: SchemaRef) -> Self {
        let places = projection.iter().map(|&index| match index {
            ROW_NUMBER => Place::Key(0),
            index => table.layout.places[index],
        });
        let (places, key) = (places.collect(), table.layout.key.clone());
        Self::with_places(table, projection, schema, places, key)
    }

    /// Builds columns that an index has, from its entries.
    pub(crate) fn of_entries(
        table: Arc<Table>,
        index: &Index,
        projection: &[usize],
        schema: SchemaRef,
    ) -> Self {
        let indexed: Vec<usize> = index.columns.iter().map(|(column, _)| *column).collect();
        let places = projection.iter().map(|column| {
            let in_key = || table.schema.primary_key.iter().position(|other| other == column);
            let position = indexed.iter().position(|other| other == column);
            Place::Key(position.unwrap_or_else(|| index.row_key[in_key().unwrap_or_default()]))
        });
        let (places, key) = (places.collect(), index.entry.clone());
        let mut builder = Self::with_places(table, projection, schema, places, key);
        builder.is_of_entries = true;
        builder
    }

    fn with_places(
        table: Arc<Table>,
        projection: &[usize],
        schema: SchemaRef,
        places: Vec<Place>,
        key: Vec<KeyColumn>,
    ) -> Self {
        let columns = projection.iter().zip(places).map(|(&index, place)| ColumnBuilder {
            index,
            place,
            plain: match place {
                Place::Key(position) => Plain::of(&key, position),
                _ => None,
            },
            buffer: ColumnBuffer::new(column_type(&table, index)),
        });
        let columns = columns.collect();
        let (is_of_entries, row_count, byte_count) = (false, 0, 0);
        Self { table, schema, key, columns, is_of_entries, row_count, byte_count }
    }

    /// Whether it takes index entries.
    pub(crate) fn is_of_entries(&self) -> bool {
        self.is_of_entries
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    /// Bytes of the rows so far, as stored.
    pub(crate) fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// Appends rows, given as their shared key prefix, and the rest of each key and the value.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when a row does not match the table.
    pub(crate) fn append(&mut self, prefix: &[u8], rows: &[(&[u8], &[u8])]) -> Result<()> {
        let layout = &self.table.layout;
        let mut byte_count = prefix.len() * rows.len();
        for (key, value) in rows {
            byte_count += key.len() + value.len();
            if !self.is_of_entries && layout.header(value).is_none() {
                return Err(self.table.mismatch(0));
            }
        }
        for ColumnBuilder { index, place, plain, buffer } in &mut self.columns {
            let is_whole = match *place {
                Place::Key(position) => match *plain {
                    Some(Plain::Bigint(at)) => buffer.append_bigint_keys(prefix, rows, at),
                    Some(Plain::Uuid(at)) => buffer.append_uuid_keys(prefix, rows, at),
                    Some(Plain::Compact(at)) => buffer.append_compact_keys(prefix, rows, at),
                    None => {
                        let mut whole = Vec::new();
                        rows.iter().all(|(rest, _)| {
                            let key = Key { prefix, rest }.bytes(&mut whole);
                            let value = decode_segment(&self.key, position, key);
                            value.is_some_and(|value| buffer.push(&value))
                        })
                    }
                },
                Place::Fixed { offset, size, null_bit } => {
                    buffer.append_fixed(rows, offset, size, null_bit)
                }
                Place::Integer { offsets, null_bit, .. } => {
                    buffer.append_integers(rows, offsets, null_bit)
                }
                Place::Variable { index, null_bit } => {
                    buffer.append_variable(rows, layout, index, null_bit)
                }
            };
            if !is_whole {
                return Err(self.table.mismatch(*index));
            }
        }
        self.row_count += rows.len();
        self.byte_count += byte_count;
        Ok(())
    }

    /// Reserves space for about this many rows.
    pub(crate) fn reserve(&mut self, row_count: usize) {
        self.columns.iter_mut().for_each(|column| column.buffer.reserve(row_count));
    }

    /// Returns the batch and starts an empty one, with the same capacity unless it was the last.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when text is not UTF-8.
    pub(crate) fn finish(&mut self, is_last: bool) -> Result<RecordBatch> {
        let row_count = std::mem::take(&mut self.row_count);
        self.byte_count = 0;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for ColumnBuilder { index, buffer, .. } in &mut self.columns {
            let column_type = column_type(&self.table, *index);
            let empty = match is_last {
                true => ColumnBuffer::new(column_type),
                false => buffer.empty_as_large(column_type),
            };
            let full = std::mem::replace(buffer, empty);
            let array = full.finish().ok_or_else(|| self.table.mismatch(*index))?;
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::InvalidInput { what: format!("cannot build a batch: {error}") })
    }
}

fn column_type(table: &Table, index: usize) -> &ColumnType {
    table.schema.columns.get(index).map_or(&ColumnType::Int64, |column| &column.column_type)
}
