//! Decodes rows, arrays, structs and keys only by `docs/formats/table-store.md`. Like the decoder
//! of pages, it shares no code with the library.
//!
//! Values become JSON. Where the specification leaves them as numbers (dates, times, digits), so
//! does this decoder; bytes are shown as digits.

use serde_json::{Value as Json, json};

/// How a type is stored in a row.
enum Kept {
    /// In this number of bytes.
    Fixed(usize),
    /// As an integer of at most this number of bytes.
    Integer(usize),
    /// As separate bytes.
    Bytes,
}

fn kept(ty: &Json) -> Kept {
    match ty.as_str() {
        Some("boolean") => Kept::Fixed(1),
        Some("real") => Kept::Fixed(4),
        Some("double precision" | "time" | "timestamp" | "timestamptz") => Kept::Fixed(8),
        Some("uuid" | "interval") => Kept::Fixed(16),
        Some("smallint") => Kept::Integer(2),
        Some("integer" | "date") => Kept::Integer(4),
        Some("bigint") => Kept::Integer(8),
        None if !ty["numeric"].is_null() => Kept::Fixed(16),
        _ => Kept::Bytes,
    }
}

/// A signed number, its lowest byte first.
fn signed(bytes: &[u8]) -> i128 {
    let fill = if bytes.last().is_some_and(|last| last & 128 != 0) { 255 } else { 0 };
    let mut whole = [fill; 16];
    whole[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(whole)
}

fn number(bytes: &[u8]) -> Json {
    let number = signed(bytes);
    i64::try_from(number).map_or_else(|_| json!(number.to_string()), |number| json!(number))
}

fn unsigned(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value from its bytes.
fn value(ty: &Json, bytes: &[u8]) -> Json {
    match ty.as_str() {
        Some("boolean") => json!(bytes[0] == 1),
        Some("real") => json!(f32::from_le_bytes(bytes.try_into().expect("four bytes"))),
        Some("double precision") => {
            json!(f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        }
        Some("uuid" | "bytea") => json!(digits(bytes)),
        Some("interval") => {
            json!([number(&bytes[..4]), number(&bytes[4..8]), number(&bytes[8..])])
        }
        Some("text" | "json") => json!(String::from_utf8(bytes.to_vec()).expect("UTF-8")),
        None if !ty["numeric"].is_null() => json!(signed(bytes).to_string()),
        None if !ty["array"].is_null() => array(&ty["array"], bytes),
        None => fields(ty["struct"].as_array().expect("a struct"), bytes),
        _ => number(bytes),
    }
}

/// Takes bytes from the front.
fn take<'b>(bytes: &mut &'b [u8], size: usize) -> &'b [u8] {
    let (taken, rest) = bytes.split_at(size);
    *bytes = rest;
    taken
}

fn is_set(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}

/// An element or a field, preceded by its size unless its type determines it.
fn element(ty: &Json, integer_size: usize, is_null: bool, bytes: &mut &[u8]) -> Json {
    let size = match kept(ty) {
        Kept::Fixed(size) => size,
        Kept::Integer(size) => size.min(integer_size),
        Kept::Bytes => unsigned(take(bytes, 4)),
    };
    let own = take(bytes, size);
    if is_null { Json::Null } else { value(ty, own) }
}

fn array(ty: &Json, mut bytes: &[u8]) -> Json {
    let form = take(&mut bytes, 1)[0];
    let (integer_size, count_size) = (1 << (form & 3), 1 << (form >> 2 & 3));
    let count = unsigned(take(&mut bytes, count_size));
    let nulls = if form & 16 == 0 { &[] } else { take(&mut bytes, count.div_ceil(8)) };
    let elements = (0..count).map(|at| {
        let is_null = !nulls.is_empty() && is_set(nulls, at);
        element(ty, integer_size, is_null, &mut bytes)
    });
    let elements: Json = elements.collect();
    assert!(bytes.is_empty(), "{} bytes behind an array", bytes.len());
    elements
}

fn fields(types: &[Json], mut bytes: &[u8]) -> Json {
    let nulls = take(&mut bytes, types.len().div_ceil(8));
    let fields = types.iter().enumerate();
    let fields = fields.map(|(at, ty)| element(&ty[1], 8, is_set(nulls, at), &mut bytes));
    let fields: Json = fields.collect();
    assert!(bytes.is_empty(), "{} bytes behind a struct", bytes.len());
    fields
}

/// The columns of a table that are not in its key, from its definition: their values.
pub(crate) fn row(definition: &Json, row: &[u8]) -> Vec<Json> {
    let columns = definition["columns"].as_array().expect("columns");
    let key = definition["primary_key"].as_array().expect("positions");
    let columns: Vec<&Json> =
        (0..columns.len()).filter(|at| !key.contains(&json!(at))).map(|at| &columns[at]).collect();
    let form = row[0];
    assert!(form < 12, "form {form}");
    let (integer_size, end_size) = (1usize << (form & 3), 1usize << (form >> 2));
    let mut rest = &row[1..];
    let nullable = columns.iter().filter(|column| column["nullable"] == true).count();
    let nulls = take(&mut rest, nullable.div_ceil(8));
    let mut values = vec![Json::Null; columns.len()];
    // First the fixed sizes, then integers, then those with end offsets.
    for (at, column) in columns.iter().enumerate() {
        if let Kept::Fixed(size) = kept(&column["type"]) {
            values[at] = value(&column["type"], take(&mut rest, size));
        }
    }
    for (at, column) in columns.iter().enumerate() {
        if let Kept::Integer(size) = kept(&column["type"]) {
            values[at] = value(&column["type"], take(&mut rest, size.min(integer_size)));
        }
    }
    let others = columns.iter().enumerate();
    let others: Vec<usize> = others
        .filter(|(_, column)| matches!(kept(&column["type"]), Kept::Bytes))
        .map(|(at, _)| at)
        .collect();
    let ends = take(&mut rest, end_size * others.len().saturating_sub(1));
    let mut start = 0;
    let mut is_null = vec![false; columns.len()];
    let with_bits = columns.iter().enumerate().filter(|(_, column)| column["nullable"] == true);
    for (bit, (at, _)) in with_bits.enumerate() {
        is_null[at] = is_set(nulls, bit);
    }
    for (nth, at) in others.iter().enumerate() {
        let own = ends.get(end_size * nth..end_size * (nth + 1));
        let end = own.map_or(rest.len(), unsigned);
        if !is_null[*at] {
            values[*at] = value(&columns[*at]["type"], &rest[start..end]);
        }
        start = end;
    }
    if others.is_empty() {
        assert!(rest.is_empty(), "{} bytes behind a row", rest.len());
    }
    let values = values.into_iter().zip(is_null);
    values.map(|(value, is_null)| if is_null { Json::Null } else { value }).collect()
}

/// How a value is stored in a key.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// An integer of a primary key after its first column: as many bytes as it needs.
    Narrow,
    Whole,
}

/// The position of a column in the primary key.
fn place(ty: &Json, at: usize) -> Place {
    let is_integer = matches!(ty.as_str(), Some("smallint" | "integer" | "bigint"));
    if is_integer && at > 0 { Place::Narrow } else { Place::Whole }
}

/// A segment taken from the front of a key.
fn segment(ty: &Json, place: Place, key: &mut &[u8]) -> Json {
    if place == Place::Narrow {
        return narrow(key);
    }
    match ty.as_str() {
        Some("smallint") => json!(sortable(key, 2) as i64),
        Some("integer" | "date") => json!(sortable(key, 4) as i64),
        Some("bigint" | "time" | "timestamp" | "timestamptz") => json!(sortable(key, 8) as i64),
        Some("boolean") => json!(take(key, 1)[0] == 1),
        Some("uuid") => json!(digits(take(key, 16))),
        Some("double precision") => {
            let bits = u64::from_be_bytes(take(key, 8).try_into().expect("eight bytes"));
            json!(f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits }))
        }
        Some("real") => {
            let bits = u32::from_be_bytes(take(key, 4).try_into().expect("four bytes"));
            json!(f32::from_bits(if bits >> 31 == 1 { bits ^ 1 << 31 } else { !bits }))
        }
        Some("text" | "bytea") => {
            let mut bytes = Vec::new();
            loop {
                match (take(key, 1)[0], key.first()) {
                    (0, Some(255)) => {
                        take(key, 1);
                        bytes.push(0);
                    }
                    (0, _) => {
                        assert_eq!(take(key, 1), [0], "the end of a text");
                        break;
                    }
                    (byte, _) => bytes.push(byte),
                }
            }
            value(ty, &bytes)
        }
        _ => json!(sortable(key, 16).to_string()),
    }
}

/// An integer of this number of bytes, with its sign bit inverted.
fn sortable(key: &mut &[u8], size: usize) -> i128 {
    let mut bytes = take(key, size).to_vec();
    bytes[0] ^= 128;
    bytes.reverse();
    signed(&bytes)
}

fn narrow(key: &mut &[u8]) -> Json {
    let first = key[0];
    let is_negative = first < 128;
    let flip = |byte: u8| if is_negative { !byte } else { byte };
    let first = flip(take(key, 1)[0]);
    let number = match first {
        128..=239 => i64::from(first - 128),
        _ => {
            let bytes = take(key, usize::from(first - 239)).iter();
            bytes.fold(0, |number, byte| number << 8 | i64::from(flip(*byte)))
        }
    };
    json!(if is_negative { !number } else { number })
}

/// The columns of a primary key, in its order: their positions and values.
pub(crate) fn key(definition: &Json, mut key: &[u8]) -> Vec<(usize, Json)> {
    let mut values = Vec::new();
    for (at, column) in positions(definition).into_iter().enumerate() {
        let ty = &definition["columns"][column]["type"];
        values.push((column, segment(ty, place(ty, at), &mut key)));
    }
    assert!(key.is_empty(), "{} bytes behind a key", key.len());
    values
}

fn positions(definition: &Json) -> Vec<usize> {
    let key = definition["primary_key"].as_array().expect("positions").iter();
    key.map(|at| at.as_u64().expect("a position") as usize).collect()
}

/// An entry of an index: the values of its columns, then those of the row's key.
pub(crate) fn entry(definition: &Json, index: &Json, entry: &[u8]) -> Vec<(usize, Json)> {
    let mut values = Vec::new();
    let mut rest = entry;
    let mut known: Vec<usize> = Vec::new();
    for own in index["columns"].as_array().expect("columns") {
        let (column, descending) = (own[0].as_u64().expect("a position") as usize, own[1] == true);
        let definition = &definition["columns"][column];
        let (ty, nullable) = (&definition["type"], definition["nullable"] == true);
        let inverted: Vec<u8> = rest.iter().map(|byte| !byte).collect();
        let mut bytes: &[u8] = if descending { &inverted } else { rest };
        let before = bytes.len();
        let is_null = nullable && take(&mut bytes, 1)[0] == 2;
        values.push((
            column,
            if is_null { Json::Null } else { segment(ty, Place::Whole, &mut bytes) },
        ));
        rest = &rest[before - bytes.len()..];
        if !descending && !nullable {
            known.push(column);
        }
    }
    for (at, column) in positions(definition).into_iter().enumerate() {
        let ty = &definition["columns"][column]["type"];
        let place = place(ty, at);
        // An integer that is narrow in the key is wide in the index: it occurs there twice.
        if known.contains(&column) && place == Place::Whole {
            continue;
        }
        values.push((column, segment(ty, place, &mut rest)));
    }
    assert!(rest.is_empty(), "{} bytes behind an entry", rest.len());
    values
}
