//! One column of values, appended from their text, and the columns of an object's members.
//!
//! The two contain each other: a column of objects has columns for all their members.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, MapArray, NullArray,
    StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef, Fields};

use crate::few::FewTexts;
use crate::keys::Keys;
use crate::number::{double, integer};
use crate::text::{Malformed, push_text};
use crate::text_array::{offsets, texts};
use crate::token::{Kind, Tokens};
use crate::types::{Field, Type, entries, to_arrow};

/// A value that does not fit the fields: they were inferred from other lines, or the text is not
/// JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch;

impl From<Malformed> for Mismatch {
    fn from(_: Malformed) -> Self {
        Self
    }
}

pub(crate) type Result<T = (), E = Mismatch> = std::result::Result<T, E>;

/// How to treat members of documents without a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Skip them.
    Skip,
    /// Return an error.
    Refuse,
}

/// A column: its values, and which of them are not null.
#[derive(Debug)]
pub(crate) struct Column {
    values: Values,
    valid: Vec<bool>,
    null_count: usize,
}

#[derive(Debug)]
enum Values {
    Null,
    Boolean(Vec<bool>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Text { bytes: Vec<u8>, ends: Vec<i32> },
    Few(FewTexts),
    Json { bytes: Vec<u8>, ends: Vec<i32> },
    Empty { ends: Vec<i32> },
    List { item: Box<Column>, ends: Vec<i32>, field: FieldRef },
    Struct(Rows),
    Map { keys: Box<Column>, values: Box<Column>, ends: Vec<i32>, field: FieldRef },
}

/// The text of an object without members.
const EMPTY: &str = "{}";

impl Column {
    pub(crate) fn new(field_type: &Type) -> Self {
        let texts = || (Vec::new(), Vec::new());
        let values = match field_type {
            Type::Null => Values::Null,
            Type::Boolean => Values::Boolean(Vec::new()),
            Type::Int64 => Values::Integer(Vec::new()),
            Type::Float64 => Values::Float(Vec::new()),
            Type::Text => {
                let (bytes, ends) = texts();
                Values::Text { bytes, ends }
            }
            Type::Json => {
                let (bytes, ends) = texts();
                Values::Json { bytes, ends }
            }
            Type::Empty => Values::Empty { ends: Vec::new() },
            Type::List(item) => Values::List {
                item: Box::new(Self::new(item)),
                ends: Vec::new(),
                field: Arc::new(Field::new("item", (**item).clone()).to_arrow()),
            },
            // All members of nested objects are checked against the inferred type.
            Type::Struct(fields) => Values::Struct(Rows::new(fields, Others::Refuse)),
            Type::Map(value) => Values::Map {
                keys: Box::new(Self::new(&Type::Text)),
                values: Box::new(Self::new(value)),
                ends: Vec::new(),
                field: entries(value),
            },
        };
        Self { values, valid: Vec::new(), null_count: 0 }
    }

    /// Lets a column of texts, or of lists of texts, return them as a dictionary if there are few.
    pub(crate) fn with_few_texts(mut self) -> Self {
        self.values = match self.values {
            Values::Text { .. } => Values::Few(FewTexts::new()),
            Values::List { item, ends, field } => {
                Values::List { item: Box::new(item.with_few_texts()), ends, field }
            }
            other => other,
        };
        self
    }

    /// Lets the structs of a column skip members that they do not have. Another value than an object is
    /// null there. If no object repeats a key, the walk over one ends where it has all members.
    pub(crate) fn partial(mut self, keys_are_distinct: bool) -> Self {
        self.values = match self.values {
            Values::List { item, ends, field } => {
                Values::List { item: Box::new(item.partial(keys_are_distinct)), ends, field }
            }
            Values::Struct(rows) => Values::Struct(rows.partial(keys_are_distinct)),
            Values::Map { keys, values, ends, field } => {
                let values = Box::new(values.partial(keys_are_distinct));
                Values::Map { keys, values, ends, field }
            }
            other => other,
        };
        self
    }

    /// Appends the next value.
    #[inline]
    pub(crate) fn push(&mut self, tokens: &mut Tokens<'_>) -> Result {
        let next = tokens.peek()?;
        if next == Kind::Null {
            tokens.word()?;
            self.push_null();
            return Ok(());
        }
        match (&mut self.values, next) {
            (Values::Text { bytes, ends }, Kind::Text) => {
                let (text, has_escapes) = tokens.text()?;
                push_text(text, has_escapes, bytes)?;
                ends.push(end_of(bytes.len())?);
            }
            (Values::Integer(values), Kind::Number) => {
                values.push(integer(tokens.number()?).ok_or(Mismatch)?);
            }
            (Values::Float(values), Kind::Number) => {
                values.push(double(tokens.number()?).ok_or(Mismatch)?);
            }
            (Values::Boolean(values), Kind::Bool(value)) => {
                tokens.word()?;
                values.push(value);
            }
            (Values::List { item, ends, .. }, Kind::Array) => {
                push_items(item, tokens)?;
                ends.push(end_of(item.valid.len())?);
            }
            (Values::Struct(rows), Kind::Object) => rows.push(tokens, false)?,
            (Values::Map { keys, values, ends, .. }, Kind::Object) => {
                push_entries(keys, values, tokens)?;
                ends.push(end_of(values.valid.len())?);
            }
            (Values::Json { bytes, ends }, _) => {
                bytes.extend_from_slice(tokens.raw()?);
                ends.push(end_of(bytes.len())?);
            }
            (Values::Empty { ends }, Kind::Object) => {
                if tokens.enter()? {
                    return Err(Mismatch);
                }
                let end = ends.last().copied().unwrap_or(0) as usize + EMPTY.len();
                ends.push(end_of(end)?);
            }
            (Values::Few(_), Kind::Text) => return self.push_few_or_other(tokens),
            (Values::Struct(rows), _) if rows.others == Others::Skip => {
                tokens.skip()?;
                self.push_null();
                return Ok(());
            }
            _ => return Err(Mismatch),
        }
        self.valid.push(true);
        Ok(())
    }

    /// Whether its texts are numbers.
    #[inline]
    pub(crate) fn is_of_few(&self) -> bool {
        matches!(self.values, Values::Few(_))
    }

    /// Appends the value at an offset of a line, of which nothing is wanted after the value. Apart from
    /// [`Self::push`], which numbers need inline.
    #[inline(never)]
    pub(crate) fn push_at(&mut self, line: &[u8], at: usize) -> Result {
        let tokens = &mut Tokens::from(line, at);
        match &mut self.values {
            Values::Struct(rows) if tokens.peek()? == Kind::Object => {
                rows.push(tokens, true)?;
                self.valid.push(true);
                Ok(())
            }
            _ => self.push(tokens),
        }
    }

    /// Appends a short text to few; `false` if it is none, or the column is of others.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn push_few(&mut self, tokens: &mut Tokens<'_>) -> bool {
        let Values::Few(few) = &mut self.values else { return false };
        let Some((text, end)) = tokens.short_text() else { return false };
        if !few.push(text) {
            return false;
        }
        tokens.go_to(end);
        self.valid.push(true);
        true
    }

    /// Appends a text to few. If it does not belong there, the column is of others from then on.
    #[inline(never)]
    fn push_few_or_other(&mut self, tokens: &mut Tokens<'_>) -> Result {
        if self.push_few(tokens) {
            return Ok(());
        }
        if let Values::Few(few) = &mut self.values {
            let (bytes, ends) = few.take_all(&self.valid);
            self.values = Values::Text { bytes, ends };
        }
        self.push(tokens)
    }

    /// Appends a value by its whole text. `is_plain` says that it is a string without escapes.
    #[inline]
    pub(crate) fn push_text(&mut self, text: &[u8], is_plain: bool) -> Result {
        let (bytes, ends) = match &mut self.values {
            Values::Text { bytes, ends } if is_plain => {
                bytes.extend_from_slice(text.get(1..text.len().saturating_sub(1)).ok_or(Mismatch)?);
                (bytes, ends)
            }
            Values::Json { bytes, ends } => {
                bytes.extend_from_slice(text);
                (bytes, ends)
            }
            _ => return self.push(&mut Tokens::new(text)),
        };
        ends.push(end_of(bytes.len())?);
        self.valid.push(true);
        Ok(())
    }

    /// Appends a text by its characters.
    fn push_plain(&mut self, text: &[u8]) -> Result {
        let Values::Text { bytes, ends } = &mut self.values else { return Err(Mismatch) };
        bytes.extend_from_slice(text);
        ends.push(end_of(bytes.len())?);
        self.valid.push(true);
        Ok(())
    }

    pub(crate) fn push_null(&mut self) {
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.push(false),
            Values::Integer(values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Few(few) => few.push_null(),
            Values::Text { ends, .. }
            | Values::Json { ends, .. }
            | Values::Empty { ends }
            | Values::List { ends, .. }
            | Values::Map { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Struct(rows) => rows.push_null(),
        }
        self.valid.push(false);
        self.null_count += 1;
    }

    /// Removes values, so that `count` are left. A value that was refused is removed as well.
    pub(crate) fn truncate(&mut self, count: usize) {
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.truncate(count),
            Values::Integer(values) => values.truncate(count),
            Values::Float(values) => values.truncate(count),
            Values::Few(few) => few.truncate(count),
            Values::Text { bytes, ends } | Values::Json { bytes, ends } => {
                ends.truncate(count);
                bytes.truncate(ends.last().copied().unwrap_or(0) as usize);
            }
            Values::Empty { ends } => ends.truncate(count),
            Values::List { item, ends, .. } => {
                ends.truncate(count);
                item.truncate(ends.last().copied().unwrap_or(0) as usize);
            }
            Values::Struct(rows) => rows.truncate(count),
            Values::Map { keys, values, ends, .. } => {
                ends.truncate(count);
                let count = ends.last().copied().unwrap_or(0) as usize;
                keys.truncate(count);
                values.truncate(count);
            }
        }
        let taken = self.valid.get(count..).unwrap_or_default();
        self.null_count -= taken.iter().filter(|valid| !**valid).count();
        self.valid.truncate(count);
    }

    /// Returns the values as an Arrow array and leaves the column empty.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        let valid = std::mem::take(&mut self.valid);
        let nulls = (self.null_count > 0).then(|| NullBuffer::from(valid.as_slice()));
        self.null_count = 0;
        match &mut self.values {
            Values::Null => Arc::new(NullArray::new(valid.len())),
            Values::Boolean(values) => {
                Arc::new(BooleanArray::new(BooleanBuffer::from(std::mem::take(values)), nulls))
            }
            Values::Integer(values) => Arc::new(Int64Array::new(scalars(values), nulls)),
            Values::Float(values) => Arc::new(Float64Array::new(scalars(values), nulls)),
            Values::Text { bytes, ends } | Values::Json { bytes, ends } => {
                texts(std::mem::take(bytes), ends, nulls.as_ref())
            }
            Values::Few(few) => few.finish(nulls),
            Values::Empty { ends } => {
                let size = ends.last().copied().unwrap_or(0) as usize;
                texts(EMPTY.repeat(size / EMPTY.len()).into_bytes(), ends, nulls.as_ref())
            }
            Values::List { item, ends, field } => {
                let items = item.finish();
                let field = match items.data_type() {
                    own if own == field.data_type() => Arc::clone(field),
                    own => Arc::new(field.as_ref().clone().with_data_type(own.clone())),
                };
                Arc::new(ListArray::new(field, offsets(ends), items, nulls))
            }
            Values::Struct(rows) => Arc::new(rows.finish(nulls)),
            Values::Map { keys, values, ends, field } => {
                let DataType::Struct(fields) = field.data_type().clone() else {
                    unreachable!("an entry is a struct")
                };
                let entries = StructArray::new(fields, vec![keys.finish(), values.finish()], None);
                Arc::new(MapArray::new(Arc::clone(field), offsets(ends), entries, nulls, false))
            }
        }
    }
}

/// The columns of an object's members.
#[derive(Debug)]
pub(crate) struct Rows {
    keys: Keys,
    columns: Vec<Column>,
    fields: Fields,
    others: Others,
    /// Whether an object need not be walked after the last of the members.
    ends_early: bool,
    count: usize,
}

impl Rows {
    pub(crate) fn new(fields: &[Field], others: Others) -> Self {
        Self {
            keys: Keys::new(fields.iter().map(|field| field.name.as_str())),
            columns: fields.iter().map(|field| Column::new(&field.field_type)).collect(),
            fields: to_arrow(fields),
            others,
            ends_early: false,
            count: 0,
        }
    }

    fn partial(self, keys_are_distinct: bool) -> Self {
        let columns = self.columns.into_iter().map(|own| own.partial(keys_are_distinct)).collect();
        Self { columns, others: Others::Skip, ends_early: keys_are_distinct, ..self }
    }

    /// The number of objects.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether the content of objects is of no interest.
    pub(crate) fn needs_none(&self) -> bool {
        self.columns.is_empty() && self.others == Others::Skip
    }

    /// Appends an object without looking at it; see [`Self::needs_none`].
    pub(crate) fn push_none(&mut self) {
        self.count += 1;
    }

    /// Appends the next object. If `is_last`, nothing is wanted after it.
    pub(crate) fn push(&mut self, tokens: &mut Tokens<'_>, is_last: bool) -> Result {
        let (mut guess, mut filled) = (self.keys.start(), 0);
        let mut next = self.keys.first(tokens, &mut guess)?;
        while let Some(key) = next {
            match self.columns.get_mut(key) {
                Some(column) => {
                    filled += 1;
                    if column.valid.len() > self.count {
                        column.truncate(self.count);
                        filled -= 1;
                    }
                    column.push(tokens)?;
                    if self.ends_early && filled == self.columns.len() {
                        if !is_last && tokens.more()? {
                            tokens.leave()?;
                        }
                        break;
                    }
                }
                None if self.others == Others::Refuse => return Err(Mismatch),
                None => tokens.skip()?,
            }
            next = self.keys.next(tokens, &mut guess)?;
        }
        self.count += 1;
        if filled < self.columns.len() {
            self.fill();
        }
        Ok(())
    }

    /// Adds a null to every column for which the last object had no member.
    fn fill(&mut self) {
        for column in &mut self.columns {
            if column.valid.len() < self.count {
                column.push_null();
            }
        }
    }

    fn push_null(&mut self) {
        self.count += 1;
        self.fill();
    }

    fn truncate(&mut self, count: usize) {
        self.count = count;
        for column in &mut self.columns {
            column.truncate(count);
        }
    }

    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> StructArray {
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let count = std::mem::take(&mut self.count);
        let array = StructArray::try_new_with_length(self.fields.clone(), arrays, nulls, count);
        array.expect("every column has a value per row")
    }
}

fn push_items(item: &mut Column, tokens: &mut Tokens<'_>) -> Result {
    let mut more = tokens.enter()?;
    while more && item.push_few(tokens) {
        more = tokens.more()?;
    }
    while more {
        item.push(tokens)?;
        more = tokens.more()?;
    }
    Ok(())
}

/// Appends the members of an object in the order of their keys. Of members with one key, the last
/// counts.
fn push_entries(keys: &mut Column, values: &mut Column, tokens: &mut Tokens<'_>) -> Result {
    let mut members = Vec::new();
    let mut more = tokens.enter()?;
    while more {
        members.push((tokens.key()?, tokens.raw()?));
        more = tokens.more()?;
    }
    members.sort_by(|(key, _), (other, _)| key.cmp(other));
    let mut members = members.into_iter().peekable();
    while let Some((key, value)) = members.next() {
        if members.peek().is_some_and(|(next, _)| *next == key) {
            continue;
        }
        keys.push_plain(key.as_bytes())?;
        values.push(&mut Tokens::new(value))?;
    }
    Ok(())
}

/// Arrow counts bytes and items of one batch in 31 bits. Batches end long before that, unless a
/// single document is that large.
#[inline]
fn end_of(count: usize) -> Result<i32> {
    i32::try_from(count).map_err(|_| Mismatch)
}

fn scalars<T: ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    std::mem::take(values).into()
}
