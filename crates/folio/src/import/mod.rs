//! Documents from files of any [`Format`], plain or compressed.
//!
//! ```text
//! Source ── format::Records ── identity ── Batch ── commit
//!  bytes    one at a time       its id     bounded   + position
//! ```
//!
//! A record is a piece of text from the source to the collection; numbers pass
//! through as they are written. Memory holds one buffer, one record and one
//! batch of at most [`ImportOptions::batch_size`], however long the source is.
//!
//! **Rejected records.** A record that cannot be a document (not JSON, no id, a
//! row with too many fields) is counted and reported with file and line, and
//! the import goes on. When the first hundred are all rejected it stops: then
//! the format is another one than assumed.
//!
//! **Resuming.** Every batch is committed together with how far into the source
//! it reaches, so that after a kill the same import goes on where it stood. The
//! source is known again by a fingerprint of path, size, time and first bytes;
//! a changed source starts over. A reader that is not a file cannot be resumed.
//!
//! **Pipes.** What comes from a [`Source::pipe`] is committed within a second, also when the rest
//! is long in coming; see `live`.
//!
//! What it does not do: guess nested values from CSV cells, or repair JSON.

mod live;
mod options;
mod run;

pub use options::{ImportOptions, OnConflict};
pub use run::import;

pub use crate::error::{ImportReport, OptionNames, Reason, Rejected};
pub use crate::format::{Format, Source};
pub use crate::identity::{derived_id, generated_id};
