//! What went wrong with a file on another machine.

use std::fmt;
use std::io;

/// The reason that an [`io::Error`] about a file at a URL carries. Its kind says what sort of error
/// it is: `NotFound`, `PermissionDenied`, `TimedOut`; `StaleNetworkFileHandle` for a file that is
/// not the one that was opened; `Unsupported` for what such a place cannot do.
#[derive(Debug)]
pub struct RemoteError {
    reason: String,
    is_end: bool,
}

impl RemoteError {
    /// An error of a kind, with its reason.
    #[must_use]
    pub fn io(kind: io::ErrorKind, reason: impl Into<String>) -> io::Error {
        io::Error::new(kind, Self { reason: reason.into(), is_end: false })
    }

    /// The end of a wait that nobody waits for any more.
    #[must_use]
    pub fn end() -> io::Error {
        let reason = "what waited for the server has ended".to_owned();
        io::Error::new(io::ErrorKind::TimedOut, Self { reason, is_end: true })
    }

    /// Whether an error is such an end.
    #[must_use]
    pub fn is_end(error: &io::Error) -> bool {
        let own = error.get_ref().and_then(|reason| reason.downcast_ref::<Self>());
        own.is_some_and(|own| own.is_end)
    }

    /// Whether an error is of another machine, not of the content of a file.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|reason| reason.is::<Self>())
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.reason)
    }
}

impl std::error::Error for RemoteError {}
