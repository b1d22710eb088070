//! Errors: of the start, for whoever starts a studio, and as the pages show them: a sentence, a hint,
//! and the place in the text.

use std::io;
use std::path::{Path, PathBuf};

use folio::ErrorCode;
use folio::import::OptionNames;
use serde_json::{Value, json};

/// Why a studio does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address or the port cannot be listened on.
    #[error("{host}, port {port}: {error}")]
    Socket {
        /// What was asked for.
        host: String,
        /// What was asked for.
        port: u16,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Other machines would be served without a token of the user's, or without TLS.
    #[error("{host} is beyond this machine: it is served with a token and TLS only")]
    Unguarded {
        /// What was asked for.
        host: String,
        /// Whether there is a token.
        has_token: bool,
        /// Whether there is TLS.
        has_tls: bool,
    },
    /// A certificate, a key or a token that cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl StartError {
    pub(crate) fn file(path: &Path, reason: String) -> Self {
        Self::File { path: path.to_owned(), reason }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the database.
    Database(folio::Error),
    /// A page asked for what does not exist.
    Asked(&'static str),
    /// A document is no longer what a page has shown.
    Changed,
    /// The time of a statement is over.
    Late,
    /// The page is gone, and nobody reads this.
    Left,
}

impl From<folio::Error> for Failure {
    fn from(error: folio::Error) -> Self {
        Self::Database(error)
    }
}

const NAMES: OptionNames =
    OptionNames { id_field: "id_field", generate_ids: "generate_ids", on_conflict: "on_conflict" };

impl Failure {
    pub(crate) fn to_json(&self) -> String {
        let error = match self {
            Self::Asked(text) => described(ErrorCode::InvalidInput, text, None, None),
            Self::Changed => {
                let hint = "reload it, and make the change again";
                let text = "the document has changed since it was shown";
                described(ErrorCode::Conflict, text, Some(hint), None)
            }
            Self::Late => described(ErrorCode::Timeout, "it takes too long", None, None),
            Self::Left => described(ErrorCode::Cancelled, "the page is gone", None, None),
            Self::Database(folio::Error::Query(error)) => {
                let span = error.span();
                let place = (span.line > 0)
                    .then(|| json!([span.line, span.column, span.end_line, span.end_column]));
                described(error.code(), error.message(), error.hint(), place.as_ref())
            }
            Self::Database(error) => described(error.code(), &error.message(&NAMES), None, None),
        };
        json!({ "error": error }).to_string()
    }
}

fn described(code: ErrorCode, message: &str, hint: Option<&str>, place: Option<&Value>) -> Value {
    json!({"code": code.as_str(), "message": message, "hint": hint, "place": place})
}

/// A member of what a page asked, as text.
pub(crate) fn text<'a>(asked: &'a Value, name: &str) -> Result<&'a str, Failure> {
    asked.get(name).and_then(Value::as_str).ok_or(Failure::Asked("a member is missing"))
}
