//! What went wrong with a file on another machine.

use std::fmt;
use std::io;

/// The reason that an [`io::Error`] about a file at a URL carries. Its kind says what sort of error
/// it is: `NotFound`, `PermissionDenied`, `TimedOut`; `StaleNetworkFileHandle` for a file that is
/// not the one that was opened; `Unsupported` for what such a place cannot do.
#[derive(Debug)]
pub struct RemoteError(String);

impl RemoteError {
    /// An error of a kind, with its reason.
    #[must_use]
    pub fn io(kind: io::ErrorKind, reason: impl Into<String>) -> io::Error {
        io::Error::new(kind, Self(reason.into()))
    }

    /// Whether an error is of another machine, not of the content of a file.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|reason| reason.is::<Self>())
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for RemoteError {}
