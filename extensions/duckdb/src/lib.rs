//! Amazon Ion for DuckDB.
//!
//! ```text
//! load          entry: functions registered on the database
//! bind          read_ion(path, …) → files → sample → columns
//! scan          thread: take a block (file, decompression, cut) → batch → vectors
//! ```
//!
//! Everything that is not about DuckDB is in `folio-ion`; here are its options, its files, its
//! types and its vectors. Only the stable C interface is used, so one build loads in DuckDB 1.5.6
//! and 2.0.0. Every callback runs inside [`guard`], so that no panic reaches the host process.

mod background;
mod bind;
mod catalog_type;
mod copy;
mod emit;
mod files;
mod functions;
mod glob;
mod guard;
mod host;
mod options;
mod origin;
mod path;
mod pieces;
mod profile;
mod replacement;
mod row_writer;
mod scan;
mod type_name;
mod vector_value;

use libduckdb_sys as duckdb;
use std::ffi::CString;

/// The oldest DuckDB whose interface this extension speaks.
const API_VERSION: &str = "v1.5.6";

/// What DuckDB calls after loading the library.
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
