//! The next step to suggest after an error of the operating system.

use std::io::{self, ErrorKind};

/// The next step after a system error, to append to its message: a semicolon, a space and the step.
/// Empty if no step is sure to help.
///
/// ```
/// let error = std::io::Error::from(std::io::ErrorKind::StorageFull);
/// assert_eq!(folio_file::advice(&error), "; free some space, then try again");
/// ```
#[must_use]
pub fn advice(error: &io::Error) -> &'static str {
    #[cfg(unix)]
    if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::MFILE) {
        return "; allow more open files (ulimit -n), then try again";
    }
    match error.kind() {
        ErrorKind::StorageFull => "; free some space, then try again",
        ErrorKind::QuotaExceeded => "; your quota is used up: free some space, then try again",
        ErrorKind::FileTooLarge => "; allow larger files (ulimit -f), then try again",
        ErrorKind::PermissionDenied => "; ask its owner for access, or run as a user who has it",
        ErrorKind::ReadOnlyFilesystem => "; choose a place that can be written to",
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
            "; check the path"
        }
        _ => "",
    }
}
