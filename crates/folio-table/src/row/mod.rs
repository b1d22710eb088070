//! Encodes values as the bytes of a row (see `layout`), and decodes them: one by one, or a column
//! at a time over the rows of a leaf.

mod arrow;
mod column_buffer;
mod encode;
mod key;
mod key_field;
mod list;
mod nested;
mod view;

pub(crate) use arrow::BatchBuilder;
pub(crate) use encode::RowEncoder;
pub(crate) use encode::mismatch;
pub(crate) use key::{encode_key, encode_key_prefix, encode_key_prefix_to};
pub(crate) use nested::read_fixed as fixed_value;
pub use view::Row;
pub(crate) use view::{
    decode_column, decode_row, decode_segment, is_null, row_number, variable_from,
};

/// The maximum size of a stored row, in bytes.
pub(crate) const ROW_SIZE_MAX: usize = 1 << 30;
