//! Builds columns of chosen paths of lines that satisfy conditions.
//!
//! A line is walked once. The walk enters only objects that lead to a wanted path, skips everything
//! else, and notes where the values of wanted paths are. They are decoded afterwards, for the
//! lines that become rows. If no object repeats a key, each value that the walk meets is final, so
//! that a condition is checked where its value is met, and the walk ends where nothing else is
//! wanted. The last value is read once, where it is decoded.
//!
//! A path that leads through something that is not an object has no value, as if it were missing.
//! What the walk skips is not checked, not even for being JSON.
//!
//! ```
//! use folio_json::{PathColumns, PathCondition, PathField, PathTest, Type};
//! use folio_types::{Comparison, Value};
//!
//! let path = |names: &str| names.split('.').map(str::to_owned).collect::<Vec<_>>();
//! let fields = [PathField { path: path("geo.lat"), field_type: Type::Float64 }];
//! let test = PathTest::Compare(Comparison::Equal, Value::from("city"));
//! let is_city = PathCondition { path: path("kind"), field_type: Type::Text, test };
//! let mut columns = PathColumns::new(&fields, &[is_city], true);
//! assert_eq!(columns.push(br#"{"kind":"city","geo":{"lat":48.2}}"#), Ok(true));
//! assert_eq!(columns.push(br#"{"kind":"river","geo":{"lat":-3.1}}"#), Ok(false));
//! assert_eq!(columns.finish()[0].len(), 1);
//! ```

mod array_test;
mod condition;
mod place;
mod walk;

pub use array_test::ArrayTest;
pub use condition::{PathCondition, PathTest};

use arrow_array::ArrayRef;

use crate::column::{Column, Mismatch, Result};
use crate::token::{Kind, Tokens};
use crate::types::Type;
use condition::Check;
use place::Place;
use walk::{Layout, Node, Walk};

/// A column: a path below a document and the type of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathField {
    /// Names of members, outermost first. Without names it is the document itself.
    pub path: Vec<String>,
    /// The type.
    pub field_type: Type,
}

/// The columns of chosen paths, with one row per line that satisfies all conditions.
#[derive(Debug)]
pub struct PathColumns {
    root: Node,
    keys_are_distinct: bool,
    /// Where the last line has the values of each path, by slot.
    places: Vec<Place>,
    columns: Vec<(usize, Column)>,
    /// With their slots.
    checks: Vec<(usize, Check)>,
    count: usize,
    size: usize,
}

/// About what a value takes besides its text.
const VALUE_SIZE: usize = 8;

impl PathColumns {
    /// Empty columns. `keys_are_distinct` promises that no object of any line repeats a key;
    /// without it, the last value of a repeated key counts, and lines are read to their ends.
    #[must_use]
    pub fn new(
        fields: &[PathField],
        conditions: &[PathCondition],
        keys_are_distinct: bool,
    ) -> Self {
        let fields_wanted = fields.iter().map(|field| field.path.as_slice());
        let checks_wanted = conditions.iter().map(|condition| condition.path.as_slice());
        let wanted: Vec<_> = fields_wanted.chain(checks_wanted).enumerate().collect();
        let mut layout = Layout::new(fields.len(), conditions.len());
        let root = layout.node(&wanted);
        let (columns, checks) = layout.slots.split_at(fields.len());
        let (columns, checks) = (columns.iter().zip(fields), checks.iter().zip(conditions));
        Self {
            root,
            keys_are_distinct,
            places: vec![Place::default(); layout.slot_count],
            columns: columns.map(|(slot, own)| (*slot, Column::new(&own.field_type))).collect(),
            checks: checks.map(|(slot, own)| (*slot, Check::new(own))).collect(),
            count: 0,
            size: 0,
        }
    }

    /// Lets some of the fields, texts or lists of texts, be dictionaries where there are few different
    /// texts.
    #[must_use]
    pub fn with_few_texts(self, is_wanted: impl Fn(usize) -> bool) -> Self {
        self.with_fields(is_wanted, Column::with_few_texts)
    }

    /// Lets the structs in some of the fields have only a part of the members that objects have. What
    /// is not an object is null where such a struct is expected.
    #[must_use]
    pub fn with_partial(self, is_wanted: impl Fn(usize) -> bool) -> Self {
        let keys_are_distinct = self.keys_are_distinct;
        self.with_fields(is_wanted, |column| column.partial(keys_are_distinct))
    }

    fn with_fields(
        mut self,
        is_wanted: impl Fn(usize) -> bool,
        of: impl Fn(Column) -> Column,
    ) -> Self {
        let columns = self.columns.into_iter().enumerate();
        let columns = columns.map(|(field, (slot, column))| match is_wanted(field) {
            true => (slot, of(column)),
            false => (slot, column),
        });
        self.columns = columns.collect();
        self
    }

    /// Appends a line as a row; `false` if a condition rejects it.
    ///
    /// # Errors
    /// A value does not fit its type, or the line is not an object. It is not a row then. A line
    /// that a condition rejects may have such values too.
    #[inline]
    pub fn push(&mut self, line: &[u8]) -> Result<bool> {
        if self.places.is_empty() {
            self.count += 1;
            return Ok(true);
        }
        self.places.fill(Place::default());
        let mut walk = Walk {
            line,
            tokens: Tokens::new(line),
            places: &mut self.places,
            checks: &self.checks,
            keys_are_distinct: self.keys_are_distinct,
        };
        if walk.tokens.peek()? != Kind::Object {
            return Err(Mismatch);
        }
        if !self.root.value(&mut walk, self.keys_are_distinct)? || !self.satisfies(line)? {
            return Ok(false);
        }
        self.append(line).inspect_err(|_| {
            let count = self.count;
            self.columns.iter_mut().for_each(|(_, column)| column.truncate(count));
        })?;
        Ok(true)
    }

    /// Whether the conditions that the walk has not checked are satisfied.
    #[inline]
    fn satisfies(&self, line: &[u8]) -> Result<bool> {
        for (slot, check) in &self.checks {
            let place = &self.places[*slot];
            let is_met = match self.keys_are_distinct {
                true => place.is_present(),
                false => check.holds(place, line)?,
            };
            if !is_met {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[inline]
    fn append(&mut self, line: &[u8]) -> Result {
        for (slot, column) in &mut self.columns {
            let place = &self.places[*slot];
            match place.is_present() {
                true if place.is_open() || column.is_of_few() => {
                    column.push_at(line, place.start())?;
                }
                true => column.push_text(place.text(line), place.is_plain())?,
                false => column.push_null(),
            }
            self.size += place.size() + VALUE_SIZE;
        }
        self.count += 1;
        Ok(())
    }

    /// The number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.count
    }

    /// About how many bytes the rows take.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the rows, with a column for each field, and leaves the columns empty.
    #[must_use]
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        (self.count, self.size) = (0, 0);
        self.columns.iter_mut().map(|(_, column)| column.finish()).collect()
    }
}
