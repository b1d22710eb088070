//! Infers column types from values.
//!
//! Every value widens a [`Shape`]: which types occurred, how wide the numbers were, which fields
//! the structs had. At the end a shape becomes a [`Type`]: numbers are promoted to the widest kind
//! among them that holds every integer, and a mix without a common type becomes text.

use super::order::FieldOrder;
use super::schema::{Field, Type};
use super::{Block, Layout, observe};
use crate::error::Result;
use crate::limits::Limits;
use crate::symbol::SymbolTable;
use crate::text::Context;
use crate::value::{Element, Int, IonType, Precision, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Rules for inference.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Containers below this depth become text; the fields of a record are at depth 1.
    pub depth: usize,
    /// A struct whose fields occur in less than this fraction of its occurrences, on average,
    /// becomes a map. If its values have no common type, they become text.
    pub field_appearance: f64,
    /// A struct with this many fields or more, and values of one type, also becomes a map; `None`
    /// turns maps off.
    pub map_fields: Option<usize>,
    /// The type of a mix without a common type, and of numbers that no numeric type can hold:
    /// [`Type::String`] or [`Type::Json`].
    pub conflict: Type,
    /// Precision and scale for all decimals, instead of what the data needs.
    pub decimal: Option<(u8, u8)>,
    /// Whether top-level values are records. With `None`, they are if all are structs.
    pub records: Option<bool>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            depth: usize::MAX,
            field_appearance: 0.1,
            map_fields: Some(200),
            conflict: Type::String,
            decimal: None,
            records: None,
        }
    }
}

/// Precision and scale of a column with only null decimals, as in SQL engines for a bare DECIMAL.
const NULL_DECIMAL: (u8, u8) = (18, 3);

/// Decimals with so many digits before the point are floats too.
const FLOAT_DIGITS: i64 = 308;

/// Collects the shapes of values.
///
/// Several inferences can each observe some blocks of one sample and then be merged. Fields are
/// ordered by the number of the block in which they first occurred, so the order of columns does
/// not depend on which inference saw which block.
#[derive(Debug, Default)]
pub struct Inference {
    root: Shape,
    /// The table of the shapes' field numbers.
    symbols: Option<Arc<SymbolTable>>,
    /// The number of blocks begun.
    blocks: u64,
}

/// What the values of one column looked like.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// Binary: a bit for each type code of which another plain value adds no information.
    pub(super) known_heads: u16,
    /// The type of the first typed null, used if nothing else was seen.
    null: Option<IonType>,
    /// The block of that null, if the block is finished.
    null_seen: Option<u64>,
    pub(super) bools: bool,
    ints: Option<Width>,
    /// Whether a float would round an integer.
    inexact: bool,
    /// Digits before and after the point.
    decimals: Option<(i64, i64)>,
    pub(super) floats: bool,
    pub(super) timestamps: bool,
    pub(super) dates: bool,
    pub(super) texts: bool,
    pub(super) blobs: bool,
    pub(super) lists: Option<Box<Shape>>,
    pub(super) structs: Option<Fields>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Int,
    HugeInt,
    Beyond,
}

#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) occurrences: u64,
    pub(super) appearances: u64,
    names: HashMap<Box<str>, usize>,
    pub(super) fields: Vec<(Box<str>, Shape)>,
    /// For each field, the block in which it first occurred, if that block is finished, and its
    /// position among that block's fields.
    first_seen: Vec<(u64, usize)>,
    /// Text: the order in which names occurred.
    pub(super) order: FieldOrder,
    /// Binary: symbol number to field, plus one; zero for none.
    pub(super) numbers: Vec<u32>,
}

impl Inference {
    /// An inference that has seen nothing.
    pub fn new() -> Inference {
        Inference::default()
    }

    /// Observes a top-level value.
    pub fn observe(&mut self, element: &Element) {
        self.root.observe(element);
    }

    /// Observes up to `count` values of `block`. Returns how many there were, and what stopped it.
    pub fn observe_block(
        &mut self,
        block: &Block,
        count: u64,
        limits: &Limits,
    ) -> (u64, Result<()>) {
        self.observe_numbered(self.blocks, block, count, limits)
    }

    /// Like [`Inference::observe_block`], for block `number` of all blocks observed here and
    /// elsewhere. Numbers ascend.
    pub fn observe_numbered(
        &mut self,
        number: u64,
        block: &Block,
        count: u64,
        limits: &Limits,
    ) -> (u64, Result<()>) {
        self.blocks = number + 1;
        let seen = self.observe_values(block, count, limits);
        self.root.date(number);
        seen
    }

    /// Adds what `other` has seen. Its blocks must have other numbers.
    pub fn merge(&mut self, other: &Inference) {
        self.root.date(self.blocks);
        self.root.merge(&other.root);
        self.blocks = self.blocks.max(other.blocks);
        // Field numbers are valid only for the own shapes.
        self.root.forget_numbers();
        self.symbols = None;
    }

    fn observe_values(&mut self, block: &Block, count: u64, limits: &Limits) -> (u64, Result<()>) {
        if self.symbols.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &block.symbols)) {
            self.root.forget_numbers();
            self.symbols = Some(block.symbols.clone());
        }
        let context = Context { symbols: &block.symbols, limits };
        let mut at = block.start;
        for row in 0..count {
            match observe::observe(&mut self.root, block, at, context) {
                Ok(Some(next)) => at = next,
                Ok(None) => return (row, Ok(())),
                Err(error) => return (row, Err(error.shifted(block.offset))),
            }
        }
        (count, Ok(()))
    }

    /// The layout that can hold everything seen.
    pub fn layout(&self, rules: &Rules) -> Layout {
        let only_structs = self.root.structs.is_some() && self.root.kinds() == 1;
        match &self.root.structs {
            Some(fields) if rules.records.unwrap_or(only_structs) => {
                Layout::Records(fields.columns(1, rules))
            }
            None if rules.records == Some(true) => Layout::Records(Vec::new()),
            _ => Layout::Values(self.root.to_type(0, rules)),
        }
    }
}

impl Shape {
    pub(super) fn observe(&mut self, element: &Element) {
        match &element.value {
            Value::Null(ion_type) => self.observe_null(*ion_type),
            Value::Bool(_) => self.bools = true,
            Value::Int(int) => {
                self.ints = self.ints.max(Some(Width::of(int)));
                self.inexact |= !int.is_float();
            }
            Value::Float(_) => self.floats = true,
            Value::Decimal(decimal) => {
                let digits = match decimal.is_zero() {
                    true => 0,
                    false => decimal.coefficient().to_string().trim_start_matches('-').len() as i64,
                };
                let exponent = i64::from(decimal.exponent());
                let (before, after) = ((digits + exponent).max(0), (-exponent).max(0));
                self.widen_decimal(before, after);
            }
            Value::Timestamp(value) if value.precision() == Precision::Day => self.dates = true,
            Value::Timestamp(_) => self.timestamps = true,
            Value::Symbol(_) | Value::String(_) | Value::Clob(_) => self.texts = true,
            Value::Blob(_) => self.blobs = true,
            Value::List(elements) | Value::SExp(elements) => {
                let child = self.lists.get_or_insert_default();
                elements.iter().for_each(|element| child.observe(element));
            }
            Value::Struct(fields) => {
                let target = self.structs.get_or_insert_default();
                target.occurrences += 1;
                for (name, element) in fields {
                    target.field(name.text().unwrap_or("$0")).observe(element);
                }
            }
        }
    }

    pub(super) fn observe_null(&mut self, ion_type: IonType) {
        if ion_type != IonType::Null {
            self.null = self.null.or(Some(ion_type));
        }
    }

    pub(super) fn widen_int(&mut self, value: i64) {
        self.ints = self.ints.max(Some(Width::Int));
        self.inexact |= !Int::Small(value).is_float();
    }

    /// Marks everything new as first seen in this block.
    fn date(&mut self, block: u64) {
        self.null_seen = self.null_seen.or(self.null.map(|_| block));
        if let Some(child) = &mut self.lists {
            child.date(block);
        }
        if let Some(fields) = &mut self.structs {
            let new = fields.first_seen.len()..fields.fields.len();
            fields.first_seen.extend(new.map(|place| (block, place)));
            fields.fields.iter_mut().for_each(|(_, shape)| shape.date(block));
        }
    }

    /// Clears the mapping of field numbers.
    fn forget_numbers(&mut self) {
        if let Some(child) = &mut self.lists {
            child.forget_numbers();
        }
        if let Some(fields) = &mut self.structs {
            fields.numbers.clear();
            fields.fields.iter_mut().for_each(|(_, shape)| shape.forget_numbers());
        }
    }

    pub(super) fn widen_decimal(&mut self, before: i64, after: i64) {
        let (old_before, old_after) = self.decimals.unwrap_or((0, 0));
        self.decimals = Some((before.max(old_before), after.max(old_after)));
    }

    /// The number of kinds seen. All numbers are one kind, all points in time another.
    fn kinds(&self) -> usize {
        let numbers = self.ints.is_some() || self.decimals.is_some() || self.floats;
        let times = self.timestamps || self.dates;
        let kinds = [
            self.bools,
            numbers,
            times,
            self.texts,
            self.blobs,
            self.lists.is_some(),
            self.structs.is_some(),
        ];
        kinds.into_iter().filter(|seen| *seen).count()
    }

    fn to_type(&self, depth: usize, rules: &Rules) -> Type {
        match self.kinds() {
            0 => return self.null_type(rules),
            1 => {}
            _ => return rules.conflict.clone(),
        }
        let container = self.lists.is_some() || self.structs.is_some();
        if container && depth >= rules.depth {
            return Type::Json;
        }
        if let Some(child) = &self.lists {
            return Type::List(Box::new(child.to_type(depth + 1, rules)));
        }
        if let Some(fields) = &self.structs {
            return fields.to_type(depth + 1, rules);
        }
        match self {
            Shape { bools: true, .. } => Type::Bool,
            Shape { texts: true, .. } => Type::String,
            Shape { blobs: true, .. } => Type::Blob,
            Shape { timestamps: true, .. } => Type::Timestamp,
            Shape { dates: true, .. } => Type::Date,
            _ => self.number_type(rules),
        }
    }

    /// The type of a column with only nulls.
    fn null_type(&self, rules: &Rules) -> Type {
        match self.null {
            Some(IonType::Bool) => Type::Bool,
            Some(IonType::Int) => Type::Int(64),
            Some(IonType::Float) => Type::Float(64),
            Some(IonType::Decimal) => {
                let (precision, scale) = rules.decimal.unwrap_or(NULL_DECIMAL);
                Type::Decimal { precision, scale }
            }
            Some(IonType::Timestamp) => Type::Timestamp,
            Some(IonType::Blob) => Type::Blob,
            _ => Type::String,
        }
    }

    fn number_type(&self, rules: &Rules) -> Type {
        match (self.floats, self.decimals, self.ints) {
            (true, Some((before, _)), _) if before > FLOAT_DIGITS => rules.conflict.clone(),
            // A float would round an integer of 64 bits, such as an id.
            (true, ..) if self.inexact => rules.conflict.clone(),
            (true, ..) => Type::Float(64),
            (_, Some((before, after)), ints) => {
                if let Some((precision, scale)) = rules.decimal {
                    return Type::Decimal { precision, scale };
                }
                let before = match ints {
                    None => before,
                    Some(Width::Int) => before.max(19),
                    Some(_) => before.max(39),
                };
                match before + after {
                    0 => Type::Decimal { precision: 1, scale: 0 },
                    // Room for common money and measures, so that rows outside the sample fit.
                    1..=18 => Type::Decimal { precision: 18, scale: after as u8 },
                    19..=38 => Type::Decimal { precision: 38, scale: after as u8 },
                    _ => rules.conflict.clone(),
                }
            }
            (_, None, Some(Width::Beyond)) => rules.conflict.clone(),
            (_, None, Some(Width::HugeInt)) => Type::HugeInt,
            (_, None, _) => Type::Int(64),
        }
    }

    /// Adds what `other` has seen.
    fn merge(&mut self, other: &Shape) {
        if self.null.is_none() || other.null_seen.is_some_and(|seen| self.null_seen > Some(seen)) {
            (self.null, self.null_seen) = (other.null, other.null_seen);
        }
        self.bools |= other.bools;
        self.ints = self.ints.max(other.ints);
        self.inexact |= other.inexact;
        self.floats |= other.floats;
        self.timestamps |= other.timestamps;
        self.dates |= other.dates;
        self.texts |= other.texts;
        self.blobs |= other.blobs;
        if let Some((before, after)) = other.decimals {
            self.widen_decimal(before, after);
        }
        if let Some(child) = &other.lists {
            self.lists.get_or_insert_default().merge(child);
        }
        if let Some(fields) = &other.structs {
            self.structs.get_or_insert_default().merge(fields);
        }
    }
}

impl Width {
    fn of(int: &Int) -> Width {
        match int {
            Int::Small(_) => Width::Int,
            Int::Big(_) if int.to_i128().is_some() => Width::HugeInt,
            Int::Big(_) => Width::Beyond,
        }
    }
}

impl Fields {
    fn field(&mut self, name: &str) -> &mut Shape {
        let index = self.index_of(name);
        &mut self.fields[index].1
    }

    /// The index of the field `name`, which has occurred once more.
    pub(super) fn index_of(&mut self, name: &str) -> usize {
        self.appearances += 1;
        match self.names.get(name) {
            Some(index) => *index,
            None => {
                self.names.insert(name.into(), self.fields.len());
                self.fields.push((name.into(), Shape::default()));
                self.fields.len() - 1
            }
        }
    }

    /// Adds what `other` has seen. Fields are in the order of their first occurrence.
    fn merge(&mut self, other: &Fields) {
        for (at, (name, shape)) in other.fields.iter().enumerate() {
            let index = self.index_of(name);
            self.fields[index].1.merge(shape);
            let first = other.first_seen.get(at).copied().unwrap_or((u64::MAX, at));
            match self.first_seen.get_mut(index) {
                Some(own) => *own = first.min(*own),
                None => self.first_seen.push(first),
            }
        }
        self.occurrences += other.occurrences;
        self.appearances += other.appearances - other.fields.len() as u64;
        self.sort();
    }

    /// Sorts the fields by their first occurrence.
    fn sort(&mut self) {
        if self.first_seen.is_sorted() {
            return;
        }
        let fields = std::mem::take(&mut self.fields);
        let mut dated: Vec<_> = self.first_seen.drain(..).zip(fields).collect();
        dated.sort_by_key(|(first, _)| *first);
        (self.first_seen, self.fields) = dated.into_iter().unzip();
        let names = self.fields.iter().enumerate();
        self.names = names.map(|(index, (name, _))| (name.clone(), index)).collect();
        // Both refer to old positions of fields.
        self.order = FieldOrder::default();
        self.numbers.clear();
    }

    fn columns(&self, depth: usize, rules: &Rules) -> Vec<Field> {
        let columns = self.fields.iter().map(|(name, shape)| Field {
            name: name.to_string(),
            field_type: shape.to_type(depth, rules),
        });
        columns.collect()
    }

    fn to_type(&self, depth: usize, rules: &Rules) -> Type {
        if self.fields.is_empty() {
            return Type::Json;
        }
        self.map_type(depth, rules).unwrap_or_else(|| Type::Struct(self.columns(depth, rules)))
    }

    /// A map, if the fields look like keys: most occurrences lack most of them, or there are many
    /// and their values have one type.
    fn map_type(&self, depth: usize, rules: &Rules) -> Option<Type> {
        let many = self.fields.len() >= rules.map_fields?;
        let possible = self.fields.len() as f64 * self.occurrences as f64;
        let sparse = self.appearances as f64 / possible < rules.field_appearance;
        if !many && !sparse {
            return None;
        }
        let mut merged = Shape::default();
        self.fields.iter().for_each(|(_, shape)| merged.merge(shape));
        let alike = merged.kinds() <= 1;
        (sparse || alike).then(|| Type::Map(Box::new(merged.to_type(depth, rules))))
    }
}
