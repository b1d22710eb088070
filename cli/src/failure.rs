//! Why a command failed, and its exit code.

use std::io;
use std::process::ExitCode;

use folio::ErrorCode;
use folio::import::OptionNames;

use crate::console::Console;

const EXIT_ERROR: u8 = 1;
const EXIT_USAGE: u8 = 2;
/// `validate` found damage.
pub(crate) const EXIT_DAMAGE: u8 = 3;
/// 128 plus the number of SIGINT, as in shells.
const EXIT_INTERRUPTED: u8 = 130;

const INTERRUPTED: &str = "interrupted; run the same command again";

/// The flags for the library's options.
pub(crate) const FLAGS: OptionNames = OptionNames {
    id_field: "--id-field",
    generate_ids: "--generate-ids",
    on_conflict: "--on-conflict",
};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the database.
    Database(folio::Error),
    /// A named document does not exist.
    Missing(String),
    /// The arguments do not match the database.
    Usage(String),
    /// Part of the work could not be done, as the text says.
    Incomplete(String),
    /// A signal asked the command to end.
    Interrupted,
}

impl Failure {
    /// Prints the failure and returns the exit code.
    pub(crate) fn report(&self, console: &Console) -> ExitCode {
        if self.is_closed_pipe() {
            return ExitCode::SUCCESS; // `| head` has seen enough
        }
        match self {
            Self::Database(error @ folio::Error::Collection(_))
                if error.code() == ErrorCode::Cancelled =>
            {
                console.error(INTERRUPTED);
            }
            Self::Interrupted => console.error(INTERRUPTED),
            Self::Database(error) => console.error(&error.message(&FLAGS)),
            Self::Missing(text) | Self::Usage(text) | Self::Incomplete(text) => console.error(text),
        }
        ExitCode::from(match self {
            Self::Usage(_) => EXIT_USAGE,
            Self::Database(error) if error.code() == ErrorCode::Cancelled => EXIT_INTERRUPTED,
            Self::Interrupted => EXIT_INTERRUPTED,
            Self::Database(_) | Self::Missing(_) | Self::Incomplete(_) => EXIT_ERROR,
        })
    }

    /// Whether the user stopped it.
    pub(crate) fn is_cancelled(&self) -> bool {
        match self {
            Self::Database(error) => error.code() == ErrorCode::Cancelled,
            Self::Interrupted => true,
            _ => false,
        }
    }

    /// Whether the reader of our output has gone.
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Database(folio::Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<folio::Error> for Failure {
    fn from(error: folio::Error) -> Self {
        Self::Database(error)
    }
}

/// Nothing more can be printed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Database(folio::Error::Output(error))
    }
}
