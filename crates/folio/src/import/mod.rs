//! Imports documents from files of any [`Format`], plain or compressed.
//!
//! ```text
//! Source ── format::Records ── identity ── Batch ── commit
//!  bytes    one at a time       its id     bounded   + position
//! ```
//!
//! A record stays text from the source to the collection, so numbers keep their spelling. Memory
//! holds one buffer, one record and one batch of at most [`ImportOptions::batch_size`], however
//! long the source is.
//!
//! **Rejected records.** A record that cannot become a document (not JSON, no id, a row with too
//! many fields) is counted and reported with file and line, and the import continues. If the first
//! hundred are all rejected, it stops: the format is probably wrong.
//!
//! **Resuming.** Every batch is committed together with its end position in the source, so after a
//! kill the same import resumes there. The source is recognised by a fingerprint of path, size,
//! time and first bytes; a changed source starts over. A reader that is not a file cannot be
//! resumed. Several files that are imported as a [`SourceList`] resume in the file where it was.
//!
//! **Pipes.** Data from a [`Source::pipe`] is committed within a second, even if the rest is slow
//! to arrive; see `live`.
//!
//! An import does not guess nested values from CSV cells, and does not repair JSON.

mod live;
mod options;
mod run;

pub use options::{ImportOptions, OnConflict};
pub use run::import;

pub use crate::error::{ImportReport, OptionNames, Reason, Rejected};
pub use crate::format::{Format, Source, SourceList};
pub use crate::identity::{derived_id, generated_id};
