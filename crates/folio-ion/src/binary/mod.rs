//! Binary Ion.
//!
//! Every value gives its length before its content. So a reader skips unwanted values in a few
//! instructions, and knows that a value is complete before it reads it. The layout is the "Ion
//! binary encoding" page of the Ion specification; field names follow it.

mod cursor;
mod timestamp;
mod value;

pub(crate) use cursor::{Cursor, Header, Kind, short_end, value_end, var_uint};
pub(crate) use value::null_type;

/// The bytes that mark Ion 1.0 in binary form.
pub const VERSION_MARKER: [u8; 4] = [0xe0, 0x01, 0x00, 0xea];
