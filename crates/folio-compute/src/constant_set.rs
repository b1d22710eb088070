//! A set of constants for looking values up: a long IN list.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use folio_types::{ColumnType, Value};

use crate::array::to_array;
use crate::error::Result;
use crate::evaluated::Evaluated;
use crate::keys::KeyTable;

/// A set of constants of one type.
pub struct ConstantSet {
    /// The constants that are not null, in the order of the statement.
    pub values: Vec<Value>,
    /// Their type.
    pub ty: ColumnType,
    keys: KeyTable,
    has_null: bool,
}

impl ConstantSet {
    /// The set of these values, all of type `ty` or null.
    ///
    /// # Errors
    /// `type_mismatch` for a value of another type.
    pub fn new(values: Vec<Value>, ty: ColumnType) -> Result<Self> {
        let count = values.len();
        let values: Vec<Value> =
            values.into_iter().filter(|value| !matches!(value, Value::Null)).collect();
        let mut keys = KeyTable::new(std::slice::from_ref(&ty))?;
        let array = to_array(values.iter(), &ty)?;
        keys.intern(&[array], values.len(), &mut Vec::new())?;
        Ok(Self { has_null: values.len() < count, values, ty, keys })
    }

    /// Whether the set contains each value; null for a null, and instead of false if the set has
    /// one.
    ///
    /// # Errors
    /// None for values of the type of the set.
    pub fn look_up(&self, operand: &Evaluated) -> Result<Evaluated> {
        let array = operand.inner();
        let found = self.keys.find(std::slice::from_ref(array), array.len())?;
        let missing = (!self.has_null).then_some(false);
        let verdicts = found.iter().enumerate().map(|(row, found)| match found {
            _ if array.is_null(row) => None,
            Some(_) => Some(true),
            None => missing,
        });
        Ok(operand.with(Arc::new(verdicts.collect::<BooleanArray>())))
    }
}

impl std::fmt::Debug for ConstantSet {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} values", self.values.len())
    }
}

impl PartialEq for ConstantSet {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.ty == other.ty && self.has_null == other.has_null && self.values == other.values
    }
}
