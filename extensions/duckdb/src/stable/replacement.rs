//! Replaces `FROM 'x.ion'` by a call of `read_ion`.

use super::value::c_string;
use crate::bind::is_file_name;
use crate::guard::guard;
use libduckdb_sys as duckdb;
use std::ffi::{CStr, c_char, c_void};

/// Registers the replacement on `database`.
///
/// # Safety
///
/// `database` is valid.
pub(crate) unsafe fn register(database: duckdb::duckdb_database) {
    // SAFETY: the caller's promise; there is no data to release.
    unsafe {
        duckdb::duckdb_add_replacement_scan(database, Some(replace), std::ptr::null_mut(), None);
    }
}

unsafe extern "C" fn replace(
    info: duckdb::duckdb_replacement_scan_info,
    name: *const c_char,
    _: *mut c_void,
) {
    let _ = guard(|| {
        // SAFETY: DuckDB passes a zero-terminated name.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        if is_file_name(&name) {
            let path = c_string(&name);
            // SAFETY: `info` is valid during the call; DuckDB copies names and values.
            unsafe {
                duckdb::duckdb_replacement_scan_set_function_name(info, c"read_ion".as_ptr());
                let mut value = duckdb::duckdb_create_varchar(path.as_ptr());
                duckdb::duckdb_replacement_scan_add_parameter(info, value);
                duckdb::duckdb_destroy_value(&mut value);
            }
        }
        Ok(())
    });
}
