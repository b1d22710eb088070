//! The rows of a batch in the order of sort keys.

use arrow_schema::SortOptions;
use folio_compute::compare::canonical;
use folio_compute::order::OrderColumn;
use folio_compute::{Batch, Result, order};

use crate::context::Context;
use crate::expression::evaluate::evaluate;
use crate::plan::terms::SortKey;

/// The rows of a batch in order, or the first of them.
///
/// # Errors
/// Errors of the keys.
pub(super) fn in_order(
    batch: &Batch,
    keys: &[SortKey],
    limit: Option<usize>,
    context: &Context,
) -> Result<Batch> {
    let columns = sort_columns(batch, keys, context)?;
    batch.take(&order::in_order(&columns, batch.row_count, limit)?)
}

/// The sort columns of a batch.
pub(super) fn sort_columns(
    batch: &Batch,
    keys: &[SortKey],
    context: &Context,
) -> Result<Vec<OrderColumn>> {
    let column = |key: &SortKey| -> Result<OrderColumn> {
        let values = evaluate(&key.expression, batch, context)?.to_array(batch.row_count)?;
        let options = SortOptions { descending: key.descending, nulls_first: key.nulls_first };
        Ok(OrderColumn { values: canonical(&values), options })
    };
    keys.iter().map(column).collect()
}
