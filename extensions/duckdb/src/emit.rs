//! Copies columns into DuckDB's vectors.
//!
//! Our columns have the same layout, so most of a column is one copy. Texts of up to twelve bytes
//! are inside their views. Longer ones are passed one by one, since DuckDB owns the memory of the
//! copies.

use crate::host::Vector;
use folio_ion::shred::{Column, Data, Text, Type, Validity};

/// Copies all values of `column` to the start of `vector`.
///
/// # Safety
///
/// `vector` is a flat vector of the type that [`HostType::of_values`] makes of the column's, and has
/// room for its values.
///
/// [`HostType::of_values`]: crate::host_type::HostType::of_values
pub(crate) unsafe fn emit(column: &Column, vector: Vector) -> Result<(), String> {
    // SAFETY: the caller's promise, handed down; children are reserved before they are filled.
    unsafe {
        emit_validity(column.validity(), vector);
        match column.data() {
            Data::Bool(values) => copy(values, vector),
            Data::Int(values) => emit_ints(values, column.column_type(), vector),
            Data::UInt(values) => emit_unsigned(values, column.column_type(), vector),
            Data::Decimal(values) => emit_decimals(values, column.column_type(), vector),
            Data::Timestamp(values) => copy(values, vector),
            Data::Date(values) => copy(values, vector),
            Data::Wide(values) => copy(values, vector),
            Data::Float(values) => match column.column_type() {
                Type::Float(32) => convert(values, vector, |value| *value as f32),
                _ => copy(values, vector),
            },
            Data::Text(text) => emit_text(text, vector),
            Data::List(entries, child) => {
                let target = emit_entries(entries, child.len(), vector)?;
                emit(child, target)?;
            }
            Data::Map(entries, map) => {
                let pairs = emit_entries(entries, map.keys.len(), vector)?;
                emit(&map.keys, pairs.field(0))?;
                emit(&map.values, pairs.field(1))?;
            }
            Data::Struct(fields) => {
                for (index, field) in fields.fields.iter().enumerate() {
                    emit(field, vector.field(index))?;
                }
            }
        }
    }
    Ok(())
}

/// Copies `values` unchanged to the start of `vector`.
///
/// # Safety
///
/// `vector` holds `T`s and has room for `values`.
pub(crate) unsafe fn copy<T: Copy>(values: &[T], vector: Vector) {
    // SAFETY: the caller's promise; the two do not overlap. As bytes, for DuckDB aligns sixteen-byte
    // integers as their halves.
    unsafe {
        let (source, target) = (values.as_ptr().cast::<u8>(), vector.data().cast::<u8>());
        std::ptr::copy_nonoverlapping(source, target, size_of_val(values));
    }
}

/// Writes `values`, converted by `to`, to the start of `vector`.
///
/// # Safety
///
/// `vector` holds `T`s and has room for `values`.
pub(crate) unsafe fn convert<S, T>(values: &[S], vector: Vector, to: impl Fn(&S) -> T) {
    // SAFETY: the caller's promise; each index is below the number of values; alignment as above.
    unsafe {
        let target = vector.data().cast::<T>();
        for (index, value) in values.iter().enumerate() {
            target.add(index).write_unaligned(to(value));
        }
    }
}

/// # Safety
///
/// As [`emit`]. The columns have checked that the values fit.
unsafe fn emit_ints(values: &[i64], column_type: &Type, vector: Vector) {
    // SAFETY: the caller's promise.
    unsafe {
        match column_type {
            Type::Int(8) => convert(values, vector, |value| *value as i8),
            Type::Int(16) => convert(values, vector, |value| *value as i16),
            Type::Int(32) => convert(values, vector, |value| *value as i32),
            _ => copy(values, vector),
        }
    }
}

/// # Safety
///
/// As [`emit`]. The columns have checked that the values fit.
unsafe fn emit_unsigned(values: &[u64], column_type: &Type, vector: Vector) {
    // SAFETY: the caller's promise.
    unsafe {
        match column_type {
            Type::UInt(8) => convert(values, vector, |value| *value as u8),
            Type::UInt(16) => convert(values, vector, |value| *value as u16),
            Type::UInt(32) => convert(values, vector, |value| *value as u32),
            _ => copy(values, vector),
        }
    }
}

/// # Safety
///
/// As [`emit`]. DuckDB holds decimals of up to 4, 9 and 18 digits in 2, 4 and 8 bytes.
unsafe fn emit_decimals(values: &[i64], column_type: &Type, vector: Vector) {
    // SAFETY: the caller's promise.
    unsafe {
        match column_type {
            Type::Decimal { precision: 0..=4, .. } => {
                convert(values, vector, |value| *value as i16)
            }
            Type::Decimal { precision: 5..=9, .. } => {
                convert(values, vector, |value| *value as i32)
            }
            _ => copy(values, vector),
        }
    }
}

/// # Safety
///
/// As [`emit`].
unsafe fn emit_validity(validity: &Validity, vector: Vector) {
    let words = validity.words();
    if words.is_empty() {
        return;
    }
    // SAFETY: a writable validity mask has a bit for every value that the vector has room for.
    unsafe {
        let target = vector.writable_validity();
        std::ptr::copy_nonoverlapping(words.as_ptr(), target, words.len());
    }
}

/// # Safety
///
/// As [`emit`].
unsafe fn emit_text(text: &Text, vector: Vector) {
    // SAFETY: the views have the layout of DuckDB's strings; those that would point elsewhere are
    // written by DuckDB itself, from bytes that are valid UTF-8 where the column is text.
    unsafe {
        copy(text.views(), vector);
        for (index, view) in text.views().iter().enumerate() {
            if let Some(bytes) = text.long(*view) {
                vector.set_bytes(index, bytes);
            }
        }
    }
}

/// Copies lists and makes room for `count` values in their child, which is returned.
///
/// # Safety
///
/// As [`emit`]; an `E` is an offset and a length of eight bytes each.
pub(crate) unsafe fn emit_entries<E: Copy>(
    entries: &[E],
    count: usize,
    vector: Vector,
) -> Result<Vector, String> {
    // SAFETY: the caller's promise; that is the layout of DuckDB's list entries.
    unsafe {
        copy(entries, vector);
        vector.set_elements(count)
    }
}
