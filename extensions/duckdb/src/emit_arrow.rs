//! Copies Arrow arrays into DuckDB's vectors.
//!
//! Most arrays have the layout of a vector, and are one copy. Three types differ in DuckDB:
//! booleans are bytes instead of bits, decimals are as wide as their digits need, and UUIDs have
//! their first bit flipped.

use crate::emit::{convert, copy, emit_entries};
use crate::host::Vector;
use crate::string_view::{SHORT, string_view};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, StructArray};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// Copies all values of `array` to the start of `vector`.
///
/// # Safety
///
/// `vector` is a flat vector of the type that [`HostType::of_column`] makes of the array's, and has
/// room for its values.
///
/// [`HostType::of_column`]: crate::host_type::HostType::of_column
pub(crate) unsafe fn emit(array: &dyn Array, vector: Vector) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe { emit_within(array, None, vector) }
}

/// Values of which those that `outer` says are null, too: a null struct has null fields in DuckDB, and
/// any at all in Arrow.
///
/// # Safety
///
/// As [`emit`].
unsafe fn emit_within(
    array: &dyn Array,
    outer: Option<&NullBuffer>,
    vector: Vector,
) -> Result<(), String> {
    let nulls = NullBuffer::union(outer, array.nulls());
    // SAFETY: the caller's promise, handed down; children are reserved before they are filled.
    unsafe {
        if let Some(nulls) = &nulls {
            emit_nulls(nulls, vector);
        }
        match array.data_type() {
            DataType::Boolean => emit_booleans(array, vector),
            DataType::Int16 => copy(array.as_primitive::<Int16Type>().values(), vector),
            DataType::Int32 => copy(array.as_primitive::<Int32Type>().values(), vector),
            DataType::Int64 => copy(array.as_primitive::<Int64Type>().values(), vector),
            DataType::Float32 => copy(array.as_primitive::<Float32Type>().values(), vector),
            DataType::Float64 => copy(array.as_primitive::<Float64Type>().values(), vector),
            DataType::Date32 => copy(array.as_primitive::<Date32Type>().values(), vector),
            DataType::Time64(TimeUnit::Microsecond) => {
                copy(array.as_primitive::<Time64MicrosecondType>().values(), vector);
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                copy(array.as_primitive::<TimestampMicrosecondType>().values(), vector);
            }
            DataType::Decimal128(precision, _) => {
                emit_decimals(array.as_primitive::<Decimal128Type>().values(), *precision, vector);
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
                convert(values, vector, Interval::of);
            }
            DataType::FixedSizeBinary(16) => emit_uuids(array, vector),
            DataType::Utf8 => {
                let texts = array.as_string::<i32>();
                emit_strings(texts.len(), |row| texts.value(row).as_bytes(), vector);
            }
            DataType::Binary => {
                let blobs = array.as_binary::<i32>();
                emit_strings(blobs.len(), |row| blobs.value(row), vector);
            }
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                emit_lists(lists.value_offsets(), lists.values(), vector)?;
            }
            DataType::Map(..) => {
                let maps = array.as_map();
                emit_lists(maps.value_offsets(), maps.entries(), vector)?;
            }
            DataType::Struct(_) => emit_structs(array.as_struct(), nulls.as_ref(), vector)?,
            other => return Err(format!("tables have no arrays of type {other}")),
        }
    }
    Ok(())
}

/// # Safety
///
/// As [`emit`].
unsafe fn emit_nulls(nulls: &NullBuffer, vector: Vector) {
    // SAFETY: a writable validity mask has a bit for every value that the vector has room for, in
    // whole words.
    unsafe {
        let target = vector.writable_validity();
        for (index, word) in nulls.inner().bit_chunks().iter_padded().enumerate() {
            if index * 64 < nulls.len() {
                target.add(index).write(word);
            }
        }
    }
}

/// # Safety
///
/// As [`emit`], for booleans.
unsafe fn emit_booleans(array: &dyn Array, vector: Vector) {
    // SAFETY: the vector holds a byte for each boolean, and has room for them.
    unsafe {
        let target = vector.data().cast::<bool>();
        for (row, value) in array.as_boolean().values().iter().enumerate() {
            target.add(row).write(value);
        }
    }
}

/// # Safety
///
/// As [`emit`]. DuckDB holds decimals of up to 4, 9 and 18 digits in 2, 4 and 8 bytes, and the table
/// has checked that there are no more digits.
unsafe fn emit_decimals(values: &[i128], precision: u8, vector: Vector) {
    // SAFETY: the caller's promise.
    unsafe {
        match precision {
            0..=4 => convert(values, vector, |value| *value as i16),
            5..=9 => convert(values, vector, |value| *value as i32),
            10..=18 => convert(values, vector, |value| *value as i64),
            _ => copy(values, vector),
        }
    }
}

/// # Safety
///
/// As [`emit`], for arrays of sixteen bytes.
unsafe fn emit_uuids(array: &dyn Array, vector: Vector) {
    let uuids = array.as_fixed_size_binary();
    let (values, _) = uuids.value_data().as_chunks::<16>();
    // SAFETY: the vector holds sixteen bytes for each, and has room for them. DuckDB flips the first
    // bit, so that the integers sort as the texts do.
    unsafe { convert(values, vector, |value| u128::from_be_bytes(*value) ^ (1 << 127)) }
}

/// # Safety
///
/// As [`emit`], for `count` texts or blobs; texts are valid UTF-8.
unsafe fn emit_strings<'a>(count: usize, bytes: impl Fn(usize) -> &'a [u8], vector: Vector) {
    // SAFETY: the vector has room for that many; long ones are written by DuckDB itself, which owns
    // the memory they end up in.
    unsafe {
        let target = vector.data().cast::<[u8; 16]>();
        for row in 0..count {
            let bytes = bytes(row);
            match bytes.len() <= SHORT {
                true => target.add(row).write_unaligned(string_view(bytes)),
                false => vector.set_bytes(row, bytes),
            }
        }
    }
}

/// # Safety
///
/// As [`emit`], for lists of these elements, or maps of these entries.
unsafe fn emit_lists(offsets: &[i32], elements: &dyn Array, vector: Vector) -> Result<(), String> {
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    let entry = |ends: &[i32]| [ends[0] as u64 - first as u64, (ends[1] - ends[0]) as u64];
    let entries: Vec<[u64; 2]> = offsets.windows(2).map(entry).collect();
    let elements = elements.slice(first, last - first);
    // SAFETY: the caller's promise; an entry is an offset and a length, as DuckDB's are.
    unsafe { emit(&*elements, emit_entries(&entries, elements.len(), vector)?) }
}

/// # Safety
///
/// As [`emit`].
unsafe fn emit_structs(
    array: &StructArray,
    nulls: Option<&NullBuffer>,
    vector: Vector,
) -> Result<(), String> {
    for (index, field) in array.columns().iter().enumerate() {
        // SAFETY: the caller's promise; the vector has a child for each field.
        unsafe { emit_within(&**field, nulls, vector.field(index))? }
    }
    Ok(())
}

/// An interval in DuckDB's form.
#[derive(Clone, Copy)]
#[repr(C)]
struct Interval {
    months: i32,
    days: i32,
    micros: i64,
}

impl Interval {
    /// Fractions of a microsecond are truncated, as when DuckDB reads Arrow itself.
    fn of(value: &IntervalMonthDayNano) -> Interval {
        Interval { months: value.months, days: value.days, micros: value.nanoseconds / 1_000 }
    }
}
