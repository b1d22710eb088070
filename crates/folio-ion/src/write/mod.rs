//! Writing Ion: text, binary, and JSON for those who need it.
//!
//! [`ValueWriter`] takes a value's parts in order, so a caller with rows of its own (a table, a
//! column batch) writes them without building trees. [`write_element`] feeds it a tree.

mod binary;
mod json;
mod number;
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

/// Takes values part by part: annotations before the value, a field's name before the field's
/// value, [`ValueWriter::begin`] and [`ValueWriter::end`] around the parts of a container.
pub trait ValueWriter {
    /// Annotations of the next value; none if empty.
    fn annotations(&mut self, annotations: &[Symbol]);
    /// The name of the next field of the struct that is open.
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
    /// A decimal of `units` of `10^-scale`.
    fn decimal64(&mut self, units: i64, scale: u8) {
        self.decimal(&Decimal::new(units, -i32::from(scale)));
    }
    /// A timestamp.
    fn timestamp(&mut self, value: &Timestamp);
    /// The instant `micros` microseconds after the Unix epoch, in UTC if `zoned`, else of unknown
    /// offset; false if Ion has no form for it.
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
    /// A clob.
    fn clob(&mut self, value: &[u8]);
    /// A blob.
    fn blob(&mut self, value: &[u8]);
    /// Opens a container.
    fn begin(&mut self, container: Container);
    /// Closes the innermost container.
    fn end(&mut self);
}

/// Writes `element` with everything in it.
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

/// `element` as a JSON text. What JSON lacks is approximated: annotations are dropped, symbols,
/// timestamps and base64 of blobs become strings, floats that are not numbers become null.
pub fn to_json(element: &Element) -> String {
    let mut writer = JsonWriter::new();
    write_element(&mut writer, element);
    writer.take_text()
}

/// A complete binary stream that holds `elements`.
pub fn to_binary<'a>(elements: impl IntoIterator<Item = &'a Element>) -> Vec<u8> {
    let mut writer = BinaryWriter::new();
    for element in elements {
        write_element(&mut writer, element);
    }
    writer.take()
}
