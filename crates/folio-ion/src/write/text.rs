//! Writes text Ion.

use super::number::{push_base64, push_decimal, push_float, push_i64, push_time};
use super::recent::Recent;
use super::short::push_short;
use super::{Container, ValueWriter};
use crate::kernel::plain_run;
use crate::symbol::Symbol;
use crate::text::{is_identifier_part, is_identifier_start};
use crate::value::{Decimal, Int, IonType, Timestamp};
use std::io::Write;
use std::sync::Arc;

/// Where to put line breaks and spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Only the white space that separates values.
    Compact,
    /// One line per element, indented by two spaces per level.
    Pretty,
}

/// Writes text Ion, one line per top-level value (several in [`Layout::Pretty`]).
#[derive(Debug)]
pub struct TextWriter {
    out: Vec<u8>,
    layout: Layout,
    open: Vec<Container>,
    /// The byte before the next value: a separator if it follows another value, else none.
    next: Option<u8>,
    /// The byte between the values of the innermost container, or of the top level.
    between: u8,
    /// Whether the next value directly follows its field name or annotations.
    joined: bool,
    /// The written form of field names, colon included.
    names: Recent<Box<[u8]>>,
}

impl TextWriter {
    /// An empty writer.
    pub fn new(layout: Layout) -> TextWriter {
        TextWriter {
            out: Vec::new(),
            layout,
            open: Vec::new(),
            next: None,
            between: b'\n',
            joined: false,
            names: Recent::new(),
        }
    }

    /// What was written since the last call. Line feeds separate top-level values. Reserves about
    /// as much memory again, so that a long text is not moved as it grows.
    pub fn take(&mut self) -> Vec<u8> {
        let room = self.out.len() + self.out.len() / 16;
        std::mem::replace(&mut self.out, Vec::with_capacity(room))
    }

    /// What was written since the last call, as text.
    pub fn take_text(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.out)).expect("a text writer writes utf-8")
    }

    /// Discards what was written and reuses the memory.
    pub fn restart(&mut self) {
        self.out.clear();
        self.open.clear();
        (self.next, self.between, self.joined) = (None, b'\n', false);
    }

    /// Bytes written since the last [`TextWriter::take`].
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Writes what comes before a value: a separator, or nothing after a name or annotations.
    #[inline(always)]
    fn before(&mut self) {
        if std::mem::take(&mut self.joined) {
            return;
        }
        let separator = self.next.replace(self.between);
        if self.layout == Layout::Pretty {
            return self.before_on_line(separator);
        }
        self.out.extend(separator);
    }

    /// The same for values on separate lines.
    fn before_on_line(&mut self, separator: Option<u8>) {
        // A line feed separates like a space.
        self.out.extend(separator.filter(|byte| *byte != b' '));
        if !self.open.is_empty() {
            self.line();
        }
    }

    fn line(&mut self) {
        self.out.push(b'\n');
        self.out.extend(std::iter::repeat_n(b' ', self.open.len() * 2));
    }

    /// The separator between values at this position.
    #[inline]
    fn separator(&self) -> u8 {
        match self.open.last() {
            None => b'\n',
            Some(Container::SExp) => b' ',
            Some(_) => b',',
        }
    }

    fn push_symbol(&mut self, symbol: &Symbol) {
        match symbol.text() {
            None => self.out.extend_from_slice(b"$0"),
            Some(text) => push_name(&mut self.out, text),
        }
    }

    /// Writes a name that is not cached, and caches it.
    fn push_new_name(&mut self, name: &Arc<str>) {
        let start = self.out.len();
        push_name(&mut self.out, name);
        self.out.push(b':');
        let written = &self.out[start..];
        self.names.keep(name, || written.into());
    }
}

/// Appends `text` as a symbol.
fn push_name(out: &mut Vec<u8>, text: &str) {
    match is_bare(text) {
        true => out.extend_from_slice(text.as_bytes()),
        false => push_quoted(out, b'\'', text),
    }
}

/// Whether `text` may be a symbol without quotes in any position.
fn is_bare(text: &str) -> bool {
    let bytes = text.as_bytes();
    let identifier = bytes.first().is_some_and(|byte| is_identifier_start(*byte))
        && bytes.iter().all(|byte| is_identifier_part(*byte));
    // A dollar sign may start a symbol number or a version marker.
    identifier && bytes[0] != b'$' && !matches!(text, "null" | "true" | "false" | "nan")
}

/// Appends `text` between `quote`s, with escapes where Ion requires them.
fn push_quoted(out: &mut Vec<u8>, quote: u8, text: &str) {
    out.push(quote);
    push_escaped(out, quote, text.as_bytes());
    out.push(quote);
}

fn push_escaped(out: &mut Vec<u8>, quote: u8, bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        let (length, _) = plain_run(rest, quote);
        out.extend_from_slice(&rest[..length]);
        let Some(byte) = rest.get(length) else { return };
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\\' | b'"' | b'\'' => out.extend_from_slice(&[b'\\', *byte]),
            _ => {
                // Writing to a vector cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
        rest = &rest[length + 1..];
    }
}

impl ValueWriter for TextWriter {
    fn annotations(&mut self, annotations: &[Symbol]) {
        if annotations.is_empty() {
            return;
        }
        self.before();
        for annotation in annotations {
            self.push_symbol(annotation);
            self.out.extend_from_slice(b"::");
        }
        self.joined = true;
    }

    #[inline]
    fn field(&mut self, name: &Symbol) {
        self.before();
        match name {
            Symbol::Unknown(_) => self.out.extend_from_slice(b"$0:"),
            Symbol::Text(name) => match self.names.find(name) {
                Some(written) => push_short(&mut self.out, written),
                None => self.push_new_name(name),
            },
        }
        if self.layout == Layout::Pretty {
            self.out.push(b' ');
        }
        self.joined = true;
    }

    fn null(&mut self, ion_type: IonType) {
        self.before();
        self.out.extend_from_slice(b"null");
        if ion_type != IonType::Null {
            self.out.push(b'.');
            self.out.extend_from_slice(ion_type.name().as_bytes());
        }
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
        match value {
            Int::Small(value) => push_i64(&mut self.out, *value),
            Int::Big(_) => self.out.extend_from_slice(value.to_string().as_bytes()),
        }
    }

    fn float(&mut self, value: f64) {
        self.before();
        push_float(&mut self.out, value);
    }

    fn decimal(&mut self, value: &Decimal) {
        self.before();
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    fn decimal64(&mut self, units: i64, scale: u8) {
        self.before();
        push_decimal(&mut self.out, units, scale);
    }

    fn timestamp(&mut self, value: &Timestamp) {
        self.before();
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    fn timestamp_micros(&mut self, micros: i64, zoned: bool) -> bool {
        let Some((date, time)) = Timestamp::civil(micros) else { return false };
        self.before();
        push_time(&mut self.out, date, time);
        self.out.extend_from_slice(if zoned { b"Z" } else { b"-00:00" });
        true
    }

    fn symbol(&mut self, value: &Symbol) {
        self.before();
        self.push_symbol(value);
    }

    fn string(&mut self, value: &str) {
        self.before();
        push_quoted(&mut self.out, b'"', value);
    }

    #[inline]
    fn string_bytes(&mut self, value: &[u8]) -> bool {
        let (length, is_ascii) = plain_run(value, b'"');
        if length < value.len() || !is_ascii {
            return std::str::from_utf8(value).map(|value| self.string(value)).is_ok();
        }
        self.before();
        self.out.push(b'"');
        push_short(&mut self.out, value);
        self.out.push(b'"');
        true
    }

    fn clob(&mut self, value: &[u8]) {
        self.before();
        self.out.extend_from_slice(b"{{\"");
        for byte in value {
            match byte {
                0x80.. => {
                    // Writing to a vector cannot fail.
                    let _ = write!(self.out, "\\x{byte:02x}");
                }
                _ => push_escaped(&mut self.out, b'"', &[*byte]),
            }
        }
        self.out.extend_from_slice(b"\"}}");
    }

    fn blob(&mut self, value: &[u8]) {
        self.before();
        self.out.extend_from_slice(b"{{");
        push_base64(&mut self.out, value);
        self.out.extend_from_slice(b"}}");
    }

    fn begin(&mut self, container: Container) {
        self.before();
        self.out.push(match container {
            Container::List => b'[',
            Container::SExp => b'(',
            Container::Struct => b'{',
        });
        self.open.push(container);
        (self.next, self.between) = (None, self.separator());
    }

    fn end(&mut self) {
        let container = self.open.pop().expect("end follows begin");
        if self.layout == Layout::Pretty && self.next.is_some() {
            self.line();
        }
        self.out.push(match container {
            Container::List => b']',
            Container::SExp => b')',
            Container::Struct => b'}',
        });
        self.between = self.separator();
        self.next = Some(self.between);
    }
}
