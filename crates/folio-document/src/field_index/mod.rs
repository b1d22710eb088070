//! Indexes on fields: from the values of fields to the lines of documents that have them.
//!
//! ```text
//! definition   what is indexed; stored in the manifest
//! condition    which lines have entries
//! key          a line → the bytes that its values sort by
//! collected    keys with the places of their lines, sorted in memory
//! file         meta/folio.field-<name>-<n>.idx: sorted keys of a range of lines, in checked pages
//! write        writes such a file
//! cursor       keys of several files and of memory as one sorted sequence, in both directions
//! covered      the files of an index, and the lines after them in memory
//! range        the part of the keys that a lookup asks for
//! ```
//!
//! An entry has the key and the entry of the id index for the line. Whether the line is still the
//! newest of its id is up to the id index, so an entry never has to be removed. Files belong to one
//! content of the data file, and prove it by a checksum of that content ([`file::Header::stamp`]).
//! Everything here can be rebuilt from the data file.
//!
//! The store says when an index is read, extended and written: `store/fields.rs`.
//! `docs/decisions/0067-indexes-on-fields.md` says why it is built like this.

mod collected;
mod condition;
mod covered;
mod cursor;
mod definition;
mod file;
mod key;
mod range;
mod write;

pub(crate) use collected::Collected;
pub(crate) use covered::Covered;
pub(crate) use cursor::{Cursor, Direction};
pub use definition::{IndexDefinition, IndexField};
pub(crate) use file::{
    FieldFault, FieldFile, Header, KEY_SIZE_MAX, file_name, file_number, is_field_file,
};
pub(crate) use key::{Extractor, values_text};
pub use range::{KeyField, KeyRange};
pub(crate) use write::{FileWriter, write_file};
