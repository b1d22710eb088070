//! Whole values, as trees.

use super::VERSION_MARKER;
use super::cursor::{Cursor, Header, Kind};
use crate::error::{Error, ErrorKind, Result};
use crate::symbol::Symbol;
use crate::text::{Context, TopLevel};
use crate::value::{Element, Int, IonType, Value};

const ANNOTATION_BYTE: u8 = 0xe0;

impl<'a> Cursor<'a> {
    /// The next item at the top level.
    pub(crate) fn top_level(&mut self, context: Context<'_>) -> Result<TopLevel> {
        loop {
            let start = self.at;
            let rest = self.bytes.get(start..).unwrap_or_default();
            if rest.is_empty() {
                return if self.last { Ok(TopLevel::End) } else { Err(self.end()) };
            }
            if rest[0] == ANNOTATION_BYTE {
                return self.version();
            }
            match self.element(self.bytes.len(), context, 0)? {
                // The marker has its own bytes; its name as a symbol has no meaning.
                Some(element) if element.unannotated_symbol() == Some("$ion_1_0") => {
                    return Ok(TopLevel::Nop);
                }
                Some(element) => return Ok(TopLevel::Element(element)),
                None => continue,
            }
        }
    }

    /// Skips a version marker.
    pub(crate) fn version(&mut self) -> Result<TopLevel> {
        let start = self.at;
        let Some(marker) = self.bytes.get(start..start + 4) else { return Err(self.end()) };
        if marker[3] != VERSION_MARKER[3] {
            return Err(Error::syntax(start, "a broken version marker"));
        }
        if marker != VERSION_MARKER {
            let message = format!(
                "the stream is marked as Ion {}.{}; only Ion 1.0 is supported",
                marker[1], marker[2]
            );
            return Err(Error::new(ErrorKind::Unsupported, start as u64, message));
        }
        self.at += 4;
        Ok(TopLevel::Version)
    }

    /// The value here, which ends before `limit`; `None` for padding.
    pub(crate) fn element(
        &mut self,
        limit: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<Option<Element>> {
        let start = self.at;
        let header = self.header(limit)?;
        if header.is_padding() {
            self.at = header.end;
            return Ok(None);
        }
        if header.kind != Kind::Annotation {
            return self.value(start, header, context, depth).map(|value| Some(value.into()));
        }
        let annotations = self.annotations(&header, context)?;
        let inner = self.header(header.end)?;
        let whole = inner.end == header.end && !inner.is_padding();
        if !whole || inner.kind == Kind::Annotation {
            return Err(Error::syntax(start, "annotations around something that is not one value"));
        }
        let value = self.value(start, inner, context, depth)?;
        Ok(Some(Element { annotations, value }))
    }

    /// The annotations of a wrapper whose header was read. The cursor is then at the value.
    pub(crate) fn annotations(
        &mut self,
        header: &Header,
        context: Context<'_>,
    ) -> Result<Vec<Symbol>> {
        let start = self.at;
        let length = self.var_uint()?;
        let end = self.at.saturating_add(length);
        if length == 0 || end >= header.end {
            return Err(Error::syntax(start, "an annotation wrapper of the wrong length"));
        }
        let mut annotations = Vec::new();
        while self.at < end {
            annotations.push(self.symbol(context)?);
        }
        if self.at != end {
            return Err(Error::syntax(start, "annotations reach beyond their end"));
        }
        Ok(annotations)
    }

    fn symbol(&mut self, context: Context<'_>) -> Result<Symbol> {
        let start = self.at;
        let id = self.var_uint()?;
        lookup(id, start, context)
    }

    fn value(
        &mut self,
        start: usize,
        header: Header,
        context: Context<'_>,
        depth: usize,
    ) -> Result<Value> {
        if header.is_null() {
            return Ok(Value::Null(null_type(header.kind)));
        }
        let end = header.end;
        let container = matches!(header.kind, Kind::List | Kind::SExp | Kind::Struct);
        if container && depth >= context.limits.depth {
            let allowed = context.limits.depth;
            return Err(Error::limit(
                start,
                format!("containers are nested deeper than {allowed}"),
            ));
        }
        match header.kind {
            Kind::Bool => Ok(Value::Bool(header.nibble == 1)),
            Kind::PositiveInt | Kind::NegativeInt => self.int(header, context).map(Value::Int),
            Kind::Float => self.float(end).map(Value::Float),
            Kind::Decimal => self.decimal(end, context.limits).map(Value::Decimal),
            Kind::Timestamp => self.timestamp(end, context.limits).map(Value::Timestamp),
            Kind::Symbol => {
                let id = self.take(end);
                let id = uint(id)
                    .ok_or_else(|| Error::syntax(start, "a symbol number is out of range"))?;
                lookup(id, start, context).map(Value::Symbol)
            }
            Kind::String => match std::str::from_utf8(self.take(end)) {
                Ok(text) => Ok(Value::String(text.to_owned())),
                Err(_) => Err(Error::syntax(start, "the text is not valid utf-8")),
            },
            Kind::Clob => Ok(Value::Clob(self.take(end).to_vec())),
            Kind::Blob => Ok(Value::Blob(self.take(end).to_vec())),
            Kind::List => self.elements(end, context, depth + 1).map(Value::List),
            Kind::SExp => self.elements(end, context, depth + 1).map(Value::SExp),
            Kind::Struct => self.fields(end, context, depth + 1).map(Value::Struct),
            Kind::Null | Kind::Annotation | Kind::Reserved => {
                Err(Error::syntax(start, "a reserved type code"))
            }
        }
    }

    fn int(&mut self, header: Header, context: Context<'_>) -> Result<Int> {
        let start = self.at;
        let negative = header.kind == Kind::NegativeInt;
        let bytes = self.take(header.end);
        if bytes.len() > context.limits.digit_count / 12 * 5 {
            return Err(Error::limit(start, "a number has too many digits"));
        }
        let int = Int::from_be_bytes(negative, bytes);
        if negative && int.is_zero() {
            return Err(Error::syntax(start, "a negative integer that is zero"));
        }
        Ok(int)
    }

    /// The float whose content ends at `end`.
    pub(crate) fn float(&mut self, end: usize) -> Result<f64> {
        let start = self.at;
        let bytes = self.take(end);
        if bytes.is_empty() {
            return Ok(0.0);
        }
        if let Ok(bytes) = bytes.try_into() {
            return Ok(f64::from_be_bytes(bytes));
        }
        match bytes.try_into() {
            Ok(bytes) => Ok(f64::from(f32::from_be_bytes(bytes))),
            Err(_) => Err(Error::syntax(start, "a float is neither 0, 4 nor 8 bytes long")),
        }
    }

    fn elements(&mut self, end: usize, context: Context<'_>, depth: usize) -> Result<Vec<Element>> {
        let mut elements = Vec::new();
        while self.at < end {
            elements.extend(self.element(end, context, depth)?);
        }
        Ok(elements)
    }

    fn fields(
        &mut self,
        end: usize,
        context: Context<'_>,
        depth: usize,
    ) -> Result<Vec<(Symbol, Element)>> {
        let mut fields = Vec::new();
        while self.at < end {
            let start = self.at;
            let id = self.var_uint()?;
            if self.at >= end {
                return Err(Error::syntax(start, "a struct ends after a field name"));
            }
            // The name of padding has no meaning and need not exist.
            if let Some(element) = self.element(end, context, depth)? {
                fields.push((lookup(id, start, context)?, element));
            }
        }
        Ok(fields)
    }
}

/// The unsigned integer of `bytes`, most significant first, if it fits.
pub(crate) fn uint(bytes: &[u8]) -> Option<usize> {
    let significant = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    if bytes.len() - significant > size_of::<usize>() {
        return None;
    }
    Some(bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

fn lookup(id: usize, start: usize, context: Context<'_>) -> Result<Symbol> {
    context.symbols.get(id).ok_or_else(|| {
        let message = format!("symbol number {id} is not in the symbol table");
        Error::new(ErrorKind::Symbol, start as u64, message)
    })
}

pub(crate) fn null_type(kind: Kind) -> IonType {
    match kind {
        Kind::Bool => IonType::Bool,
        Kind::PositiveInt | Kind::NegativeInt => IonType::Int,
        Kind::Float => IonType::Float,
        Kind::Decimal => IonType::Decimal,
        Kind::Timestamp => IonType::Timestamp,
        Kind::Symbol => IonType::Symbol,
        Kind::String => IonType::String,
        Kind::Clob => IonType::Clob,
        Kind::Blob => IonType::Blob,
        Kind::List => IonType::List,
        Kind::SExp => IonType::SExp,
        Kind::Struct => IonType::Struct,
        Kind::Null | Kind::Annotation | Kind::Reserved => IonType::Null,
    }
}
