//! Binary Ion.
//!
//! Every value says its length before its content, so a reader steps over what it does not want
//! in a few instructions, and a value is known to be whole before any of it is read. The layout is
//! the "Ion binary encoding" page of the Ion specification; names of fields follow it.

mod cursor;
mod timestamp;
mod value;

pub(crate) use cursor::{Cursor, Header, Kind, short_end, value_end, var_uint};
pub(crate) use value::null_type;

/// The bytes that mark Ion 1.0 in binary form.
pub const VERSION_MARKER: [u8; 4] = [0xe0, 0x01, 0x00, 0xea];
