//! Text Ion straight into columns.

use super::column::{Column, Data, ListEntry, StructColumn};
use super::element::{fits, fits_signed};
use super::schema::Type;
use super::{Block, Parts, Root, number};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::plain_run;
use crate::text::{Context, Cursor};
use crate::value::Element;

/// Reads values of `block` from `at` until the batch has `target` rows.
pub(super) fn read(
    mut parts: Parts<'_>,
    block: &Block,
    at: &mut usize,
    target: usize,
    context: Context<'_>,
) -> Result<()> {
    let mut cursor = Cursor::new(&block.bytes, *at, true);
    if let Root::Records(records) = &mut parts.root
        && parts.annotations.is_none()
    {
        known_records(records, &mut cursor, block, target, context, at)?;
    }
    while parts.rows() < target {
        if !row(&mut parts, &mut cursor, block.in_list, context)? {
            *at = block.bytes.len();
            return Ok(());
        }
        *at = cursor.at;
    }
    Ok(())
}

/// Reads records whose ends are known: what is behind the last field asked for is not looked at.
fn known_records(
    records: &mut StructColumn,
    cursor: &mut Cursor<'_>,
    block: &Block,
    target: usize,
    context: Context<'_>,
    at: &mut usize,
) -> Result<()> {
    let first = block.ends.partition_point(|end| (*end as usize) < *at);
    for end in &block.ends[first..] {
        let end = *end as usize;
        if records.rows >= target || cursor.byte() != Some(b'{') {
            return Ok(());
        }
        if !records.read_text_fields(cursor, context, 1)? && cursor.at != end {
            return Err(cursor.unexpected("the end of the line after a record"));
        }
        cursor.at = end + 1;
        *at = cursor.at;
    }
    Ok(())
}

/// Steps to the value at or after `at`; false at the end of the block.
#[inline(always)]
pub(super) fn seek(cursor: &mut Cursor<'_>, in_list: bool) -> Result<bool> {
    cursor.space()?;
    if in_list && cursor.eat(b',') {
        cursor.space()?;
    }
    Ok(cursor.byte().is_some())
}

pub(super) fn element(
    block: &Block,
    at: usize,
    context: Context<'_>,
) -> Result<Option<(Element, usize)>> {
    let mut cursor = Cursor::new(&block.bytes, at, true);
    if !seek(&mut cursor, block.in_list)? {
        return Ok(None);
    }
    let element = cursor.element(context, 0)?;
    Ok(Some((element, cursor.at)))
}

pub(super) fn skip(block: &Block, at: usize) -> Result<usize> {
    let mut cursor = Cursor::new(&block.bytes, at, true);
    if seek(&mut cursor, block.in_list)? {
        cursor.skip_value()?;
    }
    Ok(cursor.at)
}

/// Reads one top-level value; false at the end of the block.
#[inline(always)]
fn row(
    parts: &mut Parts<'_>,
    cursor: &mut Cursor<'_>,
    in_list: bool,
    context: Context<'_>,
) -> Result<bool> {
    if !seek(cursor, in_list)? {
        return Ok(false);
    }
    let start = cursor.at;
    let direct = match (&mut parts.root, cursor.byte()) {
        (Root::Records(records), Some(b'{')) => {
            records.read_text(cursor, context, 1)?;
            true
        }
        (Root::Values(column), Some(b'[' | b'{')) => {
            column.read_text(cursor, context, 0)?;
            true
        }
        _ => false,
    };
    if !direct {
        let element = cursor.element(context, 0)?;
        parts.push(&element, start)?;
    } else if let Some(annotations) = &mut parts.annotations {
        annotations.push_annotations(&[]);
    }
    Ok(true)
}

impl StructColumn {
    /// Reads the struct whose brace is here as one row, to its end.
    #[inline]
    fn read_text(
        &mut self,
        cursor: &mut Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        match self.read_text_fields(cursor, context, depth)? {
            true => cursor.skip_open(1),
            false => Ok(()),
        }
    }

    /// Reads the struct whose brace is here as one row; true if all fields asked for were found
    /// before its end, and the cursor stands between fields.
    #[inline]
    fn read_text_fields(
        &mut self,
        cursor: &mut Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<bool> {
        cursor.at += 1;
        let (mut seen, mut taken) = (0, 0);
        let mut slot = 0;
        let wanted = self.fields.len();
        if wanted == 0 {
            self.finish_row(0);
            return Ok(true);
        }
        loop {
            cursor.space()?;
            let target = match self.order.expect(slot, cursor.bytes, cursor.at) {
                Some((length, target)) => {
                    cursor.at += length;
                    slot += 1;
                    target
                }
                None if cursor.eat(b'}') => break,
                None => self.find_text(cursor, context, &mut slot)?,
            };
            cursor.space()?;
            match target {
                Some(index) if self.is_open(index, &mut taken) => {
                    let read = self.fields[index].read_text(cursor, context, depth);
                    read.map_err(|error| self.blame(index, error))?;
                    seen += 1;
                }
                _ => cursor.skip_value()?,
            }
            if seen == wanted && cursor.byte() != Some(b'}') {
                self.finish_row(seen);
                return Ok(true);
            }
            match cursor.byte() {
                Some(b',') => cursor.at += 1,
                Some(b'}') => {
                    cursor.at += 1;
                    break;
                }
                _ => cursor.comma(b'}')?,
            }
        }
        self.finish_row(seen);
        Ok(false)
    }

    /// A field that is not the expected next one.
    #[cold]
    #[inline(never)]
    fn find_text(
        &mut self,
        cursor: &mut Cursor<'_>,
        context: Context<'_>,
        slot: &mut usize,
    ) -> Result<Option<usize>> {
        let start = cursor.at;
        if let Some(found) = self.order.search(*slot, cursor.bytes, start)
            && let Some((length, target)) = self.order.expect(found, cursor.bytes, start)
        {
            cursor.at += length;
            *slot = found + 1;
            return Ok(target);
        }
        let name = cursor.field_name(context)?;
        let target = name.text().and_then(|name| self.names.get(name)).copied();
        self.order.insert(*slot, &cursor.bytes[start..cursor.at], target);
        *slot += 1;
        Ok(target)
    }

    #[cold]
    pub(super) fn blame(&self, index: usize, error: Error) -> Error {
        error.within_column(self.name_of(index))
    }
}

impl Column {
    /// Reads the value here, which no white space precedes.
    #[inline]
    fn read_text(
        &mut self,
        cursor: &mut Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        if depth >= context.limits.depth {
            let allowed = context.limits.depth;
            return Err(Error::limit(
                cursor.at,
                format!("containers are nested deeper than {allowed}"),
            ));
        }
        let read = match &mut self.data {
            Data::Text(_) => self.read_string(cursor),
            Data::List(..) if cursor.byte() == Some(b'[') => {
                return self.read_list(cursor, context, depth + 1);
            }
            Data::Struct(fields) if cursor.byte() == Some(b'{') => {
                return fields.read_text(cursor, context, depth + 1);
            }
            _ => self.read_number(cursor.rest()),
        };
        if let Some(length) = read {
            cursor.at += length;
        } else if let Some((_, length)) = number::null(cursor.rest()) {
            cursor.at += length;
            self.push_null();
        } else {
            return self.read_tree(cursor, context, depth);
        }
        Ok(())
    }

    #[inline(always)]
    fn read_number(&mut self, rest: &[u8]) -> Option<usize> {
        match (&mut self.data, &self.column_type) {
            (Data::Int(values), Type::Int(bits)) => {
                let (value, length) = number::int(rest)?;
                values.push(Some(value).filter(|value| fits_signed(*value, *bits))?);
                Some(length)
            }
            (Data::Float(values), _) => {
                let (value, length) = number::float(rest)?;
                values.push(value);
                Some(length)
            }
            (Data::Decimal(values), Type::Decimal { precision, scale }) => {
                let (digits, digits_after, length) = number::decimal(rest)?;
                let shift = usize::from(*scale).checked_sub(digits_after)?;
                let units = digits.checked_mul(10i64.pow(shift as u32))?;
                values.push(Some(units).filter(|units| fits(i128::from(*units), *precision))?);
                Some(length)
            }
            (Data::Timestamp(values), _) => {
                let (value, length) = number::timestamp(rest)?;
                values.push(value);
                Some(length)
            }
            (Data::Date(values), _) => {
                let (value, length) = number::date(rest)?;
                values.push(value);
                Some(length)
            }
            (Data::Bool(values), _) => {
                let value = rest.starts_with(b"true");
                let length = if value { 4 } else { 5 };
                let whole = value || rest.starts_with(b"false");
                let ends = matches!(rest.get(length), Some(b',' | b'}' | b']'));
                (whole && ends).then(|| {
                    values.push(u8::from(value));
                    length
                })
            }
            _ => None,
        }
    }

    /// A string in double quotes without escapes.
    #[inline(always)]
    fn read_string(&mut self, cursor: &Cursor<'_>) -> Option<usize> {
        let Data::Text(text) = &mut self.data else { return None };
        if cursor.byte() != Some(b'"') || self.column_type != Type::String {
            return None;
        }
        let rest = &cursor.bytes[cursor.at + 1..];
        let (length, ascii) = plain_run(rest, b'"');
        let valid = ascii || std::str::from_utf8(&rest[..length]).is_ok();
        if rest.get(length) != Some(&b'"') || !valid {
            return None;
        }
        text.push_within(cursor.bytes, cursor.at + 1, length);
        Some(length + 2)
    }

    fn read_list(
        &mut self,
        cursor: &mut Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        let Data::List(entries, child) = &mut self.data else { return Ok(()) };
        cursor.at += 1;
        let offset = child.len();
        loop {
            cursor.space()?;
            if cursor.eat(b']') {
                break;
            }
            child.read_text(cursor, context, depth)?;
            match cursor.byte() {
                Some(b',') => cursor.at += 1,
                Some(b']') => {
                    cursor.at += 1;
                    break;
                }
                _ => cursor.comma(b']')?,
            }
        }
        let length = (child.len() - offset) as u64;
        entries.push(ListEntry { offset: offset as u64, length });
        Ok(())
    }

    /// The general way: as a tree.
    #[cold]
    #[inline(never)]
    fn read_tree(
        &mut self,
        cursor: &mut Cursor<'_>,
        context: Context<'_>,
        depth: usize,
    ) -> Result<()> {
        let start = cursor.at;
        let element = cursor.element(context, depth)?;
        self.push(&element).map_err(|why| Error::new(ErrorKind::Type, start as u64, why))
    }
}
