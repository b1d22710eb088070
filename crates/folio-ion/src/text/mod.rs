//! Text Ion.
//!
//! One [`Cursor`] over bytes in memory does all the reading; its methods are spread over this
//! module by what they read. A cursor that is not told that its bytes are the last reports
//! [`crate::ErrorKind::Incomplete`] wherever more bytes could change the answer, and whoever feeds
//! it then reads on and starts the value again. So no state outlives a value, and a chunk may end
//! at any byte.

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
