//! Ten ways to break a promise, for the test that proves the others notice.

/// A bug that a store opened with it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedBug {
    /// The log is never synced.
    SkipLogSync,
    /// A commit returns before the log is durable.
    AcknowledgeBeforeSync,
    /// A checkpoint does not sync the data file.
    SkipDataSync,
    /// A checkpoint begins the log again before it has written the pages.
    RestartLogFirst,
    /// Pages are believed whatever their checksum says.
    SkipPageChecksum,
    /// Records are believed whoever came before them.
    IgnoreRunningChecksum,
    /// A log that ends early is cut without asking what was durable.
    CutSilently,
    /// Writing goes on after a failed sync.
    ForgiveFailedSync,
    /// The names of created files are not synced.
    ForgetDirectorySync,
    /// A checkpoint overwrites pages that a snapshot still needs.
    CheckpointPastReaders,
}

impl PlantedBug {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::SkipLogSync,
        Self::AcknowledgeBeforeSync,
        Self::SkipDataSync,
        Self::RestartLogFirst,
        Self::SkipPageChecksum,
        Self::IgnoreRunningChecksum,
        Self::CutSilently,
        Self::ForgiveFailedSync,
        Self::ForgetDirectorySync,
        Self::CheckpointPastReaders,
    ];
}
