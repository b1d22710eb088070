//! From rows to Arrow arrays, a column at a time over the rows of a leaf.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, SchemaRef};
use folio_types::key::KeyColumn;
use folio_types::{ColumnType, Value};

use super::view::{decode_segment, is_null, variable};
use super::{Place, encode, fixed_size, nested};
use crate::catalog::{Index, Table};
use crate::error::{Error, Result};
use crate::scan::ROW_NUMBER;

/// Collects rows into one record batch.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    table: Arc<Table>,
    schema: SchemaRef,
    /// What the keys of the cells are made of.
    key: Vec<KeyColumn>,
    /// Bytes that every value has: those of the fixed columns.
    value_size_min: usize,
    columns: Vec<ColumnBuilder>,
    is_of_entries: bool,
    row_count: usize,
    byte_count: usize,
}

/// A column on its way: which one it is, where its values are, and those so far.
#[derive(Debug)]
struct ColumnBuilder {
    index: usize,
    place: Place,
    /// Whether its values are the first eight bytes of the key, nearly as they are.
    is_plain_key: bool,
    buffer: ColumnBuffer,
}

impl BatchBuilder {
    /// For these columns of a table, in this order, from rows.
    pub(crate) fn new(table: Arc<Table>, projection: &[usize], schema: SchemaRef) -> Self {
        let places = projection.iter().map(|&index| match index {
            ROW_NUMBER => Place::Key(0),
            index => table.layout.places[index],
        });
        let (places, key) = (places.collect(), table.layout.key.clone());
        let value_size_min = table.layout.fixed_end;
        Self::with_places(table, projection, schema, places, key, value_size_min)
    }

    /// For columns that entries of an index have, from entries.
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
            Place::Key(position.unwrap_or_else(|| indexed.len() + in_key().unwrap_or_default()))
        });
        let places = places.collect();
        let key = index.key.iter().chain(&table.layout.key).cloned().collect();
        let mut builder = Self::with_places(table, projection, schema, places, key, 0);
        builder.is_of_entries = true;
        builder
    }

    fn with_places(
        table: Arc<Table>,
        projection: &[usize],
        schema: SchemaRef,
        places: Vec<Place>,
        key: Vec<KeyColumn>,
        value_size_min: usize,
    ) -> Self {
        let is_plain = key[0]
            == KeyColumn { column_type: ColumnType::Int64, nullable: false, descending: false };
        let columns = projection.iter().zip(places).map(|(&index, place)| ColumnBuilder {
            index,
            place,
            is_plain_key: is_plain && matches!(place, Place::Key(0)),
            buffer: ColumnBuffer::new(column_type(&table, index)),
        });
        let columns = columns.collect();
        let (is_of_entries, row_count, byte_count) = (false, 0, 0);
        Self { table, schema, key, value_size_min, columns, is_of_entries, row_count, byte_count }
    }

    /// Whether it is entries that it takes.
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

    /// Appends rows, given as keys and values.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when a row is not what the table says.
    pub(crate) fn append(&mut self, rows: &[(&[u8], &[u8])]) -> Result<()> {
        if rows.iter().any(|(_, value)| value.len() < self.value_size_min) {
            return Err(self.table.misfit(0));
        }
        let layout = &self.table.layout;
        for ColumnBuilder { index, place, is_plain_key, buffer } in &mut self.columns {
            let is_whole = match *place {
                Place::Key(_) if *is_plain_key => {
                    rows.iter().all(|(key, _)| buffer.push_bigint_key(key))
                }
                Place::Key(position) => rows.iter().all(|(key, _)| {
                    let value = decode_segment(&self.key, position, key);
                    value.is_some_and(|value| buffer.push(&value))
                }),
                Place::Fixed { offset, size, null_bit } => {
                    buffer.append_fixed(rows, offset, size, null_bit)
                }
                Place::Variable { index, null_bit } => rows.iter().all(|(_, value)| {
                    if is_null(value, null_bit) {
                        return buffer.push(&Value::Null);
                    }
                    let bytes = variable(layout, value, index);
                    bytes.is_some_and(|bytes| buffer.push_variable(bytes))
                }),
            };
            if !is_whole {
                return Err(self.table.misfit(*index));
            }
        }
        self.row_count += rows.len();
        self.byte_count += rows.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        Ok(())
    }

    /// The batch, and an empty builder again.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when text is not UTF-8.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let row_count = std::mem::take(&mut self.row_count);
        self.byte_count = 0;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for ColumnBuilder { index, buffer, .. } in &mut self.columns {
            let empty = ColumnBuffer::new(column_type(&self.table, *index));
            let full = std::mem::replace(buffer, empty);
            let array = full.finish().ok_or_else(|| self.table.misfit(*index))?;
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::InvalidInput { what: format!("no batch can be made: {error}") })
    }
}

fn column_type(table: &Table, index: usize) -> &ColumnType {
    table.schema.columns.get(index).map_or(&ColumnType::Int64, |column| &column.column_type)
}

/// One column on its way to an array.
#[derive(Debug)]
struct ColumnBuffer {
    column_type: ColumnType,
    kind: Kind,
    /// A bit per row, set for a value; only once there is a null.
    valid: Option<BooleanBufferBuilder>,
    len: usize,
}

#[derive(Debug)]
enum Kind {
    Boolean(BooleanBufferBuilder),
    Fixed(MutableBuffer, usize),
    Variable(Vec<i32>, MutableBuffer),
    List(Vec<i32>, Box<ColumnBuffer>),
    Struct(Vec<ColumnBuffer>),
}

impl ColumnBuffer {
    fn new(column_type: &ColumnType) -> Self {
        let kind = match column_type {
            ColumnType::Boolean => Kind::Boolean(BooleanBufferBuilder::new(0)),
            ColumnType::List(element) => Kind::List(vec![0], Box::new(Self::new(element))),
            ColumnType::Struct(fields) => {
                Kind::Struct(fields.iter().map(|(_, field)| Self::new(field)).collect())
            }
            other => match fixed_size(other) {
                Some(size) => Kind::Fixed(MutableBuffer::new(0), size),
                None => Kind::Variable(vec![0], MutableBuffer::new(0)),
            },
        };
        Self { column_type: column_type.clone(), kind, valid: None, len: 0 }
    }

    /// A key that is one bigint is the common case, and its encoding is simple.
    fn push_bigint_key(&mut self, key: &[u8]) -> bool {
        let (Some(bytes), Kind::Fixed(buffer, _)) = (key.first_chunk::<8>(), &mut self.kind) else {
            return false;
        };
        buffer.push(i64::from_be_bytes(*bytes) ^ i64::MIN);
        self.len += 1;
        true
    }

    fn mark(&mut self, is_valid: bool) {
        if let Some(valid) = &mut self.valid {
            valid.append(is_valid);
        } else if !is_valid {
            let mut valid = BooleanBufferBuilder::new(self.len + 1);
            valid.append_n(self.len, true);
            valid.append(false);
            self.valid = Some(valid);
        }
        self.len += 1;
    }

    /// Appends a column of constant size from all rows.
    fn append_fixed(
        &mut self,
        rows: &[(&[u8], &[u8])],
        offset: usize,
        size: usize,
        null_bit: Option<usize>,
    ) -> bool {
        for (_, value) in rows {
            self.mark(!is_null(value, null_bit));
            let bytes = &value[offset..offset + size];
            match &mut self.kind {
                Kind::Boolean(bits) if bytes[0] <= 1 => bits.append(bytes[0] == 1),
                Kind::Fixed(buffer, _) => buffer.extend_from_slice(bytes),
                _ => return false,
            }
        }
        true
    }

    fn push_variable(&mut self, bytes: &[u8]) -> bool {
        if let Kind::Variable(ends, data) = &mut self.kind {
            data.extend_from_slice(bytes);
            let Ok(end) = i32::try_from(data.len()) else { return false };
            ends.push(end);
            self.mark(true);
            return true;
        }
        let value = nested::read_variable(&self.column_type, bytes);
        value.is_some_and(|value| self.push(&value))
    }

    /// Appends any value of the column's type.
    fn push(&mut self, value: &Value) -> bool {
        self.mark(*value != Value::Null);
        match (&mut self.kind, value) {
            (Kind::Boolean(bits), value) => bits.append(*value == Value::Boolean(true)),
            (Kind::Fixed(buffer, size), value) => {
                let mut bytes = [0; 16];
                encode::write_fixed(&self.column_type, value.as_ref(), &mut bytes[..*size]);
                buffer.extend_from_slice(&bytes[..*size]);
            }
            (Kind::Variable(ends, data), value) => {
                match value {
                    Value::Text(text) => data.extend_from_slice(text.as_bytes()),
                    Value::Bytes(bytes) => data.extend_from_slice(bytes),
                    _ => {}
                }
                let Ok(end) = i32::try_from(data.len()) else { return false };
                ends.push(end);
            }
            (Kind::List(ends, child), value) => {
                let elements = if let Value::List(values) = value { &values[..] } else { &[] };
                let all = elements.iter().all(|element| child.push(element));
                let Ok(end) = i32::try_from(child.len) else { return false };
                ends.push(end);
                return all;
            }
            (Kind::Struct(children), Value::Struct(values)) => {
                return children.iter_mut().zip(values).all(|(child, value)| child.push(value));
            }
            (Kind::Struct(children), _) => {
                return children.iter_mut().all(|child| child.push(&Value::Null));
            }
        }
        true
    }

    /// The array; `None` when text is not UTF-8.
    fn finish(self) -> Option<ArrayRef> {
        self.finish_data().map(make_array)
    }

    fn finish_data(self) -> Option<ArrayData> {
        let data_type: DataType = self.column_type.to_arrow();
        let nulls = self.valid.map(|mut valid| NullBuffer::new(valid.finish()));
        let builder = ArrayData::builder(data_type).len(self.len).nulls(nulls);
        let builder = match self.kind {
            Kind::Boolean(mut bits) => builder.add_buffer(bits.finish().into_inner()),
            Kind::Fixed(buffer, _) => builder.add_buffer(buffer.into()),
            Kind::Variable(ends, data) => {
                builder.add_buffer(Buffer::from_vec(ends)).add_buffer(data.into())
            }
            Kind::List(ends, child) => {
                builder.add_buffer(Buffer::from_vec(ends)).add_child_data(child.finish_data()?)
            }
            Kind::Struct(children) => {
                let children =
                    children.into_iter().map(Self::finish_data).collect::<Option<_>>()?;
                builder.child_data(children)
            }
        };
        builder.build().ok()
    }
}
