//! A database in one file: a `.zds` archive, which is a ZIP of its directory.
//!
//! ```text
//! collections/<name>/meta/data.jsonl            the live documents, in order
//! collections/<name>/meta/folio.run-1.idx       a large index of them
//! collections/<name>/docs/<id>.json             with a file per document
//! collections/<name>/meta/order.ids
//! collections/<name>/meta/folio.idx, folio.types, manifest.json
//! folio.json, zds.json
//! ```
//!
//! [`pack`] writes one, [`unpack()`] turns it back into a directory, and [`ArchiveFileSystem`] reads
//! it in place. Members are stored uncompressed by default, so that a document is read in place;
//! any ZIP tool can read and make such archives. The database may also be in a folder inside the
//! archive, as `zip -r data.zds mydata` creates.
//!
//! An archive is foreign input, so nothing in it is trusted. `members` decides what is accepted
//! before anything is read: names stay inside, there are no links, no duplicate names, and no
//! members that share bytes, and sizes and ratios are limited. Local headers must agree with the
//! central directory.
//!
//! People edit files, but an archive that has changed is damaged. The CRC-32 of a member is
//! verified in full when the member is first opened. That costs one extra read, and damaged data is
//! never returned.
//!
//! An archive on another machine is not read to verify it. Its small members are verified, and of
//! the others what is read: lines, blocks and pages of an index have checksums of their own.
//!
//! Archives are never modified. The index of an archive proves that it belongs to the data like any
//! other (`index`). An archive without one, which another tool made, is indexed in memory.

mod file_system;
mod index;
mod layout;
mod members;
mod pack;
mod stream;
#[cfg(test)]
mod tests;
mod unpack;

pub use file_system::ArchiveFileSystem;
pub use pack::{PackOptions, PackReport, PackedTypes, pack};
pub use unpack::{UnpackLimits, UnpackReport, unpack};
