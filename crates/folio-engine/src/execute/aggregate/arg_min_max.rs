//! `arg_min` and `arg_max`: the value of the row where another value is least or greatest. Also
//! the least and greatest JSON and interval, whose order is not that of their form.
//!
//! The compared value is stored as bytes that compare like the values (Arrow's row format), the
//! result as a value. Rows where either is null are ignored. The first of equal rows wins.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_row::{RowConverter, SortField};
use arrow_schema::SortOptions;
use folio_compute::Result;
use folio_compute::array::{to_array, value_at};
use folio_compute::compare::canonical;
use folio_types::{ColumnType, Value};

use super::accumulator::Accumulator;
use super::groups::Groups;

/// The order of comparisons: within lists and structs, null is the greatest value.
pub(super) const ASCENDING: SortOptions = SortOptions { descending: false, nulls_first: false };

/// The best row of a group: the compared value, and the result.
type Best = Option<(Box<[u8]>, Value)>;

/// The states of `arg_max` or `arg_min`.
pub(crate) struct ArgMinMax {
    /// Made at the first values.
    converter: Option<RowConverter>,
    best: Vec<Best>,
    is_max: bool,
    ty: ColumnType,
    /// Memory of bytes and values, in bytes.
    size: usize,
}

impl ArgMinMax {
    pub(crate) fn new(ty: &ColumnType, is_max: bool) -> Self {
        Self { converter: None, best: Vec::new(), is_max, ty: ty.clone(), size: 0 }
    }
}

impl Accumulator for ArgMinMax {
    fn take(
        &mut self,
        arguments: &[ArrayRef],
        groups: &Groups<'_>,
        group_count: usize,
    ) -> Result<()> {
        self.best.resize(group_count, None);
        let (values, by) = (&arguments[0], &arguments[arguments.len() - 1]);
        if self.converter.is_none() {
            let field = SortField::new_with_options(by.data_type().clone(), ASCENDING);
            self.converter = Some(RowConverter::new(vec![field])?);
        }
        let Some(converter) = &self.converter else { return Ok(()) };
        let rows = converter.convert_columns(&[canonical(by)])?;
        let (no_values, no_by) = (values.logical_nulls(), by.logical_nulls());
        let is_null = |nulls: &Option<arrow_buffer::NullBuffer>, row: usize| {
            nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
        };
        for (row, group) in groups.iter().enumerate() {
            if is_null(&no_values, row) || is_null(&no_by, row) {
                continue;
            }
            let (best, found) = (&mut self.best[*group as usize], rows.row(row).data());
            let is_better = match best {
                None => true,
                Some((least, _)) if !self.is_max => found < &**least,
                Some((most, _)) => found > &**most,
            };
            if is_better {
                let weight = |value: &Value, by: &[u8]| super::holistic::weight(value) + by.len();
                let before = best.as_ref().map_or(0, |(by, value)| weight(value, by));
                let value = value_at(values, row, &self.ty);
                self.size = self.size + weight(&value, found) - before;
                *best = Some((found.into(), value));
            }
        }
        Ok(())
    }

    fn finish(&mut self, groups: Range<usize>) -> Result<ArrayRef> {
        self.best.resize(self.best.len().max(groups.end), None);
        let best = self.best[groups].iter();
        let values = best.map(|best| best.as_ref().map_or(&Value::Null, |(_, value)| value));
        to_array(values, &self.ty)
    }

    fn size(&self) -> usize {
        self.size + self.best.capacity() * size_of::<Best>()
    }
}
