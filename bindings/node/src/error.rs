//! Converts errors for JavaScript.
//!
//! An error is passed as `code: text`; `../lib/error.js` splits it again. One form serves calls and
//! promises, which Node-API would otherwise reject with a code of its own.

use std::fmt::Display;

use folio::{Error, ErrorCode};

/// The error that JavaScript throws for an error of the facade.
#[allow(clippy::needless_pass_by_value)] // the shape that `map_err` takes
pub(crate) fn thrown(error: Error) -> napi::Error {
    match error {
        // For `../lib/turns.js`, which tries again, and knows for how long it has.
        Error::Writing(held) => {
            let text = held.map_or_else(String::new, |held| held.to_string());
            napi::Error::from_reason(format!("busy: {text}"))
        }
        error => coded(error.code(), &error),
    }
}

/// The error for an invalid argument.
pub(crate) fn invalid(text: impl Display) -> napi::Error {
    coded(ErrorCode::InvalidInput, &text)
}

/// The error for a call after `close`, or on a batch that has ended.
pub(crate) fn closed(text: impl Display) -> napi::Error {
    coded(ErrorCode::Closed, &text)
}

fn coded(code: ErrorCode, text: &dyn Display) -> napi::Error {
    napi::Error::from_reason(format!("{code}: {text}"))
}
