//! From rows to Arrow arrays, a column at a time over the rows of a leaf.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, SchemaRef};
use folio_types::{ColumnType, Value};

use super::view::{decode_key, is_null, variable};
use super::{Place, encode, fixed_size, nested};
use crate::catalog::Table;
use crate::error::{Error, Result};

/// Collects rows into one record batch.
#[derive(Debug)]
pub(crate) struct BatchBuilder {
    table: Arc<Table>,
    schema: SchemaRef,
    columns: Vec<(usize, ColumnBuffer)>,
    row_count: usize,
    byte_count: usize,
}

impl BatchBuilder {
    /// For these columns of a table, in this order.
    pub(crate) fn new(table: Arc<Table>, projection: &[usize], schema: SchemaRef) -> Self {
        let buffer =
            |&index: &usize| (index, ColumnBuffer::new(&table.schema.columns[index].column_type));
        let columns = projection.iter().map(buffer).collect();
        Self { table, schema, columns, row_count: 0, byte_count: 0 }
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
        let layout = &self.table.layout;
        if rows.iter().any(|(_, value)| value.len() < layout.fixed_end) {
            return Err(self.table.misfit(0));
        }
        for (index, buffer) in &mut self.columns {
            let is_whole = match layout.places[*index] {
                Place::Key(position) => rows.iter().all(|(key, _)| {
                    if let (0, Some(fixed)) = (position, buffer.as_bigint()) {
                        return push_bigint_key(fixed, key);
                    }
                    decode_key(layout, position, key).is_some_and(|value| buffer.push(&value))
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
        for (index, buffer) in &mut self.columns {
            let column_type = &self.table.schema.columns[*index].column_type;
            let full = std::mem::replace(buffer, ColumnBuffer::new(column_type));
            let array = full.finish().ok_or_else(|| self.table.misfit(*index))?;
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| Error::InvalidInput { what: format!("no batch can be made: {error}") })
    }
}

/// A key that is one bigint is the common case, and its encoding is simple.
fn push_bigint_key(fixed: &mut MutableBuffer, key: &[u8]) -> bool {
    let Some(bytes) = key.first_chunk::<8>() else { return false };
    fixed.push(i64::from_be_bytes(*bytes) ^ i64::MIN);
    true
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

    fn as_bigint(&mut self) -> Option<&mut MutableBuffer> {
        match (&self.column_type, &mut self.kind) {
            (ColumnType::Int64, Kind::Fixed(buffer, _)) => {
                self.len += 1;
                Some(buffer)
            }
            _ => None,
        }
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
