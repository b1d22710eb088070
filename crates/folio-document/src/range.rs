//! Ranges of documents, as other processes read them.

/// Some of the documents of a collection, next to each other in the order of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRange {
    /// Where it begins: bytes of the data file, or documents where each is a file.
    pub start: u64,
    /// Where it ends, exclusive.
    pub end: u64,
    /// The number of its documents. Where each is a file, files that hold none count too.
    pub document_count: u64,
    /// What proves that they are the same documents.
    pub checksum: u64,
}
