//! Builds columns: appends values directly from the text of lines.
//!
//! Lines written by one program usually have their keys in one order. So after each key, the key
//! that followed it last is expected next, and a comparison of a few bytes confirms it. The
//! expected key may belong to a member without a column, which is then skipped.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, NullArray, StringArray,
    StructArray,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{FieldRef, Fields};
use foldhash::fast::RandomState;

use crate::number::{double, integer};
use crate::pattern::Pattern;
use crate::text::Malformed;
use crate::text::push_text;
use crate::token::{Kind, Tokens};
use crate::types::{Field, Type, to_arrow};

/// How many keys without a column are remembered. Others are looked up each time.
const STRANGERS_MAX: usize = 1_000;

/// The position of a key without one.
const NOWHERE: usize = usize::MAX;

/// A value that does not fit the fields: they were inferred from other lines, or the text is not
/// JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch;

impl From<Malformed> for Mismatch {
    fn from(_: Malformed) -> Self {
        Self
    }
}

type Result<T = (), E = Mismatch> = std::result::Result<T, E>;

/// How to treat members of documents without a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Skip them.
    Skip,
    /// Return an error.
    Refuse,
}

/// The columns of documents, with one row per line.
///
/// ```
/// use arrow_array::Array;
/// use folio_json::{Columns, Others, Tree};
///
/// let mut tree = Tree::default();
/// let lines = [r#"{"a":{"b":1}}"#, r#"{"a":null,"c":[2.5]}"#];
/// lines.iter().for_each(|line| tree.observe(line.as_bytes()).unwrap());
/// let mut columns = Columns::new(&tree.fields(), Others::Refuse);
/// lines.iter().for_each(|line| columns.push(line.as_bytes()).unwrap());
/// assert_eq!(columns.finish().len(), 2);
/// ```
#[derive(Debug)]
pub struct Columns {
    rows: Rows,
}

impl Columns {
    /// Empty columns for members of documents. A member that is an object gets columns for all its
    /// members.
    #[must_use]
    pub fn new(fields: &[Field], others: Others) -> Self {
        Self { rows: Rows::new(fields, others) }
    }

    /// Appends a document. If a key occurs twice, the last value counts.
    ///
    /// # Errors
    /// [`Mismatch`]. The rows are then unusable.
    #[inline]
    pub fn push(&mut self, line: &[u8]) -> Result {
        if self.rows.columns.is_empty() && self.rows.others == Others::Skip {
            self.rows.count += 1;
            return Ok(());
        }
        let mut tokens = Tokens::new(line);
        if tokens.peek()? != Kind::Object {
            return Err(Mismatch);
        }
        self.rows.push(&mut tokens)
    }

    /// The number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.count
    }

    /// Returns the rows, with a column for each field, and leaves the columns empty.
    #[must_use]
    pub fn finish(&mut self) -> StructArray {
        self.rows.finish(None)
    }
}

/// A column: its values, and which of them are not null.
#[derive(Debug)]
struct Column {
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
    Json { bytes: Vec<u8>, ends: Vec<i32> },
    Empty { ends: Vec<i32> },
    List { item: Box<Column>, ends: Vec<i32>, field: FieldRef },
    Struct(Rows),
}

/// The text of an object without members.
const EMPTY: &str = "{}";

impl Column {
    fn new(field_type: &Type) -> Self {
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
        };
        Self { values, valid: Vec::new(), null_count: 0 }
    }

    /// Appends the next value.
    #[inline]
    fn push(&mut self, tokens: &mut Tokens<'_>) -> Result {
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
            (Values::Struct(rows), Kind::Object) => rows.push(tokens)?,
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
            _ => return Err(Mismatch),
        }
        self.valid.push(true);
        Ok(())
    }

    fn push_null(&mut self) {
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.push(false),
            Values::Integer(values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Text { ends, .. }
            | Values::Json { ends, .. }
            | Values::Empty { ends }
            | Values::List { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Struct(rows) => rows.push_null(),
        }
        self.valid.push(false);
        self.null_count += 1;
    }

    /// Removes values, so that `count` are left.
    fn truncate(&mut self, count: usize) {
        match &mut self.values {
            Values::Null => {}
            Values::Boolean(values) => values.truncate(count),
            Values::Integer(values) => values.truncate(count),
            Values::Float(values) => values.truncate(count),
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
        }
        let taken = self.valid.get(count..).unwrap_or_default();
        self.null_count -= taken.iter().filter(|valid| !**valid).count();
        self.valid.truncate(count);
    }

    /// Returns the values as an Arrow array and leaves the column empty.
    fn finish(&mut self) -> ArrayRef {
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
            Values::Empty { ends } => {
                let size = ends.last().copied().unwrap_or(0) as usize;
                texts(EMPTY.repeat(size / EMPTY.len()).into_bytes(), ends, nulls.as_ref())
            }
            Values::List { item, ends, field } => {
                Arc::new(ListArray::new(Arc::clone(field), offsets(ends), item.finish(), nulls))
            }
            Values::Struct(rows) => Arc::new(rows.finish(nulls)),
        }
    }
}

/// The columns of an object's members.
#[derive(Debug)]
struct Rows {
    /// The keys of the fields, then other keys that occurred.
    keys: Vec<Key>,
    by_name: HashMap<Box<str>, usize, RandomState>,
    columns: Vec<Column>,
    fields: Fields,
    others: Others,
    count: usize,
    /// The first key of the last object.
    first: usize,
}

#[derive(Debug)]
struct Key {
    /// The key as it usually appears in the text.
    pattern: Pattern,
    /// The key that followed it last.
    next: usize,
}

impl Rows {
    fn new(fields: &[Field], others: Others) -> Self {
        let key = |(index, field): (usize, &Field)| Key {
            pattern: Pattern::of_name(&field.name),
            next: index + 1,
        };
        let place = |(index, field): (usize, &Field)| (field.name.as_str().into(), index);
        Self {
            keys: fields.iter().enumerate().map(key).collect(),
            by_name: fields.iter().enumerate().map(place).collect(),
            columns: fields.iter().map(|field| Column::new(&field.field_type)).collect(),
            fields: to_arrow(fields),
            others,
            count: 0,
            first: 0,
        }
    }

    /// Appends the next object.
    fn push(&mut self, tokens: &mut Tokens<'_>) -> Result {
        let (mut expected, mut last, mut filled) = (self.first, NOWHERE, 0);
        let mut more = tokens.enter()?;
        while more {
            let place = match self.keys.get(expected) {
                Some(key) if tokens.take(&key.pattern) => expected,
                _ => self.place(&tokens.key()?, last)?,
            };
            match self.columns.get_mut(place) {
                Some(column) => {
                    filled += 1;
                    if column.valid.len() > self.count {
                        column.truncate(self.count);
                        filled -= 1;
                    }
                    column.push(tokens)?;
                }
                None => tokens.skip()?,
            }
            if let Some(key) = self.keys.get(place) {
                (expected, last) = (key.next, place);
            }
            more = tokens.more()?;
        }
        self.count += 1;
        if filled < self.columns.len() {
            self.fill();
        }
        Ok(())
    }

    /// The position of a key that was not expected after the one at `last`; [`NOWHERE`] if it is
    /// not worth remembering.
    #[inline(never)]
    fn place(&mut self, name: &str, last: usize) -> Result<usize> {
        let place = match self.by_name.get(name) {
            Some(place) => *place,
            None if self.others == Others::Refuse => return Err(Mismatch),
            None if self.keys.len() - self.columns.len() >= STRANGERS_MAX => return Ok(NOWHERE),
            None => {
                let place = self.keys.len();
                self.keys.push(Key { pattern: Pattern::of_name(name), next: place + 1 });
                self.by_name.insert(name.into(), place);
                place
            }
        };
        match self.keys.get_mut(last) {
            Some(last) => last.next = place,
            None => self.first = place,
        }
        Ok(place)
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

    fn finish(&mut self, nulls: Option<NullBuffer>) -> StructArray {
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let count = std::mem::take(&mut self.count);
        let array = StructArray::try_new_with_length(self.fields.clone(), arrays, nulls, count);
        array.expect("every column has a value per row")
    }
}

fn push_items(item: &mut Column, tokens: &mut Tokens<'_>) -> Result {
    let mut more = tokens.enter()?;
    while more {
        item.push(tokens)?;
        more = tokens.more()?;
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

/// Makes a text array, cut at `ends`. Bytes that are not UTF-8 are replaced.
fn texts(bytes: Vec<u8>, ends: &mut Vec<i32>, nulls: Option<&NullBuffer>) -> ArrayRef {
    let (offsets, bytes) = (offsets(ends), Buffer::from_vec(bytes));
    match StringArray::try_new(offsets.clone(), bytes.clone(), nulls.cloned()) {
        Ok(array) => Arc::new(array),
        Err(_) => {
            let text = |(at, pair): (usize, &[i32])| {
                let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(at));
                let bytes = &bytes[pair[0] as usize..pair[1] as usize];
                is_valid.then(|| String::from_utf8_lossy(bytes).into_owned())
            };
            Arc::new(offsets.windows(2).enumerate().map(text).collect::<StringArray>())
        }
    }
}

/// Arrow's offsets: the ends with a zero before them.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.append(ends);
    OffsetBuffer::new(offsets.into())
}
