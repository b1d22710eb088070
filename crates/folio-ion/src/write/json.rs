//! Writes JSON, as close to the Ion value as JSON allows.

use super::number::{push_base64, push_i64};
use super::{Container, ValueWriter};
use crate::symbol::Symbol;
use crate::value::{Decimal, Int, IonType, Timestamp};
use std::io::Write;

/// Writes JSON, one line per top-level value.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: Vec<u8>,
    open: Vec<Container>,
    filled: bool,
    named: bool,
}

impl JsonWriter {
    /// An empty writer.
    pub fn new() -> JsonWriter {
        JsonWriter::default()
    }

    /// What was written since the last [`JsonWriter::take_text`].
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// What was written since the last call.
    pub fn take_text(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.out)).expect("a json writer writes utf-8")
    }

    fn before(&mut self) {
        if std::mem::take(&mut self.named) {
            return;
        }
        if std::mem::replace(&mut self.filled, true) {
            self.out.push(if self.open.is_empty() { b'\n' } else { b',' });
        }
    }

    fn push_string(&mut self, text: &str) {
        self.out.push(b'"');
        let mut rest = text.as_bytes();
        loop {
            let (length, _) = crate::kernel::plain_run(rest, b'"');
            self.out.extend_from_slice(&rest[..length]);
            let Some(byte) = rest.get(length) else { break };
            match byte {
                b'\n' => self.out.extend_from_slice(b"\\n"),
                b'\r' => self.out.extend_from_slice(b"\\r"),
                b'\t' => self.out.extend_from_slice(b"\\t"),
                b'\\' | b'"' => self.out.extend_from_slice(&[b'\\', *byte]),
                _ => {
                    // Writing to a vector cannot fail.
                    let _ = write!(self.out, "\\u{byte:04x}");
                }
            }
            rest = &rest[length + 1..];
        }
        self.out.push(b'"');
    }
}

impl ValueWriter for JsonWriter {
    fn annotations(&mut self, _: &[Symbol]) {}

    fn field(&mut self, name: &Symbol) {
        self.before();
        self.push_string(name.text().unwrap_or("$0"));
        self.out.push(b':');
        self.named = true;
    }

    fn null(&mut self, _: IonType) {
        self.before();
        self.out.extend_from_slice(b"null");
    }

    fn bool(&mut self, value: bool) {
        self.before();
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn int64(&mut self, value: i64) {
        self.before();
        push_i64(&mut self.out, value);
    }

    fn int(&mut self, value: &Int) {
        self.before();
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    fn float(&mut self, value: f64) {
        if !value.is_finite() {
            return self.null(IonType::Float);
        }
        self.before();
        // Writing to a vector cannot fail.
        let _ = write!(self.out, "{value:?}");
    }

    fn decimal(&mut self, value: &Decimal) {
        self.before();
        let text = value.to_string().replace('d', "e");
        let text = text.strip_suffix('.').unwrap_or(&text);
        self.out.extend_from_slice(text.as_bytes());
    }

    fn timestamp(&mut self, value: &Timestamp) {
        self.before();
        self.push_string(&value.to_string());
    }

    fn symbol(&mut self, value: &Symbol) {
        self.before();
        self.push_string(value.text().unwrap_or("$0"));
    }

    fn string(&mut self, value: &str) {
        self.before();
        self.push_string(value);
    }

    fn clob(&mut self, value: &[u8]) {
        self.before();
        self.push_string(&String::from_utf8_lossy(value));
    }

    fn blob(&mut self, value: &[u8]) {
        self.before();
        self.out.push(b'"');
        push_base64(&mut self.out, value);
        self.out.push(b'"');
    }

    fn begin(&mut self, container: Container) {
        self.before();
        self.out.push(if container == Container::Struct { b'{' } else { b'[' });
        self.open.push(container);
        self.filled = false;
    }

    fn end(&mut self) {
        let container = self.open.pop().expect("end follows begin");
        self.out.push(if container == Container::Struct { b'}' } else { b']' });
        self.filled = true;
    }
}
