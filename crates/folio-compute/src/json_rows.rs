//! Writes rows as JSON directly from their arrays.
//!
//! Each batch makes one writer per column. For each row, every writer appends its value.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray,
    StringArray,
};
use arrow_buffer::NullBuffer;
use folio_json::{JsonText, Piece};
use folio_types::temporal::format_date;
use folio_types::{ColumnType, Value};

use crate::array::value_at;
use crate::batch::Batch;
use crate::cast::json::{write_json, write_string};

/// Rows to write before the mean size of a row is estimated.
const SAMPLE: usize = 16;

/// Writes rows as JSON objects with the columns as members, in order.
pub struct JsonRows {
    /// Per column: `,"name":`, with `{` in place of the comma for the first.
    prefixes: Vec<Piece>,
    types: Vec<ColumnType>,
}

impl JsonRows {
    /// A writer for columns of these names and types.
    #[must_use]
    pub fn new(names: &[String], types: &[ColumnType]) -> Self {
        Self { prefixes: prefixes(names.iter().map(String::as_str)), types: types.to_vec() }
    }

    /// Appends every row of a batch, as UTF-8, with `between` before each but the first.
    /// `is_first` is true until a row is written.
    pub fn write(&self, batch: &Batch, between: &str, is_first: &mut bool, out: &mut Vec<u8>) {
        let mut out = JsonText::after(out);
        let between = Piece::new(between);
        let cells: Vec<Cells<'_>> =
            batch.columns.iter().zip(&self.types).map(|(array, ty)| Cells::of(array, ty)).collect();
        let before = out.size();
        for row in 0..batch.row_count {
            if row == SAMPLE {
                let mean = (out.size() - before).div_ceil(SAMPLE);
                // Later numbers tend to be longer.
                out.expect((batch.row_count - row) * (mean + mean / 8));
            }
            if !std::mem::take(is_first) {
                out.piece(&between);
            }
            write_object(&self.prefixes, &cells, row, &mut out);
        }
        out.finish();
    }

    /// Appends one row of single values, a value per column.
    pub fn write_row(&self, row: &[Value], out: &mut Vec<u8>) {
        let mut text = JsonText::after(out);
        if row.is_empty() {
            text.byte(b'{');
        }
        for ((prefix, ty), value) in self.prefixes.iter().zip(&self.types).zip(row) {
            text.piece(prefix);
            match (value, ty) {
                (Value::Uuid(bytes), _) => text.uuid(bytes),
                (Value::Integer(value), _) => text.integer(*value),
                (Value::Timestamp(value), ColumnType::Timestamp { utc }) => {
                    text.timestamp(*value, *utc);
                }
                (Value::Text(value), ColumnType::Text) => text.string(value, value.as_bytes(), 0),
                (value, ty) => {
                    let mut written = String::new();
                    write_json(value, ty, &mut written);
                    text.push(written.as_bytes());
                }
            }
        }
        text.byte(b'}');
        text.finish();
    }
}

fn prefixes<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Piece> {
    names
        .enumerate()
        .map(|(index, name)| {
            let mut prefix = String::from(if index > 0 { "," } else { "{" });
            write_string(name, &mut prefix);
            prefix.push(':');
            Piece::new(&prefix)
        })
        .collect()
}

fn write_object(prefixes: &[Piece], cells: &[Cells<'_>], row: usize, out: &mut JsonText<'_>) {
    if cells.is_empty() {
        out.byte(b'{');
    }
    for (prefix, cells) in prefixes.iter().zip(cells) {
        out.piece(prefix);
        cells.write(row, out);
    }
    out.byte(b'}');
}

/// The values of one column with their nulls.
struct Cells<'a> {
    /// Most columns have none, so this is checked first.
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

/// The values of one column.
enum Values<'a> {
    Boolean(&'a BooleanArray),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    Float32(&'a PrimitiveArray<Float32Type>, &'a ColumnType),
    Float64(&'a PrimitiveArray<Float64Type>, &'a ColumnType),
    Date(&'a PrimitiveArray<Date32Type>),
    /// The flag says whether the times are UTC.
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>, bool),
    Text(&'a StringArray),
    Uuid(&'a FixedSizeBinaryArray),
    List(&'a ListArray, Box<Cells<'a>>),
    Struct {
        prefixes: Vec<Piece>,
        cells: Vec<Cells<'a>>,
    },
    Map(&'a MapArray, &'a StringArray, Box<Cells<'a>>),
    Other(&'a ArrayRef, &'a ColumnType),
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef, ty: &'a ColumnType) -> Self {
        match ty {
            ColumnType::Boolean => Self::Boolean(array.as_boolean()),
            ColumnType::Int16 => Self::Int16(array.as_primitive()),
            ColumnType::Int32 => Self::Int32(array.as_primitive()),
            ColumnType::Int64 => Self::Int64(array.as_primitive()),
            ColumnType::Float32 => Self::Float32(array.as_primitive(), ty),
            ColumnType::Float64 => Self::Float64(array.as_primitive(), ty),
            ColumnType::Date => Self::Date(array.as_primitive()),
            ColumnType::Timestamp { utc } => Self::Timestamp(array.as_primitive(), *utc),
            ColumnType::Text => Self::Text(array.as_string()),
            ColumnType::Uuid => Self::Uuid(array.as_fixed_size_binary()),
            ColumnType::List(element) => {
                let list: &ListArray = array.as_list();
                Self::List(list, Box::new(Cells::of(list.values(), element)))
            }
            ColumnType::Struct(fields) => {
                let array = array.as_struct();
                let cells = array.columns().iter().zip(fields);
                let cells = cells.map(|(column, (_, ty))| Cells::of(column, ty)).collect();
                let prefixes = prefixes(fields.iter().map(|(name, _)| name.as_str()));
                Self::Struct { prefixes, cells }
            }
            ColumnType::Map(value) => {
                let map = array.as_map();
                let cells = Box::new(Cells::of(map.values(), value));
                Self::Map(map, map.keys().as_string(), cells)
            }
            _ => Self::Other(array, ty),
        }
    }
}

impl<'a> Cells<'a> {
    fn of(array: &'a ArrayRef, ty: &'a ColumnType) -> Self {
        Self { nulls: array.nulls(), values: Values::of(array, ty) }
    }

    fn write(&self, row: usize, out: &mut JsonText<'_>) {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return out.push(b"null");
        }
        let float = |value: f64, ty: &ColumnType, out: &mut JsonText<'_>| {
            let mut text = String::new();
            write_json(&Value::Float(value), ty, &mut text);
            out.push(text.as_bytes());
        };
        match &self.values {
            Values::Boolean(array) => {
                out.push(if array.value(row) { b"true" } else { b"false" });
            }
            Values::Int16(array) => out.integer(array.value(row).into()),
            Values::Int32(array) => out.integer(array.value(row).into()),
            Values::Int64(array) => out.integer(array.value(row)),
            Values::Float32(array, ty) => float(array.value(row).into(), ty, out),
            Values::Float64(array, ty) => {
                if !out.short_float(array.value(row)) {
                    float(array.value(row), ty, out);
                }
            }
            Values::Timestamp(array, utc) => out.timestamp(array.value(row), *utc),
            Values::Date(array) => out.escaped(&format_date(array.value(row))),
            Values::Text(array) => {
                let start = array.value_offsets()[row] as usize;
                out.string(array.value(row), array.value_data(), start);
            }
            Values::Uuid(array) => match array.value(row).first_chunk() {
                Some(bytes) => out.uuid(bytes),
                None => out.push(b"null"),
            },
            Values::List(array, cells) => {
                let offsets = array.value_offsets();
                let items = offsets[row] as usize..offsets[row + 1] as usize;
                out.byte(b'[');
                for (index, item) in items.enumerate() {
                    if index > 0 {
                        out.byte(b',');
                    }
                    cells.write(item, out);
                }
                out.byte(b']');
            }
            Values::Struct { prefixes, cells, .. } => write_object(prefixes, cells, row, out),
            Values::Map(map, keys, cells) => {
                let offsets = map.value_offsets();
                let entries = offsets[row] as usize..offsets[row + 1] as usize;
                out.byte(b'{');
                for (index, entry) in entries.enumerate() {
                    if index > 0 {
                        out.byte(b',');
                    }
                    let start = keys.value_offsets()[entry] as usize;
                    out.string(keys.value(entry), keys.value_data(), start);
                    out.byte(b':');
                    cells.write(entry, out);
                }
                out.byte(b'}');
            }
            Values::Other(array, ty) => {
                let mut text = String::new();
                write_json(&value_at(array, row, ty), ty, &mut text);
                out.push(text.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use folio_types::temporal::DAY;

    use super::*;
    use crate::cast::json::to_json;

    fn written(write: impl FnOnce(&mut JsonText<'_>)) -> String {
        let mut bytes = b"before".to_vec();
        let mut text = JsonText::after(&mut bytes);
        write(&mut text);
        text.finish();
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        text.strip_prefix("before").expect("what was there stays").to_owned()
    }

    #[test]
    fn integers_and_uuids_are_written_whole() {
        for value in [0, 7, -1, 10, i64::MAX, i64::MIN] {
            assert_eq!(written(|text| text.integer(value)), value.to_string());
        }
        let numbers = [0x0123_4567_89ab_cdef_0123_4567_89ab_cdef, 0, u128::MAX, 0xa90 << 60];
        for bytes in numbers.map(u128::to_be_bytes) {
            let value = Value::Uuid(bytes);
            let expected = to_json(&value, &ColumnType::Uuid);
            assert_eq!(written(|text| text.uuid(&bytes)), expected);
        }
    }

    #[test]
    fn short_floats_are_written_as_values_of_them_are() {
        let mut seed = 1u64;
        let mut values = vec![0.0, 1.0, 0.1, 0.3, 0.0001, 0.00012, 1e10, 9_999_999_999.5, 5e-324];
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (whole, power) = (seed >> (20 + seed % 40), (seed >> 8) % 7);
            values.push(whole as f64 / 10f64.powi(power as i32));
            values.push(f64::from_bits(seed));
        }
        let mut short = 0;
        for value in values.iter().flat_map(|value| [*value, -*value]).filter(|v| v.is_finite()) {
            let mut is_short = true;
            let text = written(|text| is_short = text.short_float(value));
            let ty = ColumnType::Float64;
            let expected = to_json(&Value::Float(value), &ty);
            if is_short {
                assert_eq!(text, expected);
                short += 1;
            } else {
                assert_eq!(text, "", "nothing of {expected}");
            }
        }
        assert!(short > 10_000, "{short}");
    }

    #[test]
    fn timestamps_are_written_as_values_of_them_are() {
        let (day, last) = (DAY * 19_753, DAY * 2_932_897 - 1);
        let moments =
            [0, -1, 1, day, day + 5, day + 100_000, day + DAY - 1, last, last + 1, i64::MIN / 2];
        for moment in moments {
            for utc in [true, false] {
                let value = Value::Timestamp(moment);
                let ty = ColumnType::Timestamp { utc };
                let expected = to_json(&value, &ty);
                assert_eq!(written(|text| text.timestamp(moment, utc)), expected, "{moment}");
            }
        }
    }
}
