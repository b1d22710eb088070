//! Columns under construction: values are appended straight from the text.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, NullArray, StringArray,
    StructArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Fields};

use super::kind::{Kind, Members};
use super::token::{Malformed, Next, Tokens, push_text};
use crate::decode::short_decimal;

/// A value that the schema has no place for. The schema must be widened.
#[derive(Debug)]
pub(super) struct Misfit;

impl From<Malformed> for Misfit {
    fn from(_: Malformed) -> Self {
        Self
    }
}

type Result<T = ()> = std::result::Result<T, Misfit>;

/// A column: values, and which of them are there.
#[derive(Debug)]
pub(super) struct Column {
    values: Values,
    valid: Vec<bool>,
    null_count: usize,
}

#[derive(Debug)]
enum Values {
    Null,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    Text { bytes: Vec<u8>, ends: Vec<i32>, is_json: bool },
    List { item: Box<Column>, ends: Vec<i32>, data_type: DataType },
    Struct(Rows),
}

/// The columns of an object's members.
#[derive(Debug)]
pub(super) struct Rows {
    members: Members,
    columns: Vec<Column>,
    fields: Fields,
    count: usize,
}

impl Column {
    fn new(kind: &Kind) -> Self {
        let values = match kind {
            _ if kind.is_json() => {
                Values::Text { bytes: Vec::new(), ends: Vec::new(), is_json: true }
            }
            Kind::Null => Values::Null,
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Int { is_large: true, .. } => Values::UInt(Vec::new()),
            Kind::Int { .. } => Values::Int(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Text | Kind::Json => {
                Values::Text { bytes: Vec::new(), ends: Vec::new(), is_json: false }
            }
            Kind::List(item) => Values::List {
                item: Box::new(Column::new(item)),
                ends: Vec::new(),
                data_type: kind.field("").data_type().clone(),
            },
            Kind::Struct(members) => Values::Struct(Rows::new(members)),
        };
        Self { values, valid: Vec::new(), null_count: 0 }
    }

    /// Appends the value that comes next.
    #[inline]
    fn push(&mut self, tokens: &mut Tokens<'_>) -> Result {
        let next = tokens.peek()?;
        if next == Next::Null {
            tokens.word()?;
            self.push_null();
            return Ok(());
        }
        match (&mut self.values, next) {
            (Values::Text { bytes, ends, is_json: false }, Next::Text) => {
                let (text, has_escapes) = tokens.text()?;
                push_text(text, has_escapes, bytes)?;
                ends.push(end_of(bytes.len())?);
            }
            (Values::Int(values), Next::Number) => values.push(int(tokens.number()?)?),
            (Values::Float(values), Next::Number) => values.push(float(tokens.number()?)?),
            (Values::Bool(values), Next::Bool(value)) => {
                tokens.word()?;
                values.push(value);
            }
            (Values::List { item, ends, .. }, Next::Array) => {
                push_items(item, tokens)?;
                ends.push(end_of(item.valid.len())?);
            }
            (Values::Struct(rows), Next::Object) => rows.push(tokens)?,
            (Values::UInt(values), Next::Number) => values.push(parse(tokens.number()?)?),
            (Values::Text { bytes, ends, is_json: true }, _) => {
                bytes.extend_from_slice(tokens.raw()?);
                ends.push(end_of(bytes.len())?);
            }
            _ => return Err(Misfit),
        }
        self.valid.push(true);
        Ok(())
    }

    fn push_null(&mut self) {
        match &mut self.values {
            Values::Null => {}
            Values::Bool(values) => values.push(false),
            Values::Int(values) => values.push(0),
            Values::UInt(values) => values.push(0),
            Values::Float(values) => values.push(0.0),
            Values::Text { ends, .. } | Values::List { ends, .. } => {
                ends.push(ends.last().copied().unwrap_or(0));
            }
            Values::Struct(rows) => rows.push_null(),
        }
        self.valid.push(false);
        self.null_count += 1;
    }

    /// Takes values away again, down to `count`: a key that comes twice counts once.
    fn truncate(&mut self, count: usize) {
        match &mut self.values {
            Values::Null => {}
            Values::Bool(values) => values.truncate(count),
            Values::Int(values) => values.truncate(count),
            Values::UInt(values) => values.truncate(count),
            Values::Float(values) => values.truncate(count),
            Values::Text { bytes, ends, .. } => {
                ends.truncate(count);
                bytes.truncate(ends.last().copied().unwrap_or(0) as usize);
            }
            Values::List { item, ends, .. } => {
                ends.truncate(count);
                item.truncate(ends.last().copied().unwrap_or(0) as usize);
            }
            Values::Struct(rows) => rows.truncate(count),
        }
        self.valid.truncate(count);
        self.null_count = self.valid.iter().filter(|valid| !**valid).count();
    }

    /// The values as an Arrow array; the column is empty again.
    fn finish(&mut self) -> ArrayRef {
        let valid = std::mem::take(&mut self.valid);
        let nulls = (self.null_count > 0).then(|| NullBuffer::from(valid.as_slice()));
        self.null_count = 0;
        match &mut self.values {
            Values::Null => Arc::new(NullArray::new(valid.len())),
            Values::Bool(values) => {
                Arc::new(BooleanArray::new(BooleanBuffer::from(std::mem::take(values)), nulls))
            }
            Values::Int(values) => Arc::new(Int64Array::new(scalars(values), nulls)),
            Values::UInt(values) => Arc::new(UInt64Array::new(scalars(values), nulls)),
            Values::Float(values) => Arc::new(Float64Array::new(scalars(values), nulls)),
            Values::Text { bytes, ends, .. } => {
                let bytes = std::mem::take(bytes).into();
                let array = StringArray::try_new(offsets(ends), bytes, nulls);
                Arc::new(array.expect("lines are UTF-8, cut at quotes"))
            }
            Values::List { item, ends, data_type } => {
                let DataType::List(field) = data_type else { unreachable!("a list's type") };
                Arc::new(ListArray::new(Arc::clone(field), offsets(ends), item.finish(), nulls))
            }
            Values::Struct(rows) => Arc::new(rows.finish(nulls)),
        }
    }
}

impl Rows {
    pub(super) fn new(members: &Members) -> Self {
        let columns = members.members.iter().map(|member| Column::new(&member.kind)).collect();
        Self { members: members.clone(), columns, fields: members.fields(), count: 0 }
    }

    /// Appends the object that comes next. After a misfit the rows are of no use.
    pub(super) fn push(&mut self, tokens: &mut Tokens<'_>) -> Result {
        let mut guess = 0;
        let mut is_whole = true;
        let mut more = tokens.enter()?;
        while more {
            let is_expected =
                self.members.members.get(guess).is_some_and(|member| tokens.take(&member.pattern));
            let place = if is_expected {
                guess
            } else {
                is_whole = false;
                self.members.find(&tokens.key()?).ok_or(Misfit)?
            };
            let column = &mut self.columns[place];
            if column.valid.len() > self.count {
                column.truncate(self.count);
            }
            column.push(tokens)?;
            guess = place + 1;
            more = tokens.more()?;
        }
        self.count += 1;
        if !is_whole || guess < self.columns.len() {
            self.fill();
        }
        Ok(())
    }

    /// Gives a null to every column that the last object had no member for.
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

    /// How many rows there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The rows as an Arrow array; there are none afterwards.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> StructArray {
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let count = std::mem::take(&mut self.count);
        let array = StructArray::try_new_with_length(self.fields.clone(), arrays, nulls, count);
        array.expect("every column has a value per row")
    }
}

fn push_items(item: &mut Column, tokens: &mut Tokens<'_>) -> Result {
    if !tokens.enter()? {
        return Ok(());
    }
    loop {
        item.push(tokens)?;
        if !tokens.more()? {
            return Ok(());
        }
    }
}

/// Arrow counts bytes and items of one batch in 31 bits; batches end long before,
/// unless a single document is that large.
fn end_of(count: usize) -> Result<i32> {
    i32::try_from(count).map_err(|_| Misfit)
}

fn int(digits: &[u8]) -> Result<i64> {
    // Eighteen digits fit whatever they are.
    if digits.len() > 18 || digits[0] == b'-' {
        return parse(digits);
    }
    let mut value = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return Err(Misfit);
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    Ok(value)
}

/// An integer in a column of fractions must be exact there, which the kind has seen to.
fn float(digits: &[u8]) -> Result<f64> {
    short_decimal(digits).map_or_else(|| parse(digits), Ok)
}

fn parse<T: std::str::FromStr>(digits: &[u8]) -> Result<T> {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or(Misfit)
}

fn scalars<T: arrow_buffer::ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    std::mem::take(values).into()
}

/// Arrow's offsets: a zero before the ends.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.append(ends);
    OffsetBuffer::new(offsets.into())
}
