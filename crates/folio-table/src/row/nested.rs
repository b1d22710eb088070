//! Variable-size values. Text and bytes are stored as they are, structs as null bits and
//! consecutive fields, lists (`list`) as a head and the elements, maps as lists of their entries. A variable-size field or element
//! is preceded by its size (u32).

use folio_types::{ColumnType, Interval, Value, ValueRef};

use super::encode::{write_fixed, write_integer};
use super::list::{self, List};
use crate::layout::{Width, fixed_size, is_integer, short_integer};

/// Encodes variable-size columns in two passes over a row: the first asks for sizes, the second
/// takes the bytes. Lists and structs are encoded by the first pass and buffered.
#[derive(Debug, Default)]
pub(super) struct Nested {
    bytes: Vec<u8>,
    /// The ends of the buffered values, and how many were taken.
    ends: Vec<usize>,
    taken: usize,
}

impl Nested {
    /// Clears the buffer for the next row.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
    }

    /// The size of a value in bytes; 0 for null.
    #[inline]
    pub(super) fn measure(&mut self, column_type: &ColumnType, value: ValueRef<'_>) -> usize {
        match value {
            ValueRef::Text(text) => text.len(),
            ValueRef::Bytes(bytes) => bytes.len(),
            ValueRef::Null => 0,
            value => {
                let start = self.bytes.len();
                write_parts(column_type, value, &mut self.bytes);
                self.ends.push(self.bytes.len());
                self.bytes.len() - start
            }
        }
    }

    /// The bytes of a value. Values must be taken in the order in which they were measured.
    #[inline]
    pub(super) fn take<'v>(&'v mut self, value: ValueRef<'v>) -> &'v [u8] {
        match value {
            ValueRef::Text(text) => text.as_bytes(),
            ValueRef::Bytes(bytes) => bytes,
            ValueRef::Null => &[],
            _ => {
                let start = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
                self.taken += 1;
                &self.bytes[start..self.ends[self.taken - 1]]
            }
        }
    }
}

/// Appends a value; null appends nothing.
fn write_variable(column_type: &ColumnType, value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Text(text) => out.extend_from_slice(text.as_bytes()),
        ValueRef::Bytes(bytes) => out.extend_from_slice(bytes),
        value => write_parts(column_type, value, out),
    }
}

/// Appends a nested value.
fn write_parts(column_type: &ColumnType, value: ValueRef<'_>, out: &mut Vec<u8>) {
    match (column_type, value) {
        (ColumnType::List(element), ValueRef::List(values)) => list::write(element, values, out),
        (ColumnType::Map(value), ValueRef::List(entries)) => {
            list::write(&ColumnType::entry(value), entries, out);
        }
        (ColumnType::Struct(fields), ValueRef::Struct(values)) => {
            let elements = fields.iter().map(|(_, field)| field).zip(values);
            write_elements(elements, values.len(), Width::MOST, true, out);
        }
        _ => {}
    }
}

/// Appends elements, integers in the given width, after null bits if there are any.
pub(super) fn write_elements<'v>(
    elements: impl Iterator<Item = (&'v ColumnType, &'v Value)>,
    count: usize,
    integers: Width,
    with_nulls: bool,
    out: &mut Vec<u8>,
) {
    let bits = out.len();
    out.resize(bits + if with_nulls { count.div_ceil(8) } else { 0 }, 0);
    for (index, (column_type, value)) in elements.enumerate() {
        let value = value.as_ref();
        if value.is_null() && with_nulls {
            out[bits + index / 8] |= 1 << (index % 8);
        }
        let start = out.len();
        match fixed_size(column_type) {
            Some(size) if is_integer(column_type) => {
                out.resize(start + integers.within(size), 0);
                write_integer(value, &mut out[start..]);
            }
            Some(size) => {
                out.resize(start + size, 0);
                write_fixed(column_type, value, &mut out[start..]);
            }
            None => {
                out.extend_from_slice(&[0; 4]);
                write_variable(column_type, value, out);
                let size = (out.len() - start - 4) as u32;
                out[start..start + 4].copy_from_slice(&size.to_le_bytes());
            }
        }
    }
}

/// Reads a fixed-size value; `None` when the bytes are invalid.
pub(crate) fn read_fixed(column_type: &ColumnType, bytes: &[u8]) -> Option<Value> {
    Some(match column_type {
        ColumnType::Boolean => match bytes {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return None,
        },
        ColumnType::Int16 => Value::Integer(i16::from_le_bytes(bytes.try_into().ok()?).into()),
        ColumnType::Int32 => Value::Integer(i32::from_le_bytes(bytes.try_into().ok()?).into()),
        ColumnType::Int64 => Value::Integer(i64::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Float32 => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
        ColumnType::Float64 => Value::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Decimal { .. } => Value::Decimal(i128::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Uuid => Value::Uuid(bytes.try_into().ok()?),
        ColumnType::Date => Value::Date(i32::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Time => Value::Time(i64::from_le_bytes(bytes.try_into().ok()?)),
        ColumnType::Timestamp { .. } => {
            Value::Timestamp(i64::from_le_bytes(bytes.try_into().ok()?))
        }
        ColumnType::Interval => Value::Interval(Interval {
            months: i32::from_le_bytes(bytes.get(..4)?.try_into().ok()?),
            days: i32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?),
            nanoseconds: i64::from_le_bytes(bytes.get(8..)?.try_into().ok()?),
        }),
        _ => return None,
    })
}

/// Reads the output of [`write_variable`]; `None` when the bytes are invalid.
pub(super) fn read_variable(column_type: &ColumnType, bytes: &[u8]) -> Option<Value> {
    match column_type {
        ColumnType::Text | ColumnType::Json => {
            Some(Value::Text(std::str::from_utf8(bytes).ok()?.to_owned()))
        }
        ColumnType::Binary => Some(Value::Bytes(bytes.to_owned())),
        ColumnType::List(element) => {
            let List { count, nulls, elements, integers } = List::of(bytes)?;
            let types = std::iter::repeat_n(&**element, count);
            read_elements(types, integers, nulls, elements).map(Value::List)
        }
        ColumnType::Map(value) => {
            read_variable(&ColumnType::List(Box::new(ColumnType::entry(value))), bytes)
        }
        ColumnType::Struct(fields) => {
            let types = fields.iter().map(|(_, field)| field);
            let (nulls, elements) = bytes.split_at_checked(fields.len().div_ceil(8))?;
            read_elements(types, Width::MOST, nulls, elements).map(Value::Struct)
        }
        _ => None,
    }
}

/// Reads elements. Null bits may be missing if no element is null.
fn read_elements<'t>(
    types: impl Iterator<Item = &'t ColumnType>,
    integers: Width,
    nulls: &[u8],
    mut rest: &[u8],
) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    for (index, column_type) in types.enumerate() {
        let is_null = nulls.get(index / 8).is_some_and(|bits| bits >> (index % 8) & 1 == 1);
        let element;
        let size = fixed_size(column_type);
        match size {
            Some(size) if is_integer(column_type) => {
                (element, rest) = rest.split_at_checked(integers.within(size))?;
            }
            Some(size) => (element, rest) = rest.split_at_checked(size)?,
            None => {
                let (size, after) = rest.split_first_chunk::<4>()?;
                (element, rest) = after.split_at_checked(u32::from_le_bytes(*size) as usize)?;
            }
        }
        values.push(match size {
            _ if is_null => Value::Null,
            Some(_) if *column_type == ColumnType::Date => {
                Value::Date(i32::try_from(short_integer(element)).ok()?)
            }
            Some(_) if is_integer(column_type) => Value::Integer(short_integer(element)),
            Some(_) => read_fixed(column_type, element)?,
            None => read_variable(column_type, element)?,
        });
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_values_come_back_and_damage_does_not_panic() {
        let point = ColumnType::Struct(vec![
            ("x".into(), ColumnType::Int32),
            ("tags".into(), ColumnType::List(Box::new(ColumnType::Text))),
        ]);
        let column_type = ColumnType::List(Box::new(point));
        let tags = Value::List(vec![Value::from("a"), Value::Null, Value::from("")]);
        let value = Value::List(vec![
            Value::Struct(vec![Value::Integer(-7), tags]),
            Value::Null,
            Value::Struct(vec![Value::Null, Value::List(vec![])]),
        ]);
        let mut bytes = Vec::new();
        write_variable(&column_type, value.as_ref(), &mut bytes);
        assert_eq!(read_variable(&column_type, &bytes), Some(value));
        for size in 0..bytes.len() {
            assert_eq!(read_variable(&column_type, &bytes[..size]), None);
        }
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = read_variable(&column_type, &bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
