//! A database in one file: a `.zds` archive, which is a ZIP of its directory.
//!
//! ```text
//! folio.json, zds.json
//! collections/<name>/meta/data.jsonl     the live documents, in order
//! collections/<name>/meta/manifest.json
//! collections/<name>/meta/order.ids      with a file per document
//! collections/<name>/docs/<id>.json
//! ```
//!
//! [`pack`] writes one, [`unpack`] turns it back into a directory, and
//! [`ArchiveFileSystem`] opens it where it is, to read. Members are stored by default,
//! not compressed, so that a document is read at its place in the archive; any ZIP
//! tool can read and make such archives. What makes an archive is also a folder inside
//! it, as `zip -r data.zds mydata` makes.
//!
//! An archive comes from elsewhere, so all of it is distrusted. `members` decides what
//! is let in before anything is read: names stay inside, nothing is a link, no name
//! comes twice, no two members share bytes, sizes and ratios are bounded. Local headers
//! must agree with the central directory.
//!
//! Unlike a file that people edit, an archive that has changed is damaged. The CRC-32 of
//! a member is verified once, in whole, when the member is first opened: that reads it
//! once more than needed, and nothing damaged is ever served.
//!
//! What it does not do: change an archive. Indexes are not packed; an archive that is
//! opened in place is indexed in memory.

mod file_system;
mod layout;
mod members;
mod pack;
mod stream;
#[cfg(test)]
mod tests;
mod unpack;

pub use file_system::ArchiveFileSystem;
pub use pack::{PackOptions, PackReport, pack};
pub use unpack::{UnpackLimits, UnpackReport, unpack};
