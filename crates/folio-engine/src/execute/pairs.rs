//! Pairs of rows that a join has found: filters them, and handles rows of the left without a
//! partner.

use std::sync::Arc;

use arrow_array::builder::UInt32Builder;
use arrow_array::{ArrayRef, BooleanArray, NullArray, UInt32Array};
use folio_compute::array::nulls;
use folio_compute::{Batch, Result};
use folio_types::ColumnType;

use crate::context::Context;
use crate::expression::Expr;
use crate::expression::evaluate::evaluate_array;
use crate::plan::terms::JoinKind;

/// Positions in the left and in the right batch, pair by pair. Those of the left ascend.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) left: Vec<u32>,
    pub(crate) right: Vec<u32>,
}

impl Pairs {
    /// The joined rows.
    fn rows(self, left: &Batch, right: &Batch) -> Result<Batch> {
        let left = left.take(&UInt32Array::from(self.left))?;
        // As the elements of lists are.
        let is_all_of_right = self.right.len() == right.row_count
            && self.right.iter().zip(0..).all(|(own, at)| *own == at);
        Ok(left.beside(match is_all_of_right {
            true => right.clone(),
            false => right.take(&UInt32Array::from(self.right))?,
        }))
    }

    /// The pairs for which all terms are true.
    pub(crate) fn filtered(
        self,
        left: &Batch,
        right: &Batch,
        terms: &[Expr],
        context: &Context,
    ) -> Result<Self> {
        let mut pairs = self;
        for term in terms {
            if pairs.left.is_empty() {
                break;
            }
            let rows = pairs.rows_for(term, left, right)?;
            let mask = evaluate_array(term, &rows, context)?;
            pairs.retain(arrow_array::cast::as_boolean_array(&mask));
        }
        Ok(pairs)
    }

    /// The joined rows with only the columns that a term reads; the other columns are empty.
    fn rows_for(&self, term: &Expr, left: &Batch, right: &Batch) -> Result<Batch> {
        let read = term.columns();
        let count = self.left.len();
        let rows = [UInt32Array::from(self.left.clone()), UInt32Array::from(self.right.clone())];
        let nothing: ArrayRef = Arc::new(NullArray::new(count));
        let sides = [left, right].into_iter().zip(&rows);
        let columns =
            sides.flat_map(|(side, rows)| side.columns.iter().map(move |own| (own, rows)));
        let columns = columns.zip(0..).map(|((own, rows), position)| {
            match read.iter().any(|column| column.0 == position) {
                true => Ok(arrow_select::take::take(own, rows, None)?),
                false => Ok(ArrayRef::clone(&nothing)),
            }
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, count))
    }

    fn retain(&mut self, mask: &BooleanArray) {
        let mut left = mask.iter();
        self.left.retain(|_| left.next().flatten() == Some(true));
        let mut right = mask.iter();
        self.right.retain(|_| right.next().flatten() == Some(true));
    }

    /// The result of a join for one batch of its left side.
    pub(crate) fn finish(
        self,
        kind: JoinKind,
        left: &Batch,
        right: &Batch,
        right_types: &[ColumnType],
    ) -> Result<Batch> {
        match kind {
            JoinKind::Inner | JoinKind::Right => self.rows(left, right),
            JoinKind::Semi | JoinKind::Anti | JoinKind::NullAnti => {
                let mut has_partner = vec![false; left.row_count];
                self.left.iter().for_each(|row| has_partner[*row as usize] = true);
                let wanted = kind == JoinKind::Semi;
                let mask: Vec<bool> = has_partner.into_iter().map(|has| has == wanted).collect();
                left.filter(&BooleanArray::from(mask))
            }
            JoinKind::Left | JoinKind::Full => self.with_lonely(left, right, right_types),
        }
    }

    /// The pairs, and the rows of the left without a partner joined with nulls, in order.
    fn with_lonely(
        &self,
        left: &Batch,
        right: &Batch,
        right_types: &[ColumnType],
    ) -> Result<Batch> {
        let mut left_rows = Vec::with_capacity(left.row_count.max(self.left.len()));
        let mut right_rows = UInt32Builder::with_capacity(left_rows.capacity());
        let mut pairs = self.left.iter().zip(&self.right).peekable();
        for row in 0..left.row_count as u32 {
            let mut is_lonely = true;
            while let Some((_, partner)) = pairs.next_if(|(own, _)| **own == row) {
                left_rows.push(row);
                right_rows.append_value(*partner);
                is_lonely = false;
            }
            if is_lonely {
                left_rows.push(row);
                right_rows.append_null();
            }
        }
        let left = left.take(&UInt32Array::from(left_rows))?;
        if right.row_count == 0 {
            return Ok(left.clone().beside(lonely(right_types, left.row_count)));
        }
        Ok(left.beside(right.take(&right_rows.finish())?))
    }
}

/// Rows of nulls.
pub(crate) fn lonely(types: &[ColumnType], count: usize) -> Batch {
    let columns: Vec<ArrayRef> = types.iter().map(|ty| nulls(ty, count)).collect();
    Batch::new(columns, count)
}

/// An empty batch of these types.
pub(crate) fn empty(types: &[ColumnType]) -> Batch {
    lonely(types, 0)
}
