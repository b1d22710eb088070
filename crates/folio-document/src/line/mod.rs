//! One line of a collection's file: what it may contain and how it is written.
//!
//! A line is a document (a JSON object whose `_id` is a valid id), a tombstone (exactly
//! `{"_tombstone":"<id>"}`), or blank. Anything else is a fault. Faults are reported by line number
//! and never removed silently.
//!
//! Everything here works on text. A document on its way to disk never passes through a
//! floating-point number or a hash map, so key order and the digits of every number are preserved.
//!
//! `folio-json` walks JSON (RFC 8259) without building anything. `examine` classifies a line.
//! `encode` writes lines, which `encoded` carries to the store. `project` extracts fields. `reader`
//! splits a file into lines. `records` splits an array into its objects.

mod encode;
mod encoded;
mod examine;
mod project;
mod reader;
mod records;

pub(crate) use encode::{encode_value, join_id, normalize, tombstone};
pub use encoded::EncodedLine;
pub use examine::tombstone_id;
pub(crate) use examine::{Line, examine, has_id, id_of_stored_line, id_of_valid_line};
pub(crate) use project::{Projection, lookup, move_id_first};
pub(crate) use reader::{LineReader, RawLine};
pub use records::{Record, Records};

/// The first bytes of an encoded document; the original ZDS engines look for them.
pub(crate) const ID_PREFIX: &[u8] = folio_json::ID_PREFIX.as_bytes();

/// The first bytes of a delete marker; the id and `"}` follow.
pub(crate) const TOMBSTONE_PREFIX: &[u8] = b"{\"_tombstone\":\"";

/// The longest delete marker.
pub(crate) const TOMBSTONE_SIZE_MAX: usize =
    TOMBSTONE_PREFIX.len() + folio_types::MAX_NAME_SIZE + 2;

/// The maximum length of a line. It fits the index's 32 bits, with room to spare.
pub(crate) const MAX_LINE_SIZE: usize = 2 << 30;
