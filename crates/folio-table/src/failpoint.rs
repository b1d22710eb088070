//! Deliberate bugs, each breaking one promise, to test that the suites detect them.

folio_file::failpoints! {
    /// The log is never synced.
    SkipLogSync => skip_log_sync,
    /// A commit returns before the log is durable.
    AcknowledgeBeforeSync => acknowledge_before_sync,
    /// A checkpoint does not sync the data file.
    SkipDataSync => skip_data_sync,
    /// A checkpoint restarts the log before it has written the pages.
    RestartLogFirst => restart_log_first,
    /// Page checksums are not verified.
    SkipPageChecksum => skip_page_checksum,
    /// The previous record's checksum is not verified.
    IgnoreRunningChecksum => ignore_running_checksum,
    /// A log that ends early is cut without checking what was durable.
    CutSilently => cut_silently,
    /// Writing continues after a failed sync.
    ForgiveFailedSync => forgive_failed_sync,
    /// The names of created files are not synced.
    ForgetDirectorySync => forget_directory_sync,
    /// A checkpoint overwrites pages that a snapshot still needs.
    CheckpointPastReaders => checkpoint_past_readers,
}
