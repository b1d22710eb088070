//! Replaces `FROM 'x.ion'` by a call of `read_ion`.

use super::scope::{Scope, call, get, str_of, string};
use super::value::HostValue;
use crate::bind::is_file_name;
use libduckdb_sys::v2 as duckdb;
use std::ptr::null_mut;

/// Registers the replacement.
///
/// # Safety
///
/// `extension` is the one being loaded.
pub(super) unsafe fn register(
    scope: Scope,
    extension: duckdb::duckdb_v2_extension_handle,
) -> Result<(), String> {
    // SAFETY: the caller's promise; the scan is released.
    unsafe {
        let mut scan = get(null_mut(), |out, error| {
            duckdb::duckdb_v2_replacement_scan_create(scope.factory, out, error)
        })?;
        let registered = call(|error| {
            duckdb::duckdb_v2_replacement_scan_set_callback(scan, Some(replace), error)
        })
        .and_then(|()| {
            call(|error| {
                duckdb::duckdb_v2_extension_register_replacement_scan(extension, scan, error)
            })
        });
        duckdb::duckdb_v2_replacement_scan_destroy(&mut scan);
        registered
    }
}

unsafe extern "C" fn replace(
    info: duckdb::duckdb_v2_replacement_scan_info_handle,
    context: duckdb::duckdb_v2_context_handle,
    error: *mut duckdb::duckdb_v2_error_info_handle,
) {
    // SAFETY: DuckDB's handles are valid during the call; names and values are released.
    unsafe {
        Scope::run(context, error, |_| {
            let mut name = get(null_mut(), |out, error| {
                duckdb::duckdb_v2_replacement_scan_get_name(info, out, error)
            })?;
            let path = file_name(name);
            duckdb::duckdb_v2_qname_destroy(&mut name);
            let Some(path) = path? else { return Ok(()) };
            let text = str_of("read_ion");
            let mut function =
                get(null_mut(), |out, error| duckdb::duckdb_v2_qname_parse(&text, out, error))?;
            let named = call(|error| {
                duckdb::duckdb_v2_replacement_scan_set_function_name(info, function, error)
            });
            duckdb::duckdb_v2_qname_destroy(&mut function);
            named?;
            let value = HostValue::of_text(&path)?;
            call(|error| duckdb::duckdb_v2_replacement_scan_add_argument(info, value.0, error))
        });
    }
}

/// The name if it is that of an Ion file, without catalog and schema.
///
/// # Safety
///
/// `name` is valid.
unsafe fn file_name(name: duckdb::duckdb_v2_qname_handle) -> Result<Option<String>, String> {
    // SAFETY: the caller's promise; the text lives as long as the name.
    unsafe {
        let count = get(0, |out, error| duckdb::duckdb_v2_qname_get_part_count(name, out, error))?;
        if count != 1 {
            return Ok(None);
        }
        let part =
            get(str_of(""), |out, error| duckdb::duckdb_v2_qname_get_part(name, 0, out, error))?;
        Ok(Some(string(part)).filter(|path| is_file_name(path)))
    }
}
