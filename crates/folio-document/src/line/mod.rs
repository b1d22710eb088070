//! One line of a collection's file: what it may be, how it is written.
//!
//! A line is a document (a JSON object whose `_id` is a string that keeps the
//! id rules), a tombstone (exactly `{"_tombstone":"<id>"}`), or blank. Anything
//! else is a fault that is reported by line number and never removed behind the
//! user's back.
//!
//! Everything here works on text. A document is never taken through a
//! floating-point number or a hash map on its way to disk, so key order and the
//! digits of every number survive.
//!
//! `folio-json` walks JSON (RFC 8259) without building anything; `examine` says what
//! a line is; `encode` writes lines, which `encoded` carries to the store; `project` cuts fields out; `reader` splits a
//! file into lines; `records` takes the objects of an array apart.

mod encode;
mod encoded;
mod examine;
mod project;
mod reader;
mod records;

pub(crate) use encode::{encode_value, join_id, normalize, tombstone};
pub use encoded::EncodedLine;
pub(crate) use examine::{Line, examine, has_id, id_of_stored_line, id_of_valid_line};
pub(crate) use project::{Projection, lookup, move_id_first};
pub(crate) use reader::{LineReader, RawLine};
pub use records::{Record, Records, plain_string};

/// How a document of ours starts; the original ZDS engines look for these bytes.
pub(crate) const ID_PREFIX: &[u8] = b"{\"_id\":\"";

/// How a delete marker starts; the id and `"}` follow.
pub(crate) const TOMBSTONE_PREFIX: &[u8] = b"{\"_tombstone\":\"";

/// The longest delete marker.
pub(crate) const TOMBSTONE_SIZE_MAX: usize =
    TOMBSTONE_PREFIX.len() + folio_types::MAX_NAME_SIZE + 2;

/// The length of a line must fit the index's 32 bits; this leaves room.
pub(crate) const MAX_LINE_SIZE: usize = 2 << 30;
