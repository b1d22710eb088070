//! The scope of a call from DuckDB.
//!
//! DuckDB lends file systems and the factory of types and values for one call. They are stored per
//! thread and found there ([`Scope::current`]). Functions of the interface return a code and fill
//! an error slot; [`call`] converts both to a result.

use crate::guard::guard;
use libduckdb_sys::v2 as duckdb;
use std::cell::Cell;
use std::ffi::c_char;

/// What the current call may use.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    pub(super) factory: duckdb::duckdb_v2_factory_handle,
    pub(super) files: duckdb::duckdb_v2_file_system_handle,
}

thread_local! {
    static CURRENT: Cell<Option<Scope>> = const { Cell::new(None) };
}

/// Restores the previous scope.
struct Restore(Option<Scope>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Scope {
    /// Serves a call: runs `body`, and fills the slot `error` if it fails.
    ///
    /// # Safety
    ///
    /// `context` and `error` are those of the call.
    pub(super) unsafe fn run(
        context: duckdb::duckdb_v2_context_handle,
        error: *mut duckdb::duckdb_v2_error_info_handle,
        body: impl FnOnce(Scope) -> Result<(), String>,
    ) {
        let code = duckdb::DUCKDB_V2_ERROR::DUCKDB_V2_ERROR_INPUT_INVALID;
        // SAFETY: the caller's promise.
        unsafe { Scope::run_as(code, context, error, body) }
    }

    /// Like [`Scope::run`], for calls that bind a statement.
    ///
    /// # Safety
    ///
    /// As [`Scope::run`].
    pub(super) unsafe fn bind(
        context: duckdb::duckdb_v2_context_handle,
        error: *mut duckdb::duckdb_v2_error_info_handle,
        body: impl FnOnce(Scope) -> Result<(), String>,
    ) {
        let code = duckdb::DUCKDB_V2_ERROR::DUCKDB_V2_ERROR_QUERY_BINDER;
        // SAFETY: the caller's promise.
        unsafe { Scope::run_as(code, context, error, body) }
    }

    /// # Safety
    ///
    /// As [`Scope::run`].
    unsafe fn run_as(
        code: duckdb::DUCKDB_V2_ERROR,
        context: duckdb::duckdb_v2_context_handle,
        error: *mut duckdb::duckdb_v2_error_info_handle,
        body: impl FnOnce(Scope) -> Result<(), String>,
    ) {
        let done = guard(|| {
            // SAFETY: the caller's promise.
            let scope = unsafe {
                let factory = get(std::ptr::null_mut(), |out, error| {
                    duckdb::duckdb_v2_context_get_factory(context, out, error)
                })?;
                let files = get(std::ptr::null_mut(), |out, error| {
                    duckdb::duckdb_v2_context_get_file_system(context, out, error)
                })?;
                Scope { factory, files }
            };
            let _restore = Restore(CURRENT.replace(Some(scope)));
            body(scope)
        });
        if let Err(message) = done {
            let text = str_of(&message);
            // SAFETY: the slot is alive during the call; DuckDB copies the text.
            unsafe {
                duckdb::duckdb_v2_error_info_set_code(*error, code);
                duckdb::duckdb_v2_error_info_set_text(*error, &text);
            }
        }
    }

    /// The call that this thread serves.
    pub(super) fn current() -> Result<Scope, String> {
        CURRENT.get().ok_or_else(|| "DuckDB is asked for something outside of a call".to_owned())
    }
}

/// Calls a function of the interface.
///
/// # Errors
///
/// The error in its error slot.
pub(super) fn call(
    function: impl FnOnce(*mut duckdb::duckdb_v2_error_info_handle) -> duckdb::DUCKDB_V2_ERROR,
) -> Result<(), String> {
    let mut error = std::ptr::null_mut();
    if function(&mut error) == duckdb::DUCKDB_V2_ERROR::DUCKDB_V2_ERROR_NONE {
        return Ok(());
    }
    let mut text = str_of("");
    // SAFETY: the slot was filled by DuckDB, and is ours to release; the text lives as long as it.
    unsafe {
        duckdb::duckdb_v2_error_info_get_raw_text(error, &mut text);
        let message = string(text);
        duckdb::duckdb_v2_error_info_destroy(&mut error);
        Err(if message.is_empty() { "unknown error".to_owned() } else { message })
    }
}

/// Calls a function that returns through a pointer, with `empty` as the initial value.
///
/// # Errors
///
/// As [`call`].
pub(super) fn get<T>(
    empty: T,
    function: impl FnOnce(*mut T, *mut duckdb::duckdb_v2_error_info_handle) -> duckdb::DUCKDB_V2_ERROR,
) -> Result<T, String> {
    let mut answer = empty;
    call(|error| function(&mut answer, error))?;
    Ok(answer)
}

/// A text, lent to DuckDB.
pub(super) fn str_of(text: &str) -> duckdb::duckdb_v2_str {
    duckdb::duckdb_v2_str { ptr: text.as_ptr().cast::<c_char>(), len: text.len() as u64 }
}

/// Copies a text that DuckDB lends.
///
/// # Safety
///
/// The bytes are there.
pub(super) unsafe fn string(text: duckdb::duckdb_v2_str) -> String {
    if text.len == 0 {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(text.ptr.cast::<u8>(), text.len as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A value for DuckDB to store.
pub(super) fn opaque<T>(value: T) -> duckdb::duckdb_v2_opaque {
    duckdb::duckdb_v2_opaque {
        ptr: crate::handle::into_host(value),
        destroy: Some(crate::handle::drop_box::<T>),
        equals: None,
    }
}
