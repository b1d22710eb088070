//! Writes binary Ion.
//!
//! A container's length comes before its content. So its header is written with room for one byte
//! of length, and corrected when the container closes. Content of 14 to 127 bytes, the size of a
//! common row, then never moves.
//!
//! Symbols are numbered in the order of first use. [`BinaryWriter::take`] writes the definitions of
//! new symbols before the values that use them, as an append to the current table.

use super::recent::Recent;
use super::short::push_short;
use super::{Container, ValueWriter};
use crate::VERSION_MARKER;
use crate::symbol::{SYSTEM_SYMBOLS, Symbol};
use crate::value::{Decimal, Int, IonType, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;

/// Writes a stream of binary Ion.
#[derive(Debug)]
pub struct BinaryWriter {
    out: Vec<u8>,
    open: Vec<Frame>,
    numbers: HashMap<Arc<str>, usize>,
    /// Symbols that have numbers but are not yet defined in the stream.
    pending: Vec<Arc<str>>,
    started: bool,
    recent: Recent<usize>,
}

#[derive(Debug)]
enum Frame {
    Container(u8, usize),
    /// Annotations around one value.
    Wrapper(usize),
}

impl Default for BinaryWriter {
    fn default() -> BinaryWriter {
        BinaryWriter::new()
    }
}

impl BinaryWriter {
    /// An empty writer.
    pub fn new() -> BinaryWriter {
        let system = SYSTEM_SYMBOLS.iter().enumerate();
        BinaryWriter {
            out: Vec::new(),
            open: Vec::new(),
            numbers: system.map(|(index, text)| (Arc::from(*text), index + 1)).collect(),
            pending: Vec::new(),
            started: false,
            recent: Recent::new(),
        }
    }

    /// Numbers symbols before they are used, so that forks have them.
    pub fn number_symbols<'a>(&mut self, symbols: impl IntoIterator<Item = &'a Symbol>) {
        for symbol in symbols {
            self.number(symbol);
        }
    }

    /// A writer of values that follow what was taken from this writer. All symbols so far are
    /// defined for it. Several forks may write at the same time, as long as none uses a new symbol
    /// ([`BinaryWriter::has_new_symbols`]). One that does must write a separate stream
    /// ([`BinaryWriter::take_stream`]).
    #[must_use]
    pub fn fork(&self) -> BinaryWriter {
        BinaryWriter {
            numbers: self.numbers.clone(),
            recent: self.recent.clone(),
            started: true,
            ..BinaryWriter::new()
        }
    }

    /// Whether symbols were used that are not yet defined.
    pub fn has_new_symbols(&self) -> bool {
        !self.pending.is_empty()
    }

    /// What was written since the last call, as an independent stream: the version marker and all
    /// symbols come first.
    pub fn take_stream(&mut self) -> Vec<u8> {
        let mut named: Vec<_> = self.numbers.iter().map(|(text, number)| (*number, text)).collect();
        named.sort_unstable_by_key(|(number, _)| *number);
        let own = named.into_iter().skip(SYSTEM_SYMBOLS.len()).map(|(_, text)| text.clone());
        self.pending = own.collect();
        self.started = false;
        self.take()
    }

    /// Bytes of values written since the last [`BinaryWriter::take`].
    pub fn size(&self) -> usize {
        self.out.len()
    }

    /// The next part of the stream: the version marker if it is the first, the new symbols, and the
    /// values written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        let mut head = Vec::new();
        if !std::mem::replace(&mut self.started, true) {
            head.extend_from_slice(&VERSION_MARKER);
        }
        if !self.pending.is_empty() {
            head.extend(self.definition());
        }
        if head.is_empty() {
            return std::mem::take(&mut self.out);
        }
        head.append(&mut self.out);
        head
    }

    /// `$ion_symbol_table::{imports: $ion_symbol_table, symbols: […]}`
    fn definition(&mut self) -> Vec<u8> {
        let pending = std::mem::take(&mut self.pending);
        let values = std::mem::take(&mut self.out);
        // The names in table definitions are not names of rows.
        let recent = std::mem::replace(&mut self.recent, Recent::new());
        let [table, imports, symbols] =
            ["$ion_symbol_table", "imports", "symbols"].map(Symbol::from);
        self.annotations(std::slice::from_ref(&table));
        self.begin(Container::Struct);
        self.field(&imports);
        self.symbol(&table);
        self.field(&symbols);
        self.begin(Container::List);
        for text in &pending {
            self.string(text);
        }
        self.end();
        self.end();
        self.recent = recent;
        std::mem::replace(&mut self.out, values)
    }

    #[inline]
    fn number(&mut self, symbol: &Symbol) -> usize {
        let Symbol::Text(text) = symbol else { return 0 };
        if let Some(number) = self.recent.find(text) {
            return *number;
        }
        self.slow_number(text)
    }

    fn slow_number(&mut self, text: &Arc<str>) -> usize {
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None => {
                let number = self.numbers.len() + 1;
                self.numbers.insert(text.clone(), number);
                self.pending.push(text.clone());
                number
            }
        };
        self.recent.keep(text, || number);
        number
    }

    #[inline]
    fn var_uint(&mut self, value: usize) {
        if value < 0x80 {
            return self.out.push(value as u8 | 0x80);
        }
        let groups = (usize::BITS - value.leading_zeros()).div_ceil(7);
        for group in (1..groups).rev() {
            self.out.push((value >> (7 * group)) as u8 & 0x7f);
        }
        self.out.push(value as u8 | 0x80);
    }

    fn var_int(&mut self, negative: bool, magnitude: u64) {
        let bits = (64 - magnitude.leading_zeros()).max(1);
        let groups = (bits + 1).div_ceil(7);
        for group in (0..groups).rev() {
            let mut byte = (magnitude >> (7 * group)) as u8 & 0x7f;
            if group + 1 == groups && negative {
                byte |= 0x40;
            }
            self.out.push(if group == 0 { byte | 0x80 } else { byte });
        }
    }

    fn header(&mut self, code: u8, length: usize) {
        if length < 14 {
            return self.out.push(code | length as u8);
        }
        self.out.push(code | 14);
        self.var_uint(length);
    }

    /// Writes a value with known content.
    fn scalar(&mut self, code: u8, content: &[u8]) {
        self.header(code, content.len());
        push_short(&mut self.out, content);
        self.finish();
    }

    /// Reserves room for a header. Returns the offset of its first byte.
    fn reserve(&mut self) -> usize {
        self.out.extend_from_slice(&[0, 0]);
        self.out.len() - 2
    }

    /// Corrects the header at `start`, whose content runs to the end.
    fn patch_header(&mut self, code: u8, start: usize) {
        let length = self.out.len() - start - 2;
        match length {
            // A length of one would mark a struct as sorted. A field takes more than one byte, so a
            // struct never has that length.
            0..14 => {
                self.out.remove(start);
                self.out[start] = code | length as u8;
            }
            14..128 => {
                self.out[start] = code | 14;
                self.out[start + 1] = length as u8 | 0x80;
            }
            _ => {
                let content = self.out.split_off(start + 2);
                self.out.truncate(start);
                self.header(code, length);
                self.out.extend_from_slice(&content);
            }
        }
    }

    /// Closes the wrappers that end with the value just written.
    #[inline]
    fn finish(&mut self) {
        if let Some(Frame::Wrapper(start)) = self.open.last() {
            let start = *start;
            self.open.pop();
            self.patch_header(0xe0, start);
        }
    }

    /// The content of a decimal or a fraction: exponent, then coefficient with its sign bit.
    fn decimal_content(&mut self, decimal: &Decimal) {
        let negative = decimal.is_negative();
        if !negative && decimal.is_zero() && decimal.exponent() == 0 {
            return;
        }
        self.var_int(decimal.exponent() < 0, u64::from(decimal.exponent().unsigned_abs()));
        let magnitude = decimal.coefficient().to_be_bytes();
        let sign = if negative { 0x80 } else { 0 };
        match magnitude.first() {
            None if negative => self.out.push(sign),
            None => {}
            Some(first) if first & 0x80 != 0 => {
                self.out.push(sign);
                self.out.extend_from_slice(&magnitude);
            }
            Some(first) => {
                self.out.push(first | sign);
                self.out.extend_from_slice(&magnitude[1..]);
            }
        }
    }

    fn timestamp_content(&mut self, local: &Timestamp) {
        use crate::value::Precision;
        let offset = i64::from(local.offset().unwrap_or(0));
        let known = local.offset().is_some();
        let utc = match local.precision() >= Precision::Minute {
            true => local.shifted(-offset).unwrap_or_else(|| local.clone()),
            false => local.clone(),
        };
        self.var_int(!known || offset < 0, offset.unsigned_abs());
        self.var_uint(usize::from(utc.year));
        if utc.precision >= Precision::Month {
            self.var_uint(usize::from(utc.month));
        }
        if utc.precision >= Precision::Day {
            self.var_uint(usize::from(utc.day));
        }
        if utc.precision >= Precision::Minute {
            self.var_uint(usize::from(utc.hour));
            self.var_uint(usize::from(utc.minute));
        }
        if utc.precision >= Precision::Second {
            self.var_uint(usize::from(utc.second));
        }
        if let Some(fraction) = utc.fraction() {
            self.decimal_content(fraction);
        }
    }
}

impl ValueWriter for BinaryWriter {
    fn annotations(&mut self, annotations: &[Symbol]) {
        if annotations.is_empty() {
            return;
        }
        let start = self.reserve();
        self.open.push(Frame::Wrapper(start));
        let numbers: Vec<usize> = annotations.iter().map(|symbol| self.number(symbol)).collect();
        let at = self.out.len();
        for number in numbers {
            self.var_uint(number);
        }
        let content = self.out.split_off(at);
        self.var_uint(content.len());
        self.out.extend_from_slice(&content);
    }

    #[inline]
    fn field(&mut self, name: &Symbol) {
        let number = self.number(name);
        self.var_uint(number);
    }

    fn null(&mut self, ion_type: IonType) {
        let code = match ion_type {
            IonType::Null => 0x0f,
            IonType::Bool => 0x1f,
            IonType::Int => 0x2f,
            IonType::Float => 0x4f,
            IonType::Decimal => 0x5f,
            IonType::Timestamp => 0x6f,
            IonType::Symbol => 0x7f,
            IonType::String => 0x8f,
            IonType::Clob => 0x9f,
            IonType::Blob => 0xaf,
            IonType::List => 0xbf,
            IonType::SExp => 0xcf,
            IonType::Struct => 0xdf,
        };
        self.out.push(code);
        self.finish();
    }

    fn bool(&mut self, value: bool) {
        self.out.push(0x10 | u8::from(value));
        self.finish();
    }

    #[inline]
    fn int64(&mut self, value: i64) {
        let magnitude = value.unsigned_abs();
        let skipped = magnitude.leading_zeros() as usize / 8;
        let code = if value < 0 { 0x30 } else { 0x20 };
        self.scalar(code, &magnitude.to_be_bytes()[skipped..]);
    }

    fn int(&mut self, value: &Int) {
        let code = if value.is_negative() { 0x30 } else { 0x20 };
        self.scalar(code, &value.to_be_bytes());
    }

    fn float(&mut self, value: f64) {
        match value.to_bits() {
            0 => self.scalar(0x40, &[]),
            bits => self.scalar(0x40, &bits.to_be_bytes()),
        }
    }

    fn decimal(&mut self, value: &Decimal) {
        let start = self.reserve();
        self.decimal_content(value);
        self.patch_header(0x50, start);
        self.finish();
    }

    fn timestamp(&mut self, value: &Timestamp) {
        let start = self.reserve();
        self.timestamp_content(value);
        self.patch_header(0x60, start);
        self.finish();
    }

    fn timestamp_micros(&mut self, micros: i64, zoned: bool) -> bool {
        let Some(((year, month, day), micros)) = Timestamp::civil(micros) else { return false };
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        let (exponent, coefficient) = match fraction % 1_000 {
            0 => (3, (fraction / 1_000) as u32),
            _ => (6, fraction as u32),
        };
        // A number of one or two bytes: seven bits per byte, with the highest bit set in the last.
        let last = |value: i64| value as u8 & 0x7f | 0x80;
        let mut content = [
            // The offset: zero, or negative zero for an unknown one.
            if zoned { 0x80 } else { 0xc0 },
            (year >> 7) as u8,
            last(year.into()),
            last(month.into()),
            last(day.into()),
            last(seconds / 3_600),
            last(seconds / 60 % 60),
            last(seconds % 60),
            // The exponent is negative.
            0xc0 | exponent,
            0,
            0,
            0,
        ];
        // A year in two bytes would begin with an empty byte.
        let is_early = year < 0x80;
        let length = match coefficient {
            0 => 8,
            _ => {
                // The first bit of a coefficient is its sign, so it needs one more bit.
                let size = (33 - coefficient.leading_zeros() as usize).div_ceil(8);
                content[9..9 + size].copy_from_slice(&coefficient.to_be_bytes()[4 - size..]);
                9 + size
            }
        };
        if is_early {
            content.copy_within(2.., 1);
        }
        self.scalar(0x60, &content[..length - usize::from(is_early)]);
        true
    }

    fn symbol(&mut self, value: &Symbol) {
        let number = self.number(value) as u64;
        let skipped = number.leading_zeros() as usize / 8;
        self.scalar(0x70, &number.to_be_bytes()[skipped..]);
    }

    fn string(&mut self, value: &str) {
        self.scalar(0x80, value.as_bytes());
    }

    fn clob(&mut self, value: &[u8]) {
        self.scalar(0x90, value);
    }

    fn blob(&mut self, value: &[u8]) {
        self.scalar(0xa0, value);
    }

    fn begin(&mut self, container: Container) {
        let code = match container {
            Container::List => 0xb0,
            Container::SExp => 0xc0,
            Container::Struct => 0xd0,
        };
        let start = self.reserve();
        self.open.push(Frame::Container(code, start));
    }

    fn end(&mut self) {
        let Some(Frame::Container(code, start)) = self.open.pop() else {
            unreachable!("end follows begin");
        };
        self.patch_header(code, start);
        self.finish();
    }
}
