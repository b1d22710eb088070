//! Results that operations report.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::field_index::IndexDefinition;

/// What a put did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The id was new.
    Inserted,
    /// The id had a document, which was replaced.
    Replaced,
}

/// The net effect of a batch. An id that it changed several times counts once; one that it put and
/// then deleted does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchCounts {
    /// Documents under new ids.
    pub inserted: u64,
    /// Documents that replaced an older one.
    pub replaced: u64,
    /// Documents deleted.
    pub deleted: u64,
}

/// Sizes and counts of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Live documents.
    pub document_count: u64,
    /// Lines that are superseded, tombstones, blank or invalid.
    pub dead_count: u64,
    /// Bytes of the live lines, line ends included.
    pub live_size: u64,
    /// Bytes of the data file, or of all document files.
    pub data_size: u64,
    /// Bytes of the index and of the other files that are derived from the documents.
    pub index_size: u64,
    /// When the data file, or a document's file, was last changed; `None` without one.
    pub changed: Option<SystemTime>,
}

/// One line that is not a document, or not one that the schema allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidLine {
    /// The file.
    pub path: PathBuf,
    /// Its number, from 1.
    pub line: u64,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for InvalidLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path.display(), self.line, self.reason)
    }
}

/// What `check` found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Live documents, counted line by line.
    pub document_count: u64,
    /// Lines whose id has a later line.
    pub superseded_count: u64,
    /// Delete markers.
    pub tombstone_count: u64,
    /// The first [`CheckReport::INVALID_LIMIT`] lines that are not documents.
    pub invalid: Vec<InvalidLine>,
    /// The number of all such lines.
    pub invalid_count: u64,
    /// Of a strict collection, the first [`CheckReport::INVALID_LIMIT`] documents that do not follow
    /// its schema: an edit by hand is not checked. The reason begins with the path of the value.
    pub mismatches: Vec<InvalidLine>,
    /// The number of all such documents.
    pub mismatch_count: u64,
    /// Damage to the index, the manifest or the batch record, one sentence each.
    pub problems: Vec<String>,
}

impl CheckReport {
    /// How many lines of a kind are listed individually.
    pub const INVALID_LIMIT: usize = 1_000;

    /// Whether there are no problems. Superseded lines and tombstones are normal.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.invalid_count == 0 && self.mismatch_count == 0 && self.problems.is_empty()
    }

    pub(crate) fn add_invalid(&mut self, line: InvalidLine) {
        self.invalid_count += 1;
        if self.invalid.len() < Self::INVALID_LIMIT {
            self.invalid.push(line);
        }
    }

    pub(crate) fn add_mismatch(&mut self, line: InvalidLine) {
        self.mismatch_count += 1;
        if self.mismatches.len() < Self::INVALID_LIMIT {
            self.mismatches.push(line);
        }
    }
}

/// Where the document of an id is, and its lines that are superseded and still in the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The number of the document's line, from 1; `None` without a document, and where each document
    /// is a file.
    pub line_number: Option<u64>,
    /// The newest first.
    pub lines: Vec<EarlierLine>,
    /// Whether there may be earlier ones, which were not looked for.
    pub is_partial: bool,
}

/// A line that a later one has superseded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierLine {
    /// Its number in the file, from 1.
    pub line_number: u64,
    /// The document; `None` where it was deleted.
    pub text: Option<String>,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompactReport {
    /// Live documents copied.
    pub document_count: u64,
    /// Size of the data before, in bytes.
    pub size_before: u64,
    /// Size of the data after, in bytes.
    pub size_after: u64,
    /// Invalid lines, moved to [`CompactReport::rejected_path`].
    pub rejected_count: u64,
    /// Where the invalid lines are now.
    pub rejected_path: Option<PathBuf>,
}

/// Size and state of an index on fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStats {
    /// What it is on.
    pub definition: IndexDefinition,
    /// Bytes of its files.
    pub size: u64,
    /// Its entries, those of superseded lines included.
    pub entry_count: u64,
    /// Whether lookups use it. Otherwise they read all documents until a writer has built it again.
    pub is_ready: bool,
}

/// What the check of an index on fields found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexCheck {
    /// Its entries, those of superseded lines left out.
    pub entry_count: u64,
    /// Damage, differences from the documents, and documents with the same values in a unique
    /// index, one sentence each.
    pub problems: Vec<String>,
    /// Documents have the same values, although the index is unique: somebody has edited the file.
    pub is_not_unique: bool,
    /// Its files do not fit the data. The next write builds them again.
    pub is_behind: bool,
}

/// Something that the collection noticed about its files and handled, and that the user should
/// know: edits by hand, lost indexes, an interrupted batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice(pub String);

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
