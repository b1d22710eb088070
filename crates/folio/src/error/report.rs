//! The result of an import.

use std::fmt;

use super::reason::{OptionNames, Reason};

/// One record that could not become a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The file, or `standard input`.
    pub source: String,
    /// The line it starts on, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: Reason,
}

impl Rejected {
    /// File, line and reason, in the words of a surface.
    #[must_use]
    pub fn message(&self, names: &OptionNames) -> String {
        format!("{}:{}: {}", self.source, self.line, self.reason.message(names))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message(&OptionNames::default()))
    }
}

/// Counts of an import. Document counts cover what is committed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Documents under new ids.
    pub inserted: u64,
    /// Documents that replaced another.
    pub replaced: u64,
    /// Records that a later one of the same batch replaced or deleted.
    pub superseded: u64,
    /// Documents deleted by tombstones in one of our data files.
    pub deleted: u64,
    /// Records skipped because their id had a document.
    pub skipped: u64,
    /// Records that could not become documents.
    pub rejected_count: u64,
    /// The first [`ImportReport::REJECTED_LIMIT`] of them.
    pub rejected: Vec<Rejected>,
    /// Documents whose id field was not a valid id; see [`crate::import::derived_id`].
    pub derived_id_count: u64,
    /// One example: the text, and the id made from it.
    pub derived_id_example: Option<(String, String)>,
    /// The position in the source (in decompressed bytes) where an earlier import stopped.
    pub resumed_at: Option<u64>,
    /// Bytes of the source read, as stored.
    pub size: u64,
    /// Whether running the same import again would continue after the last commit.
    pub is_resumable: bool,
    /// Whether a stopped import committed everything it had read, as that of a pipe does.
    pub is_all_kept: bool,
}

impl ImportReport {
    /// How many rejected records are listed one by one.
    pub const REJECTED_LIMIT: usize = 100;

    /// Documents inserted and replaced.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.inserted + self.replaced
    }

    /// What to do after an interruption.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        if self.is_all_kept {
            "that is all that was received"
        } else if self.is_resumable {
            "run the same import again to resume from there"
        } else {
            "import the source again: documents already written are replaced by the same"
        }
    }
}
