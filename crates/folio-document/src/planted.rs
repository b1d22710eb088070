//! Ways to break a promise, for the test that proves the others notice.

/// A bug that a collection in the lines layout has when it is opened with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// A flush does not sync the data file.
    SkipDataSync,
    /// A put that promises to be durable returns before it is.
    AcknowledgeBeforeSync,
    /// The names of created files are not synced.
    ForgetDirectorySync,
    /// The lines of a batch may reach the device before the record that it is open.
    SkipBatchRecordSync,
    /// A batch is said to be whole before its lines are on the device.
    CloseBatchFirst,
    /// A compacted file takes the name of the old one before it is on the device.
    ReplaceBeforeSync,
    /// Writing goes on after a failed sync.
    ForgiveFailedSync,
    /// A write that the device took a part of passes for a whole one.
    IgnoreShortWrite,
    /// A file of the size it had is believed, whatever its checksums say.
    SkipBlockChecksums,
    /// The index is used for whatever file stands beside it.
    TrustIndex,
    /// Readers see the lines of a batch that is under way.
    ServeOpenBatch,
    /// The writer appends without looking whether the file is still its own.
    IgnoreEdits,
}

impl PlantedBug {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::SkipDataSync,
        Self::AcknowledgeBeforeSync,
        Self::ForgetDirectorySync,
        Self::SkipBatchRecordSync,
        Self::CloseBatchFirst,
        Self::ReplaceBeforeSync,
        Self::ForgiveFailedSync,
        Self::IgnoreShortWrite,
        Self::SkipBlockChecksums,
        Self::TrustIndex,
        Self::ServeOpenBatch,
        Self::IgnoreEdits,
    ];
}
