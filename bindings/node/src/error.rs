//! Errors on their way to JavaScript.
//!
//! An error crosses as `code: text`; `../lib/error.js` takes the two apart again.
//! One form serves calls and promises, which Node-API would otherwise reject
//! with a code of its own.

use std::fmt::Display;

use folio::{Error, ErrorCode};

/// A facade's error as JavaScript will see it thrown.
#[allow(clippy::needless_pass_by_value)] // the shape that `map_err` takes
pub(crate) fn thrown(error: Error) -> napi::Error {
    coded(error.code(), &error)
}

/// An argument that makes no sense.
pub(crate) fn invalid(text: impl Display) -> napi::Error {
    coded(ErrorCode::InvalidInput, &text)
}

/// What was asked for after `close`, or of a batch that has ended.
pub(crate) fn closed(text: impl Display) -> napi::Error {
    coded(ErrorCode::Closed, &text)
}

fn coded(code: ErrorCode, text: &dyn Display) -> napi::Error {
    napi::Error::from_reason(format!("{code}: {text}"))
}
