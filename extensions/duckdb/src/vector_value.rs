//! Writes rows of DuckDB's vectors as Ion values.
//!
//! A [`View`] is made once per chunk from a vector and its type. Writing a row then only follows
//! pointers. Vectors are flattened first, so a row's index is its position.

use crate::host::Vector;
use folio_ion::write::{Container, ValueWriter, write_element};
use folio_ion::{Decimal, Int, IonType, Symbol, Timestamp};
use std::ffi::c_void;

/// A column's type, in the form needed for writing.
pub(crate) enum Shape {
    Bool,
    Int(u8),
    UInt(u8),
    HugeInt,
    UHugeInt,
    Float,
    Double,
    /// Bytes of a value, digits after the point.
    Decimal(u8, u8),
    Text,
    /// Text that is written as the value it represents.
    Json,
    Blob,
    Date,
    Time,
    /// Fractional digits of a second; whether the instant is absolute.
    Timestamp(u8, bool),
    Interval,
    Uuid,
    /// Bytes of an index, the texts.
    Enum(u8, Vec<Symbol>),
    List(Box<Shape>),
    Array(Box<Shape>, u64),
    Struct(Vec<(Symbol, Shape)>),
    /// A struct whose fields have no names.
    Tuple(Vec<Shape>),
    /// A map with text keys.
    Map(Box<Shape>),
    /// A list of keys and values, if keys are not text.
    Pairs(Box<Shape>),
    Null,
}

impl Shape {
    /// The shape of a struct with these fields.
    pub(crate) fn of_fields(fields: Vec<(Symbol, Shape)>) -> Shape {
        match fields.iter().all(|(name, _)| name.text() == Some("")) {
            true => Shape::Tuple(fields.into_iter().map(|(_, shape)| shape).collect()),
            false => Shape::Struct(fields),
        }
    }

    /// The shape of a map.
    pub(crate) fn of_map(key: Shape, value: Shape) -> Shape {
        match key {
            Shape::Text | Shape::Json => Shape::Map(Box::new(value)),
            key => Shape::Pairs(Box::new(Shape::Struct(vec![
                (Symbol::from("key"), key),
                (Symbol::from("value"), value),
            ]))),
        }
    }

    /// Whether all values are NULL.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Shape::Null)
    }

    /// The type of its nulls, which keeps that of a column that has nothing else.
    fn ion_type(&self) -> IonType {
        match self {
            Shape::Bool => IonType::Bool,
            Shape::Int(_) | Shape::UInt(_) | Shape::HugeInt | Shape::UHugeInt => IonType::Int,
            Shape::Float | Shape::Double => IonType::Float,
            Shape::Decimal(..) => IonType::Decimal,
            Shape::Text | Shape::Time | Shape::Interval | Shape::Uuid | Shape::Enum(..) => {
                IonType::String
            }
            Shape::Blob => IonType::Blob,
            Shape::Date | Shape::Timestamp(..) => IonType::Timestamp,
            Shape::List(_) | Shape::Array(..) | Shape::Tuple(_) | Shape::Pairs(_) => IonType::List,
            Shape::Struct(_) | Shape::Map(_) => IonType::Struct,
            Shape::Json | Shape::Null => IonType::Null,
        }
    }
}

/// A vector with its shape, valid for one chunk.
pub(crate) struct View<'a> {
    shape: &'a Shape,
    data: *const c_void,
    validity: *mut u64,
    children: Vec<View<'a>>,
}

impl<'a> View<'a> {
    /// A view of `vector`.
    ///
    /// # Safety
    ///
    /// `vector` is of the type that `shape` was made from, and outlives the view.
    pub(crate) unsafe fn of(vector: Vector, shape: &'a Shape) -> Result<View<'a>, String> {
        // SAFETY: the caller's promise, which holds for children too.
        unsafe {
            vector.flatten()?;
            let children = match shape {
                Shape::List(child) | Shape::Pairs(child) => {
                    vec![View::of(vector.elements(), child)?]
                }
                Shape::Map(value) => {
                    let pairs = vector.elements();
                    pairs.flatten()?;
                    vec![View::of(pairs.field(0), &Shape::Text)?, View::of(pairs.field(1), value)?]
                }
                Shape::Array(child, _) => vec![View::of(vector.array_elements(), child)?],
                Shape::Struct(fields) => {
                    View::of_fields(vector, fields.iter().map(|(_, shape)| shape))?
                }
                Shape::Tuple(shapes) => View::of_fields(vector, shapes.iter())?,
                _ => Vec::new(),
            };
            Ok(View { shape, data: vector.data(), validity: vector.validity(), children })
        }
    }

    /// Views of the fields of structs.
    ///
    /// # Safety
    ///
    /// As [`View::of`].
    unsafe fn of_fields(
        vector: Vector,
        shapes: impl Iterator<Item = &'a Shape>,
    ) -> Result<Vec<View<'a>>, String> {
        // SAFETY: the caller's promise.
        let view = |(index, shape)| unsafe { View::of(vector.field(index), shape) };
        shapes.enumerate().map(view).collect()
    }

    /// Whether the value at `row` is NULL.
    ///
    /// # Safety
    ///
    /// `row` is below the number of the vector's values.
    pub(crate) unsafe fn is_null(&self, row: usize) -> bool {
        // SAFETY: a mask has a bit for each value.
        !self.validity.is_null() && unsafe { *self.validity.add(row / 64) } >> (row % 64) & 1 == 0
    }

    /// # Safety
    ///
    /// The vector holds `T`s, and `row` is below the number of its values.
    unsafe fn get<T: Copy>(&self, row: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.data.cast::<T>().add(row).read_unaligned() }
    }

    /// The bytes of the text or blob at `row`.
    ///
    /// # Safety
    ///
    /// The vector holds texts or blobs, and `row` is below the number of its values.
    pub(crate) unsafe fn bytes(&self, row: usize) -> &[u8] {
        // SAFETY: a string's length and place follow DuckDB's layout: short ones are in it.
        unsafe {
            let place = self.data.cast::<u8>().add(row * 16);
            let length = place.cast::<u32>().read_unaligned() as usize;
            let start = match length <= 12 {
                true => place.add(4),
                false => place.add(8).cast::<*const u8>().read_unaligned(),
            };
            std::slice::from_raw_parts(start, length)
        }
    }

    /// Writes the value at `row`.
    ///
    /// # Safety
    ///
    /// `row` is below the number of the vector's values.
    pub(crate) unsafe fn write(
        &self,
        row: usize,
        out: &mut impl ValueWriter,
    ) -> Result<(), String> {
        // SAFETY: the shape was made from the vector's type, so values have the size it says.
        unsafe {
            if self.is_null(row) {
                out.null(self.shape.ion_type());
                return Ok(());
            }
            match self.shape {
                Shape::Bool => out.bool(self.get::<u8>(row) != 0),
                Shape::Int(size) => out.int64(self.signed(row, *size)),
                Shape::UInt(size) => match self.unsigned(row, *size) {
                    value if value <= i64::MAX as u64 => out.int64(value as i64),
                    value => out.int(&Int::from(u128::from(value))),
                },
                Shape::HugeInt => out.int(&Int::from(self.get::<i128>(row))),
                Shape::UHugeInt => out.int(&Int::from(self.get::<u128>(row))),
                Shape::Float => out.float(f64::from(self.get::<f32>(row))),
                Shape::Double => out.float(self.get(row)),
                Shape::Decimal(16, scale) => {
                    out.decimal(&Decimal::new(self.get::<i128>(row), -i32::from(*scale)));
                }
                Shape::Decimal(size, scale) => out.decimal64(self.signed(row, *size), *scale),
                Shape::Text => {
                    if !out.string_bytes(self.bytes(row)) {
                        return Err("a text is not utf-8".to_owned());
                    }
                }
                Shape::Json => {
                    let element = folio::ion::of_json(self.bytes(row));
                    let no_json = |error| format!("a text of type JSON is none: {error}");
                    write_element(out, &element.map_err(no_json)?);
                }
                Shape::Blob => out.blob(self.bytes(row)),
                Shape::Enum(size, texts) => {
                    let index = self.unsigned(row, *size) as usize;
                    out.string(texts.get(index).and_then(Symbol::text).unwrap_or_default());
                }
                Shape::Null => out.null(IonType::Null),
                Shape::Date
                | Shape::Time
                | Shape::Timestamp(..)
                | Shape::Interval
                | Shape::Uuid => {
                    self.write_named(row, out)?;
                }
                Shape::List(_)
                | Shape::Pairs(_)
                | Shape::Array(..)
                | Shape::Struct(_)
                | Shape::Tuple(_)
                | Shape::Map(_) => {
                    self.write_container(row, out)?;
                }
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As [`View::write`], for integers of `size` bytes.
    unsafe fn signed(&self, row: usize, size: u8) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match size {
                1 => i64::from(self.get::<i8>(row)),
                2 => i64::from(self.get::<i16>(row)),
                4 => i64::from(self.get::<i32>(row)),
                _ => self.get(row),
            }
        }
    }

    /// # Safety
    ///
    /// As [`View::write`], for integers of `size` bytes.
    unsafe fn unsigned(&self, row: usize, size: u8) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            match size {
                1 => u64::from(self.get::<u8>(row)),
                2 => u64::from(self.get::<u16>(row)),
                4 => u64::from(self.get::<u32>(row)),
                _ => self.get(row),
            }
        }
    }

    /// Points in time, and what Ion has only as text.
    ///
    /// # Safety
    ///
    /// As [`View::write`].
    unsafe fn write_named(&self, row: usize, out: &mut impl ValueWriter) -> Result<(), String> {
        let beyond =
            || "a timestamp is outside the years 1 to 9999 that Ion can represent".to_owned();
        // SAFETY: the caller's promise.
        unsafe {
            match self.shape {
                Shape::Date => {
                    out.timestamp(&Timestamp::from_days(self.get(row)).ok_or_else(beyond)?);
                }
                Shape::Timestamp(6, zoned) => {
                    let written = out.timestamp_micros(self.get(row), *zoned);
                    return if written { Ok(()) } else { Err(beyond()) };
                }
                Shape::Timestamp(digits, zoned) => {
                    let timestamp =
                        Timestamp::from_epoch(self.get(row), *digits).ok_or_else(beyond)?;
                    out.timestamp(&if *zoned {
                        timestamp
                    } else {
                        timestamp.with_unknown_offset()
                    });
                }
                Shape::Time => out.string(&time_text(self.get(row))),
                Shape::Uuid => out.string(&uuid_text(self.get(row))),
                Shape::Interval => {
                    let [months, days] = self.get::<[i32; 4]>(row)[..2] else { return Ok(()) };
                    let micros =
                        self.data.cast::<u8>().add(row * 16 + 8).cast::<i64>().read_unaligned();
                    out.string(&interval_text(months, days, micros));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As [`View::write`].
    unsafe fn write_container(&self, row: usize, out: &mut impl ValueWriter) -> Result<(), String> {
        // SAFETY: the caller's promise; entries of lists lie within their children.
        unsafe {
            match self.shape {
                Shape::Struct(fields) => {
                    out.begin(Container::Struct);
                    for ((name, _), child) in fields.iter().zip(&self.children) {
                        out.field(name);
                        child.write(row, out).map_err(|why| within_column(name, &why))?;
                    }
                }
                Shape::Tuple(_) => {
                    out.begin(Container::List);
                    for child in &self.children {
                        child.write(row, out)?;
                    }
                }
                Shape::Map(_) => {
                    out.begin(Container::Struct);
                    let [offset, length] = self.get::<[u64; 2]>(row);
                    for index in offset..offset + length {
                        let name = String::from_utf8_lossy(self.children[0].bytes(index as usize));
                        out.field(&Symbol::from(&*name));
                        self.children[1].write(index as usize, out)?;
                    }
                }
                Shape::Array(_, size) => {
                    out.begin(Container::List);
                    for index in 0..*size as usize {
                        self.children[0].write(row * *size as usize + index, out)?;
                    }
                }
                _ => {
                    out.begin(Container::List);
                    let [offset, length] = self.get::<[u64; 2]>(row);
                    for index in offset..offset + length {
                        self.children[0].write(index as usize, out)?;
                    }
                }
            }
        }
        out.end();
        Ok(())
    }
}

/// An error about a value, with its column or field.
pub(crate) fn within_column(name: &Symbol, why: &str) -> String {
    folio_ion::in_column(&name.to_string(), why)
}

/// The error of a column whose type Ion has nothing for. One that is newer than this extension has a
/// number instead of a name.
pub(crate) fn unwritable(name: Option<&str>, id: u32) -> String {
    let name = name.map_or_else(|| format!("number {id} of DuckDB"), str::to_owned);
    format!("a column of type {name} cannot be written as Ion; cast it to VARCHAR")
}

fn time_text(micros: u64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match fraction {
        0 => clock,
        _ => format!("{clock}.{fraction:06}").trim_end_matches('0').to_owned(),
    }
}

/// The text of a UUID. DuckDB flips the first bit, so that the integers sort as the texts do.
fn uuid_text(stored: i128) -> String {
    let digits = format!("{:032x}", stored as u128 ^ (1 << 127));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// An interval as DuckDB and FolioDB read it: `1 mon 2 days 00:00:03.5`.
fn interval_text(months: i32, days: i32, micros: i64) -> String {
    let counts = [(months / 12, "year"), (months % 12, "mon"), (days, "day")];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    if micros != 0 || parts.is_empty() {
        let sign = if micros < 0 { "-" } else { "" };
        parts.push(format!("{sign}{}", time_text(micros.unsigned_abs())));
    }
    parts.join(" ")
}
