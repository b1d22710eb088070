//! No panic crosses into DuckDB.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; a panic becomes an error that asks for a report.
pub(crate) fn guard<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(format!("internal error in the ion extension, please report it: {text}"))
    })
}
