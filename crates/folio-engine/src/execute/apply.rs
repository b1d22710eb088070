//! LATERAL joins that no rule has rewritten: the right side runs for every row of the left. UNNEST
//! takes a batch of rows at once.

use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::{Batch, Result};

use super::pairs::{Pairs, empty};
use super::{Operator, Running, collect, unnest};
use crate::context::Context;
use crate::expression::evaluate::evaluate_arrays;
use crate::plan::physical;

pub(super) struct Apply {
    node: Arc<physical::Apply>,
    left: Running,
}

impl Apply {
    pub(super) fn new(node: &Arc<physical::Apply>, left: Running) -> Self {
        Self { node: Arc::clone(node), left }
    }
}

/// The rows of the right side for each row of the left.
fn row_by_row(
    node: &physical::Apply,
    outer: &[ArrayRef],
    row_count: usize,
    context: &Context,
) -> Result<(Batch, Pairs)> {
    let (mut parts, mut pairs, mut count) = (Vec::new(), Pairs::default(), 0);
    for row in 0..row_count {
        context.check()?;
        let inner = context.with_outer(outer.iter().map(|outer| outer.slice(row, 1)).collect());
        let rows = collect(&node.right, &inner, usize::MAX)?;
        if rows.row_count > 0 {
            pairs.left.extend(std::iter::repeat_n(row as u32, rows.row_count));
            pairs.right.extend(count..count + rows.row_count as u32);
            count += rows.row_count as u32;
            parts.push(rows);
        }
    }
    let right = match parts.is_empty() {
        true => empty(&node.right_types),
        false => Batch::concat(&parts)?,
    };
    Ok((right, pairs))
}

/// The joined rows. Columns of the left that nothing reads are not copied: they may be whole lists.
fn joined(node: &physical::Apply, pairs: Pairs, left: &Batch, right: &Batch) -> Result<Batch> {
    let columns = left.columns.iter().enumerate();
    let read = columns.filter(|(at, _)| !node.unread.contains(at));
    let read =
        Batch::new(read.map(|(_, column)| ArrayRef::clone(column)).collect(), left.row_count);
    let mut rows = pairs.finish(node.kind, &read, right, &node.right_types)?;
    for at in &node.unread {
        let nulls = arrow_array::new_null_array(left.columns[*at].data_type(), rows.row_count);
        rows.columns.insert(*at, nulls);
    }
    Ok(rows)
}

/// A batch of the left with the rows of the right beside it.
pub(super) fn applied(node: &physical::Apply, left: &Batch, context: &Context) -> Result<Batch> {
    let outer = evaluate_arrays(&node.outer, left, context)?;
    context.check()?;
    let elements = match unnest::call_in(&node.right) {
        Some(call) => unnest::elements(call, &outer, left.row_count, context)?,
        None => None,
    };
    let (right, pairs) = match elements {
        Some(elements) => elements,
        None => row_by_row(node, &outer, left.row_count, context)?,
    };
    let pairs = pairs.filtered(left, &right, &node.terms, context)?;
    joined(node, pairs, left, &right)
}

impl Operator for Apply {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        while let Some(left) = self.left.next(context)? {
            let answer = applied(&self.node, &left, context)?;
            if answer.row_count > 0 {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}
