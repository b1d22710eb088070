//! Failpoints: each breaks one promise, and a test proves that the suite notices.

folio_file::failpoints! {
    /// A flush does not sync the data file.
    SkipDataSync => skip_data_sync,
    /// A put that promises to be durable returns before it is.
    AcknowledgeBeforeSync => acknowledge_before_sync,
    /// The names of created files are not synced.
    ForgetDirectorySync => forget_directory_sync,
    /// The lines of a batch may reach the device before the record that it is open.
    SkipBatchRecordSync => skip_batch_record_sync,
    /// A batch is recorded as complete before its lines are on the device.
    CloseBatchFirst => close_batch_first,
    /// A compacted file takes the name of the old one before it is on the device.
    ReplaceBeforeSync => replace_before_sync,
    /// Writes continue after a failed sync.
    ForgiveFailedSync => forgive_failed_sync,
    /// A short write counts as a complete one.
    IgnoreShortWrite => ignore_short_write,
    /// A file of unchanged size is trusted, whatever its checksums say.
    SkipBlockChecksums => skip_block_checksums,
    /// The index is used for any data file next to it.
    TrustIndex => trust_index,
    /// Readers see the lines of an open batch.
    ServeOpenBatch => serve_open_batch,
    /// The writer appends without checking whether someone else changed the file.
    IgnoreEdits => ignore_edits,
}
