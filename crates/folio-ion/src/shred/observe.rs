//! Inference without trees.
//!
//! Sampling must not cost more than the scan that it prepares. So common values are recognised by
//! their first bytes, and other values are read as a tree. Text is not checked here; the scan does
//! that.

use super::Block;
use super::infer::{Fields, Shape};
use crate::binary::{self, Header, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::symbol::Symbol;
use crate::text::{self, Context, after_value};

/// First bytes of binary values that tell inference everything: once one with the same type code
/// was seen, another changes nothing.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = match byte {
            // Booleans; integers of up to six bytes; floats; timestamps that are not dates.
            0x10 | 0x11 | 0x20..=0x26 | 0x31..=0x36 | 0x40 | 0x44 | 0x48 | 0x67..=0x6d => true,
            // Strings and blobs.
            0x80..=0x8e | 0xa0..=0xae => true,
            _ => false,
        };
        byte += 1;
    }
    plain
};

impl Shape {
    /// Observes the text value at the cursor and skips it.
    pub(super) fn observe_text(
        &mut self,
        cursor: &mut text::Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        if depth < context.limits.depth {
            match cursor.byte() {
                Some(b'"') => {
                    self.texts = true;
                    return cursor.skip_quoted(b'"');
                }
                Some(b'{') if cursor.ahead(1) != Some(b'{') => {
                    return self.structs.get_or_insert_default().observe_text(
                        cursor,
                        context,
                        depth + 1,
                    );
                }
                Some(b'[') => return self.observe_list(cursor, context, depth + 1),
                _ => {
                    if let Some(length) = self.observe_token(cursor.rest()) {
                        cursor.at += length;
                        return Ok(());
                    }
                }
            }
        }
        let element = cursor.element(context, depth)?;
        self.observe(&element);
        Ok(())
    }

    fn observe_list(
        &mut self,
        cursor: &mut text::Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        let child = self.lists.get_or_insert_default();
        cursor.at += 1;
        loop {
            cursor.space()?;
            if cursor.eat(b']') {
                return Ok(());
            }
            child.observe_text(cursor, context, depth)?;
            cursor.comma(b']')?;
        }
    }

    /// Observes a plain number, date, boolean or null at the start of `bytes`. Returns its length.
    fn observe_token(&mut self, bytes: &[u8]) -> Option<usize> {
        let length = bytes.iter().position(|byte| after_value(*byte) && *byte != b'/')?;
        let token = &bytes[..length];
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        let (mut point, mut exponent, mut plain) = (None, false, length < 19);
        for (at, byte) in digits.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {}
                b'.' if point.is_none() && at > 0 && !exponent => point = Some(at),
                b'e' | b'E' if !exponent && at > 0 => exponent = true,
                b'-' | b'+' if exponent && matches!(digits[at - 1], b'e' | b'E') => {}
                _ => plain = false,
            }
        }
        let leading = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
        let number = plain && digits.first().is_some_and(u8::is_ascii_digit) && !leading;
        match (number, point) {
            (true, _) if exponent => {
                digits.last().filter(|byte| byte.is_ascii_digit())?;
                self.floats = true;
            }
            // Floats represent all integers of so few digits.
            (true, None) if digits.len() <= 15 => self.widen_int(0),
            (true, None) => self.widen_int(std::str::from_utf8(digits).ok()?.parse().ok()?),
            (true, Some(point)) => {
                let significant = if digits[0] == b'0' { 0 } else { point };
                self.widen_decimal(significant as i64, (digits.len() - point - 1) as i64);
            }
            (false, _) => match token {
                b"true" | b"false" => self.bools = true,
                _ if super::number::date(bytes, 0).is_some() => self.dates = true,
                _ if super::number::timestamp(bytes, 0).is_some() => self.timestamps = true,
                _ => self.observe_null(super::number::null(bytes, 0)?.0),
            },
        }
        Some(length)
    }

    /// Observes the binary value at the cursor and skips it.
    pub(super) fn observe_binary(
        &mut self,
        cursor: &mut binary::Cursor<'_>,
        limit: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        let start = cursor.at;
        let header = cursor.header(limit)?;
        if header.is_null() || header.is_padding() {
            self.observe_null(binary::null_type(header.kind));
            cursor.at = header.end;
            return Ok(());
        }
        if depth < context.limits.depth && self.observe_content(cursor, header, context, depth)? {
            return Ok(());
        }
        cursor.at = start;
        if let Some(element) = cursor.element(limit, context, depth)? {
            self.observe(&element);
        }
        Ok(())
    }

    /// True if the header determines the kind of the value.
    fn observe_content(
        &mut self,
        cursor: &mut binary::Cursor<'_>,
        header: Header,
        context: Context<'_>,
        depth: usize,
    ) -> Result<bool> {
        match header.kind {
            Kind::Bool => self.bools = true,
            Kind::String => self.texts = true,
            Kind::Blob => self.blobs = true,
            Kind::Float => self.floats = true,
            Kind::PositiveInt | Kind::NegativeInt if header.end - cursor.at < 8 => {
                let bytes = &cursor.bytes[cursor.at..header.end];
                let magnitude = bytes.iter().fold(0, |value, byte| value << 8 | i64::from(*byte));
                self.widen_int(magnitude);
            }
            Kind::Decimal if self.observe_decimal(&cursor.bytes[cursor.at..header.end]) => {}
            // A date ends after its third field.
            Kind::Timestamp if header.end - cursor.at >= 7 => self.timestamps = true,
            Kind::Struct => {
                let fields = self.structs.get_or_insert_default();
                fields.observe_binary(cursor, header.end, context, depth + 1)?;
            }
            Kind::List => {
                let child = self.lists.get_or_insert_default();
                while cursor.at < header.end {
                    child.observe_binary(cursor, header.end, context, depth + 1)?;
                }
            }
            _ => return Ok(false),
        }
        cursor.at = header.end;
        Ok(true)
    }

    /// A decimal with a one-byte exponent of at most zero and a coefficient of up to seven bytes.
    fn observe_decimal(&mut self, content: &[u8]) -> bool {
        let Some((&exponent, coefficient)) = content.split_first() else { return false };
        let negative_exponent = exponent & 0xc0 == 0xc0;
        if !(negative_exponent || exponent == 0x80) || coefficient.len() > 7 {
            return false;
        }
        let magnitude = coefficient.iter().enumerate().fold(0u64, |value, (index, byte)| {
            value << 8 | u64::from(if index == 0 { byte & 0x7f } else { *byte })
        });
        let after = i64::from(exponent & 0x3f);
        let digits = magnitude.checked_ilog10().map_or(0, |log| i64::from(log) + 1);
        self.widen_decimal((digits - after).max(0), after);
        true
    }
}

impl Fields {
    fn observe_text(
        &mut self,
        cursor: &mut text::Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        cursor.at += 1;
        self.occurrences += 1;
        let mut slot = 0;
        loop {
            cursor.space()?;
            if cursor.eat(b'}') {
                return Ok(());
            }
            let index = match self.order.expect(slot, cursor.bytes, cursor.at) {
                Some((end, Some(index))) => {
                    cursor.at = end;
                    self.appearances += 1;
                    slot += 1;
                    index
                }
                _ => self.find_text(cursor, context, &mut slot)?,
            };
            cursor.space()?;
            let (name, shape) = &mut self.fields[index];
            shape
                .observe_text(cursor, context, depth)
                .map_err(|error| error.within_column(name))?;
            cursor.comma(b'}')?;
        }
    }

    fn find_text(
        &mut self,
        cursor: &mut text::Cursor<'_>,
        context: Context<'_>,
        slot: &mut usize,
    ) -> Result<usize> {
        let start = cursor.at;
        let name = cursor.field_name(context)?;
        let index = self.index_of(text_of(&name, start)?);
        let known = self.order.search(*slot, cursor.bytes, start);
        match known {
            Some(found) => *slot = found + 1,
            None => {
                self.order.insert(*slot, &cursor.bytes[start..cursor.at], Some(index));
                *slot += 1;
            }
        }
        Ok(index)
    }

    fn observe_binary(
        &mut self,
        cursor: &mut binary::Cursor<'_>,
        end: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        self.occurrences += 1;
        loop {
            self.skip_known(cursor, end);
            if cursor.at >= end {
                return Ok(());
            }
            let start = cursor.at;
            let number = cursor.var_uint()?;
            let known = self.numbers.get(number).copied().unwrap_or(0);
            let index = match known {
                0 => {
                    // The general path reports a number without a symbol.
                    let Some(symbol) = context.symbols.get(number) else {
                        cursor.at = start;
                        return Err(Error::new(
                            ErrorKind::Symbol,
                            start as u64,
                            format!("symbol number {number} is not in the symbol table"),
                        ));
                    };
                    let index = self.index_of(text_of(&symbol, start)?);
                    if self.numbers.len() <= number {
                        self.numbers.resize(number + 1, 0);
                    }
                    self.numbers[number] = index as u32 + 1;
                    index
                }
                known => {
                    self.appearances += 1;
                    known as usize - 1
                }
            };
            let head = cursor.bytes.get(cursor.at).copied().unwrap_or_default();
            let (name, shape) = &mut self.fields[index];
            shape
                .observe_binary(cursor, end, context, depth)
                .map_err(|error| error.within_column(name))?;
            if PLAIN[usize::from(head)] {
                shape.known_heads |= 1 << (head >> 4);
            }
        }
    }

    /// Skips fields whose first bytes add no information.
    #[inline]
    fn skip_known(&mut self, cursor: &mut binary::Cursor<'_>, end: usize) {
        while let Some([name, head]) = cursor.bytes[..end].get(cursor.at..cursor.at + 2)
            && name & 0x80 != 0
            && PLAIN[usize::from(*head)]
            && let Some(known) = self.numbers.get(usize::from(name & 0x7f))
            && let Some((_, shape)) = self.fields.get((*known as usize).wrapping_sub(1))
            && shape.known_heads >> (head >> 4) & 1 == 1
            && let Some(next) = binary::value_end(&cursor.bytes[..end], cursor.at + 1)
        {
            self.appearances += 1;
            cursor.at = next;
        }
    }
}

/// The text of a field's name.
fn text_of(name: &Symbol, at: usize) -> Result<&str> {
    name.text().ok_or_else(|| {
        let message = "a field's name is a symbol without text; write the file without imports";
        Error::new(ErrorKind::Symbol, at as u64, message)
    })
}

/// Observes the value of `block` at `at`. Returns the start of the next one, or `None` at the end.
pub(super) fn observe(
    shape: &mut Shape,
    block: &Block,
    at: usize,
    context: Context<'_>,
) -> Result<Option<usize>> {
    match block.encoding {
        crate::Encoding::Text => {
            let mut cursor = text::Cursor::new(&block.bytes, at, true);
            if !super::text::seek(&mut cursor, block.in_list)? {
                return Ok(None);
            }
            shape.observe_text(&mut cursor, context, 0)?;
            Ok(Some(cursor.at))
        }
        crate::Encoding::Binary => {
            let mut cursor = binary::Cursor::new(&block.bytes, at, true);
            if at >= block.bytes.len() {
                return Ok(None);
            }
            shape.observe_binary(&mut cursor, block.bytes.len(), context, 0)?;
            Ok(Some(cursor.at))
        }
    }
}
