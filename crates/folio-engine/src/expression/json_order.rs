//! Byte keys for columns of JSON: those of `folio_json::order_key`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray};
pub(crate) use folio_json::order_key;

/// The keys of a JSON column.
pub(crate) fn order_keys(column: &ArrayRef) -> ArrayRef {
    let texts = column.as_string::<i32>().iter();
    Arc::new(texts.map(|text| text.map(order_key)).collect::<BinaryArray>())
}
