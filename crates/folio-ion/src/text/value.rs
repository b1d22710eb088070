//! Whole values, as trees.

use super::cursor::{Cursor, is_identifier_start};
use super::number::is_stop;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::symbol::{Symbol, SymbolTable};
use crate::value::{Element, IonType, Value};

/// The context that a value's meaning depends on.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) symbols: &'a SymbolTable,
    pub(crate) limits: &'a Limits,
}

/// An item at the top level of a stream.
pub(crate) enum TopLevel {
    /// The end.
    End,
    /// A version marker, which resets the symbol table.
    Version,
    /// The symbol `$ion_1_0` in a form that is not the marker. It has no meaning.
    Nop,
    /// A value, or the definition of a symbol table.
    Element(Element),
}

/// A symbol as written: `$10` is a number in the table, and only bare words can be keywords.
enum Word<'a> {
    Bare(&'a str),
    Quoted(String),
}

const OPERATORS: &[u8] = b"!#%&*+-./;<=>?@^`|~";

impl<'a> Cursor<'a> {
    /// The next item at the top level.
    pub(crate) fn top_level(&mut self, context: Context<'_>) -> Result<TopLevel> {
        self.space()?;
        if self.byte().is_none() {
            return if self.last { Ok(TopLevel::End) } else { Err(self.end()) };
        }
        let start = self.at;
        // Only the bare name is a marker: not quoted, and not a symbol number.
        let bare = self.rest().starts_with(b"$ion_");
        let element = self.element(context, 0)?;
        match element.unannotated_symbol() {
            Some("$ion_1_0") if bare => Ok(TopLevel::Version),
            Some("$ion_1_0") => Ok(TopLevel::Nop),
            Some(text) if bare && is_version(text) => {
                let message = format!("the stream is marked `{text}`; only Ion 1.0 is supported");
                Err(Error::new(ErrorKind::Unsupported, start as u64, message))
            }
            _ => Ok(TopLevel::Element(element)),
        }
    }

    /// The value here, after optional white space.
    pub(crate) fn element(&mut self, context: Context<'_>, depth: usize) -> Result<Element> {
        self.annotated(context, depth, false)
    }

    /// A value with its annotations; in an s-expression it may be an operator.
    fn annotated(
        &mut self,
        context: Context<'_>,
        depth: usize,
        operators: bool,
    ) -> Result<Element> {
        self.space()?;
        let mut annotations = Vec::new();
        loop {
            let start = self.at;
            let Some(word) = self.word()? else { break };
            if self.colons()? {
                annotations.push(self.annotation(&word, start, context)?);
                self.space()?;
                continue;
            }
            let value = self.word_value(&word, start, context)?;
            return Ok(Element { annotations, value });
        }
        let operator = if operators { self.operator()? } else { None };
        let value = match operator {
            Some(operator) => Value::Symbol(operator),
            None => self.value(context, depth)?,
        };
        Ok(Element { annotations, value })
    }

    /// The symbol or keyword here, if there is one.
    fn word(&mut self) -> Result<Option<Word<'a>>> {
        match self.need()? {
            b'\'' if !self.looking_at(b"'''")? => {
                Ok(Some(Word::Quoted(self.quoted(b'\'')?.into_owned())))
            }
            byte if is_identifier_start(byte) => Ok(Some(Word::Bare(self.identifier()?))),
            _ => Ok(None),
        }
    }

    fn annotation(&self, word: &Word<'_>, start: usize, context: Context<'_>) -> Result<Symbol> {
        match word {
            Word::Bare(text) if is_keyword(text) => {
                let message = format!("`{text}` cannot be an annotation; quote it");
                Err(Error::syntax(start, message))
            }
            _ => symbol(word, start, context),
        }
    }

    fn word_value(&mut self, word: &Word<'_>, start: usize, context: Context<'_>) -> Result<Value> {
        match word {
            Word::Bare("true") => Ok(Value::Bool(true)),
            Word::Bare("false") => Ok(Value::Bool(false)),
            Word::Bare("nan") => Ok(Value::Float(f64::NAN)),
            Word::Bare("null") => Ok(Value::Null(self.null_type()?)),
            word => symbol(word, start, context).map(Value::Symbol),
        }
    }

    /// The type after `null`, if one is named.
    fn null_type(&mut self) -> Result<IonType> {
        if !self.eat(b'.') {
            return Ok(IonType::Null);
        }
        let start = self.at;
        let name = self.identifier()?;
        let found = IonType::ALL.into_iter().find(|ion_type| ion_type.name() == name);
        found.ok_or_else(|| Error::syntax(start, format!("`null.{name}` is not a type of null")))
    }

    fn value(&mut self, context: Context<'_>, depth: usize) -> Result<Value> {
        let byte = self.need()?;
        match byte {
            b'"' => Ok(Value::String(self.quoted(b'"')?.into_owned())),
            b'\'' => Ok(Value::String(self.long_strings()?)),
            b'{' if self.looking_at(b"{{")? => self.lob(),
            b'[' | b'(' | b'{' if depth >= context.limits.depth => {
                let allowed = context.limits.depth;
                Err(Error::limit(self.at, format!("containers are nested deeper than {allowed}")))
            }
            b'[' => self.list(context, depth + 1),
            b'(' => self.expression(context, depth + 1),
            b'{' => self.structure(context, depth + 1),
            b'+' | b'-' if self.infinity()?.is_some() => {
                self.at += 4;
                Ok(Value::Float(if byte == b'-' { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            b'-' | b'0'..=b'9' => self.number(context.limits),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// `Some` if `+inf` or `-inf` is here as a whole word.
    fn infinity(&self) -> Result<Option<()>> {
        if !self.looking_at(b"+inf")? && !self.looking_at(b"-inf")? {
            return Ok(None);
        }
        let after = self.ahead(4);
        if after.is_none() && !self.last {
            return Err(self.end());
        }
        Ok(after.is_none_or(is_stop).then_some(()))
    }

    fn list(&mut self, context: Context<'_>, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.space()?;
            if self.eat(b']') {
                return Ok(Value::List(elements));
            }
            elements.push(self.element(context, depth)?);
            self.comma(b']')?;
        }
    }

    fn structure(&mut self, context: Context<'_>, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut fields = Vec::new();
        loop {
            self.space()?;
            if self.eat(b'}') {
                return Ok(Value::Struct(fields));
            }
            let name = self.field_name(context)?;
            fields.push((name, self.element(context, depth)?));
            self.comma(b'}')?;
        }
    }

    /// A field's name and the colon after it.
    pub(crate) fn field_name(&mut self, context: Context<'_>) -> Result<Symbol> {
        let start = self.at;
        let name = match self.need()? {
            b'"' => Symbol::from(&*self.quoted(b'"')?),
            b'\'' if self.looking_at(b"'''")? => Symbol::from(self.long_strings()?.as_str()),
            _ => match self.word()? {
                Some(Word::Bare(text)) if is_keyword(text) => {
                    let message = format!("`{text}` cannot be a field name; quote it");
                    return Err(Error::syntax(start, message));
                }
                Some(word) => symbol(&word, start, context)?,
                None => return Err(self.unexpected("a field name")),
            },
        };
        self.space()?;
        if !self.eat(b':') {
            return Err(self.unexpected("`:` after a field name"));
        }
        if self.need()? == b':' {
            return Err(self.unexpected("a single colon after a field name"));
        }
        Ok(name)
    }

    /// The comma after an element, which may be missing before `close`.
    pub(crate) fn comma(&mut self, close: u8) -> Result<()> {
        self.space()?;
        if self.eat(b',') || self.need()? == close {
            return Ok(());
        }
        Err(self.unexpected(&format!("`,` or `{}`", close as char)))
    }

    fn expression(&mut self, context: Context<'_>, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.space()?;
            if self.eat(b')') {
                return Ok(Value::SExp(elements));
            }
            elements.push(self.annotated(context, depth, true)?);
        }
    }

    /// The operator symbol here, if there is one. A sign before a number is not one.
    fn operator(&mut self) -> Result<Option<Symbol>> {
        let first = self.need()?;
        if !OPERATORS.contains(&first) {
            return Ok(None);
        }
        if self.ahead(1).is_none() {
            return Err(self.end());
        }
        let number = first == b'-' && self.ahead(1).is_some_and(|byte| byte.is_ascii_digit());
        if number || (matches!(first, b'+' | b'-') && self.infinity()?.is_some()) {
            return Ok(None);
        }
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| OPERATORS.contains(byte)).count();
        self.at += length;
        self.need()?;
        let text = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        Ok(Some(Symbol::from(text)))
    }
}

fn is_keyword(text: &str) -> bool {
    matches!(text, "null" | "true" | "false" | "nan")
}

/// Whether `text` is `$ion_`, digits, `_`, digits.
fn is_version(text: &str) -> bool {
    let numbers = text.strip_prefix("$ion_").and_then(|rest| rest.split_once('_'));
    let all_digits =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(major, minor)| all_digits(major) && all_digits(minor))
}

fn symbol(word: &Word<'_>, start: usize, context: Context<'_>) -> Result<Symbol> {
    let text = match word {
        Word::Quoted(text) => return Ok(Symbol::from(text.as_str())),
        Word::Bare(text) => *text,
    };
    let number = text
        .strip_prefix('$')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(number) = number else { return Ok(Symbol::from(text)) };
    let symbol = number.parse().ok().and_then(|id: usize| context.symbols.get(id));
    symbol.ok_or_else(|| {
        let message = format!("symbol `{text}` is not in the symbol table");
        Error::new(ErrorKind::Symbol, start as u64, message)
    })
}
