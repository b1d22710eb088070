//! Collects one column of many rows into an Arrow array.

use std::ops::Range;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use folio_types::key::compact;
use folio_types::{ColumnType, Value, ValueRef};

use super::list::List;
use super::view::{is_null, variable_range};
use super::{encode, key_field, nested};
use crate::layout::{
    RowLayout, WIDTH_COUNT, Width, fixed_size, integer, is_integer, short_integer,
};
use crate::page::key::Key;

/// A column under construction.
#[derive(Debug)]
pub(super) struct ColumnBuffer {
    column_type: ColumnType,
    kind: Kind,
    /// One bit per row, set for a value; `None` until there is a null.
    valid: Option<BooleanBufferBuilder>,
    len: usize,
}

#[derive(Debug)]
enum Kind {
    Boolean(BooleanBufferBuilder),
    Fixed(MutableBuffer, usize),
    Variable(TextBuffer),
    List(Vec<i32>, Box<ColumnBuffer>),
    Struct(Vec<ColumnBuffer>),
}

impl ColumnBuffer {
    pub(super) fn new(column_type: &ColumnType) -> Self {
        let kind = match column_type {
            ColumnType::Boolean => Kind::Boolean(BooleanBufferBuilder::new(0)),
            ColumnType::List(element) => Kind::List(vec![0], Box::new(Self::new(element))),
            ColumnType::Map(value) => {
                Kind::List(vec![0], Box::new(Self::new(&ColumnType::entry(value))))
            }
            ColumnType::Struct(fields) => {
                Kind::Struct(fields.iter().map(|(_, field)| Self::new(field)).collect())
            }
            other => match fixed_size(other) {
                Some(size) => Kind::Fixed(MutableBuffer::new(0), size),
                None => Kind::Variable(TextBuffer::default()),
            },
        };
        Self { column_type: column_type.clone(), kind, valid: None, len: 0 }
    }

    /// Reserves space for about this many rows.
    pub(super) fn reserve(&mut self, row_count: usize) {
        match &mut self.kind {
            Kind::Fixed(buffer, size) => buffer.reserve(row_count * *size),
            Kind::Variable(text) => text.reserve(row_count, row_count * SHORT),
            _ => {}
        }
    }

    /// An empty buffer with the capacity of this one.
    pub(super) fn empty_as_large(&self, column_type: &ColumnType) -> Self {
        let mut empty = Self::new(column_type);
        match (&self.kind, &mut empty.kind) {
            (Kind::Fixed(full, _), Kind::Fixed(buffer, _)) => buffer.reserve(full.len()),
            (Kind::Variable(full), Kind::Variable(text)) => {
                text.reserve(full.ends.len(), full.size);
            }
            _ => {}
        }
        empty
    }

    /// Appends bigints at a constant offset of the key: the common case, with a simple encoding.
    pub(super) fn append_bigint_keys(
        &mut self,
        prefix: &[u8],
        rows: &[(&[u8], &[u8])],
        at: usize,
    ) -> bool {
        let Kind::Fixed(buffer, _) = &mut self.kind else { return false };
        self.len += rows.len();
        key_field::see::<8>(prefix, rows, at, |field| buffer.push(field as i64 ^ i64::MIN))
    }

    /// Appends UUIDs at a constant offset of the key, which are stored as their bytes.
    pub(super) fn append_uuid_keys(
        &mut self,
        prefix: &[u8],
        rows: &[(&[u8], &[u8])],
        at: usize,
    ) -> bool {
        let Kind::Fixed(buffer, _) = &mut self.kind else { return false };
        self.len += rows.len();
        key_field::see::<16>(prefix, rows, at, |field| buffer.push(field.to_be()))
    }

    /// Appends compact integers of the key, each in as many bytes as it needs.
    pub(super) fn append_compact_keys(
        &mut self,
        prefix: &[u8],
        rows: &[(&[u8], &[u8])],
        at: usize,
    ) -> bool {
        let Kind::Fixed(buffer, size) = &mut self.kind else { return false };
        let (mut whole, size) = (Vec::new(), *size);
        self.len += rows.len();
        rows.iter().all(|(rest, _)| {
            let number = match at.checked_sub(prefix.len()) {
                Some(at) => rest.get(at..),
                None => Key { prefix, rest }.bytes(&mut whole).get(at..),
            };
            let number = number.and_then(|mut number| compact::decode(&mut number));
            let number =
                number.filter(|number| Width::of(ValueRef::Integer(*number)).within(8) <= size);
            number.map(|number| buffer.extend_from_slice(&number.to_le_bytes()[..size])).is_some()
        })
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

    /// Appends a fixed-size column of all rows.
    pub(super) fn append_fixed(
        &mut self,
        rows: &[(&[u8], &[u8])],
        offset: usize,
        size: usize,
        null_bit: Option<usize>,
    ) -> bool {
        match &mut self.kind {
            Kind::Boolean(bits) => {
                if rows.iter().any(|(_, value)| value[offset] > 1) {
                    return false;
                }
                rows.iter().for_each(|(_, value)| bits.append(value[offset] == 1));
            }
            Kind::Fixed(buffer, _) => match size {
                16 => copy_column::<16>(rows, offset, buffer),
                8 => copy_column::<8>(rows, offset, buffer),
                4 => copy_column::<4>(rows, offset, buffer),
                2 => copy_column::<2>(rows, offset, buffer),
                _ => return false,
            },
            _ => return false,
        }
        self.mark_all(rows, null_bit);
        true
    }

    /// Appends an integer column of all rows.
    pub(super) fn append_integers(
        &mut self,
        rows: &[(&[u8], &[u8])],
        offsets: [usize; WIDTH_COUNT],
        null_bit: Option<usize>,
    ) -> bool {
        match &mut self.kind {
            Kind::Fixed(buffer, 8) => copy_integers::<8>(rows, offsets, buffer),
            Kind::Fixed(buffer, 4) => copy_integers::<4>(rows, offsets, buffer),
            Kind::Fixed(buffer, 2) => copy_integers::<2>(rows, offsets, buffer),
            _ => return false,
        }
        self.mark_all(rows, null_bit);
        true
    }

    /// Records which rows have a value.
    fn mark_all(&mut self, rows: &[(&[u8], &[u8])], null_bit: Option<usize>) {
        if null_bit.is_some() {
            rows.iter().for_each(|(_, value)| self.mark(!is_null(value, null_bit)));
            return;
        }
        if let Some(valid) = &mut self.valid {
            valid.append_n(rows.len(), true);
        }
        self.len += rows.len();
    }

    /// Appends the `index`-th variable-size column of all rows.
    pub(super) fn append_variable(
        &mut self,
        rows: &[(&[u8], &[u8])],
        layout: &RowLayout,
        index: usize,
        null_bit: Option<usize>,
    ) -> bool {
        if let Kind::Variable(text) = &mut self.kind {
            let is_whole = rows.iter().all(|(_, value)| match is_null(value, null_bit) {
                true => text.push(&[], 0..0),
                false => variable_range(layout, value, index)
                    .is_some_and(|range| text.push(value, range)),
            });
            self.mark_all(rows, null_bit);
            return is_whole;
        }
        rows.iter().all(|(_, value)| {
            if is_null(value, null_bit) {
                return self.push(&Value::Null);
            }
            let bytes = variable_range(layout, value, index).and_then(|range| value.get(range));
            bytes.is_some_and(|bytes| self.push_stored(bytes))
        })
    }

    /// Appends a list or a struct as stored.
    fn push_stored(&mut self, bytes: &[u8]) -> bool {
        if let Kind::List(ends, child) = &mut self.kind
            && let Some(list) = List::of(bytes).filter(|list| list.nulls.is_empty())
            && child.append_list(&list)
        {
            let Ok(end) = i32::try_from(child.len) else { return false };
            ends.push(end);
            self.mark(true);
            return true;
        }
        nested::read_variable(&self.column_type, bytes).is_some_and(|value| self.push(&value))
    }

    /// Appends the elements of a list without nulls if all have one size. Otherwise returns `false`
    /// and appends nothing.
    fn append_list(&mut self, list: &List<'_>) -> bool {
        let Kind::Fixed(buffer, size) = &mut self.kind else { return false };
        let stored_size = match is_integer(&self.column_type) {
            true => list.integers.within(*size),
            false => *size,
        };
        if list.elements.len() != stored_size * list.count {
            return false;
        }
        if stored_size == *size {
            buffer.extend_from_slice(list.elements);
        } else {
            for element in list.elements.chunks_exact(stored_size) {
                buffer.extend_from_slice(&short_integer(element).to_le_bytes()[..*size]);
            }
        }
        if let Some(valid) = &mut self.valid {
            valid.append_n(list.count, true);
        }
        self.len += list.count;
        true
    }

    /// Appends any value of the column's type.
    pub(super) fn push(&mut self, value: &Value) -> bool {
        self.mark(*value != Value::Null);
        match (&mut self.kind, value) {
            (Kind::Boolean(bits), value) => bits.append(*value == Value::Boolean(true)),
            (Kind::Fixed(buffer, size), value) => {
                let mut bytes = [0; 16];
                encode::write_fixed(&self.column_type, value.as_ref(), &mut bytes[..*size]);
                buffer.extend_from_slice(&bytes[..*size]);
            }
            (Kind::Variable(text), value) => {
                let bytes = match value {
                    Value::Text(text) => text.as_bytes(),
                    Value::Bytes(bytes) => bytes,
                    _ => &[],
                };
                return text.push(bytes, 0..bytes.len());
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
    pub(super) fn finish(self) -> Option<ArrayRef> {
        let data_type = self.column_type.to_arrow();
        self.finish_data(data_type).map(make_array)
    }

    /// The array as one of a type, whose fields may be marked as never null.
    fn finish_data(self, data_type: DataType) -> Option<ArrayData> {
        let nulls = self.valid.map(|mut valid| NullBuffer::new(valid.finish()));
        let builder = ArrayData::builder(data_type.clone()).len(self.len).nulls(nulls);
        let builder = match self.kind {
            Kind::Boolean(mut bits) => builder.add_buffer(bits.finish().into_inner()),
            Kind::Fixed(buffer, _) => builder.add_buffer(buffer.into()),
            Kind::Variable(text) => {
                let (ends, data) = text.finish();
                builder.add_buffer(ends).add_buffer(data)
            }
            Kind::List(ends, child) => {
                let (DataType::List(item) | DataType::Map(item, _)) = data_type else {
                    return None;
                };
                let child = child.finish_data(item.data_type().clone())?;
                builder.add_buffer(Buffer::from_vec(ends)).add_child_data(child)
            }
            Kind::Struct(children) => {
                let DataType::Struct(fields) = data_type else { return None };
                let children = children.into_iter().zip(&fields);
                let children =
                    children.map(|(child, field)| child.finish_data(field.data_type().clone()));
                builder.child_data(children.collect::<Option<_>>()?)
            }
        };
        builder.build().ok()
    }
}

/// Copies one column, `N` bytes per row.
fn copy_column<const N: usize>(rows: &[(&[u8], &[u8])], offset: usize, out: &mut MutableBuffer) {
    let start = out.len();
    out.resize(start + N * rows.len(), 0);
    let (targets, _) = out.as_slice_mut()[start..].as_chunks_mut::<N>();
    for (target, (_, value)) in targets.iter_mut().zip(rows) {
        target.copy_from_slice(&value[offset..offset + N]);
    }
}

/// Converts one column of `N`-byte integers to the array's width.
fn copy_integers<const N: usize>(
    rows: &[(&[u8], &[u8])],
    offsets: [usize; WIDTH_COUNT],
    out: &mut MutableBuffer,
) {
    let start = out.len();
    out.resize(start + N * rows.len(), 0);
    let (targets, _) = out.as_slice_mut()[start..].as_chunks_mut::<N>();
    for (target, (_, value)) in targets.iter_mut().zip(rows) {
        let width = Width::of_row(value[0]);
        let number = integer(value, offsets[width.index()], width.within(N));
        target.copy_from_slice(&number.to_le_bytes()[..N]);
    }
}

/// Concatenated texts, and the end of each.
#[derive(Debug)]
struct TextBuffer {
    ends: Vec<i32>,
    /// The first `size` bytes are valid, the rest is capacity.
    data: Vec<u8>,
    size: usize,
}

/// Short texts are copied as this many bytes, whatever their length: two instructions, where a copy
/// of unknown length is a call.
const SHORT: usize = 16;

/// Copies a slice, usually as two overlapping pieces of constant size.
#[inline]
fn copy(target: &mut [u8], source: &[u8]) {
    if !copy_ends::<16>(target, source) && !copy_ends::<8>(target, source) {
        target.copy_from_slice(source);
    }
}

/// Copies the first and the last bytes, if these cover the slice.
#[inline]
fn copy_ends<const N: usize>(target: &mut [u8], source: &[u8]) -> bool {
    if source.len() > 2 * N || target.len() != source.len() {
        return false;
    }
    let (Some(first), Some(last)) = (source.first_chunk::<N>(), source.last_chunk::<N>()) else {
        return false;
    };
    if let Some(start) = target.first_chunk_mut() {
        *start = *first;
    }
    if let Some(end) = target.last_chunk_mut() {
        *end = *last;
    }
    true
}

impl Default for TextBuffer {
    fn default() -> Self {
        Self { ends: vec![0], data: Vec::new(), size: 0 }
    }
}

impl TextBuffer {
    fn reserve(&mut self, text_count: usize, size: usize) {
        self.ends.reserve(text_count);
        self.data.resize(size + 2 * SHORT, 0);
    }

    /// Appends a byte range; `false` when it is out of bounds or too long.
    #[inline]
    fn push(&mut self, bytes: &[u8], range: Range<usize>) -> bool {
        let size = range.len();
        if size <= SHORT
            && let Some(source) = bytes.get(range.start..range.start + SHORT)
            && let Some(target) = self.data.get_mut(self.size..self.size + SHORT)
        {
            target.copy_from_slice(source);
        } else {
            let Some(source) = bytes.get(range) else { return false };
            if self.data.len() < self.size + size {
                self.data.resize((self.size + size + SHORT).next_power_of_two(), 0);
            }
            copy(&mut self.data[self.size..self.size + size], source);
        }
        self.size += size;
        let Ok(end) = i32::try_from(self.size) else { return false };
        self.ends.push(end);
        true
    }

    fn finish(mut self) -> (Buffer, Buffer) {
        self.data.truncate(self.size);
        (Buffer::from_vec(self.ends), Buffer::from_vec(self.data))
    }
}
