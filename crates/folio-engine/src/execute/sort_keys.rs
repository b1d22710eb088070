//! The rows of a batch in the order of sort keys.

use std::sync::Arc;

use arrow_arith::boolean::is_null;
use arrow_row::SortField;
use arrow_schema::{DataType, SortOptions};
use folio_compute::compare::canonical;
use folio_compute::order::OrderColumn;
use folio_compute::{Batch, Result, order};
use folio_types::ColumnType;

use crate::context::Context;
use crate::expression::evaluate::evaluate_array;
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
    let mut columns = Vec::with_capacity(keys.len());
    for key in keys {
        let values = evaluate_array(&key.expression, batch, context)?;
        let (of_null, options) = sort_options(key);
        if let Some(options) = of_null {
            columns.push(OrderColumn { values: Arc::new(is_null(&values)?), options });
        }
        columns.push(OrderColumn { values: canonical(&values), options });
    }
    Ok(columns)
}

/// The fields of [`sort_columns`] in Arrow's row format.
pub(super) fn sort_fields(keys: &[SortKey]) -> Vec<SortField> {
    let fields = keys.iter().flat_map(|key| {
        let (of_null, options) = sort_options(key);
        let of_null =
            of_null.map(|options| SortField::new_with_options(DataType::Boolean, options));
        let values = SortField::new_with_options(key.expression.ty().to_arrow(), options);
        of_null.into_iter().chain([values])
    });
    fields.collect()
}

/// The options of Arrow for the values of a key, and those for a column before it that says which
/// values are null, if there has to be one. Within lists and structs null is the greatest value, as
/// in comparisons. Arrow orders those nulls like null values, which may be wanted elsewhere.
fn sort_options(key: &SortKey) -> (Option<SortOptions>, SortOptions) {
    let SortKey { descending, nulls_first, .. } = *key;
    let is_nested = matches!(
        key.expression.ty(),
        ColumnType::List(_) | ColumnType::Struct(_) | ColumnType::Map(_)
    );
    match is_nested && nulls_first != descending {
        true => (
            Some(SortOptions { descending: nulls_first, nulls_first }),
            SortOptions { descending, nulls_first: descending },
        ),
        false => (None, SortOptions { descending, nulls_first }),
    }
}
