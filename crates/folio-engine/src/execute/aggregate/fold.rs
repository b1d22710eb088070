//! Aggregates that fold each value into one value per group: booleans, bits, products, the first
//! value, and GROUPING.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, PrimitiveArray};
use folio_compute::Result;
use folio_compute::array::{to_array, value_at};
use folio_types::{ColumnType, Value};

use super::accumulator::Accumulator;
use super::groups::Groups;

/// `bool_and`, or `bool_or`.
pub(crate) fn truths(is_and: bool) -> Box<dyn Accumulator> {
    Box::new(Truths { states: Vec::new(), is_and })
}

/// `bit_and`, or `bit_or`, of integers of a type.
pub(crate) fn bits(ty: &ColumnType, is_and: bool) -> Box<dyn Accumulator> {
    match (ty, is_and) {
        (ColumnType::Int16, true) => Folded::<Int16Type>::boxed(|all, value| all & value),
        (ColumnType::Int16, false) => Folded::<Int16Type>::boxed(|all, value| all | value),
        (ColumnType::Int32, true) => Folded::<Int32Type>::boxed(|all, value| all & value),
        (ColumnType::Int32, false) => Folded::<Int32Type>::boxed(|all, value| all | value),
        (_, true) => Folded::<Int64Type>::boxed(|all, value| all & value),
        (_, false) => Folded::<Int64Type>::boxed(|all, value| all | value),
    }
}

/// `product` of floats.
pub(crate) fn product() -> Box<dyn Accumulator> {
    Folded::<Float64Type>::boxed(|all, value| all * value)
}

/// The first value that is not null.
pub(crate) fn first(ty: &ColumnType) -> Box<dyn Accumulator> {
    Box::new(First { values: Vec::new(), size: 0, ty: ty.clone() })
}

/// The same number for every group.
pub(crate) fn fixed(number: i32) -> Box<dyn Accumulator> {
    Box::new(Fixed(number))
}

struct Truths {
    states: Vec<Option<bool>>,
    is_and: bool,
}

impl Accumulator for Truths {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.states.resize(group_count, None);
        for (value, group) in arguments[0].as_boolean().iter().zip(groups.iter()) {
            let Some(value) = value else { continue };
            let state = &mut self.states[*group as usize];
            *state = Some(match state {
                Some(all) if self.is_and => *all & value,
                Some(all) => *all | value,
                None => value,
            });
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.states.resize(self.states.len().max(groups.end), None);
        Ok(Arc::new(BooleanArray::from(self.states[groups].to_vec())))
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<Option<bool>>()
    }
}

/// Native values, folded by a function.
struct Folded<T: ArrowPrimitiveType> {
    states: Vec<Option<T::Native>>,
    fold: fn(T::Native, T::Native) -> T::Native,
}

impl<T: ArrowPrimitiveType> Folded<T> {
    fn boxed(fold: fn(T::Native, T::Native) -> T::Native) -> Box<dyn Accumulator> {
        Box::new(Self { states: Vec::new(), fold })
    }
}

impl<T: ArrowPrimitiveType> Accumulator for Folded<T> {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.states.resize(group_count, None);
        for (value, group) in arguments[0].as_primitive::<T>().iter().zip(groups.iter()) {
            let Some(value) = value else { continue };
            let state = &mut self.states[*group as usize];
            *state = Some(state.map_or(value, |all| (self.fold)(all, value)));
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.states.resize(self.states.len().max(groups.end), None);
        Ok(Arc::new(self.states[groups].iter().copied().collect::<PrimitiveArray<T>>()))
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<Option<T::Native>>()
    }
}

struct First {
    values: Vec<Option<Value>>,
    /// Memory of the values, in bytes.
    size: usize,
    ty: ColumnType,
}

impl Accumulator for First {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.values.resize(group_count, None);
        let array = &arguments[0];
        for (row, group) in groups.iter().enumerate() {
            let first = &mut self.values[*group as usize];
            if first.is_none() && array.is_valid(row) {
                let value = value_at(array, row, &self.ty);
                self.size += super::holistic::weight(&value);
                *first = Some(value);
            }
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.values.resize(self.values.len().max(groups.end), None);
        let values = self.values[groups].iter();
        to_array(values.map(|value| value.as_ref().unwrap_or(&Value::Null)), &self.ty)
    }

    fn size(&self) -> usize {
        self.size + self.values.capacity() * size_of::<Option<Value>>()
    }
}

struct Fixed(i32);

impl Accumulator for Fixed {
    fn take(&mut self, _: &[ArrayRef], _: &Groups<'_>, _: usize) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        Ok(Arc::new(Int32Array::from(vec![self.0; groups.len()])))
    }

    fn size(&self) -> usize {
        0
    }
}
