//! Text Ion.
//!
//! One [`Cursor`] over bytes in memory does all the reading; its methods are grouped into modules
//! by what they read. Unless its bytes are marked as the last, a cursor reports
//! [`crate::ErrorKind::Incomplete`] wherever more bytes could change the result. The caller then
//! reads more and starts the value again. So no state outlives a value, and a chunk may end at any
//! byte.

mod cursor;
mod lob;
mod number;
mod quoted;
mod skip;
mod timestamp;
mod value;

pub(crate) use cursor::{Cursor, is_identifier_part, is_identifier_start};
pub(crate) use skip::after_value;
pub(crate) use value::{Context, TopLevel};
