//! `FROM 'x.ion'`: a table name that ends like an Ion file is read as one.

use crate::guard::guard;
use crate::host::c_string;
use libduckdb_sys as duckdb;
use std::ffi::{CStr, c_char, c_void};

const ENDINGS: [&str; 6] = [".ion", ".10n", ".ion.gz", ".10n.gz", ".ion.zst", ".10n.zst"];

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
        let lower = name.to_ascii_lowercase();
        if ENDINGS.iter().any(|ending| lower.ends_with(ending)) {
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
