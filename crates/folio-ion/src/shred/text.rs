//! Reads text Ion directly into columns.
//!
//! Readers take and return their position as a number, so that it stays in a register. A [`Cursor`]
//! is used only for unusual input.

use super::column::{Column, Data, End, ListEntry, StructColumn, blame, push};
use super::element::fits_signed;
use super::schema::Type;
use super::{Block, Parts, Root, number};
use crate::error::{Error, ErrorKind, Result};
use crate::text::{Context, Cursor};
use crate::value::Element;

/// The bytes of a block and the context that they need.
struct Input<'a> {
    bytes: &'a [u8],
    context: Context<'a>,
}

impl<'a> Input<'a> {
    #[inline(always)]
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn cursor(&self, at: usize) -> Cursor<'a> {
        Cursor::new(self.bytes, at, true)
    }

    /// Runs `step` from `at` and returns the new position. Not inlined: rare code would push
    /// frequent code out of the registers.
    #[inline(never)]
    fn step(&self, at: usize, step: impl FnOnce(&mut Cursor<'a>) -> Result<()>) -> Result<usize> {
        let mut cursor = self.cursor(at);
        step(&mut cursor)?;
        Ok(cursor.at)
    }

    /// The end of white space and comments at `at`.
    #[inline(always)]
    fn space(&self, at: usize) -> Result<usize> {
        match self.byte(at) {
            Some(b'!'..=b'.' | b'0'..=b'~') => Ok(at),
            _ => self.step(at, Cursor::space),
        }
    }
}

/// Reads values of `block` from `at` until the batch has `target` rows.
pub(super) fn read(
    mut parts: Parts<'_>,
    block: &Block,
    at: &mut usize,
    target: usize,
    context: Context<'_>,
) -> Result<()> {
    let input = Input { bytes: &block.bytes, context };
    if let Root::Records(records) = &mut parts.root
        && parts.annotations.is_none()
    {
        known_records(records, &input, &block.ends, target, at)?;
    }
    while parts.rows() < target {
        match row(&mut parts, &input, *at, block.in_list)? {
            Some(end) => *at = end,
            None => {
                *at = block.bytes.len();
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads records that end at `ends`. Skips what follows the last wanted field.
fn known_records(
    records: &mut StructColumn,
    input: &Input<'_>,
    ends: &[u32],
    target: usize,
    at: &mut usize,
) -> Result<()> {
    let first = ends.partition_point(|end| (*end as usize) < *at);
    for end in &ends[first..] {
        let end = *end as usize;
        if records.rows >= target || input.byte(*at) != Some(b'{') {
            return Ok(());
        }
        let (stop, is_open) = records.read_text_fields(input, *at, 1)?;
        if !is_open && stop != end {
            return Err(input.cursor(stop).unexpected("the end of the line after a record"));
        }
        *at = end + 1;
    }
    Ok(())
}

/// Moves to the value at or after `at`; false at the end of the block.
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

/// Reads the top-level value at or after `at`. Returns its end; `None` at the end of the block.
#[inline(always)]
fn row(
    parts: &mut Parts<'_>,
    input: &Input<'_>,
    at: usize,
    in_list: bool,
) -> Result<Option<usize>> {
    let mut cursor = input.cursor(at);
    if !seek(&mut cursor, in_list)? {
        return Ok(None);
    }
    let start = cursor.at;
    let end = match (&mut parts.root, cursor.byte()) {
        (Root::Records(records), Some(b'{')) => records.read_text(input, start, 1)?,
        (Root::Values(column), Some(b'[' | b'{')) => column.read_text(input, start, 0)?,
        _ => {
            let element = cursor.element(input.context, 0)?;
            parts.push(&element, start)?;
            return Ok(Some(cursor.at));
        }
    };
    if let Some(annotations) = &mut parts.annotations {
        annotations.push_annotations(&[]);
    }
    Ok(Some(end))
}

/// Skips the value of a field that is not wanted.
fn skip_field(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.space()?;
    cursor.skip_value()
}

/// A field whose name is not the expected one, or the end of the struct.
struct Found {
    at: usize,
    /// The slot after its name's.
    slot: usize,
    /// Whether the names up to it were in the remembered order, possibly with some left out.
    in_order: bool,
    /// Its column, if the field is wanted; the outer `None` is the end of the struct.
    target: Option<Option<usize>>,
}

/// Which fields a row already has.
struct Row {
    /// The number of fields.
    seen: usize,
    /// A bit for each of the first 64.
    taken: u64,
}

impl StructColumn {
    /// Reads the struct whose brace is at `at` as one row. Returns its end.
    #[inline]
    fn read_text(&mut self, input: &Input<'_>, at: usize, depth: usize) -> Result<usize> {
        match self.read_text_fields(input, at, depth)? {
            (at, true) => input.step(at, |cursor| cursor.skip_open(1)),
            (end, false) => Ok(end),
        }
    }

    /// Reads the struct whose brace is at `at` as one row. Returns its end; or true and a position
    /// between fields, if all wanted fields were found before the end.
    #[inline]
    fn read_text_fields(
        &mut self,
        input: &Input<'_>,
        at: usize,
        depth: usize,
    ) -> Result<(usize, bool)> {
        let wanted = self.fields.len();
        if wanted == 0 {
            self.finish_row(0);
            return Ok((at + 1, true));
        }
        let brace = at;
        let mut at = at;
        let (mut slot, mut in_order) = (0, true);
        let mut row = Row { seen: 0, taken: 0 };
        loop {
            if in_order && (at == brace || input.byte(at) == Some(b',')) {
                at = self.read_run(input, at, depth, &mut slot, &mut row)?;
            }
            match input.byte(at) {
                _ if at == brace => at += 1,
                Some(b'}') => {
                    at += 1;
                    break;
                }
                _ if row.seen == wanted => {
                    self.finish_row(row.seen);
                    return Ok((at, true));
                }
                Some(b',') => at += 1,
                _ => at = input.step(at, |cursor| cursor.comma(b'}'))?,
            }
            let found = self.find_text(input, at, slot)?;
            (at, slot, in_order) = (found.at, found.slot, in_order && found.in_order);
            at = match found.target {
                Some(Some(index)) if self.is_open(index, &mut row.taken) => {
                    row.seen += 1;
                    self.read_field(input, at, depth, index)?
                }
                Some(_) => input.step(at, skip_field)?,
                None => break,
            };
        }
        self.finish_row(row.seen);
        Ok((at, false))
    }

    /// Reads fields with the names expected from `slot` on, after the brace or comma at `at`.
    /// Returns the end of the last one.
    #[inline(always)]
    fn read_run(
        &mut self,
        input: &Input<'_>,
        at: usize,
        depth: usize,
        slot: &mut usize,
        row: &mut Row,
    ) -> Result<usize> {
        let mut at = at;
        for expected in self.order.run(*slot) {
            let Some(value) = expected.end(input.bytes, at + 1) else { break };
            *slot += 1;
            at = match expected.target() {
                Some(index) => {
                    row.seen += 1;
                    row.taken |= expected.bit();
                    let read = self.fields[index].read_text(input, value, depth);
                    read.map_err(|error| blame(&self.names, index, error))?
                }
                None => input.step(value, skip_field)?,
            };
            if input.byte(at) != Some(b',') {
                break;
            }
        }
        Ok(at)
    }

    #[inline(never)]
    fn read_field(
        &mut self,
        input: &Input<'_>,
        at: usize,
        depth: usize,
        index: usize,
    ) -> Result<usize> {
        let read = self.fields[index].read_text(input, at, depth);
        read.map_err(|error| blame(&self.names, index, error))
    }

    /// Finds a name, or the end, at or after `at`, where the name in `slot` is not.
    #[inline(never)]
    fn find_text(&mut self, input: &Input<'_>, at: usize, slot: usize) -> Result<Found> {
        let mut cursor = input.cursor(at);
        cursor.space()?;
        let start = cursor.at;
        // With the space before it, then without.
        for start in [at, start] {
            if let Some(found) = self.order.search(slot, input.bytes, start)
                && let Some((at, target)) = self.order.expect(found, input.bytes, start)
            {
                let in_order = slot <= found && self.order.is_in_run(found);
                return Ok(Found { at, slot: found + 1, in_order, target: Some(target) });
            }
        }
        if cursor.eat(b'}') {
            return Ok(Found { at: cursor.at, slot, in_order: false, target: None });
        }
        let name = cursor.field_name(input.context)?;
        let target = name.text().and_then(|name| self.names.get(name)).copied();
        cursor.eat(b' ');
        let is_spaced = start == at + 1 && input.byte(at) == Some(b' ');
        let key = &input.bytes[start - usize::from(is_spaced)..cursor.at];
        self.order.insert(slot, key, target);
        Ok(Found { at: cursor.at, slot: slot + 1, in_order: false, target: Some(target) })
    }
}

impl Column {
    /// Reads the value at or after `at`. Returns its end.
    #[inline(always)]
    fn read_text(&mut self, input: &Input<'_>, at: usize, depth: usize) -> Result<usize> {
        if depth < input.context.limits.depth
            && let Some(end) = self.read_plain(input.bytes, at)
        {
            return Ok(end.get());
        }
        self.read_any_text(input, at, depth)
    }

    /// Appends the plain scalar at `at` and returns its end. `None` if it is not plain, or the
    /// column is full.
    #[inline(always)]
    fn read_plain(&mut self, bytes: &[u8], at: usize) -> Option<End> {
        match (&mut self.data, &self.column_type) {
            (Data::Text(text), Type::String) => text.push_quoted(bytes, at),
            (Data::Int(values), Type::Int(bits)) => push_int(values, bytes, at, *bits),
            (Data::Decimal(values), Type::Decimal { precision, scale }) => {
                push_decimal(values, bytes, at, *precision, *scale)
            }
            (Data::Float(values), _) => push_float(values, bytes, at),
            (Data::Timestamp(values), _) => push_timestamp(values, bytes, at),
            (Data::Date(values), _) => push_date(values, bytes, at),
            (Data::Bool(values), _) => push_bool(values, bytes, at),
            _ => None,
        }
    }

    /// The same for other values: containers, nulls, and values read as a tree.
    #[inline(never)]
    fn read_any_text(&mut self, input: &Input<'_>, at: usize, depth: usize) -> Result<usize> {
        let start = input.space(at)?;
        if depth >= input.context.limits.depth {
            let allowed = input.context.limits.depth;
            let message = format!("containers are nested deeper than {allowed}");
            return Err(Error::limit(start, message));
        }
        match (&mut self.data, input.byte(start)) {
            (Data::List(entries, child), Some(b'[')) => {
                return read_list(entries, child, input, start, depth + 1);
            }
            (Data::Struct(fields), Some(b'{')) => return fields.read_text(input, start, depth + 1),
            _ => {}
        }
        if start > at || self.make_room() {
            return self.read_text(input, start, depth);
        }
        if let Some((_, end)) = number::null(input.bytes, at) {
            self.push_null();
            return Ok(end);
        }
        let mut cursor = input.cursor(at);
        let element = cursor.element(input.context, depth)?;
        self.push(&element).map_err(|why| Error::new(ErrorKind::Type, at as u64, why))?;
        Ok(cursor.at)
    }
}

// One function per scalar type, so that each needs few registers.

#[inline(never)]
fn push_int(values: &mut Vec<i64>, bytes: &[u8], at: usize, bits: u8) -> Option<End> {
    push(values, || {
        let (value, end) = number::int(bytes, at)?;
        fits_signed(value, bits).then_some((value, end))
    })
}

#[inline(never)]
fn push_decimal(
    values: &mut Vec<i64>,
    bytes: &[u8],
    at: usize,
    precision: u8,
    scale: u8,
) -> Option<End> {
    push(values, || number::decimal(bytes, at, precision, scale))
}

#[inline(never)]
fn push_float(values: &mut Vec<f64>, bytes: &[u8], at: usize) -> Option<End> {
    push(values, || number::float(bytes, at))
}

#[inline(never)]
fn push_timestamp(values: &mut Vec<i64>, bytes: &[u8], at: usize) -> Option<End> {
    push(values, || number::timestamp(bytes, at))
}

#[inline(never)]
fn push_date(values: &mut Vec<i32>, bytes: &[u8], at: usize) -> Option<End> {
    push(values, || number::date(bytes, at))
}

#[inline(never)]
fn push_bool(values: &mut Vec<u8>, bytes: &[u8], at: usize) -> Option<End> {
    push(values, || number::boolean(bytes, at))
}

/// Reads the list whose bracket is at `at`. Returns its end.
fn read_list(
    entries: &mut Vec<ListEntry>,
    child: &mut Column,
    input: &Input<'_>,
    at: usize,
    depth: usize,
) -> Result<usize> {
    let mut at = at + 1;
    let offset = child.len();
    loop {
        at = input.space(at)?;
        if input.byte(at) == Some(b']') {
            at += 1;
            break;
        }
        at = child.read_text(input, at, depth)?;
        match input.byte(at) {
            Some(b',') => at += 1,
            Some(b']') => {
                at += 1;
                break;
            }
            _ => at = input.step(at, |cursor| cursor.comma(b']'))?,
        }
    }
    let length = (child.len() - offset) as u64;
    entries.push(ListEntry { offset: offset as u64, length });
    Ok(at)
}
