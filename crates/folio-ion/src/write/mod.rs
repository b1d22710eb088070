//! Writes Ion as text and binary, and JSON.
//!
//! [`ValueWriter`] takes the parts of a value in order, so a caller with rows (a table, a column
//! batch) needs no trees. [`write_element`] writes a tree through it.

mod binary;
mod json;
mod number;
mod recent;
mod short;
mod text;

pub use binary::BinaryWriter;
pub use json::JsonWriter;
pub use text::{Layout, TextWriter};

use crate::symbol::Symbol;
use crate::value::{Decimal, Element, Int, IonType, Timestamp, Value};

/// A kind of container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// `[…]`
    List,
    /// `(…)`
    SExp,
    /// `{…}`
    Struct,
}

/// Takes values part by part: annotations before the value, a field's name before its value,
/// [`ValueWriter::begin`] and [`ValueWriter::end`] around the parts of a container.
pub trait ValueWriter {
    /// Annotations of the next value; none if empty.
    fn annotations(&mut self, annotations: &[Symbol]);
    /// The name of the next field of the open struct.
    fn field(&mut self, name: &Symbol);
    /// A null.
    fn null(&mut self, ion_type: IonType);
    /// A boolean.
    fn bool(&mut self, value: bool);
    /// An integer that fits 64 bits.
    fn int64(&mut self, value: i64);
    /// Any integer.
    fn int(&mut self, value: &Int);
    /// A float.
    fn float(&mut self, value: f64);
    /// Any decimal.
    fn decimal(&mut self, value: &Decimal);
    /// A decimal of `units` times `10^-scale`.
    fn decimal64(&mut self, units: i64, scale: u8) {
        self.decimal(&Decimal::new(units, -i32::from(scale)));
    }
    /// A timestamp.
    fn timestamp(&mut self, value: &Timestamp);
    /// The instant `micros` microseconds after the Unix epoch, in UTC if `zoned`, else with an
    /// unknown offset. False if Ion cannot represent it.
    fn timestamp_micros(&mut self, micros: i64, zoned: bool) -> bool {
        let digits = if micros % 1_000_000 == 0 {
            0
        } else if micros % 1_000 == 0 {
            3
        } else {
            6
        };
        let units = micros / 10i64.pow(6 - u32::from(digits));
        let Some(timestamp) = Timestamp::from_epoch(units, digits) else { return false };
        self.timestamp(&if zoned { timestamp } else { timestamp.with_unknown_offset() });
        true
    }
    /// A symbol.
    fn symbol(&mut self, value: &Symbol);
    /// A string.
    fn string(&mut self, value: &str);
    /// A string of these bytes; false if they are not UTF-8.
    fn string_bytes(&mut self, value: &[u8]) -> bool {
        std::str::from_utf8(value).map(|value| self.string(value)).is_ok()
    }
    /// A clob.
    fn clob(&mut self, value: &[u8]);
    /// A blob.
    fn blob(&mut self, value: &[u8]);
    /// Opens a container.
    fn begin(&mut self, container: Container);
    /// Closes the innermost container.
    fn end(&mut self);
}

/// Writes `element` with all its content.
pub fn write_element(writer: &mut impl ValueWriter, element: &Element) {
    writer.annotations(&element.annotations);
    match &element.value {
        Value::Null(ion_type) => writer.null(*ion_type),
        Value::Bool(value) => writer.bool(*value),
        Value::Int(value) => writer.int(value),
        Value::Float(value) => writer.float(*value),
        Value::Decimal(value) => writer.decimal(value),
        Value::Timestamp(value) => writer.timestamp(value),
        Value::Symbol(value) => writer.symbol(value),
        Value::String(value) => writer.string(value),
        Value::Clob(value) => writer.clob(value),
        Value::Blob(value) => writer.blob(value),
        Value::List(elements) => write_elements(writer, Container::List, elements),
        Value::SExp(elements) => write_elements(writer, Container::SExp, elements),
        Value::Struct(fields) => {
            writer.begin(Container::Struct);
            for (name, element) in fields {
                writer.field(name);
                write_element(writer, element);
            }
            writer.end();
        }
    }
}

fn write_elements(writer: &mut impl ValueWriter, container: Container, elements: &[Element]) {
    writer.begin(container);
    for element in elements {
        write_element(writer, element);
    }
    writer.end();
}

/// `element` as compact text.
pub fn to_text(element: &Element) -> String {
    let mut writer = TextWriter::new(Layout::Compact);
    write_element(&mut writer, element);
    writer.take_text()
}

/// `element` as indented text.
pub fn to_pretty_text(element: &Element) -> String {
    let mut writer = TextWriter::new(Layout::Pretty);
    write_element(&mut writer, element);
    writer.take_text()
}

/// `element` as JSON text. What JSON lacks is approximated: annotations are dropped; symbols,
/// timestamps and base64 of blobs become strings; infinities and NaN become null.
pub fn to_json(element: &Element) -> String {
    let mut writer = JsonWriter::new();
    write_element(&mut writer, element);
    writer.take_text()
}

/// A complete binary stream of `elements`.
pub fn to_binary<'a>(elements: impl IntoIterator<Item = &'a Element>) -> Vec<u8> {
    let mut writer = BinaryWriter::new();
    for element in elements {
        write_element(&mut writer, element);
    }
    writer.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a moment directly, and as the equivalent timestamp.
    fn both<W: ValueWriter>(new: fn() -> W, micros: i64, zoned: bool) -> [(bool, W); 2] {
        let mut quick = new();
        let was_written = quick.timestamp_micros(micros, zoned);
        let digits = match micros {
            _ if micros % 1_000_000 == 0 => 0,
            _ if micros % 1_000 == 0 => 3,
            _ => 6,
        };
        let units = micros.div_euclid(10i64.pow(6 - u32::from(digits)));
        let timestamp = Timestamp::from_epoch(units, digits)
            .map(|known| if zoned { known } else { known.with_unknown_offset() });
        let mut slow = new();
        if let Some(timestamp) = &timestamp {
            slow.timestamp(timestamp);
        }
        [(was_written, quick), (timestamp.is_some(), slow)]
    }

    fn same_in_text_and_binary(micros: i64, zoned: bool) {
        let [(quick, mut text), (slow, mut expected)] =
            both(|| TextWriter::new(Layout::Compact), micros, zoned);
        assert_eq!((quick, text.take_text()), (slow, expected.take_text()), "{micros}");
        let [(quick, mut binary), (slow, mut expected)] = both(BinaryWriter::new, micros, zoned);
        assert_eq!((quick, binary.take()), (slow, expected.take()), "{micros}");
    }

    #[test]
    fn moments_of_the_first_and_the_last_year() {
        let first = -62_135_596_800_000_000;
        let beyond = 253_402_300_800_000_000;
        let year = 366 * 86_400_000_000;
        for near in [first, first + 126 * year, first + 127 * year, 0, beyond, i64::MIN, i64::MAX] {
            for away in [-1_000_000, -1_000, -1, 0, 1, 127, 128_000, 40_000_000_000_000] {
                same_in_text_and_binary(near.saturating_add(away), away % 2 == 0);
            }
        }
    }

    proptest! {
        #[test]
        fn moments_are_written_as_their_timestamps(
            units in -70_000_000_000_000_000_i64..260_000_000_000_000_000,
            unit in prop::sample::select(vec![1, 1_000, 1_000_000]),
            zoned: bool,
        ) {
            same_in_text_and_binary(units / unit * unit, zoned);
        }
    }
}
