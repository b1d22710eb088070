//! DuckDB through its stable C interface, offered by DuckDB 1.5.6 and all later versions.
//!
//! It lacks column names in COPY, numbered batches, filters and path patterns.

mod copy;
mod files;
mod functions;
mod glob;
mod logical_type;
mod replacement;
mod row_file;
mod scan;
mod shape;
mod value;
mod vector;

pub(crate) use files::{File, FileSystem};
pub(crate) use value::HostValue;
pub(crate) use vector::{Vector, vector_size};

use crate::guard;
use libduckdb_sys as duckdb;
use std::ffi::CString;

/// The oldest supported DuckDB version.
const API_VERSION: &str = "v1.5.6";

/// The entry point that DuckDB calls after loading the library.
///
/// # Safety
///
/// `info` and `access` come from DuckDB and are valid for the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ion_init_c_api(
    info: duckdb::duckdb_extension_info,
    access: *const duckdb::duckdb_extension_access,
) -> bool {
    let failed = guard::guard(|| {
        // SAFETY: the pointers are DuckDB's and live during this call.
        unsafe { register(info, access) }
    });
    let Err(message) = failed else { return true };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    // SAFETY: as above; DuckDB copies the message.
    unsafe {
        if let Some(set_error) = (*access).set_error {
            set_error(info, message.as_ptr());
        }
    }
    false
}

/// Registers all functions on the database that loads the extension.
///
/// # Safety
///
/// As [`ion_init_c_api`].
unsafe fn register(
    info: duckdb::duckdb_extension_info,
    access: *const duckdb::duckdb_extension_access,
) -> Result<(), String> {
    // SAFETY: the pointers are valid, and the version is one whose functions the bindings list.
    unsafe {
        let ready = duckdb::duckdb_rs_extension_api_init(info, access, API_VERSION)?;
        if !ready {
            return Err(format!("this DuckDB does not offer the C interface {API_VERSION}"));
        }
        let get_database = (*access).get_database.ok_or("no database to register on")?;
        let database = get_database(info);
        if database.is_null() {
            return Err("no database to register on".to_owned());
        }
        let mut connection = std::ptr::null_mut();
        if duckdb::duckdb_connect(*database, &mut connection) != duckdb::duckdb_state_DuckDBSuccess
        {
            return Err("cannot connect to the database that loads the extension".to_owned());
        }
        let registered = scan::register(connection)
            .and_then(|()| functions::register(connection))
            .and_then(|()| copy::register(connection));
        replacement::register(*database);
        duckdb::duckdb_disconnect(&mut connection);
        registered
    }
}
