//! The least and the greatest value of each group.
//!
//! Numbers, dates and times are stored natively, in a vector indexed by group number. Values of
//! other types are stored as bytes that compare like the values (Arrow's row format). A better
//! value replaces the old one in place if it is not longer; otherwise it is appended. Once the
//! buffer has as many dead bytes as live ones, it is compacted.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp, PrimitiveArray};
use arrow_row::{RowConverter, SortField};
use folio_compute::Result;
use folio_compute::array::nulls;
use folio_compute::compare::canonical;
use folio_types::ColumnType;

use super::accumulator::Accumulator;
use super::arg_min_max::{ASCENDING, ArgMinMax};
use super::groups::Groups;

/// The states of `min` or `max` over values of a type.
pub(crate) fn new(ty: &ColumnType, is_max: bool) -> Box<dyn Accumulator> {
    match ty {
        ColumnType::Int16 => Box::new(Native::<Int16Type>::new(ty, is_max)),
        ColumnType::Int32 => Box::new(Native::<Int32Type>::new(ty, is_max)),
        ColumnType::Int64 => Box::new(Native::<Int64Type>::new(ty, is_max)),
        ColumnType::Float32 => Box::new(Native::<Float32Type>::new(ty, is_max)),
        ColumnType::Float64 => Box::new(Native::<Float64Type>::new(ty, is_max)),
        ColumnType::Decimal { .. } => Box::new(Native::<Decimal128Type>::new(ty, is_max)),
        ColumnType::Date => Box::new(Native::<Date32Type>::new(ty, is_max)),
        ColumnType::Timestamp { .. } => {
            Box::new(Native::<TimestampMicrosecondType>::new(ty, is_max))
        }
        // Intervals compare by length, and keep their form.
        ColumnType::Interval => Box::new(ArgMinMax::new(ty, is_max)),
        _ => Box::new(Encoded::new(ty, is_max)),
    }
}

/// Values that compare by their native representation, floats by their canonical one.
struct Native<T: ArrowPrimitiveType> {
    best: Vec<Option<T::Native>>,
    is_max: bool,
    ty: ColumnType,
}

impl<T: ArrowPrimitiveType> Native<T> {
    fn new(ty: &ColumnType, is_max: bool) -> Self {
        Self { best: Vec::new(), is_max, ty: ty.clone() }
    }
}

impl<T: ArrowPrimitiveType> Accumulator for Native<T>
where
    T::Native: ArrowNativeTypeOp,
{
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.best.resize(group_count, None);
        let values = canonical(&arguments[0]);
        let array = values.as_primitive::<T>();
        let is_max = self.is_max;
        let take = |(value, group): (&T::Native, &u32)| {
            let best = &mut self.best[*group as usize];
            let is_better = |best| if is_max { value.is_gt(best) } else { value.is_lt(best) };
            if best.is_none_or(is_better) {
                *best = Some(*value);
            }
        };
        let rows = array.values().iter().zip(groups.iter());
        match array.nulls() {
            None => rows.for_each(take),
            Some(nulls) => {
                let valid = rows.zip(nulls).filter(|(_, is_valid)| *is_valid);
                valid.map(|(row, _)| row).for_each(take);
            }
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.best.resize(self.best.len().max(groups.end), None);
        let best = self.best[groups].iter().copied();
        let array: PrimitiveArray<T> = best.collect();
        Ok(Arc::new(array.with_data_type(self.ty.to_arrow())))
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<T::Native>>()
    }
}

/// Values as bytes.
struct Encoded {
    /// Made at the first values.
    converter: Option<RowConverter>,
    /// Offset and length of each group's value in `bytes`; length 0 if it has none.
    places: Vec<(usize, u32)>,
    bytes: Vec<u8>,
    dead_size: usize,
    is_max: bool,
    ty: ColumnType,
}

/// With fewer dead bytes than this, the buffer is not compacted.
const DEAD_SIZE_MIN: usize = 64 << 10;

impl Encoded {
    fn new(ty: &ColumnType, is_max: bool) -> Self {
        let (places, bytes) = (Vec::new(), Vec::new());
        Self { converter: None, places, bytes, dead_size: 0, is_max, ty: ty.clone() }
    }

    fn best(&self, group: usize) -> &[u8] {
        let (start, size) = self.places[group];
        &self.bytes[start..start + size as usize]
    }

    fn put(&mut self, group: usize, value: &[u8]) {
        let (start, size) = self.places[group];
        let length = value.len() as u32;
        if length <= size {
            self.bytes[start..start + value.len()].copy_from_slice(value);
            self.dead_size += (size - length) as usize;
            self.places[group] = (start, length);
            return;
        }
        self.dead_size += size as usize;
        self.places[group] = (self.bytes.len(), length);
        self.bytes.extend_from_slice(value);
        if self.dead_size > DEAD_SIZE_MIN && self.dead_size * 2 > self.bytes.len() {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let mut alive = Vec::with_capacity(self.bytes.len() - self.dead_size);
        for (start, size) in &mut self.places {
            let from = *start;
            *start = alive.len();
            alive.extend_from_slice(&self.bytes[from..from + *size as usize]);
        }
        self.bytes = alive;
        self.dead_size = 0;
    }
}

impl Accumulator for Encoded {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.places.resize(group_count, (0, 0));
        let values = &arguments[0];
        if self.converter.is_none() {
            let field = SortField::new_with_options(values.data_type().clone(), ASCENDING);
            self.converter = Some(RowConverter::new(vec![field])?);
        }
        let Some(converter) = &self.converter else { return Ok(()) };
        let rows = converter.convert_columns(&[Arc::clone(values)])?;
        for (row, group) in groups.iter().enumerate() {
            if values.is_null(row) {
                continue;
            }
            let (group, value) = (*group as usize, rows.row(row).data());
            let best = self.best(group);
            let is_better = if self.is_max { value > best } else { value < best };
            if best.is_empty() || is_better {
                self.put(group, value);
            }
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.places.resize(self.places.len().max(groups.end), (0, 0));
        let Some(converter) = &self.converter else { return Ok(nulls(&self.ty, groups.len())) };
        // A row of null stands for groups without a value.
        let null = converter.convert_columns(&[nulls(&self.ty, 1)])?;
        let parser = converter.parser();
        let rows = groups.map(|group| match self.best(group) {
            [] => null.row(0),
            value => parser.parse(value),
        });
        let mut columns = converter.convert_rows(rows)?;
        Ok(columns.swap_remove(0))
    }

    fn size(&self) -> usize {
        self.bytes.capacity() + self.places.capacity() * size_of::<(usize, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn longer_and_shorter_texts_take_each_others_place() -> Result<()> {
        let mut greatest = Encoded::new(&ColumnType::Text, true);
        let mut expected = vec![String::new(); 50];
        for round in 0..2000u32 {
            // Lengths grow and shrink, so that places are reused, abandoned and compacted.
            let group = round.wrapping_mul(7919) % 50;
            let text = format!("{:04}{}", round, "x".repeat((round * 31 % 97) as usize));
            let values: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
            greatest.take(&[values], &Groups::new(&[group]), 50)?;
            expected[group as usize].clone_from(&text);
        }
        assert!(greatest.bytes.len() < 2 * DEAD_SIZE_MIN, "dead values are let go of");
        let answer = greatest.finish(0..51)?;
        let answer = answer.as_string::<i32>();
        assert!(answer.is_null(50));
        assert_eq!(answer.iter().take(50).flatten().collect::<Vec<_>>(), expected);
        Ok(())
    }
}
