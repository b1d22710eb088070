//! Binary Ion straight into columns.

use super::column::{Column, Data, ListEntry, StructColumn};
use super::element::{fits, fits_signed};
use super::number::month_is_long;
use super::schema::Type;
use super::{Block, Parts, Root};
use crate::binary::{Cursor, Header, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::symbol::SymbolTable;
use crate::text::Context;
use crate::value::{Element, days_from_civil};
use std::sync::Arc;

/// Reads values of `block` from `at` until the batch has `target` rows.
pub(super) fn read(
    mut parts: Parts<'_>,
    block: &Block,
    at: &mut usize,
    target: usize,
    context: Context<'_>,
) -> Result<()> {
    if parts.symbols.as_ref().is_none_or(|numbered| !Arc::ptr_eq(numbered, &block.symbols)) {
        match &mut parts.root {
            Root::Records(records) => records.number(&block.symbols),
            Root::Values(column) => column.number(&block.symbols),
        }
        *parts.symbols = Some(block.symbols.clone());
    }
    let mut cursor = Cursor::new(&block.bytes, *at, true);
    while parts.rows() < target && cursor.at < block.bytes.len() {
        row(&mut parts, &mut cursor, context)?;
        *at = cursor.at;
    }
    Ok(())
}

pub(super) fn element(
    block: &Block,
    at: usize,
    context: Context<'_>,
) -> Result<Option<(Element, usize)>> {
    let mut cursor = Cursor::new(&block.bytes, at, true);
    while cursor.at < block.bytes.len() {
        if let Some(element) = cursor.element(block.bytes.len(), context, 0)? {
            return Ok(Some((element, cursor.at)));
        }
    }
    Ok(None)
}

pub(super) fn skip(block: &Block, at: usize) -> Result<usize> {
    let mut cursor = Cursor::new(&block.bytes, at, true);
    cursor.header(block.bytes.len()).map(|header| header.end)
}

#[inline(always)]
fn row(parts: &mut Parts<'_>, cursor: &mut Cursor<'_>, context: Context<'_>) -> Result<()> {
    let start = cursor.at;
    let header = cursor.header(cursor.bytes.len())?;
    if header.is_padding() {
        cursor.at = header.end;
        return Ok(());
    }
    match &mut parts.root {
        Root::Records(records) if header.kind == Kind::Struct && !header.is_null() => {
            records.read_binary(cursor, header.end, context, 1)?;
        }
        _ => {
            cursor.at = start;
            let element = cursor.element(cursor.bytes.len(), context, 0)?;
            return element.map_or(Ok(()), |element| parts.push(&element, start));
        }
    }
    if let Some(annotations) = &mut parts.annotations {
        annotations.push_annotations(&[]);
    }
    Ok(())
}

impl StructColumn {
    /// Prepares the way from symbol numbers to fields, here and in every struct below.
    fn number(&mut self, symbols: &SymbolTable) {
        let field = |name: Option<&str>| name.and_then(|name| self.names.get(name));
        let numbers = symbols
            .symbols()
            .iter()
            .map(|symbol| field(symbol.text()).map_or(0, |index| *index as u32 + 1));
        self.numbers = numbers.collect();
        self.fields.iter_mut().for_each(|field| field.number(symbols));
    }

    /// Reads the struct whose content is here and ends at `end` as one row.
    #[inline]
    fn read_binary(
        &mut self,
        cursor: &mut Cursor<'_>,
        end: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        let (mut seen, mut taken) = (0, 0);
        let wanted = self.fields.len();
        while seen < wanted && cursor.at < end {
            let start = cursor.at;
            let number = cursor.var_uint()?;
            let Some(&target) = self.numbers.get(number) else {
                return unknown(cursor, start, end, number);
            };
            if target == 0 {
                let header = cursor.header(end)?;
                cursor.at = header.end;
                continue;
            }
            let index = target as usize - 1;
            if !self.is_open(index, &mut taken) {
                cursor.at = cursor.header(end)?.end;
                continue;
            }
            match self.fields[index].read_binary(cursor, end, context, depth) {
                Ok(true) => seen += 1,
                // Padding; the field may still come.
                Ok(false) => taken &= !1u64.checked_shl(index as u32).unwrap_or(0),
                Err(error) => return Err(self.blame(index, error)),
            }
        }
        cursor.at = end;
        self.finish_row(seen);
        Ok(())
    }
}

#[cold]
fn unknown(cursor: &Cursor<'_>, start: usize, end: usize, number: usize) -> Result<()> {
    if cursor.at > end {
        return Err(Error::syntax(start, "a struct ends inside a field name"));
    }
    let message = format!("symbol number {number} is not in the symbol table");
    Err(Error::new(ErrorKind::Symbol, start as u64, message))
}

impl Column {
    fn number(&mut self, symbols: &SymbolTable) {
        match &mut self.data {
            Data::Struct(fields) => fields.number(symbols),
            Data::List(_, child) => child.number(symbols),
            Data::Map(_, map) => map.values.number(symbols),
            _ => {}
        }
    }

    /// Reads the value here, which ends before `limit`; false if it is padding.
    #[inline]
    fn read_binary(
        &mut self,
        cursor: &mut Cursor<'_>,
        limit: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<bool> {
        let start = cursor.at;
        let header = cursor.header(limit)?;
        if header.is_null() {
            self.push_null();
            return Ok(true);
        }
        if header.is_padding() {
            cursor.at = header.end;
            return Ok(false);
        }
        if depth >= context.limits.depth {
            let allowed = context.limits.depth;
            return Err(Error::limit(
                start,
                format!("containers are nested deeper than {allowed}"),
            ));
        }
        match (&mut self.data, header.kind) {
            (Data::Struct(fields), Kind::Struct) => {
                fields.read_binary(cursor, header.end, context, depth + 1)?;
                return Ok(true);
            }
            (Data::List(..), Kind::List | Kind::SExp) => {
                self.read_elements(cursor, header.end, context, depth + 1)?;
                return Ok(true);
            }
            _ => {}
        }
        let content = &cursor.bytes[cursor.at..header.end];
        if self.read_scalar(content, header, cursor.bytes, cursor.at).is_some() {
            cursor.at = header.end;
            return Ok(true);
        }
        cursor.at = start;
        let element = cursor.element(limit, context, depth)?;
        let Some(element) = element else { return Ok(false) };
        self.push(&element).map_err(|why| Error::new(ErrorKind::Type, start as u64, why))?;
        Ok(true)
    }

    fn read_elements(
        &mut self,
        cursor: &mut Cursor<'_>,
        end: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        let Data::List(entries, child) = &mut self.data else { return Ok(()) };
        let offset = child.len();
        while cursor.at < end {
            child.read_binary(cursor, end, context, depth)?;
        }
        let length = (child.len() - offset) as u64;
        entries.push(ListEntry { offset: offset as u64, length });
        Ok(())
    }

    /// A scalar whose encoded type is the one expected; nothing if it is another.
    #[inline(always)]
    fn read_scalar(
        &mut self,
        content: &[u8],
        header: Header,
        bytes: &[u8],
        at: usize,
    ) -> Option<()> {
        match (&mut self.data, &self.column_type, header.kind) {
            (Data::Int(values), Type::Int(bits), Kind::PositiveInt | Kind::NegativeInt) => {
                let value = small_int(content, header.kind, bytes, at)?;
                if !fits_signed(value, *bits) {
                    return None;
                }
                values.push(value);
            }
            (Data::Float(values), _, Kind::Float) => {
                values.push(f64::from_be_bytes(content.try_into().ok()?));
            }
            (Data::Text(text), Type::String, Kind::String) => {
                if !content.is_ascii() && std::str::from_utf8(content).is_err() {
                    return None;
                }
                text.push_within(bytes, at, content.len());
            }
            (Data::Text(text), Type::Blob, Kind::Blob) => {
                text.push_within(bytes, at, content.len());
            }
            (Data::Bool(values), _, Kind::Bool) => values.push(header.nibble),
            (Data::Decimal(values), Type::Decimal { precision, scale }, Kind::Decimal) => {
                let units = small_decimal(content, *scale)?;
                values.push(Some(units).filter(|units| fits(i128::from(*units), *precision))?);
            }
            (Data::Timestamp(values), _, Kind::Timestamp) => values.push(small_timestamp(content)?),
            _ => return None,
        }
        Some(())
    }
}

/// An integer of up to seven bytes.
#[inline(always)]
fn small_int(content: &[u8], kind: Kind, bytes: &[u8], at: usize) -> Option<i64> {
    let length = content.len();
    if length == 0 || length > 7 {
        return (length == 0 && kind == Kind::PositiveInt).then_some(0);
    }
    let magnitude = match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(word) => (u64::from_be_bytes(*word) >> (64 - 8 * length)) as i64,
        None => content.iter().fold(0, |value, byte| value << 8 | i64::from(*byte)),
    };
    match kind {
        Kind::PositiveInt => Some(magnitude),
        // A negative zero is an error, which the general way reports.
        _ => (magnitude != 0).then_some(-magnitude),
    }
}

const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// A decimal of up to seven bytes with a one-byte exponent, in units of `10^-scale`.
#[inline(always)]
fn small_decimal(content: &[u8], scale: u8) -> Option<i64> {
    let (&exponent, coefficient) = content.split_first()?;
    if exponent < 0x80 || coefficient.len() > 7 {
        return None;
    }
    let magnitude = i32::from(exponent & 0x3f);
    let exponent = if exponent & 0x40 == 0 { magnitude } else { -magnitude };
    let shift = u32::try_from(exponent + i32::from(scale)).ok()?;
    let mut value = 0i64;
    for (index, byte) in coefficient.iter().enumerate() {
        let byte = if index == 0 { byte & 0x7f } else { *byte };
        value = value << 8 | i64::from(byte);
    }
    let negative = coefficient.first().is_some_and(|byte| byte & 0x80 != 0);
    let units = value.checked_mul(*POWERS.get(shift as usize)?)?;
    Some(if negative { -units } else { units })
}

/// A timestamp to the second or to a fraction of up to six digits, in microseconds since the epoch.
#[inline(always)]
fn small_timestamp(content: &[u8]) -> Option<i64> {
    // Offset in one or two bytes, then year in two and five fields of one.
    let offset = usize::from(*content.first()? < 0x80);
    let fields = content.get(1 + offset..)?;
    let head = fields.first_chunk::<7>()?;
    if head[0] >= 0x80 || head[1..].iter().any(|byte| *byte < 0x80) {
        return None;
    }
    let year = i64::from(head[0]) << 7 | i64::from(head[1] & 0x7f);
    let [month, day, hour, minute, second] = [2, 3, 4, 5, 6].map(|at| head[at] & 0x7f);
    // Years at either end may leave the calendar in local time.
    let plain = (2..=9_998).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (day < 29 || (month != 2 && (day < 31 || month_is_long(month))))
        && hour < 24
        && minute < 60
        && second < 60;
    if !plain || (offset == 1 && (content[1] < 0x80 || content[0] & 0x3f > 10)) {
        return None;
    }
    let fraction = small_fraction(&fields[7..])?;
    let days = days_from_civil(year, month, day);
    let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    Some((days * 86_400 + seconds) * 1_000_000 + fraction)
}

#[inline(always)]
fn small_fraction(content: &[u8]) -> Option<i64> {
    let Some((&exponent, coefficient)) = content.split_first() else { return Some(0) };
    let digits = u32::from(exponent & 0x3f);
    if exponent & 0xc0 != 0xc0 || !(1..=6).contains(&digits) || coefficient.len() > 4 {
        return None;
    }
    if coefficient.first().is_some_and(|byte| byte & 0x80 != 0) {
        return None;
    }
    let value = coefficient.iter().fold(0, |value, byte| value << 8 | i64::from(*byte));
    (value < 10i64.pow(digits)).then(|| value * 10i64.pow(6 - digits))
}
