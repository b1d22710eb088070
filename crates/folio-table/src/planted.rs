//! Ways to break a promise, for the test that proves the others notice.

folio_file::planted_bugs! {
    /// The log is never synced.
    SkipLogSync => skip_log_sync,
    /// A commit returns before the log is durable.
    AcknowledgeBeforeSync => acknowledge_before_sync,
    /// A checkpoint does not sync the data file.
    SkipDataSync => skip_data_sync,
    /// A checkpoint begins the log again before it has written the pages.
    RestartLogFirst => restart_log_first,
    /// Pages are believed whatever their checksum says.
    SkipPageChecksum => skip_page_checksum,
    /// Records are believed whoever came before them.
    IgnoreRunningChecksum => ignore_running_checksum,
    /// A log that ends early is cut without asking what was durable.
    CutSilently => cut_silently,
    /// Writing goes on after a failed sync.
    ForgiveFailedSync => forgive_failed_sync,
    /// The names of created files are not synced.
    ForgetDirectorySync => forget_directory_sync,
    /// A checkpoint overwrites pages that a snapshot still needs.
    CheckpointPastReaders => checkpoint_past_readers,
}
