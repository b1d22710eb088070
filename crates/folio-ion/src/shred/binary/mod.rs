//! Reads binary Ion directly into columns.
//!
//! Records of a block are read one column at a time ([`columnwise`]), or one by one if that fails.
//! A field is first tried as the short scalar that its column expects ([`scalar`]), which takes one
//! load and no header. Containers, nulls and unexpected values take the general path of
//! [`Column::read_other`].

mod columnwise;
mod scalar;

use super::column::{Column, Data, ListEntry, StructColumn, blame};
use super::schema::Type;
use super::{Block, Parts, Root};
use crate::binary::{Cursor, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::symbol::SymbolTable;
use crate::text::Context;
use crate::value::Element;
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
    if let Root::Records(records) = &mut parts.root
        && parts.annotations.is_none()
    {
        records.read_columns(&mut cursor, &block.ends, target, context);
        *at = cursor.at;
    }
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
    /// Prepares the mapping from symbol numbers to fields, here and in nested structs.
    fn number(&mut self, symbols: &SymbolTable) {
        let field = |name: Option<&str>| name.and_then(|name| self.names.get(name));
        let number = |id| field(symbols.text(id)).map_or(0, |index| *index as u32 + 1);
        self.numbers = (0..symbols.len()).map(number).collect();
        self.fields.iter_mut().for_each(|field| field.number(symbols));
    }

    /// Reads the struct with its content here, up to `end`, as one row.
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
                cursor.at = cursor.header(end)?.end;
                continue;
            }
            let index = target as usize - 1;
            if !self.is_open(index, &mut taken) {
                cursor.at = cursor.header(end)?.end;
                continue;
            }
            match self.fields[index].read_binary(cursor, end, context, depth) {
                Ok(true) => seen += 1,
                // Padding; the field may still follow.
                Ok(false) => taken &= !1u64.checked_shl(index as u32).unwrap_or(0),
                Err(error) => return Err(blame(&self.names, index, error)),
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
    #[inline(always)]
    fn read_binary(
        &mut self,
        cursor: &mut Cursor<'_>,
        limit: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<bool> {
        if depth < context.limits.depth
            && let Some(end) = self.read_scalar(cursor.bytes, cursor.at, limit)
        {
            cursor.at = end;
            return Ok(true);
        }
        self.read_other(cursor, limit, context, depth)
    }

    fn read_other(
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
            (Data::Text(text), Kind::String) if matches!(self.column_type, Type::String) => {
                let content = &cursor.bytes[cursor.at..header.end];
                if std::str::from_utf8(content).is_ok() {
                    text.push(content);
                    cursor.at = header.end;
                    return Ok(true);
                }
            }
            _ => {}
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
}
