//! What to do when the operating system refuses.

use std::io::{self, ErrorKind};

/// The next step after a refusal, to stand behind the system's words: a semicolon, a
/// space and the step, or nothing where nothing is sure to help.
///
/// ```
/// let error = std::io::Error::from(std::io::ErrorKind::StorageFull);
/// assert_eq!(folio_file::advice(&error), "; free some space, then try again");
/// ```
#[must_use]
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull => "; free some space, then try again",
        ErrorKind::QuotaExceeded => "; your quota is used up: free some space, then try again",
        ErrorKind::PermissionDenied => "; ask its owner for access, or run as a user who has it",
        ErrorKind::ReadOnlyFilesystem => "; choose a place that can be written to",
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            "; check the path"
        }
        _ => "",
    }
}
